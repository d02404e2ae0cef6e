#!/usr/bin/env python3
"""Searches launches of a training step whose predicted time is below that of the launches that Tessera chooses.

    fusion_search.py data.csv --method ctgan --preset paper > better.json
    tessera plan data.csv --method ctgan --preset paper --device cuda --use better.json

A move takes the end of a chain to this or one of the next two launches, or a chain to the launch before: as a chain of
its own, with any cut, or into one. Of the moves that bench/predict.py finds faster the best that `tessera plan --use` accepts is made, until
there is none.
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


def plan(*arguments):
    done = subprocess.run(["tessera", "plan", *arguments, "--device", "cuda", "--json", "--quiet"], capture_output=True,
                          text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


FOUND = plan(*sys.argv[1:]) or sys.exit("tessera plan cannot show this step")
CHAINS = [c for group in FOUND["groups"] for c in group["chains"]]
OPS = {v["name"]: {**v, "op": op} for c in CHAINS for op, v in zip(c["ops"], c["values"])}  # without views
SHOWN = {v[0]: [i[0] for i in view["in"] if i[1] > 1] for view in FOUND["views"] for v in view["out"]}  # no sets of weights
MADE = {v[0] for x in OPS.values() for v in x["out"]}


@functools.cache
def launch_time(chains):
    known = [{"cut": cut, "ops": [OPS[n]["op"] for n in names], "values": [OPS[n] for n in names]} for cut, names in chains]
    total = {key: sum(v[key] for c in known for v in c["values"]) for key in ("bytes", "flops")}
    return predict.predict_launch({"chains": known, **total})[0] if known else 0


def step_time(launches):
    kept = [[(c["cut"], tuple(n for n in c["ops"] if n in OPS)) for c in launch["chains"]] for launch in launches]
    return sum(launch_time(tuple(c for c in chains if c[1])) for chains in kept)


def in_order(launches):
    """Whether ops read what comes before them, in an earlier launch or their own chain. The rest is for Tessera."""
    def origins(v):
        return [o for x in SHOWN[v] for o in origins(x)] if v in SHOWN else [v] if v in MADE else []
    at = {}
    for chain, names in enumerate((launch, c["ops"]) for launch in launches for c in launch["chains"]):
        for x in (OPS[n] for n in names[1] if n in OPS):
            read = x["in"][:len(x["in"]) // 2 * 2] if x["name"].endswith("(slices)") else x["in"]
            for v in (o for i in read for o in origins(i[0])):
                if v not in at or at[v][0] is names[0] and at[v][1] != chain:
                    return False
            if not x["name"].endswith("(slices)"):
                at.update((v[0], (names[0], chain)) for v in x["out"])
    return True


def moves(launches):
    for at, c, k in [(at, c, k) for at, launch in enumerate(launches) for c, chain in enumerate(launch["chains"])
                     for k in range(len(chain["ops"]))]:
        for to in {at, at + 1, at + 2, at - 1 if k == 0 else at + 1} & set(range(len(launches))):
            for other in ["rows", "columns", "tiles", *range(len(launches[to]["chains"]) if to != at else 0)]:
                new = copy.deepcopy(launches)
                chain, there = new[at]["chains"][c], new[to]["chains"]
                moved, chain["ops"] = chain["ops"][k:], chain["ops"][:k]
                if isinstance(other, str):
                    there.append({"cut": other, "ops": moved})
                else:
                    there[other]["ops"] = moved + there[other]["ops"] if to > at else there[other]["ops"] + moved
                if in_order(new):
                    yield new


def accepted(launches):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps({"launches": launches}))
        file.flush()
        return plan(*sys.argv[1:], "--use", file.name) is not None


best = FOUND["fusion"]["launches"]
first = step_time(best)
while True:
    faster = sorted((t, i, m) for i, m in enumerate(moves(best)) if (t := step_time(m)) < step_time(best) - 0.01)
    move = next((m for _, _, m in faster if accepted(m)), None)
    if move is None:
        break
    best = move
    print(f"{step_time(best):.1f} us predicted", file=sys.stderr)
left = sum(1 for launch in best if any(c["ops"] for c in launch["chains"]))
print(f"predicted: {step_time(best):.1f} us a step in {left} launches, {first:.1f} as chosen", file=sys.stderr)
print(json.dumps({"launches": best}, indent=1))
