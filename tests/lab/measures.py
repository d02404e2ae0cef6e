#!/usr/bin/env python3
"""The arithmetic of the benches' scripts, from numbers that are made up: nothing is timed here.

    measures.py
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/lab")]
import fit  # noqa: E402
import predict  # noqa: E402
import processor  # noqa: E402
import run  # noqa: E402

failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{what}: {got}, expected {wanted}")


def report(share, rate=None):
    """As Google Benchmark writes it, of a step whose floor is 2 ms and of reading 1000 rows/s at best."""
    step = "tvae_step/1/iterations:200/manual_time"
    benchmarks = [{"name": step, "best_ms": 2 / share, "floor_ms": 2.0, "share": share},
                  {"name": "broken/1", "error_occurred": True, "best_ms": 1, "floor_ms": 1, "share": 1},
                  {"name": "no_floor/1", "best_ms": 1}]
    if rate:
        benchmarks.append({"name": "read_adult/2", "best_rows/s": rate, "floor_rows/s": 1000.0, "share": rate / 1000})
    return {"benchmarks": benchmarks}


def figures(*rounds):
    return run.joined([run.figures_of(r) for r in rounds])


def comparisons():
    old = figures(report(0.5, 800), report(0.6, 700))
    expect("names", sorted(old), ["read_adult/2", "tvae_step/1"])
    step = old["tvae_step/1"]
    expect("the best of two rounds", (round(step["figure"], 3), step["rounds"]), (3.333, 2))
    expect("its interval", (round(step["low"], 3), round(step["high"], 3)), (0.45, 0.66))
    expect("more rows are better", old["read_adult/2"]["figure"], 800)
    expect("the same", run.compare(old, old), [])
    for share, wanted in ((0.44, [True]), (0.46, []), (0.65, []), (0.67, [False])):
        seen = run.compare(old, figures(report(share, 750)))
        expect(f"a share of {share}", [counts for _, _, counts in seen], wanted)
    expect("missing", run.compare(old, figures(report(0.55))), [("read_adult/2", "is missing", True)])
    expect("new", run.compare(figures(report(0.5)), figures(report(0.5, 700))), [("read_adult/2", "is new", False)])
    far = run.advice({**figures(report(0.2)), "tvae_step/2": {**figures(report(0.21))["tvae_step/1"]}})
    expect("knobs", [(n, "processor.py" in t or "--threads 1" in t) for n, _, t in far],
           [("tvae_step/1", True), ("tvae_step/2", True), ("tvae_step/2", True)])


def exit_codes():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, share):
            path = pathlib.Path(folder) / name
            path.write_text(json.dumps({"machine": {"processor": "made up", "cores": 2, "load": 0.0},
                                        "figures": figures(report(share))}))
            return path
        old, worse, same = write("old", 0.5), write("worse", 0.3), write("same", 0.47)
        for new, code in ((worse, 1), (same, 0)):
            command = [sys.executable, ROOT / "bench/run.py", "--compare", old, "--figures", new]
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
            expect(f"exit code of {new.name}", done.returncode, code)
            expect(f"{new.name} names the figure", "WORSE tvae_step/1" in done.stdout, bool(code))


def launches():
    """Launches of a chain and of tiles, as `tessera plan --device cuda --json` describes them."""
    chain = {"chains": [{"cut": "rows", "ops": ["batch_norm", "unary", "sum_rows"] * 3,
                         "values": [{"in": [[1, 500, 256]], "out": [[2, 500, 256]]}] * 9}], "bytes": 1e6, "flops": 1e6}
    tiles = {"chains": [{"cut": "tiles", "ops": ["matmul"],
                         "values": [{"in": [[1, 500, 256], [2, 256, 256]], "out": [[3, 500, 256]]}]}],
             "bytes": 1.3e6, "flops": 6.6e7}
    wide = {"chains": [{"cut": "elements", "ops": ["unary"],
                        "values": [{"in": [[1, 5000, 2560]], "out": [[2, 5000, 2560]]}]}], "bytes": 1e8, "flops": 1e7}
    return [chain, tiles, wide]


def constants_of_a_card():
    known = set(json.loads((ROOT / "bench/lab/cards/h100.json").read_text()))
    for path in sorted((ROOT / "bench/lab/cards").glob("*.json")):
        card = json.loads(path.read_text())
        if "multiprocessors" not in card:
            continue
        expect(f"constants of {path.name}", set(card), known)
        for group in launches():
            value, low, high, _ = predict.predict_launch(group, card=path.stem)
            expect(f"{path.name}: the bar holds the value", low <= value <= high, True)
    slow = [predict.predict_launch(g, card="a100")[0] / predict.predict_launch(g)[0] for g in launches()]
    expect("an A100 is slower than an H100", min(slow) > 1, True)


def fitting():
    card = json.loads((ROOT / "bench/lab/cards/h100.json").read_text())
    real = {**predict.read_card("h100"), "step_cycles": 1100, "l2_bytes_a_cycle": 20, "entry_us": 0.8}
    took = [p[0] for p in fit.predicted(launches(), real)]
    start = {key: c["value"] for key, c in card.items() if isinstance(c, dict)}
    fitted = fit.fit(launches(), took, card)
    before, after = (max(abs(math.log(t / p[0])) for t, p in zip(took, fit.predicted(launches(), constants)))
                     for constants in (start, fitted))
    expect("launches were off, and are near", (before > 0.2, after < 0.05), (True, True))
    expect("steps are found to be longer", 850 < fitted["step_cycles"] < 1300, True)
    expect("of two that only their sum shows, the one with the wider bar gives way",
           fitted["entry_us"] / start["entry_us"] > 1.03 > 1.01 > fitted["node_us"] / start["node_us"], True)
    expect("what no launch depends on stays", fitted["gather_cycles"], start["gather_cycles"])


def phase(*calls):
    return {"calls": [{"tiles": tiles, "block_rows": block, "ops": list(ops)} for tiles, block, *ops in calls]}


def matmul(rows, cols, depth, order="nn"):
    return {"op": "matmul", "order": order, "products": [[rows, cols, depth]], "rows": rows, "cols": cols,
            "flops": 2 * rows * cols * depth, "bytes": 4 * (rows * depth + depth * cols + rows * cols), "far": 0,
            "far_values": 0}


def tanh(rows, cols, far=0):
    """`far` bytes of it were last touched long ago."""
    return {"op": "unary.tanh", "rows": rows, "cols": cols, "flops": rows * cols, "bytes": 8 * rows * cols, "far": far,
            "far_values": int(far > 0)}


def gather(entries, rows, weights, packs=False):
    """A sparse_matmul that reads some of `weights` rows of 64."""
    op = {"op": "sparse_matmul", "rows": rows, "cols": 64, "flops": 2 * entries * 64, "bytes": 256 * (weights + rows),
          "far": 256 * (weights + rows), "far_values": 2}
    return {**op, "packs": True} if packs else op


def phases_of_the_processor():
    alone = processor.phase_amounts(phase((4, 0, matmul(500, 256, 128))))
    expect("rows and columns in whole registers", round(alone["product.nn.gflop"] / (2e-9 * 504 * 256 * 128), 6), 1)
    expect("weights are packed for each 224 rows", round(alone["product.nn.packed"] / (1e-6 * 256 * 128), 6), 3)
    chain = processor.phase_amounts(phase((4, 126, matmul(500, 256, 128), tanh(500, 256))))
    expect("each block of a chain packs", round(chain["product.nn.packed"] / (1e-6 * 256 * 128), 6), 4)
    expect("its ops are called for each block", chain["tile"], 8)
    expect("bytes beyond the cache, and values", [processor.phase_amounts(phase((4, 0, tanh(500, 400, far=8e5))))[key]
                                                  for key in ("far", "far.values")], [800, 1])
    sparse = [processor.phase_amounts(phase((1, 0, gather(100, 10, 5000, packs)))) for packs in (False, True)]
    expect("a gather touches no more weights than it has entries", sparse[0]["far"], 0.256 * 110)
    expect("entries of packs are their own kind", [s.get("op.sparse_matmul.packs") for s in sparse], [None, 0.1])
    idle = {**tanh(500, 400, far=8e5), "op": "clamp_range"}
    expect("what is seldom read costs its call", processor.phase_amounts(phase((1, 0, idle))), {"phase.1": 1, "tile": 1})
    odd = processor.phase_amounts(phase((3, 0, tanh(90, 100))), threads=2)
    expect("two threads, three tiles", round(odd["op.unary.tanh"] / (1e-3 * 8 * 9000), 6), 0.666667)

    real = {"product.nn.gflop": 6000, "product.nn.packed": 100, "product.nn.rows": 50, "op.unary.tanh": 0.06,
            "tile": 0.2, "far": 0.03, "far.values": 0.1, "phase.1": 0.1}
    seen = [phase((t, 0, matmul(m, n, k)), (t, 0, tanh(m, n)))
            for m in (60, 200, 1000) for n in (32, 256) for k in (16, 128, 640) for t in (1, 4)]
    seen += [phase((1, 0, tanh(m, n, 8 * m * n * f))) for m in (1, 60, 1000) for n in (1, 64, 512) for f in (0, 0.5, 1)]
    for p in seen:
        p["us"] = processor.predict(real, p)[0]
    found = processor.fit(seen)
    worst = max(abs(math.log(processor.predict(found, p)[0] / p["us"])) for p in seen)
    odd = [{**phase((1, 0, tanh(rows, 64))), "us": us} for rows, us in ((100, 30), (500, 20), (900, 10))]
    alike = [{**phase((1, 0, tanh(100, 64))), "us": us} for us in (2, 4.5)]
    expect("too short and too long weigh the same", round(processor.predict(processor.fit(alike), alike[0])[0], 3), 3)
    alike.append({**alike[0], "us": 0})  # a clock that stood still
    expect("no time is no measurement", round(processor.predict(processor.fit(alike), alike[0])[0], 3), 3)
    expect("no rate is negative", min(processor.fit(odd).values()) >= 0, True)
    expect("constants are found again", worst < 0.02, True)
    expect("and predict another phase", abs(processor.predict(found, chain_of(500))[0] /
                                            processor.predict(real, chain_of(500))[0] - 1) < 0.02, True)
    step = {"threads": 1, "phases": [{**seen[0], "us": seen[0]["us"] * f} for f in (1.0, 1.29, 1.31, 0.76)]}
    _, near, _ = processor.counted(real, step)
    expect("within 30 %: a factor of 1.3 either way", near, 0.5)


def chain_of(rows):
    return phase((4, 126, matmul(rows, 256, 128), tanh(rows, 256)))


def main():
    comparisons()
    phases_of_the_processor()
    exit_codes()
    constants_of_a_card()
    fitting()
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
