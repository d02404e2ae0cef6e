#!/usr/bin/env python3
"""Small tables: `made` beside a Gaussian copula and independent columns on draws of n rows, judged by rows that none of them saw. One line of a markdown table per cell and method, JSON lines to --output.

    small.py TESSERA --table adult=ALL.csv:income --rows 100 300 1000 [--draws 3] [--methods made copula independent protected real] [--fit "--epochs 5"] [--output FILE]

What each figure means: README.md beside this file.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile

UNSEEN, MADE, REFERENCE = 2000, 2000, 2000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tessera", help="the program")
    parser.add_argument("--table", nargs="+", required=True, help="NAME=FILE[+FILE...]:TARGET, all real rows")
    parser.add_argument("--rows", nargs="+", type=int, default=[100, 300, 1000])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["made", "copula", "independent", "real"],
                        help="protected: the copula of a table without texts of fewer than five rows; real: other real rows")
    parser.add_argument("--fit", default="", help="further options of `fit`")
    parser.add_argument("--audit", action="store_true", help="also the area of the model file's own likelihood, by `tessera audit`")
    parser.add_argument("--first-draw", type=int, default=0)
    parser.add_argument("--output", help="JSON lines are added to this file")
    return parser.parse_args()


def normal_copula(real, numeric, count, dependent, rng):
    """Rows with the table's own values in each column, and the correlations of its normal scores; categories by frequency, ties in random order."""
    import numpy as np
    import pandas as pd
    from scipy.stats import norm

    rows = len(real)
    scores, ordered = [], {}
    for name in real:
        column = real[name]
        if name in numeric:
            key = column.to_numpy(float)
        else:
            key = column.map(column.value_counts(dropna=False)).to_numpy(float) + column.astype(str).map(lambda text: hash(text) % 997 / 1e6).to_numpy(float)
        order = np.lexsort((rng.random(rows), np.nan_to_num(key, nan=np.inf)))
        ordered[name] = column.to_numpy()[order]
        ranks = np.empty(rows)
        ranks[order] = (np.arange(rows) + 0.5) / rows
        scores.append(norm.ppf(ranks))
    matrix = np.corrcoef(scores) if dependent else np.eye(len(scores))
    values, vectors = np.linalg.eigh(matrix)
    drawn = rng.standard_normal((count, len(scores))) * np.sqrt(np.clip(values, 0, None)) @ vectors.T
    uniform = norm.cdf(drawn)
    return pd.DataFrame({name: ordered[name][np.minimum((uniform[:, j] * rows).astype(int), rows - 1)] for j, name in enumerate(real)})


def protected(real, text, rng, least=5):
    """The table with each text of fewer than `least` rows replaced by one of the others, by frequency."""
    out = real.copy()
    for name in text:
        rows = real[name].value_counts()
        kept = rows[rows >= least]
        if len(kept) and len(kept) < len(rows):
            rare = real[name].notna() & ~real[name].isin(kept.index)
            out.loc[rare, name] = rng.choice(kept.index.to_numpy(object), int(rare.sum()), p=(kept / kept.sum()).to_numpy())
    return out


class Cell:
    """A draw of n rows; members, unseen (judges), reference (an attacker's): of equal kinds; the attributes of tables.Tables."""

    def __init__(self, pool, numeric, text, rows, draw):
        shuffled = pool.sample(frac=1, random_state=1000 + draw).reset_index(drop=True)
        self.numeric, self.text, self.columns = numeric, text, list(pool.columns)
        self.train = shuffled[:rows]
        rest = shuffled[rows:]
        held = min(UNSEEN, len(rest))
        self.test = rest[:held].reset_index(drop=True)
        self.synthetic = self.test


def attack(cell, synthetic):
    """Area with which the distance to the nearest synthetic row, and that over the distance to the nearest other real row, tell members from unseen rows: the larger one."""
    import nearness
    import numpy as np
    from sklearn.metrics import roc_auc_score

    half = len(cell.test) // 2
    out, known = cell.test[:half], nearness.Rows(cell, cell.test[half:])
    made, label = nearness.Rows(cell, synthetic), np.repeat([1, 0], [len(cell.train), half])
    rows = [nearness.Rows(cell, frame) for frame in (cell.train, out)]
    near = np.concatenate([nearness.nearest(r, made) for r in rows])
    usual = np.concatenate([nearness.nearest(r, known) for r in rows])
    return float(roc_auc_score(label, -near)), float(roc_auc_score(label, np.log((usual + 1e-6) / (near + 1e-6))))


