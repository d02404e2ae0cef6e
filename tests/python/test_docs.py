"""Runs the examples in the docstrings, the Python blocks of docs/use/python.md, and the cells of the notebooks."""

import contextlib
import doctest
import importlib
import io
import json
import os
import pathlib
import pkgutil
import re
import sys
import tempfile
import unittest

import tessera
import tessera_sdv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples/python"))
import outputs  # noqa: E402


def load_tests(_loader, tests, _pattern):
    people = tessera.example(500, seed=1)
    known = {"tessera": tessera, "people": people, "model": tessera.fit(people, epochs=1, calibrate="off")}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for package in (tessera, tessera_sdv):
        names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        for name in [package.__name__, *names]:
            module = importlib.import_module(name)
            tests.addTests(doctest.DocTestSuite(module, extraglobs=known, optionflags=flags))
    return tests


class Pages(unittest.TestCase):
    def run_blocks(self, blocks, page):
        self.assertTrue(blocks)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            try:
                names = {"__name__": "page"}
                for block in blocks:
                    exec(compile(block, page, "exec"), names)
            finally:
                os.chdir(before)

    def test_the_page_runs_as_it_stands(self):
        text = (ROOT / "docs/use/python.md").read_text(encoding="utf-8")
        self.run_blocks(re.findall(r"```python\n(.*?)```", text, re.DOTALL), "docs/use/python.md")

    def test_the_notebooks_run_as_they_stand(self):
        notebooks = sorted((ROOT / "examples/python").glob("*.ipynb"))
        self.assertGreaterEqual(len(notebooks), 5)
        lab = pathlib.Path(os.environ["TESSERA_LIBRARY"]).parent / "bench/lab/capsule/lab_machine"
        for path in notebooks:
            with self.subTest(path.name):
                if path.stem == "fusion_lab" and not lab.exists():
                    self.skipTest("the build has no emulated GPU")
                notebook = json.loads(path.read_text(encoding="utf-8"))
                stored = [words(cell) for cell in notebook["cells"]]
                self.assertTrue(any(stored), "it has its output")
                now = [words(cell) for cell in outputs.run(notebook)["cells"]]
                self.assertEqual(stored, now, "run examples/python/outputs.py: it stores what cells show today")


    def test_the_pages_of_the_gallery_are_those_of_today(self):
        sys.path.insert(0, str(ROOT / "packaging/site"))
        import gallery

        pages = gallery.pages(os.environ["TESSERA_LIBRARY"])
        self.assertGreaterEqual(len(pages), 5)
        for name, text in pages.items():
            stored = (ROOT / f"docs/start/gallery/{name}.html").read_text(encoding="utf-8")
            self.assertTrue(stored == text, f"{name}.html: run packaging/site/gallery.py --pages")


def words(cell):
    """The first line of each output, without numbers: they may differ between processors."""
    texts = (output.get("text", output.get("data", {}).get("text/plain")) for output in cell.get("outputs", []))
    return [re.findall(r"[^\W\d]{2,}", text[0]) for text in texts]


if __name__ == "__main__":
    unittest.main()
