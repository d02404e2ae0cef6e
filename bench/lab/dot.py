#!/usr/bin/env python3
"""The graph of a step for Graphviz: ops in the boxes of their launches, values as edges with their shapes.

    tessera plan data.csv --device cuda --json > plan.json
    dot.py plan.json [FIRST [LAST]] | dot -Tsvg > plan.svg        launches FIRST to LAST, all by default
"""
import json
import pathlib
import sys


def graph(plan):
    """{(launch, chain, place in it): op}, and edges [(from, to, rows, columns)] by the values that ops make and read."""
    seen = {v: [i for i, _, _ in view["in"]] for view in plan["views"] for v, _, _ in view["out"]}
    ops, maker, edges = {}, {}, []

    def origins(value):  # of a view: the values it shows
        return [o for v in seen[value] for o in origins(v)] if value in seen else [value]

    for launch, group in enumerate(plan["groups"], 1):
        for c, chain in enumerate(group["chains"]):
            for i, (op, values) in enumerate(zip(chain["ops"], chain["values"])):
                ops[launch, c, i] = op
                read, factors = values["in"], len(values["in"]) // 2 * 2
                if op.endswith("(slices)"):
                    read = read[:factors]
                elif op.endswith("(sum of slices)"):  # of the slices, and what is added to a product
                    read = values["out"] + read[factors:]
                edges += [(maker[o], (launch, c, i), rows, cols) for v, rows, cols in read for o in origins(v)
                          if o in maker]
                maker.update({v: (launch, c, i) for v, _, _ in values["out"]})
    return ops, edges


def main(path, first=1, last=10**9):
    ops, edges = graph(json.loads(pathlib.Path(path).read_text()))
    shown = {place: "l{}_{}_{}".format(*place) for place in ops if int(first) <= place[0] <= int(last)}
    print("digraph step {\n  node [shape=box, fontname=sans]; edge [fontname=sans, fontsize=9];")
    for launch in sorted({place[0] for place in shown}):
        print(f"  subgraph cluster_{launch} {{ label=\"launch {launch}\";")
        for place, name in shown.items():
            if place[0] == launch:
                print(f"    {name} [label=\"{ops[place]}\"];")
        print("  }")
    for source, target, rows, cols in edges:
        if source in shown and target in shown:
            print(f"  {shown[source]} -> {shown[target]} [label=\"{rows}×{cols}\"];")
    print("}")


if __name__ == "__main__":
    main(*sys.argv[1:])
