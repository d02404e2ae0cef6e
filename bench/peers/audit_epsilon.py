#!/usr/bin/env python3
"""The epsilon that canaries prove of `tessera fit --epsilon`, by whole fits (Steinke, Nasr, Jagielski 2023, arXiv 2305.08846).

    audit_epsilon.py [--tessera build/release/tessera] [--epsilons 1,3,8] [--ways counts,gradients] [--fits 20]

A table of people with known law gets canaries, rows of random rare values, each with probability one half. For each fit
the attacker scores every canary by its likelihood under the model, less its mean over the other fits, guesses "in" for
the highest scores and "out" for the lowest, and is right as often as epsilon allows. Printed: the epsilon below which
so many right guesses have a probability of at most 5 %; it must not exceed the claimed one. delta adds to that
probability as in theorem 5.2, here bounded by 2·guesses·delta·fits.
"""

import argparse
import csv
import json
import math
import os
import random
import subprocess
import tempfile

ROWS, CANARIES = 600, 40
TOWNS, WORK = [f"town {k}" for k in range(12)], [f"work {k}" for k in range(8)]


def people(rng):
    rows = []
    for _ in range(ROWS):
        town = min(int(rng.expovariate(1.2)), 3)  # of twelve towns, the last eight are empty
        rows.append([TOWNS[town], WORK[(town + rng.randrange(2)) % 4], 20 + 10 * town + rng.randrange(10)])
    return rows


def canary(rng):
    return [TOWNS[4 + rng.randrange(8)], WORK[4 + rng.randrange(4)], 90 + rng.randrange(10)]


def scores_of(model, tessera, canaries, work):
    path, out = os.path.join(work, "canaries.csv"), os.path.join(work, "scores.csv")
    write(path, canaries)
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([tessera, "score", path, "--model", model, "--quiet", "--output", out], capture_output=True, check=True)
    with open(out, encoding="utf-8") as file:
        return [float(row["log_probability"]) for row in csv.DictReader(file)]


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["town", "work", "age"], *rows])


def tail(guesses, right, p):
    """P(Binomial(guesses, p) >= right)."""
    logs = [math.lgamma(guesses + 1) - math.lgamma(k + 1) - math.lgamma(guesses - k + 1) + k * math.log(p) + (guesses - k) * math.log1p(-p)
            for k in range(right, guesses + 1)]
    return min(1.0, sum(math.exp(x) for x in logs))


def proven(guesses, right, slack):
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        (low, high) = (middle, high) if tail(guesses, right, 1 / (1 + math.exp(-middle))) + slack <= 0.05 else (low, middle)
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tessera", default="build/release/tessera")
    parser.add_argument("--epsilons", default="1,3,8")
    parser.add_argument("--ways", default="counts,gradients")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--fit", default="--epochs 8 --hidden-dim 32 --layers 1", help="options that make a fit short")
    options = parser.parse_args()
    work = tempfile.mkdtemp()
    rules, table, model = (os.path.join(work, name) for name in ("schema.json", "rows.csv", "m.tessera"))
    with open(rules, "w", encoding="utf-8") as file:
        json.dump({"columns": [{"name": "town", "type": "category", "values": TOWNS}, {"name": "work", "type": "category", "values": WORK},
                               {"name": "age", "type": "integer", "min": 20, "max": 99}]}, file)
    for way in options.ways.split(","):
        for epsilon in options.epsilons.split(","):
            rng = random.Random(5)
            canaries = [canary(rng) for _ in range(CANARIES)]
            taken, scores = [], []
            for fit in range(options.fits):
                inside = [rng.random() < 0.5 for _ in canaries]
                rows = people(rng) + [c for c, i in zip(canaries, inside) if i]
                rng.shuffle(rows)
                write(table, rows)
                if os.path.exists(model):
                    os.remove(model)
                subprocess.run([options.tessera, "fit", table, "--schema", rules, "--epsilon", epsilon, "--privacy", way, "--seed", str(fit), "--threads", "1",
                                "--quiet", "--model", model, *options.fit.split()], check=True)
                taken.append(inside)
                scores.append(scores_of(model, options.tessera, canaries, work))
            best = (0.0, 0, 0)
            for share in (0.1, 0.25, 0.5):  # of the canaries that are guessed in, and of those guessed out
                right = guesses = 0
                for k, (inside, score) in enumerate(zip(taken, scores)):
                    relative = [s - sum(other[j] for m, other in enumerate(scores) if m != k) / (len(scores) - 1) for j, s in enumerate(score)]
                    order = sorted(range(CANARIES), key=lambda j: relative[j])
                    n = int(share * CANARIES)
                    right += sum(not inside[j] for j in order[:n]) + sum(inside[j] for j in order[-n:])
                    guesses += 2 * n
                # three shares are tried: each bound holds with a third of the error
                best = max(best, (proven(guesses, right, 0.05 * 2 / 3 + 2 * guesses * 1e-5), guesses, right))
            print(f"{way} epsilon {epsilon}: proven {best[0]:.3f} ({best[2]} of {best[1]} guesses right, {options.fits} fits)", flush=True)


if __name__ == "__main__":
    main()
