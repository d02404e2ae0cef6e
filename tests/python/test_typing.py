"""The types of the package as mypy --strict sees them in a program of a user."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is missing")
class Typing(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(text, encoding="utf-8")
            line = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"]
            environment = {**os.environ, "MYPYPATH": str(HERE.parent.parent / "python")}
            return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout

    def test_a_program_passes(self):
        self.assertIn("no issues found", self.check((HERE / "typed/program.py").read_text(encoding="utf-8")))

    def test_mistakes_are_found(self):
        for wrong in (
            "tessera.evaluate('a.csv', 'b.csv', targets='x')",
            "tessera.evaluate('a.csv', 'b.csv').keys()",
            "tessera.load(3)",
            "tessera.fit('a.csv').sample('ten')",
            "tessera.fit('a.csv').samples(10)",
        ):
            self.assertIn("program.py:2: error", self.check(f"import tessera\n{wrong}\n"), wrong)


if __name__ == "__main__":
    unittest.main()
