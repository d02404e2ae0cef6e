#!/usr/bin/env python3
"""What trees and correlations see of sequences: drawn ones against real ones that were not learned.

  sequence_pairs.py patients|batting|meters DIR    writes DIR/train.csv and test.csv of whole keys (meters: halves)
  sequence_pairs.py TRAIN TEST DRAWN --key patient [--index date] [--length 24]

Trees: scikit-learn's, three folds, on pairs of a row and the one before, one random pair of each key (window), as many
real as drawn; the floor is TEST against TRAIN. Correlations: of columns with columns that do not vary within a key, with
those of the same row, and from step to step, of real pairs (TEST) and drawn ones. Texts are one-hot; the index is its
difference. `batting` reads the Lahman database (Batting.csv, People.csv) at $LAHMAN. Needs numpy and scikit-learn."""
import argparse
import csv
import os
import pathlib

import numpy as np


def patients(n, rng):
    yield "patient,date,sex,born,smoker_before,weight,pressure,glucose,smoker,insulin,drug".split(",")
    for k in range(n):
        male, born = rng.random() < 0.5, int(rng.integers(1930, 2000))
        smoked = rng.random() < 0.4
        weight = 70 + 14 * male + rng.normal(0, 8)
        pressure = 120 + 0.6 * (1990 - born) + rng.normal(0, 5)
        smoker, drug = smoked and rng.random() < 0.8, rng.choice(["none", "A", "B", "C"], p=[0.4, 0.3, 0.2, 0.1])
        glucose = 90 + 0.8 * (weight - 77) + rng.normal(0, 6)
        day = np.datetime64("2019-01-01") + int(rng.integers(0, 700))
        for _ in range(int(rng.integers(2, 10))):
            seen = "" if rng.random() < 0.2 else round(glucose, 1)
            yield [f"P{k:05d}", day, "MF"[not male], born, "yn"[not smoked], round(weight, 1), round(pressure), seen,
                   "yn"[not smoker], "yn"[bool(glucose < 95)], drug]
            day += int(rng.choice([7, 14, 28, 30, 90]))
            weight += rng.normal(0, 0.5)
            pressure += rng.normal(0, 2)
            glucose = 0.85 * glucose + 0.15 * (90 + 0.8 * (weight - 77)) + rng.normal(0, 3)
            smoker = smoker if rng.random() < 0.97 else not smoker
            drug = drug if rng.random() < 0.92 else rng.choice(["none", "A", "B", "C"])


def batting(n, rng):
    home = pathlib.Path(os.environ["LAHMAN"])
    people = {p["playerID"]: p for p in csv.DictReader(open(home / "People.csv", encoding="utf-8"))}
    names = "G AB R H 2B 3B HR RBI SB BB SO".split()
    years = {}
    for row in csv.DictReader(open(home / "Batting.csv", encoding="utf-8")):
        p = people.get(row["playerID"])
        if not p or not (p["birthYear"] and p["weight"] and p["bats"]) or int(p["birthYear"]) < 1930:
            continue
        year = years.setdefault(row["playerID"], {}).setdefault(int(row["yearID"]), [0] * len(names))
        for i, name in enumerate(names):
            year[i] += int(row[name] or 0)
    keys = sorted(k for k, y in years.items() if len(y) > 1)
    yield ["player", "year", "born", "weight", "bats", *names]
    for k in rng.permutation(keys)[:n]:
        for year, values in sorted(years[k].items()):
            yield [k, year, people[k]["birthYear"], people[k]["weight"], people[k]["bats"], *values]


