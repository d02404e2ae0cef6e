#!/usr/bin/env python3
"""What a run on a GPU says of a card's constants: the residual of each launch, and the constants fitted again.

    fit.py [--card NAME] PLAN.json MEASURED [--write NEW]

PLAN.json is of `tessera plan … --device cuda --json`. MEASURED holds its launches in order: a CSV of ncu
(tools/gpu_check.sh launches) or a JSON list of microseconds. The fit looks for the constants under which the logarithms
of measured / predicted are smallest; each constant is held near its value by the width of its own error bar, so that
what no launch depends on stays as it is. --write makes bench/lab/cards/NEW.json of them.
"""
import argparse
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import predict  # noqa: E402

CARDS = pathlib.Path(__file__).parent / "cards"
LAUNCH_SIGMA = 0.1  # of the logarithm of a launch that the model describes well
STEPS = (0.3, 0.1, 0.03, 0.01, 0.003)


def predicted(groups, constants):
    predict.CARD = constants
    sass = predict.read_sass()
    return [predict.launch_time(g, "fp32", sass) for g in groups]


def bars(card):
    """Constants that have an error bar: the logarithms of their ends, as deviations of a normal distribution."""
    return {key: abs(math.log(c["high"] / c["low"])) / 2 for key, c in card.items()
            if isinstance(c, dict) and "low" in c and c["low"] != c["high"]}


def misfit(groups, took, constants, start, sigma):
    launches = sum((math.log(t / p[0]) / LAUNCH_SIGMA)**2 for t, p in zip(took, predicted(groups, constants)))
    return launches + sum((math.log(constants[key] / start[key]) / sigma[key])**2 for key in sigma)


def fit(groups, took, card):
    """Constants by descent along one after another, in ever smaller steps."""
    start = {key: c["value"] for key, c in card.items() if isinstance(c, dict)}
    sigma, now = bars(card), dict(start)
    best = misfit(groups, took, now, start, sigma)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for key in sigma:
                for factor in (math.exp(step), math.exp(-step)):
                    tried = {**now, key: now[key] * factor}
                    value = misfit(groups, took, tried, start, sigma)
                    if value < best - 1e-9:
                        now, best, moved = tried, value, True
    return now


def read_measured(path):
    if path.endswith(".json"):
        return [float(x) for x in json.loads(pathlib.Path(path).read_text())]
    return predict.measured(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--card", default="h100")
    parser.add_argument("plan")
    parser.add_argument("measured")
    parser.add_argument("--write", metavar="NEW", help="write bench/lab/cards/NEW.json")
    a = parser.parse_args()
    start = predict.read_card(a.card)
    card = json.loads((CARDS / (a.card + ".json")).read_text())
    groups = json.loads(pathlib.Path(a.plan).read_text())["groups"]
    took = read_measured(a.measured)
    if len(took) != len(groups):
        sys.exit(f"{a.measured} has {len(took)} launches, the plan {len(groups)}: they are not of the same step.")
    known = [n for n, g in enumerate(groups) if predict.predict_launch(g) is not None]
    if not known:
        sys.exit("No launch of this plan has a source, so there is no prediction to compare with.")
    groups, took = [groups[n] for n in known], [took[n] for n in known]
    fitted = fit(groups, took, card)
    before, after = predicted(groups, start), predicted(groups, fitted)
    print("| launch | measured µs | predicted | measured / predicted | fitted | measured / fitted | bound by |\n|" +
          7 * "---|")
    for n, t, b, f in zip(known, took, before, after):
        print(f"| {n + 1} | {t:.1f} | {b[0]:.1f} | {t / b[0]:.2f} | {f[0]:.1f} | {t / f[0]:.2f} | {f[1]} |")
    all_took, all_before, all_after = sum(took), sum(b[0] for b in before), sum(f[0] for f in after)
    print(f"| all | {all_took:.0f} | {all_before:.0f} | {all_took / all_before:.2f} | {all_after:.0f} | "
          f"{all_took / all_after:.2f} | |")
    near = [sum(abs(math.log(t / x[0])) <= math.log(1.3) for t, x in zip(took, of)) for of in (before, after)]
    print(f"\nWithin a factor of 1.3: {near[0]} of {len(took)} launches before, {near[1]} after.\n\n"
          "| constant | card | fitted | deviations of its bar |\n|---|---|---|---|")
    sigma = bars(card)
    for key in sorted(sigma, key=lambda k: -abs(math.log(fitted[k] / start[k]) / sigma[k])):
        moved = math.log(fitted[key] / start[key]) / sigma[key]
        print(f"| {key} | {start[key]:g} | {fitted[key]:.4g} | {moved:+.1f} |")
    if a.write:
        for key in sigma:
            if fitted[key] == start[key]:
                continue
            slow = 1.2 if card[key]["high"] > card[key]["low"] else 1 / 1.2  # of a rate the slow end is the smaller one
            card[key] = {"value": float(f"{fitted[key]:.4g}"), "low": float(f"{fitted[key] / slow:.3g}"),
                         "high": float(f"{fitted[key] * slow:.3g}"),
                         "source": f"fitted to {pathlib.Path(a.measured).name}"}
        lines = [f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in card.items()]
        (CARDS / (a.write + ".json")).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
