"""The site of the documentation: built strictly, searchable from disk; the references name every function.

    site.py <libtessera.so>

Exit code 77: what builds it is missing (packaging/site/requirements.txt).
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADED = re.compile(r'<(script|img|link)[^>]+(src|href)="(https?:)?//')


def functions():
    headers = sorted((ROOT / "include/tessera").glob("tessera*.h"))
    text = "".join(header.read_text(encoding="utf-8") for header in headers)
    return set(re.findall(r"TESSERA_API[^;(]*?(tessera_\w+)\(", text))


def exported():
    package = (ROOT / "python/tessera/__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^    "(\w+)",$', package, re.M)


def expect_names(page, names):
    text = page.read_text(encoding="utf-8")
    missing = [name for name in names if name not in text]
    assert names and not missing, f"{page.name} does not have {missing}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        built = subprocess.run([sys.executable, ROOT / "packaging/site/build.py", sys.argv[1], folder])
        if built.returncode != 0:
            return built.returncode
        site = pathlib.Path(folder)
        assert "Search.setIndex" in (site / "searchindex.js").read_text(encoding="utf-8")[:200]
        for page in site.rglob("*.html"):
            if "_downloads" not in page.parts:
                assert not LOADED.search(page.read_text(encoding="utf-8")), f"{page} loads something"
        expect_names(site / "reference/c.html", functions())
        expect_names(site / "reference/python.html", [f'id="tessera.{name}"' for name in exported()])
        expect_names(site / "reference/cpp.html", ["read_table", "Model", "evaluate_tables"])
        reports = list((site / "_downloads").rglob("*.html"))
        assert len(reports) == len(list((ROOT / "docs/start/gallery").glob("*.html"))) >= 5, reports
        for report in reports:
            assert "How good are these synthetic rows?" in report.read_text(encoding="utf-8"), report
        for page in ("docs/start/tutorial.html", "docs/start/gallery.html", "search.html"):
            assert (site / page).is_file(), page
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
