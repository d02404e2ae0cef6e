"""Writes the gallery: what came in, what came out, and the page of each table.

    gallery.py <program> <work folder> <table:target>...
    gallery.py --pages <libtessera.so>

The work folder holds TABLE.csv and TABLE_test.csv of each; what is there already is not made again. Everything is made
with the defaults of the program. The page goes to docs/start/gallery.md, and beside it the figures of each table, of
which --pages makes the report pages again. tests/python/test_docs.py compares those in the repository with what the
library makes of the figures today.
"""

import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/start"
SHOWN_ROWS, SHOWN_COLUMNS = 3, 7
HEAD = """# Gallery

Real tables, each fitted, sampled and evaluated with the defaults (`tessera fit`, `sample`, `evaluate --report`).
*Detection* is the AUC of boosted trees that distinguish synthetic from real rows, beside that of real rows against real
rows; 0.5 is chance. *Utility* is the AUC or R² of a model trained on the synthetic rows and tested on unseen real ones,
beside that of a model trained on the real rows. [metrics.md](../quality/metrics.md) defines each figure;
`packaging/site/gallery.py` makes this page. The report pages are self-contained: save one and open it in a browser.
"""


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        return next(reader), [row for row, _ in zip(reader, range(SHOWN_ROWS))]


def as_table(path):
    names, rows = rows_of(path)
    lines = [names[:SHOWN_COLUMNS], ["---"] * min(len(names), SHOWN_COLUMNS), *(row[:SHOWN_COLUMNS] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def make(program, folder, name, target):
    def run(*words):
        line = [program, *words, "--quiet"]
        return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout

    if not (folder / f"{name}.tessera").exists():
        run("fit", f"{name}.csv", "--model", f"{name}.tessera")
    if not (folder / f"{name}_synthetic.csv").exists():
        with open(folder / f"{name}.csv", encoding="utf-8") as file:
            rows = sum(1 for _ in file) - 1
        run("sample", f"{name}.tessera", "--rows", str(rows), "--output", f"{name}_synthetic.csv")
    if not (folder / f"{name}.json").exists():
        tables = (f"{name}.csv", f"{name}_synthetic.csv", "--holdout", f"{name}_test.csv")
        page = ("--report", f"{name}.html", "--force", "--model", f"{name}.tessera", "--json")
        found = json.loads(run("evaluate", *tables, *(("--target", target) if target else ()), *page))
        found["about"] = {"real": f"{name}.csv", "synthetic": f"{name}_synthetic.csv", "holdout": f"{name}_test.csv"}
        found["model"] = json.loads(run("inspect", f"{name}.tessera", "--json"))
        (folder / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def entry(folder, name, report):
    scores, trees, utility = report["scores"], report["c2st"]["trees"], report["utility"]
    measure, word = ("auc", "AUC") if utility["kind"] == "classes" else ("r2", "R²")
    told = f"{trees['auc']:.3f} ({trees['floor_auc']:.3f})"
    useful = f"{utility['synthetic'][measure]:.3f} ({utility['real'][measure]:.3f})"
    alike = f"{scores['column_shapes']:.1%} | {scores['pair_trends_real_edges']:.1%}"
    return f"""
## {name.capitalize()}

{report["rows"]["real"]:,} rows, {len(report["columns"])} columns compared.

| column shapes | pair trends | detection (real rows) | utility, {word} (real rows) | copies |
|---|---|---|---|---|
| {alike} | {told} | {useful} | {report["exact_copies"]["share"]:.2%} |

In:

{as_table(folder / f"{name}.csv")}

Out:

{as_table(folder / f"{name}_synthetic.csv")}

[The page of {name.capitalize()}](gallery/{name}.html) · [its figures](gallery/{name}.json.gz)
"""


def pages(library):
    """The report pages of the figures in the repository, as texts by their names."""
    os.environ["TESSERA_LIBRARY"] = os.path.abspath(library)
    sys.path.insert(0, str(OUT.parent.parent / "python"))
    from tessera._page import page

    files = sorted((OUT / "gallery").glob("*.json.gz"))
    figures = {file.name.split(".")[0]: json.loads(gzip.decompress(file.read_bytes())) for file in files}
    return {name: page(found, None, False) for name, found in figures.items()}


def main():
    if sys.argv[1] == "--pages":
        for name, text in pages(sys.argv[2]).items():
            (OUT / "gallery" / f"{name}.html").write_text(text, encoding="utf-8")
        return
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    (OUT / "gallery").mkdir(exist_ok=True)
    text = HEAD
    for word in sys.argv[3:]:
        name, _, target = word.partition(":")
        report = make(program, folder, name, target)
        text += entry(folder, name, report)
        figures = json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode()
        (OUT / "gallery" / f"{name}.json.gz").write_bytes(gzip.compress(figures, mtime=0))
    (OUT / "gallery.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
