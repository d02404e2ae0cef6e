#!/usr/bin/env python3
"""Runs the notebooks beside it and stores what they show today.

    TESSERA_LIBRARY=build/release/libtessera.so PYTHONPATH=python python examples/python/outputs.py [notebook.ipynb]...

It needs pandas and pyarrow, and no Jupyter. tests/python/test_docs.py compares the words of what is stored with what the
cells show.
"""

import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def shown(value, number):
    """A value as a notebook stores it."""
    data = {}
    if hasattr(value, "_repr_svg_"):
        data["image/svg+xml"] = value._repr_svg_().splitlines(keepends=True)
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    data["text/plain"] = repr(value).splitlines(keepends=True)
    return {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


def run_cell(source, names, number):
    """The outputs of a cell: what it prints, and the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        outputs.append(shown(value, number))
    return outputs


def run(notebook):
    """A notebook with the outputs that its cells have now."""
    names, number, before = {"__name__": "__main__"}, 0, os.getcwd()
    if "TESSERA_LIBRARY" in os.environ:  # programs of the same build
        build = str(pathlib.Path(os.environ["TESSERA_LIBRARY"]).resolve().parent)
        os.environ.update(PATH=build + os.pathsep + os.environ["PATH"], TESSERA_BUILD=build)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    cell["outputs"] = run_cell("".join(cell["source"]), names, number)
                    cell["execution_count"] = number
        finally:
            os.chdir(before)
    return notebook


def main():
    for path in map(pathlib.Path, sys.argv[1:] or sorted(HERE.glob("*.ipynb"))):
        notebook = run(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
