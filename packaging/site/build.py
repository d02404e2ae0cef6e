"""Builds the documentation as a site: a folder that opens from disk, with search.

    build.py <libtessera.so> <output folder>

What it needs is in requirements.txt. Every warning is an error: a link that leads nowhere, a page that no list names.
Exit code 77: Sphinx is missing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import gallery

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("docs", "kernels", "base", "engine", "tables", "models", "bench", "examples", "tests", "tools")

INDEX = """# Tessera

```{{include}} README.md
:start-after: "# Tessera"
```

{lists}
"""
LIST = """```{{toctree}}
:caption: {caption}
:hidden:

{pages}
```
"""
PYTHON = """# Python

Parameters, errors and examples of the package; [From Python](../docs/use/python.md) is the way in.

```{eval-rst}
.. automodule:: tessera
   :members:
   :imported-members:
   :exclude-members: TesseraError

.. autoexception:: tessera.TesseraError
```
"""


def pages(stage):
    """The pages of each part of the site, as the toctrees list them."""

    def under(folder):
        return sorted(str(p.relative_to(stage).with_suffix("")) for p in (stage / folder).glob("*.md"))

    readmes = sorted(str(p.relative_to(stage).with_suffix("")) for p in stage.glob("*/**/README.md"))
    code = [page for page in readmes if not page.startswith(("docs/", "bench/results"))]
    start = under("docs/start")
    return {
        "Begin": ["README", "docs/README", *start],
        "Use": under("docs/use"),
        "Data": under("docs/data"),
        "Methods": under("docs/methods"),
        "Quality": under("docs/quality"),
        "Engine": ["docs/architecture", *under("docs/engine")],
        "Reference": under("reference"),
        "Measured": under("bench/results"),
        "The source": [*code, "tests/errors", "CONTRIBUTING", "CHANGELOG"],
    }


def stage_pages(stage):
    """Every page of the repository, with the files that pages link to."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for folder in FOLDERS:
        found += sorted((ROOT / folder).rglob("*.md"))
    for page in found:
        text = page.read_text(encoding="utf-8")
        target = stage / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        listed = page.parent.name != "experiments"  # those are reached from their index, bench/lab/README.md
        target.write_text(("" if listed else "---\norphan: true\n---\n\n") + to_pages(page, text), encoding="utf-8")
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            file = (page.parent / link).resolve()
            if not link.startswith("http") and file.is_file() and file.suffix != ".md" and ROOT in file.parents:
                copy = stage / file.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)


def make_gallery(stage, library):
    """The report pages of the gallery, by the program that builds the site."""
    for name, text in gallery.pages(library).items():
        (stage / "docs/start/gallery" / f"{name}.html").write_text(text, encoding="utf-8")


def to_pages(page, text):
    """The text with links to folders as links to their pages."""

    def page_of(link):
        folder = page.parent / link[2]
        return f"{link[1]}{link[2].rstrip('/')}/README.md)" if (folder / "README.md").is_file() else link[0]

    return re.sub(r"(\]\()([^)#\s:]+)\)", page_of, text)


def c_reference():
    line = ["bash", ROOT / "packaging/reference.sh", ROOT / "include/tessera/tessera.h"]
    made = subprocess.run(line, check=True, capture_output=True, text=True)
    return re.sub(r"^# .*", "# C", made.stdout, count=1, flags=re.M)


def cpp_reference(header):
    """The classes and functions of a header, with the comments above them; bodies of functions are left out."""
    lines = re.sub(r"namespace detail \{.*?\n\}  // namespace detail\n", "", header, flags=re.S).splitlines()
    entries, comment, at = [], [], 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        named = re.match(r"(?:class|struct) (\w+)[^;]*$", line) or re.match(r"inline [^=]*?(\w+)\(", line)
        if named:
            code = [line]
            one_line = line.endswith("}")
            while at < len(lines) and not one_line and not lines[at - 1].startswith("}"):
                code.append(lines[at])
                at += 1
            entries.append(f"## `{named[1]}`\n\n{' '.join(comment)}\n\n```cpp\n{declaration(code)}\n```\n")
        comment = []
    return (
        "# C++\n\n`tessera.hpp`: owning handles over [the C interface](c.md), statuses as exceptions.\n\n"
        + "\n".join(entries)
    )


def declaration(code):
    """What a caller sees of a class or function."""
    if not code[0].startswith(("class", "struct")):
        return "\n".join(code).split(" {\n")[0].split(" { ")[0] + ";"
    seen, in_body = [code[0]], False
    for line in code[1:-1]:
        if line.startswith(" private:"):
            break
        if in_body:
            in_body = line.rstrip(";") != "  }"
            continue
        in_body = line.endswith("{")
        if line.lstrip().startswith(": "):  # initialisers of the constructor above
            seen[-1] += ";"
        else:
            seen.append(re.sub(r"( : \w+\(.*)?(?<!=) \{.*$", ";", line))
    return "\n".join([*seen, "};"])


def main():
    try:
        import furo  # noqa: F401
        import myst_parser  # noqa: F401
        import sphinx  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}. pip install -r packaging/site/requirements.txt")
        return 77
    library, out = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        stage = pathlib.Path(temporary)
        stage_pages(stage)
        make_gallery(stage, library)
        (stage / "reference").mkdir()
        (stage / "reference/c.md").write_text(c_reference(), encoding="utf-8")
        header = (ROOT / "include/tessera/tessera.hpp").read_text(encoding="utf-8")
        (stage / "reference/cpp.md").write_text(cpp_reference(header), encoding="utf-8")
        (stage / "reference/python.md").write_text(PYTHON, encoding="utf-8")
        parts = pages(stage)
        lists = [LIST.format(caption=caption, pages="\n".join(names)) for caption, names in parts.items() if names]
        (stage / "index.md").write_text(INDEX.format(lists="\n".join(lists)), encoding="utf-8")
        environment = {**os.environ, "TESSERA_LIBRARY": library, "TESSERA_SITE_PYTHON": str(ROOT / "python")}
        line = [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-c",
            pathlib.Path(__file__).parent,
            stage,
            out,
        ]
        return subprocess.run(line, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
