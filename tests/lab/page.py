#!/usr/bin/env python3
"""Does what docs/engine/lab.md says, in an empty folder, and compares what the page shows.

    page.py <tessera> <build folder>

Blocks of the page in their order: `sh` is run, each line with exit code 0 or the one in its comment; `text` after it
are lines of what the last commands printed, in order, … for anything; `cuda` and `python` are written to the file that
their first line names; `diff` changes that file, in one place.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page:
    def __init__(self, folder, environment):
        self.folder, self.environment, self.output, self.file, self.failures = folder, environment, "", None, 0

    def fail(self, text):
        self.failures += 1
        print(f"docs/engine/lab.md: {text}\n--- printed, the last lines:")
        print(*self.output.splitlines()[-40:], "---", sep="\n")

    def sh(self, text):
        self.output = ""
        for line in text.splitlines():
            command, _, comment = line.partition("  #")
            wanted = int(re.search(r"exit code (\d+)", comment)[1]) if comment else 0
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.output += done.stdout
            if done.returncode != wanted:
                self.fail(f"`{command}` ended with {done.returncode}, not {wanted}")

    def text(self, text):
        lines = iter(self.output.splitlines())
        for wanted in text.splitlines():
            if wanted == "…":
                continue
            pattern = ".*".join(re.escape(part if part == wanted else part.rstrip()) for part in wanted.split("…"))
            if not any(re.fullmatch(pattern, line.rstrip()) for line in lines):
                self.fail(f"not printed: {wanted}")

    def cuda(self, text):
        self.file = self.folder / re.match(r"(?://|#) (\S+)\n", text)[1]
        self.file.write_text(text)

    python = cuda

    def diff(self, text):
        lines = text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        after = "".join(line[1:] for line in lines if line[0] != "-")
        source = self.file.read_text()
        if source.count(before) != 1:
            self.fail(f"{self.file.name} has this {source.count(before)} times:\n{before}")
        self.file.write_text(source.replace(before, after))


def main(tessera, build):
    page = (ROOT / "docs/engine/lab.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("bench", "examples"):
            (folder / name).symlink_to(ROOT / name)
        (folder / "bin").mkdir()
        (folder / "bin/tessera").symlink_to(pathlib.Path(tessera).resolve())
        found = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "TESSERA_BUILD": str(pathlib.Path(build).resolve())}
        followed = Page(folder, {**os.environ, **found})
        for kind, text in blocks:
            getattr(followed, kind)(text)
    commands = sum(text.count("\n") for kind, text in blocks if kind == "sh")
    print(f"{commands} commands, {followed.failures} failures")
    return 1 if followed.failures or commands < 8 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
