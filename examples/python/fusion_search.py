#!/usr/bin/env python3
"""Searches launches of a training step whose predicted time is below that of the launches that Tessera chooses.

    fusion_search.py data.csv --method ctgan --preset paper > better.json
    tessera plan data.csv --method ctgan --preset paper --device cuda --use better.json

A move takes the end of a chain to this or one of the next two launches, or a chain to the launch before: as a chain of
its own, with any cut, or into one. Of the moves that bench/predict.py finds faster the best that `tessera plan --use`
accepts is made, until there is none.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import predict  # noqa: E402


def plan(*arguments):
    """What `tessera plan` prints of a step, and why it does not."""
    command = ["tessera", "plan", *arguments, "--device", "cuda", "--json", "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None, "PATH leads to no program tessera (docs/engine/lab.md begins with it)"
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr)


class Step:
    def __init__(self, *arguments):
        self.arguments = arguments
        self.plan, why_not = plan(*arguments)
        if self.plan is None:
            raise ValueError(why_not.strip())
        chains = [c for group in self.plan["groups"] for c in group["chains"]]
        self.ops = {v["name"]: {**v, "op": op} for c in chains for op, v in zip(c["ops"], c["values"])}  # without views
        self.shown = {v[0]: [i[0] for i in view["in"] if i[1] > 1]  # no sets of weights
                      for view in self.plan["views"] for v in view["out"]}
        self.made = {v[0] for x in self.ops.values() for v in x["out"]}
        self.times = {(): 0}

    def time(self, launches):
        """Predicted microseconds."""
        kept = [[(c["cut"], tuple(n for n in c["ops"] if n in self.ops)) for c in launch["chains"]] for launch in launches]
        return sum(self.launch_time(tuple(c for c in chains if c[1])) for chains in kept)

    def launch_time(self, chains):
        if chains not in self.times:
            known = [{"cut": cut, "ops": [self.ops[n]["op"] for n in names], "values": [self.ops[n] for n in names]}
                     for cut, names in chains]
            total = {key: sum(v[key] for c in known for v in c["values"]) for key in ("bytes", "flops")}
            self.times[chains] = predict.predict_launch({"chains": known, **total})[0]
        return self.times[chains]

    def origins(self, v):
        if v in self.shown:
            return [o for x in self.shown[v] for o in self.origins(x)]
        return [v] if v in self.made else []

    def in_order(self, launches):
        """Whether ops read what comes before them, in an earlier launch or their own chain. The rest is for Tessera."""
        at = {}
        for chain, names in enumerate((launch, c["ops"]) for launch in launches for c in launch["chains"]):
            for x in (self.ops[n] for n in names[1] if n in self.ops):
                read = x["in"][:len(x["in"]) // 2 * 2] if x["name"].endswith("(slices)") else x["in"]
                for v in (o for i in read for o in self.origins(i[0])):
                    if v not in at or at[v][0] is names[0] and at[v][1] != chain:
                        return False
                if not x["name"].endswith("(slices)"):
                    at.update((v[0], (names[0], chain)) for v in x["out"])
        return True

    def moves(self, launches):
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
                    if self.in_order(new):
                        yield new

    def accepted(self, launches):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps({"launches": launches}))
            file.flush()
            return plan(*self.arguments, "--use", file.name)[0] is not None


def search(step):
    """Launches, each faster than the ones before by prediction; Tessera's own are the first."""
    best = step.plan["fusion"]["launches"]
    while best is not None:
        yield best
        faster = sorted((t, i, m) for i, m in enumerate(step.moves(best)) if (t := step.time(m)) < step.time(best) - 0.01)
        best = next((m for _, _, m in faster if step.accepted(m)), None)


def main():
    try:
        step = Step(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
    times = []
    for best in search(step):
        times.append(step.time(best))
        print(f"{times[-1]:.1f} us predicted", file=sys.stderr)
    left = sum(1 for launch in best if any(c["ops"] for c in launch["chains"]))
    print(f"predicted: {times[-1]:.1f} us a step in {left} launches, {times[0]:.1f} as chosen", file=sys.stderr)
    print(json.dumps({"launches": best}, indent=1))


if __name__ == "__main__":
    main()