def meters(n, rng):
    yield ["hour", "day", *(f"load_{k}" for k in range(4))]
    hour = np.arange(n)
    quiet = np.repeat(rng.random(n // 24 + 1) < 0.08, 24)[:n]
    columns = []
    for k in range(4):
        daily = 5 + 2 * np.sin(2 * np.pi * (hour % 24) / 24 + k) + (hour // 24 % 7 < 5) * (1 + k / 4)
        noise = np.zeros(n)
        for t in range(1, n):
            noise[t] = 0.8 * noise[t - 1] + 0.3 * rng.normal()
        columns.append(np.round(np.where(quiet, 0.5, 1) * daily + noise, 2))
    yield from np.column_stack([hour % 24, hour // 24 % 7, *columns]).tolist()


def write(kind, home):
    rng = np.random.default_rng(5)
    rows = list({"patients": lambda: patients(4000, rng), "batting": lambda: batting(5000, rng),
                 "meters": lambda: meters(8736, rng)}[kind]())
    head, rows = rows[0], rows[1:]
    keys = list(dict.fromkeys(row[0] for row in rows))
    learned = set(keys[: len(keys) // 2])
    home.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", True), ("test", False)):
        with open(home / f"{name}.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerow(head)
            csv.writer(f).writerows(r for i, r in enumerate(rows)
                                    if (i < len(rows) // 2 if kind == "meters" else r[0] in learned) == part)


def number(x):
    try:
        return float(x)
    except ValueError:
        try:
            return float(np.datetime64(x).astype("datetime64[D]").astype(int)) if len(x) > 7 else np.nan
        except ValueError:
            return np.nan


class Steps:
    """Columns as numbers, the texts one-hot by the levels of the first table; the rows that have one before."""

    def __init__(self, path, key, index, length, like=None):
        rows = list(csv.reader(open(path, encoding="utf-8")))
        head, rows = rows[0], rows[1:]
        own = key if key in head else "sequence" if "sequence" in head else None
        keys = [r[head.index(own)] for r in rows] if own else list(range(len(rows)))
        self.names = like.names if like else [h for h in head if h not in (own, "step")]
        cells = {h: [r[head.index(h)] for r in rows] for h in self.names}
        self.levels = like.levels if like else {}
        columns, self.labels = [], []
        for h, x in cells.items():
            values = np.array([number(c) for c in x])
            if like is None and np.isnan(values[[c != "" for c in x]]).any():
                self.levels[h] = sorted(set(x))[:8]
            for level in self.levels.get(h, [None]):
                columns.append(values if level is None else np.array([float(c == level) for c in x]))
                self.labels.append(h if level is None else f"{h}={level}")
        x = np.column_stack(columns)
        at = np.arange(1, len(rows))
        if own:
            at = at[[keys[i] == keys[i - 1] for i in at]]
            self.key = np.unique(keys, return_inverse=True)[1][at]
        else:
            self.key = at // length
        self.now, self.before = x[at], x[at - 1]
        if index:
            i = self.labels.index(index)
            self.now[:, i] -= self.before[:, i]
            self.before[:, i] = 0
        self.pairs = np.hstack([self.now, self.before])

    def one_of_each(self, rng):
        shuffled = rng.permutation(len(self.key))
        picked = shuffled[np.unique(self.key[shuffled], return_index=True)[1]]
        return self.pairs[picked]


def trees(a, b, rng):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score
    n = min(len(a), len(b), 10000)
    x = np.vstack([rng.permutation(a)[:n], rng.permutation(b)[:n]])
    order = rng.permutation(2 * n)
    y = np.r_[np.zeros(n), np.ones(n)]
    return cross_val_score(HistGradientBoostingClassifier(max_iter=100, random_state=0), x[order], y[order], cv=3,
                           scoring="roc_auc").mean()


def correlation(a, b):
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    return np.corrcoef(a, b)[0, 1] if len(a) > 9 and a.std() > 0 and b.std() > 0 else np.nan


def compare(real, drawn, other):
    fixed = [j for j in range(real.now.shape[1]) if np.array_equal(real.now[:, j], real.before[:, j], equal_nan=True)]
    free = [j for j in range(real.now.shape[1]) if j not in fixed]
    groups = {"with attributes": [(i, j, False) for i in free for j in fixed],
              "within a step": [(i, j, False) for i in free for j in free if j < i],
              "step to step": [(i, i, True) for i in free]}
    for name, pairs in groups.items():
        def of(steps, i, j, lagged):
            return correlation(steps.now[:, i], (steps.before if lagged else steps.now)[:, j])
        table = [(of(real, *p), of(drawn, *p), of(other, *p), p) for p in pairs]
        table = [t for t in table if not np.isnan(t[:3]).any()]
        if not table:
            continue
        errors, floor = (np.array([abs(t[k] - t[0]) for t in table]) for k in (1, 2))
        print(f"{name}: mean error {errors.mean():.3f} (train {floor.mean():.3f}), "
              f"worst {errors.max():.3f} ({floor.max():.3f})")
        for real_r, drawn_r, other_r, (i, j, _) in sorted(table, key=lambda t: -abs(t[1] - t[0]))[:6]:
            pair = f"{real.labels[i]} x {real.labels[j]}"
            print(f"    {pair}: test {real_r:.3f}, drawn {drawn_r:.3f}, train {other_r:.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--key", default="sequence")
    p.add_argument("--index")
    p.add_argument("--length", type=int, default=24)
    o = p.parse_args()
    if len(o.files) == 2:
        return write(o.files[0], pathlib.Path(o.files[1]))
    rng = np.random.default_rng(1)
    train = Steps(o.files[0], o.key, o.index, o.length)
    test, drawn = (Steps(f, o.key, o.index, o.length, train) for f in o.files[1:])
    for name, a, b in (("drawn against test", test, drawn), ("drawn against train", train, drawn),
                       ("test against train", test, train)):
        print(f"trees on (row, row before), {name}: {trees(a.one_of_each(rng), b.one_of_each(rng), rng):.3f}")
    compare(test, drawn, train)


if __name__ == "__main__":
    main()
