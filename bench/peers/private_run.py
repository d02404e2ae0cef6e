#!/usr/bin/env python3
"""Fits differentially private models of one table, of Tessera and of dpmm (PyPI), and judges their rows: one line per run.

    private_run.py TRAIN.csv TEST.csv --target income [--tessera build/release/tessera] [--epsilons 1,3,8] [--seeds 2]
        [--ways counts,gradients,both,mst,aim] [--categories a,b] [--delta 1e-5] [--keep DIRECTORY]

All know the same of the table: its schema file (private_schema.py). dpmm's own binning gets a tenth of epsilon, its model
the rest. Seconds are of the processor, user and system, of a fit and as many rows as the table has.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

import pandas as pd

from private import Judge
from private_schema import schema

PEER = """
import json, sys
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline
path, schema, out, way, epsilon, delta, seed = sys.argv[1:]
columns = json.load(open(schema))["columns"]
rows = pd.read_csv(path)
domain = {}
for c in columns:
    if c["type"] == "category":
        domain[c["name"]] = {"categories": c["values"]}
        rows[c["name"]] = pd.Categorical(rows[c["name"]].astype(object).where(rows[c["name"]].notna(), "").astype(str), c["values"])
    else:
        domain[c["name"]] = {"lower": c["min"], "upper": c["max"]}
pipeline = {"mst": MSTPipeline, "aim": AIMPipeline}[way](epsilon=0.9 * float(epsilon), delta=float(delta), proc_epsilon=0.1 * float(epsilon), n_jobs=1)
pipeline.fit(rows, domain, random_state=int(seed))
pipeline.generate(n_records=len(rows), random_state=int(seed)).to_csv(out, index=False)
"""


def seconds_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        print(f"# {command[0]} {command[1]}: {done.stderr.strip()[-600:]}", file=sys.stderr)
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--target", default="income")
    parser.add_argument("--tessera", default="build/release/tessera")
    parser.add_argument("--epsilons", default="1,3,8")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--ways", default="counts,gradients,both,mst")
    parser.add_argument("--categories", default="")
    parser.add_argument("--delta", default="1e-5")
    parser.add_argument("--fit", default="", help="further options of tessera fit")
    parser.add_argument("--keep", help="directory for models and rows")
    options = parser.parse_args()
    work = options.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    rules = os.path.join(work, "schema.json")
    with open(rules, "w", encoding="utf-8") as file:
        json.dump(schema(options.train, options.categories.split(",")), file)
    train = pd.read_csv(options.train)
    judge = Judge(train, pd.read_csv(options.test), options.target, 1)
    for epsilon in options.epsilons.split(","):
        for way in options.ways.split(","):
            for seed in range(options.seeds):
                rows = os.path.join(work, f"{way}-{epsilon}-{seed}.csv")
                if way in ("mst", "aim"):
                    took = seconds_of([sys.executable, "-W", "ignore", "-c", PEER, options.train, rules, rows, way, epsilon, options.delta, str(seed)])
                else:
                    model = rows[:-4] + ".tessera"
                    took = seconds_of([options.tessera, "fit", options.train, "--schema", rules, "--epsilon", epsilon, "--delta", options.delta,
                                       "--privacy", way, "--seed", str(seed), "--threads", "1", "--model", model, *options.fit.split()])
                    if took is not None:
                        took += seconds_of([options.tessera, "sample", model, "--rows", str(len(train)), "--output", rows])
                if took is not None:
                    print(judge.line(f"epsilon {epsilon} {way} seed {seed}", pd.read_csv(rows)) + f" · {took:.1f} s", flush=True)


if __name__ == "__main__":
    main()
