#!/usr/bin/env python3
"""Searches launches of a training step whose predicted time is below that of the launches that Tessera chooses.

    fusion_search.py data.csv --method ctgan --preset paper > better.json
    tessera plan data.csv --method ctgan --preset paper --device cuda --use better.json

A move takes the end of a chain to one of the next two launches, or a chain to the launch before: as a chain of its own,
or into one. Of those that bench/predict.py finds faster, the best that `tessera plan --use` accepts is made, until none is.
"""
import copy
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import predict  # noqa: E402


@functools.cache
def launch_time(chains, ops):
    chains = [{"cut": cut, "ops": [ops[n]["op"] for n in names], "values": [ops[n] for n in names]} for cut, names in chains]
    values = [v for c in chains for v in c["values"]]
    total = {key: sum(v[key] for v in values) for key in ("bytes", "flops")}
    return predict.predict_launch({"chains": chains, **total})[0] if chains else 0


def step_time(launches, ops):  # `ops`: by name those that run; what placement makes a view is not among them
    kept = [[(c["cut"], tuple(n for n in c["ops"] if n in ops)) for c in launch["chains"]] for launch in launches]
    return sum(launch_time(tuple(c for c in chains if c[1]), ops) for chains in kept)


def moves(launches):
    for at, launch in enumerate(launches):
        for c, k in [(c, k) for c, chain in enumerate(launch["chains"]) for k in range(len(chain["ops"]))]:
            for to in {at + 1, at + 2, at - 1 if k == 0 else at + 1} & set(range(len(launches))):
                for other in [None, *range(len(launches[to]["chains"]))]:
                    new = copy.deepcopy(launches)
                    chain, there = new[at]["chains"][c], new[to]["chains"]
                    moved, chain["ops"] = chain["ops"][k:], chain["ops"][:k]
                    if other is None:
                        there.append({"cut": chain["cut"], "ops": moved})
                    else:
                        there[other]["ops"] = moved + there[other]["ops"] if to > at else there[other]["ops"] + moved
                    yield new


class Ops(dict):
    __hash__ = object.__hash__


def main(*arguments):
    def plan(*more):
        done = subprocess.run(["tessera", "plan", *arguments, "--device", "cuda", "--json", "--quiet", *more],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    found = plan()
    chains = [c for group in found["groups"] for c in group["chains"]]
    ops = Ops((v["name"], {**v, "op": op}) for c in chains for op, v in zip(c["ops"], c["values"]))
    launches, faster = found["fusion"]["launches"], True
    first = best = step_time(launches, ops)
    while faster:
        tried = sorted((time, i, m) for i, m in enumerate(moves(launches)) if (time := step_time(m, ops)) < best - 0.01)
        faster = False
        for time, _, move in tried:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(json.dumps({"launches": move})), file.flush()
                if plan("--use", file.name):
                    best, launches, faster = time, move, True
                    break
    print(f"predicted: {best:.1f} us a step in {len(launches)} launches, {first:.1f} in those chosen", file=sys.stderr)
    print(json.dumps({"launches": launches}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
