#!/usr/bin/env python3
"""Judges `tessera sample --impute` on real rows that were not modelled: a share of their cells is removed and drawn again.

    given.py TESSERA MODEL TEST [--rows 1000] [--share 0.3] [--draws 19] [--seed 0]

Ranks: where the true value of a removed cell stands among the drawn ones; even if the draws have its law. The figure of a column of numbers is the
Kolmogorov–Smirnov distance of these ranks from the uniform law, beside the distance that 95 % of columns with exact draws stay below.
Levels: of the cells that a level is drawn in with a probability of about p, the share that has it; the figure is the mean distance (ECE).
Trees: the area under the curve of boosted trees that tell completed rows from the true ones, a row and its twin in the same fold (.5: not at all); beside it
the area where removed cells are filled with those of random other rows.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd


def complete(tessera, model, partial, seed, folder):
    out = os.path.join(folder, f"full{seed}.csv")
    run = subprocess.run([tessera, "sample", model, "--impute", partial, "--output", out, "--seed", str(seed), "--json", "--force"],
                         capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return pd.read_csv(out, skipinitialspace=True), json.loads(run.stdout)


def rank_distance(true, drawn, removed, rng):
    """KS distance of randomised ranks from the uniform law, and the bound of 95 %."""
    below = (drawn < true).sum(axis=0)
    equal = (drawn == true).sum(axis=0)
    u = (below + rng.random(len(true)) * (equal + 1)) / (len(drawn) + 1)
    u = np.sort(u[removed])
    n = len(u)
    steps = np.arange(n + 1) / n
    return max(np.abs(u - steps[1:]).max(), np.abs(u - steps[:-1]).max()), 1.36 / np.sqrt(n)


def level_distance(true, drawn, removed):
    pairs = []
    for level in np.unique(true):
        p = (drawn[:, removed] == level).mean(axis=0)
        pairs.append(np.stack([p, true[removed] == level], axis=1))
    pairs = np.concatenate(pairs)
    bins = np.minimum((pairs[:, 0] * 10).astype(int), 9)
    return sum(abs(pairs[bins == b, 0].mean() - pairs[bins == b, 1].mean()) * (bins == b).sum() for b in np.unique(bins)) / len(pairs)


def trees(true, filled, seed):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold, cross_val_predict

    both = pd.concat([true, filled], ignore_index=True)
    x = pd.DataFrame({c: both[c] if pd.api.types.is_numeric_dtype(both[c]) else both[c].astype(str).astype("category").cat.codes for c in both})
    y = np.repeat([0, 1], len(true))
    groups = np.tile(np.arange(len(true)), 2)
    p = cross_val_predict(HistGradientBoostingClassifier(random_state=seed), x, y, groups=groups, cv=GroupKFold(5), method="predict_proba")[:, 1]
    return roc_auc_score(y, p)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tessera")
    parser.add_argument("model")
    parser.add_argument("test")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--draws", type=int, default=19)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    rng = np.random.default_rng(a.seed)
    true = pd.read_csv(a.test, skipinitialspace=True).sample(frac=1, random_state=a.seed).head(a.rows).reset_index(drop=True)
    removed = rng.random(true.shape) < a.share
    with tempfile.TemporaryDirectory() as folder:
        partial = os.path.join(folder, "partial.csv")
        given = true.astype(object).mask(removed)
        given.to_csv(partial, index=False)
        begun = time.process_time()
        drawn, reports = zip(*(complete(a.tessera, a.model, partial, a.seed + k, folder) for k in range(a.draws)))
    numbers, levels = {}, {}
    for j, c in enumerate(true):
        column = np.stack([d[c].to_numpy() for d in drawn])
        if pd.api.types.is_numeric_dtype(true[c]) and true[c].nunique() > 20:
            numbers[c] = rank_distance(true[c].to_numpy(), column, removed[:, j], rng)
        else:
            levels[c] = level_distance(true[c].astype(str).to_numpy(), column.astype(str), removed[:, j])
    shuffled = true.copy()
    for j, c in enumerate(true):
        at = np.flatnonzero(removed[:, j])
        shuffled.loc[at, c] = true[c].to_numpy()[rng.integers(0, len(true), len(at))]
    print(json.dumps({
        "rows": len(true), "share": a.share, "draws": a.draws,
        "effective": float(np.mean([r["effective"] for r in reports])), "candidates_a_row": float(np.mean([r["candidates"] / r["rows"] for r in reports])),
        "few": float(np.mean([r["few"] / r["rows"] for r in reports])), "seconds": float(np.mean([r["seconds"] for r in reports])),
        "numbers": {c: {"ks": round(float(d), 4), "bound": round(float(b), 4)} for c, (d, b) in numbers.items()},
        "levels": {c: round(float(e), 4) for c, e in levels.items()},
        "trees": round(float(trees(true, drawn[0][true.columns], a.seed)), 4), "trees_shuffled": round(float(trees(true, shuffled, a.seed)), 4),
        "python_seconds": time.process_time() - begun,
    }, indent=1))


if __name__ == "__main__":
    main()
