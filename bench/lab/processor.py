#!/usr/bin/env python3
"""A model of what a step costs on this machine's processor, and its verification: constants are measured, phases of
other steps are predicted from them and measured too.

    processor.py calibrate -o NAME       measures constants: bench/lab/cards/NAME.json, some minutes
    processor.py verify DATA.csv         made, ctgan and tvae: each phase predicted and measured (--card NAME)
    processor.py show DATA.csv METHOD PRESET [option=value…]      one step

A step is a list of phases with a barrier after each (engine/schedule/placement.h). A phase is predicted to take a
barrier, a call for each tile, and for each op its amount times a rate: FLOPs, packed factors and rows of products by
the order of their factors; entries of sparse ones; bytes of every other op by its kind; and one rate for bytes that
were touched longer ago than the second-level cache holds (bench/lab/phases.h). In a chain, products are of a block's
rows, so each block packs the weights again. Constants come from steps without fusion (every
op alone), of two generated tables and batches of 60, 200 and 1000; what they are compared with are steps as they train,
fused, on another table. The shortest of many steps counts, as other work only adds time. Built by: cmake --build
build/release --target lab_phases tessera_program
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARDS = pathlib.Path(__file__).parent / "cards"
METHODS = (("made", "best"), ("ctgan", "paper"), ("tvae", "paper"))
BATCHES = (60, 200, 1000)
REGISTER_ROWS, TILE_ROWS, LANES = 14, 224, 32  # of a product with AVX-512 (kernels/cpu/product.h)
BY_FLOPS = {"sparse_matmul", "sparse_wgrad", "sharded_wgrad"}
IDLE = {"clamp_range", "report"}  # touch next to nothing of their values in most steps
BY_ROWS = {"sum_rows", "sum_cols", "row_dot"}  # also where a row is short
NEAR = math.log(1.3)
ROUNDS, CAP = 15, 0.5  # of a fit
TURNS = 3  # of measurements


# ---- the model ------------------------------------------------------------------------------------------------------
def up(x, to):
    return math.ceil(x / to) * to


def add(amounts, key, x):
    amounts[key] = amounts.get(key, 0) + x


def product_amounts(amounts, order, rows, cols, depth, times):
    add(amounts, f"product.{order}.gflop", times * 2e-9 * up(rows, REGISTER_ROWS) * up(cols, LANES) * depth)
    add(amounts, f"product.{order}.packed", times * 1e-6 * cols * depth * math.ceil(rows / TILE_ROWS))
    add(amounts, f"product.{order}.rows", times * 1e-6 * rows * (cols + depth))
    add(amounts, "product.calls", times)


def op_amounts(amounts, op, blocks):
    """What an op needs of each constant, given the number of blocks of its rows."""
    if op["op"] in IDLE:
        return
    far = op["far"]
    if op["op"] == "sparse_matmul":  # reads the weights of its entries only
        far = min(far, 2 * op["flops"] + 4 * op["rows"] * op["cols"])
    add(amounts, "far", 1e-3 * far)
    add(amounts, "far.values", op["far_values"])
    if "products" in op:
        for rows, cols, depth in op["products"]:
            product_amounts(amounts, op["order"], rows / blocks, cols, depth, blocks)
        if op["op"] == "block_matmul":  # its holes are cleared, or its rows begun, before the blocks are added
            add(amounts, f"op.block_matmul.{op['order']}", 1e-6 * op["rows"] * op["cols"])
        return
    kind = "op." + op["op"]
    if op["op"] in BY_FLOPS:
        add(amounts, kind + ".mflop", 1e-6 * op["flops"])
        add(amounts, kind + (".packs" if "packs" in op else ".entries"), 1e-3 * op["flops"] / op["cols"] / 2)
        add(amounts, kind, 4e-3 * op["rows"] * op["cols"])
        add(amounts, kind + ".rows", 1e-3 * op["rows"])
    else:
        add(amounts, kind, 1e-3 * op["bytes"])
        if op["op"] in BY_ROWS:
            add(amounts, kind + ".rows", 1e-3 * op["in_rows"])


def phase_amounts(phase, threads=1):
    amounts = {f"phase.{threads}": 1}
    for call in phase["calls"]:
        own = {}
        blocks = call["tiles"] if call["block_rows"] else 1
        for op in call["ops"]:
            op_amounts(own, op, blocks)
        add(own, "tile", call["tiles"] * len(call["ops"]))
        share = math.ceil(call["tiles"] / threads) / call["tiles"]
        for key, x in own.items():
            add(amounts, key, x * share)
    return amounts


def predict(constants, phase, threads=1):
    """Microseconds, and the constant that most of them belong to."""
    parts = {key: x * constants.get(key, 0) for key, x in phase_amounts(phase, threads).items()}
    return sum(parts.values()), max(parts, key=parts.get)


def solve(gram, right):
    """x of gram·x = right, by elimination; gram is symmetric and positive."""
    rows = [[*line, r] for line, r in zip(gram, right)]
    for k, pivot in enumerate(rows):
        for row in rows[k + 1:]:
            if row[k]:
                by = row[k] / pivot[k]
                row[k:] = [a - by * b for a, b in zip(row[k:], pivot[k:])]
    x = [0.0] * len(rows)
    for k in reversed(range(len(rows))):
        x[k] = (rows[k][-1] - sum(a * b for a, b in zip(rows[k][k + 1:-1], x[k + 1:]))) / rows[k][k]
    return x


def least_squares(gram, right):
    """x of at least 0 with the least x·gram·x / 2 - x·right (Lawson and Hanson's active set)."""
    n = len(right)
    x, free = [0.0] * n, []
    for _ in range(3 * n):
        slope = [right[i] - sum(g * v for g, v in zip(gram[i], x)) for i in range(n)]
        best = max((i for i in range(n) if i not in free), key=lambda i: slope[i], default=None)
        if best is None or slope[best] < 1e-7:
            break
        free.append(best)
        while True:
            to = solve([[gram[i][j] for j in free] for i in free], [right[i] for i in free])
            if min(to) > 0:
                break
            step = min(x[i] / (x[i] - t) for i, t in zip(free, to) if t <= 0)
            for i, t in zip(free, to):
                x[i] += step * (t - x[i])
            free = [i for i in free if x[i] > 1e-12]
        x = [0.0] * n
        for i, t in zip(free, to):
            x[i] = t
    return x


def fit(phases):
    """Constants of at least 0 with the least sum of squared logarithms of predicted / measured, by Newton's steps: with
    relative errors, half would count a quarter of twice, and all would be predicted too short. Logarithms beyond CAP
    count as CAP, so that a phase that no term describes does not bend the others."""
    rows = [(phase_amounts(p), p["us"]) for p in phases if p["us"] > 0]
    keys = sorted({key for amounts, _ in rows for key, x in amounts.items() if x > 0})
    at, said, constants = {key: i for i, key in enumerate(keys)}, [us for _, us in rows], {}
    for _ in range(ROUNDS):
        gram, right = [[0.0] * len(keys) for _ in keys], [0.0] * len(keys)
        for (amounts, us), s in zip(rows, said):
            near = max(s, 0.1 * us)
            wanted = near * (1 + min(max(math.log(us / near), -CAP), CAP))
            weight, found = near ** -2, [(at[key], x) for key, x in amounts.items() if x > 0]
            for i, x in found:
                right[i] += weight * x * wanted
                for j, y in found:
                    gram[i][j] += weight * x * y
        scale = [1 / math.sqrt(gram[i][i]) for i in range(len(keys))]
        scaled = [[g * a * b + (1e-9 if i == j else 0) for j, (g, b) in enumerate(zip(line, scale))]
                  for i, (line, a) in enumerate(zip(gram, scale))]
        x = least_squares(scaled, [r * a for r, a in zip(right, scale)])
        constants = {key: v * a for key, v, a in zip(keys, x, scale)}
        said = [sum(constants[key] * y for key, y in amounts.items() if y > 0) for amounts, _ in rows]
    return constants


# ---- measurements ---------------------------------------------------------------------------------------------------
def lab_phases(build, data, method, preset, threads, seconds, off, options=()):
    command = [build / "bench/lab_phases", data, method, preset, str(threads), str(seconds), off, *options]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def in_turn(measure, steps, seconds):
    """Each step in several turns, the shortest of each phase: other work, here or on the host, slows one for seconds."""
    found = []
    for _ in range(TURNS):
        for i, step in enumerate(steps):
            now = measure(*step, seconds / TURNS)
            if i == len(found):
                found.append(now)
                continue
            found[i]["step_us"] = min(found[i]["step_us"], now["step_us"])
            for key in ("flops_per_second", "cached_bytes_per_second", "memory_bytes_per_second"):
                found[i][key] = max(found[i][key], now[key])
            for p, q in zip(found[i]["phases"], now["phases"]):
                p["us"] = min(filter(None, (p["us"], q["us"])), default=0)  # 0: the thread's clock stood still
    return found


def calibrate(build, name, seconds):
    with tempfile.TemporaryDirectory() as folder:
        narrow, wide = (pathlib.Path(folder) / name for name in ("narrow.csv", "wide.csv"))
        subprocess.run([build / "tessera", "example", narrow, "--rows", "5000", "--seed", "1", "--quiet"], check=True)
        with wide.open("w") as to:
            subprocess.run([sys.executable, ROOT / "bench/tables/wide.py", "5000"], stdout=to, check=True)
        steps = in_turn(lambda data, method, preset, batch, seconds: lab_phases(
            build, data, method, preset, 1, seconds, "fuse", [f"batch_size={batch}"]),
                        [(data, *method, batch) for batch in BATCHES for data in (narrow, wide) for method in METHODS],
                        seconds)
        two = lab_phases(build, narrow, "tvae", "paper", 2, 0.2, "fuse")
    constants = fit([p for s in steps for p in s["phases"]])
    constants["phase.2"] = two["empty_phase_us"]
    parts = [fit([p for i, s in enumerate(steps) if i * len(BATCHES) // len(steps) != b for p in s["phases"]])
             for b in range(len(BATCHES))]
    card = {"processor": processor(), "kernels": steps[0]["kernels"], "date": datetime.date.today().isoformat(),
            "load": round(os.getloadavg()[0], 1),
            "empty_phase_us": {"value": min(s["empty_phase_us"] for s in steps), "source": "a phase of one number"}}
    for key, measured, source in (("gflops", "flops_per_second", "multiply-adds on registers"),
                                  ("copy_gbs", "cached_bytes_per_second", "a copy of 1 MB"),
                                  ("memory_gbs", "memory_bytes_per_second", "a copy of 128 MB")):
        card[key] = {"value": max(s[measured] for s in steps) / 1e9, "source": source + ", 1 thread"}
    for key in sorted(constants):
        others = [p[key] for p in parts if key in p] + [constants[key]]
        card[key] = {"value": float(f"{constants[key]:.4g}"), "low": float(f"{min(others):.4g}"),
                     "high": float(f"{max(others):.4g}"), "source": unit_of(key)}
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in card.items()]
    (CARDS / (name + ".json")).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{CARDS / (name + '.json')}: {len(constants)} constants of {sum(len(s['phases']) for s in steps)} phases")


def unit_of(key):
    if key == "phase.2":
        return "us a phase of one number, 2 threads; measured"
    unit = {"phase": "us a phase", "tile": "us a tile of an op", "gflop": "us a GFLOP",
            "packed": "us a million weights packed", "calls": "us a product",
            "product": "us a million elements of rows", "rows": "us a thousand rows",
            "block_matmul": "us a million elements of the result", "values": "us a value beyond the second-level cache",
            "entries": "us a thousand entries", "packs": "us a thousand entries of packs",
            "far": "us a kB beyond the second-level cache"}
    last = next((text for part, text in unit.items() if part in key.split(".")), None)
    return (last or ("us a MFLOP" if key.endswith("mflop") else "us a kB")) + "; fitted to phases measured here"


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = [re.search(rf"^{key}\s*: (.*)", text, re.MULTILINE) for key in ("model name", "cpu family", "model")]
    return "{}, family {}, model {}".format(*(f[1] for f in found)) if all(found) else "unknown"


# ---- what is printed ------------------------------------------------------------------------------------------------
def read_card(name):
    path = CARDS / (name + ".json")
    if not path.exists():
        sys.exit(f"There is no {path}: processor.py calibrate -o {name} measures it on this machine")
    card = json.loads(path.read_text())
    return {key: c["value"] for key, c in card.items() if isinstance(c, dict)}


def counted(constants, step):
    """[(phase, predicted us, what binds it)], and shares of phases and of time within 30 %."""
    found = [(p, *predict(constants, p, step["threads"])) for p in step["phases"]]
    near = [(p["us"], abs(math.log(us / p["us"])) <= NEAR) for p, us, _ in found]
    all_us = sum(us for us, _ in near)
    return found, sum(ok for _, ok in near) / len(near), sum(us for us, ok in near if ok) / all_us


def describe(phase):
    text = " ‖ ".join(" · ".join(op["op"] for op in call["ops"]) for call in phase["calls"])
    return text if len(text) < 80 else text[:79] + "…"


def table(constants, step):
    found, *_ = counted(constants, step)
    lines = ["| phase | measured µs | predicted | predicted / measured | most of it | ops |", "|" + 6 * "---|"]
    for number, (phase, us, binds) in enumerate(found, 1):
        took = phase["us"]
        lines.append(f"| {number} | {took:.1f} | {us:.1f} | {us / took:.2f} | {binds} | {describe(phase)} |")
    return "\n".join(lines)


def summary(constants, step):
    found, phases, time = counted(constants, step)
    measured, said = sum(p["us"] for p, _, _ in found), sum(us for _, us, _ in found)
    fused = "fused" if step["passes_off"] == "-" else "without " + step["passes_off"]
    return (f"| {step['method']}, {step['preset']}, {fused} | {step['threads']} | {len(found)} | "
            f"{step['step_us']:,.0f} | {measured:,.0f} | {said:,.0f} | {said / measured:.2f} | "
            f"{100 * phases:.0f} % | {100 * time:.0f} % |")


HEAD = ("| step | threads | phases | best step µs | sum of phases | predicted | predicted / measured | "
        "phases within 30 % | their time |\n|" + 9 * "---|")


def verify(build, data, constants, seconds):
    steps = in_turn(lambda method, preset, threads, off, seconds: lab_phases(
        build, data, method, preset, threads, seconds, off),
                    [(*method, threads, off) for method in METHODS for threads in (1, 2) for off in ("-", "fuse")
                     if threads == 1 or off == "-"], seconds)
    print(HEAD)
    for step in steps:
        print(summary(constants, step))
    for step in steps:
        if step["threads"] == 1 and step["passes_off"] == "-":
            print(f"\n## {step['method']}, {step['preset']}, one thread\n\n" + table(constants, step))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("calibrate", "verify", "show"))
    parser.add_argument("rest", nargs="*", metavar="DATA.csv METHOD PRESET option=value")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--card", default="emerald_rapids")
    parser.add_argument("--seconds", type=float, default=3, help="of each step that is timed")
    parser.add_argument("--threads", type=int, default=1, help="of show")
    parser.add_argument("-o", "--output", metavar="NAME", help="the card that calibrate writes")
    a = parser.parse_args()
    if a.what == "calibrate":
        return calibrate(a.build, a.output or a.card, a.seconds)
    if len(a.rest) < (3 if a.what == "show" else 1):
        parser.error("DATA.csv is missing" if not a.rest else "METHOD and PRESET are missing")
    constants = read_card(a.card)
    if a.what == "verify":
        return verify(a.build, a.rest[0], constants, a.seconds)
    step = lab_phases(a.build, *a.rest[:3], a.threads, a.seconds, "-", a.rest[3:])
    print(table(constants, step) + "\n\n" + HEAD + "\n" + summary(constants, step))
    return 0


if __name__ == "__main__":
    sys.exit(main())