def fit_made(options, cell, folder, draw, plain):
    """Rows of `made`; seconds of the fit's processor time, and the area of the file's own likelihood."""
    import pandas as pd
    import tables as reader

    members, model, rows, unseen = (os.path.join(folder, name) for name in ("members.csv", "m.tessera", "rows.csv", "unseen.csv"))
    plain.loc[cell.train_at].to_csv(members, index=False)
    plain.loc[cell.test_at].to_csv(unseen, index=False)

    def run(*words):
        done = subprocess.run([options.tessera, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{shlex.join(words)}: {done.stderr}")
        return done.stdout

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run("fit", members, "--model", model, "--seed", str(draw), "--threads", "1", *shlex.split(options.fit))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    run("sample", model, "--rows", str(MADE), "--output", rows)
    likelihood = None
    if options.audit:
        audit = json.loads(run("audit", members, "--model", model, "--holdout", unseen, "--json", "--threads", "1"))
        likelihood = next(a["value"] for a in audit["attacks"] if a["name"] == "likelihood")
    raw = reader.read_text(rows)
    frame = {}
    for name in cell.columns:
        frame[name] = pd.to_numeric(raw[name].replace("", "nan")) if name in cell.numeric else raw[name].where(raw[name] != "", None)
    return pd.DataFrame(frame), seconds, likelihood


def judge(cell, synthetic, target, draw):
    import learners
    import nearness

    result = {"trees": learners.two_sample(cell, synthetic, 1, draw, real=cell.test, linear=False)["tree_auc"]}
    used = learners.utility(cell, synthetic, target, 1, draw)
    result["utility"] = used.get("auc", used.get("r2"))
    result["dcr"] = nearness.closest_records(cell, synthetic, draw)["share"]
    result["nearest"], result["density"] = attack(cell, synthetic)
    return result


def main():
    options = arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # read when numpy is loaded, hence the imports below
        os.environ[name] = "1"
    os.environ["PYTHONHASHSEED"] = "0"
    import numpy as np
    import pandas as pd
    import tables as reader

    for given in options.table:
        name, rest = given.split("=", 1)
        files, target = rest.rsplit(":", 1)
        plain = pd.concat([reader.read_text(path) for path in files.split("+")], ignore_index=True)
        kinds = {column: reader.numbers(plain[column]) for column in plain}
        numeric = [column for column in plain if kinds[column] is not None]
        text = [column for column in plain if kinds[column] is None]
        pool = pd.DataFrame({c: kinds[c] if c in numeric else plain[c].where(plain[c] != "", None) for c in plain})
        for rows in options.rows:
            for draw in range(options.first_draw, options.first_draw + options.draws):
                order = pool.sample(frac=1, random_state=1000 + draw).index
                cell = Cell(pool, numeric, text, rows, draw)
                cell.train_at, cell.test_at = order[:rows], order[rows:rows + len(cell.test)]
                for method in options.methods:
                    rng = np.random.default_rng(7 * draw + 1)
                    extra = {}
                    if method == "made":
                        with tempfile.TemporaryDirectory() as folder:
                            synthetic, extra["seconds"], extra["likelihood"] = fit_made(options, cell, folder, draw, plain)
                    elif method == "real":  # other real rows: the floor of trees, the ceiling of utility
                        synthetic = cell.train
                    else:
                        rows_known = protected(cell.train, text, rng) if method == "protected" else cell.train
                        synthetic = normal_copula(rows_known, numeric, MADE, method != "independent", rng)
                    found = {"table": name, "rows": rows, "draw": draw, "method": method, **judge(cell, synthetic, target, draw), **extra}
                    found = {key: value for key, value in found.items() if value is not None}
                    if options.output:
                        with open(options.output, "a", encoding="utf-8") as file:
                            file.write(json.dumps(found) + "\n")
                    print("| " + " | ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in found.values()) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
