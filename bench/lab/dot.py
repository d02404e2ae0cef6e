#!/usr/bin/env python3
"""The graph of a step for Graphviz: ops in the boxes of their launches, values as edges with their shapes.

    tessera plan data.csv --device cuda --json > plan.json
    dot.py plan.json [FIRST [LAST]] | dot -Tsvg > plan.svg        launches FIRST to LAST, all by default
"""
import json
import pathlib
import sys


def main(path, first=1, last=10**9):
    plan = json.loads(pathlib.Path(path).read_text())
    groups, maker, edges = plan["groups"], {}, []
    seen = {v: [i for i, _, _ in view["in"]] for view in plan["views"] for v, _, _ in view["out"]}

    def origins(value):  # of a view: the values it shows
        return [o for v in seen[value] for o in origins(v)] if value in seen else [value]

    print("digraph step {\n  node [shape=box, fontname=sans]; edge [fontname=sans, fontsize=9];")
    for launch, group in enumerate(groups, 1):
        shown = int(first) <= launch <= int(last)
        if shown:
            print(f"  subgraph cluster_{launch} {{ label=\"launch {launch}\";")
        for c, chain in enumerate(group["chains"]):
            for i, (op, values) in enumerate(zip(chain["ops"], chain["values"])):
                name = f"l{launch}_{c}_{i}"
                if shown:
                    print(f"    {name} [label=\"{op}\"];")
                edges += [(maker[o], name, rows, cols) for v, rows, cols in values["in"] for o in origins(v)
                          if shown and o in maker]
                maker.update({v: name if shown else None for v, _, _ in values["out"]})
        if shown:
            print("  }")
    for source, target, rows, cols in edges:
        if source is not None:
            print(f"  {source} -> {target} [label=\"{rows}×{cols}\"];")
    print("}")


if __name__ == "__main__":
    main(*sys.argv[1:])
