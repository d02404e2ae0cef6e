#!/usr/bin/env python3
"""What steps and CTGAN's products take on an H100, predicted from machine code: prints bench/results/predicted.md. No GPU
needed.

A launch's tiles are dealt out to 132 multiprocessors, the longest first; tiles that share one wait for each other. A tile
takes its stages (32 of k), a start of 600 cycles and in fp32 the end of each slice. A stage takes the longest of: what its
warps issue (column "a stage" of bench/results/sass.md: on each of four schedulers one that multiplies and one that
copies), what the tensor cores need, what it reads of shared memory (128 bytes a cycle; 16 bytes a lane take four cycles,
also where lanes share them: measured, a stage of 64 × 64 in fp32 took 1,959 cycles for 2,048 by count, one of 32 × 32 took
1,570 for 1,280), what it reads of the second-level cache. Within 30 %. With a file of ncu (tools/gpu_check.sh launches), what each launch took stands beside it.
Shapes: `tessera plan adult_train.csv --method ctgan --preset paper --device cuda --json`.

With a file of that command, every launch of it as generated source: a node of a graph, the first data, the steps of its
longest chain, the products by tiles as above, or its bytes from the second-level cache, whichever is longer; what takes
most of it, and the ends of the constants' error bars (bench/lab/cards/h100.json has each with its source). Other cards
have constants that are published or derived, never measured; instructions are those of sm_90 for all of them. What a run
on hardware says of the constants: bench/lab/fit.py.

    predict.py                                     that page
    predict.py [--card NAME] PLAN.json [NCU.csv]   the launches of a plan
    predict.py NCU.csv                             launches measured, beside the products of that page
"""
import csv
import functools
import heapq
import json
import math
import pathlib
import re
import sys


def read_card(name, end="value"):
    """The constants of bench/lab/cards/NAME.json; `end`: value, or the end of the error bar, low (fast) or high (slow)."""
    path = pathlib.Path(__file__).parent / "lab" / "cards" / (name + ".json")
    card = json.loads(path.read_text()) if path.exists() else {}
    if "multiprocessors" not in card:
        sys.exit(f"There is no card {name} of a GPU in {path.parent}: h100, h200, a100 or rtx4090")
    return {key: c.get(end, c["value"]) for key, c in card.items() if isinstance(c, dict)}


CARD = read_card("h100")


def cycles_to_us(cycles):
    return cycles / CARD["clock_mhz"]


# launch: products [rows, columns, depths], whether A and B are transposed, whether slices have their own blocks
PRODUCTS = {
    2: 2 * [(500, 256, [128], "nn", False)], 4: 2 * [(500, 256, [256, 128], "nn", False)],
    6: 2 * [(500, 156, [256, 256, 128], "nn", False)], 8: [(50, 256, [1560], "nn", True)],
    10: [(150, 256, [256], "nn", False)], 12: [(150, 256, [256], "nt", False)], 13: [(50, 2600, [256], "nt", False)],
    14: [(50, 256, [2600], "nn", True)], 15: [(1560, 256, [50, 50], "tn", False), (1040, 256, [50], "tn", False)],
    16: [(50, 256, [256], "nn", False), (256, 256, 6 * [50], "tn", False)], 17: [(50, 256, [1560], "nn", True)],
    19: [(50, 256, [256], "nn", False)], 20: [(50, 256, [256], "nt", False)], 21: [(50, 1560, [256], "nt", False)],
    23: 2 * [(256, 156, [500], "tn", False)] + [(128, 156, [500], "tn", False), (500, 256, [156], "nt", False)],
    25: [(256, 256, [500], "tn", True), (128, 256, [500], "tn", True), (500, 256, [156, 256], "nt", False)],
    27: [(128, 256, [500], "tn", False)]}
# Of the launches of Made's step with products of blocks: stages of the multiprocessor that has most of them (block_tiles()).
MADE_LAUNCHES, MADE_STAGES = 15, 207
# Before, commit bfaac812: cycles a stage of squares by shared memory (fp32) or issue (tf32), and the smallest side.
BEFORE = {"fp32": ({64: 2048, 32: 1280, 16: 512}, 16), "tf32": ({64: 620, 32: 354}, 32)}
# Now: reads of shared memory by the four warps that multiply, in cycles: fp32 for each of eight k, four at a time, 8 rows
# and 8 or 4 columns a lane; on tensor cores 32 + 16 lines of 32 floats.
SHARED = {("fp32", 64): 4 * 8 * (8 + 8), ("fp32", 32): 4 * 8 * (8 + 4)}
# The end of a slice in fp32, in instructions: 48 or 24 shuffles add the four chains, registers become 0.
SLICE_END = {("fp32", 64): 330, ("fp32", 32): 185}
SHARED_TENSOR = 4 * (32 + 16) * 32 * 4 / 128


def slices(depth):
    about = 256 if depth < 2048 else 128
    wanted = (1 if depth < 1.5 * about else 2) if depth < 2 * about else (depth + about // 2) // about
    length = -(-(-(-depth // wanted)) // 32) * 32
    return [min(length, depth - at) for at in range(0, depth, length)]


def stages(depth):
    return -(-depth // 32)


def stage_cycles(rows, cols, cycles, tensor, blocks):
    """L2 counts if most multiprocessors draw on it."""
    return max(cycles, tensor * CARD["hmma_cycles"] / 4, 0 if tensor else rows * cols * 32 / CARD["fma_lanes"],
               (rows + cols) * 32 * 4 / CARD["l2_bytes_a_cycle"] if blocks >= 100 else 0)


def tiles_before(product, precision):
    rows, cols, depths, order, cut = product
    cut = cut and order != "tn"  # no gradient then had slices of its own
    parts = [s for d in depths for s in slices(d)]
    issued, least = BEFORE[precision]
    side = 64
    while side > least and (len(parts) if cut else 1) * math.ceil(rows / side) * math.ceil(cols / side) < 128:
        side //= 2
    n = math.ceil(rows / side) * math.ceil(cols / side)
    work = [stages(p) for p in parts] if cut else [sum(map(stages, parts))]
    hmma = side * side * 32 / 1024 if precision != "fp32" else 0
    cycles = stage_cycles(side, side, issued[side], hmma, n * len(work))
    return [CARD["start_cycles"] + w * cycles for w in work for _ in range(n)]


def tile_height(product, units):
    """Rows of a tile of 32 columns."""
    rows, cols, depths, _, cut = product
    parts = sum(len(slices(d)) for d in depths) if cut else 1
    of = lambda down: parts * math.ceil(rows / down) * math.ceil(cols / 32)
    return 32 if units == "fp32" and 2 * math.ceil(of(32) / 64) < 3 * math.ceil(of(64) / 64) else 64


def fragments(units, down):
    """Of 16 x 8 x 8 in a stage, or of 16 x 8 x 16 in the same time."""
    return {"fp32": 0, "3xtf32": 3, "tf32": 1, "bf16": 0.5}[units] * down


def tiles_after(product, units, sass):
    rows, cols, depths, order, cut = product
    cut = cut and not (order == "tn" and units in ("tf32", "bf16"))  # fuse() splits gradients for the FMA units' tiles
    parts = [s for d in depths for s in slices(d)]
    down = tile_height((rows, cols, depths, order, cut), units)
    n = math.ceil(rows / down) * math.ceil(cols / 32)
    work = [(stages(p), 1) for p in parts] if cut else [(sum(map(stages, parts)), len(parts))]
    issued = max(sass(units, down, order), SHARED.get((units, down), SHARED_TENSOR))
    cycles = stage_cycles(down, 32, issued, fragments(units, down), n * len(work))
    return [CARD["start_cycles"] + w * cycles + ends * SLICE_END.get((units, down), 0) for w, ends in work for _ in range(n)]


def microseconds(tiles):
    free = [0.0] * CARD["multiprocessors"]
    for t in sorted(tiles, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + t)
    return cycles_to_us(max(free))


def steps(products, sass):
    """[method, launches, further steps of their longest chains, what is multiplied, microseconds of it in fp32, 3xtf32]"""
    gradients = [[(128, 128, [500], "tn", False)] * 5 + [(128, 156, [500], "tn", False)]] + 2 * [[(128, 128, [500], "tn", False)]]
    tvae = [sum(microseconds([t for p in launch for t in tiles_after(p, units, sass)]) for launch in gradients)
            for units in ("fp32", "3xtf32")]
    few = 10 * cycles_to_us(900 + 8 * CARD["few_cycles"])
    low = 10 * cycles_to_us(2 * (CARD["start_cycles"] + 4 * CARD["low_cycles"]))
    stage = max(sass("block", 32, "nn"), SHARED["fp32", 32])
    blocks = cycles_to_us(MADE_STAGES * stage + MADE_LAUNCHES * CARD["start_cycles"])
    return [("CTGAN", 27, 75, "the table below", *products),
            ("TVAE", 4, 35, "ten of 8 rows one after another, three launches of weight gradients", tvae[0] + few, tvae[1] + low),
            ("Made", 18, 29, f"of blocks, {MADE_LAUNCHES} launches: {MADE_STAGES} stages of 32 × 32 × 32 where most are", blocks, blocks)]


@functools.cache
def read_sass():
    """Instructions a stage of a tile, of bench/results/sass.md: of matmul, whose tile is that of fused launches."""
    found = {}
    for line in (pathlib.Path(__file__).parent / "results" / "sass.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("| ").split("|")]
        m = re.match(r"`matmul_kernel<(.*), (true|false), (true|false)>`", cells[1]) if len(cells) > 3 else None
        if m:
            kind = m[1].replace("TensorTile<", "").replace("FmaTile<", "fma, ")
            found[(re.sub(r"[, ].*", "", kind), int(re.search(r"\d\d", kind.split("Math")[-1][3:])[0]),
                   ("t" if m[2] == "true" else "n") + ("t" if m[3] == "true" else "n"))] = float(cells[-1] or 0)
        if len(cells) > 3 and (m := re.match(r"`block_matmul_kernel<\(BlockMatmul::Form\)(\d)>`", cells[1])):
            found[("block", 32, ("nn", "nt", "tn")[int(m[1])])] = float(cells[-1] or 0)
    names = {"fp32": "fma", "3xtf32": "Tf32Math<3>", "tf32": "Tf32Math<1>", "bf16": "HalfMath<true>", "block": "block"}
    return lambda units, down, order: found[(names[units], down, order)]


# ---- any launch of a plan -------------------------------------------------------------------------------------------
# Adjacent ones are one loop of a generated launch.
ELEMENTWISE = {"unary", "binary", "lerp_rows", "broadcast", "random", "fill"}


def product_of(values, sliced):
    """A matmul of `plan --json` as tiles_after() wants it."""
    rows, cols = values["out"][0][1:]
    depths = [a[2] if a[1] == rows else a[1] for a in values["in"][0:len(values["in"]) // 2 * 2:2]]
    return rows, cols, depths, "tn" if values["in"][0][1] != rows else "nn", sliced


def block_passes(blocks, rows, row, col, col_end):
    """Depths of the passes of a tile of a block_matmul (kernels/gpu/bodies/block_matmul.cuh), and how many of them end one
    by one."""
    meet = lambda a, n, b, end: a < end and b < a + n
    form = blocks["form"]
    if form == "weight":
        places = {begin - r for r, n, c, m, begin in blocks["items"] if meet(r, n, row, row + 32) and meet(c, m, col, col_end)}
        return [rows] * len(places), len(places)
    spans = [(c, m, n) if form == "forward" else (begin, n, m) for r, n, c, m, begin in blocks["items"]]
    met = [s for s in spans if meet(s[0], s[1], col, col_end)]
    whole = [begin <= col and begin + n >= col_end for begin, n, _ in met]
    return [depth for *_, depth in met], sum(not (a and b) for a, b in zip(whole, whole[1:] + [False]))


COLUMN_CYCLES = 30  # four FMAs of 4 cycles and their reads of shared memory, of which those of four rounds are under way
PASS_END = 185  # instructions until the sums of a pass are where they belong


def block_tiles(values, sass):
    """Cycles of the tiles of a block_matmul: stages of a product's tile of 32 x 32."""
    blocks, (_, rows, cols) = values["blocks"], values["out"][0]
    across = 32
    while blocks["form"] == "weight" and rows <= 32 and across > 4 and math.ceil(cols / across) < 128:
        across //= 2  # as kernels/split_k.h
    order = {"forward": "nn", "input": "nt", "weight": "tn"}[blocks["form"]]
    tiles = math.ceil(rows / 32) * math.ceil(cols / across)
    cycles = stage_cycles(32, 32, max(sass("block", 32, order), SHARED["fp32", 32]), 0, tiles)
    found = []
    for row in range(0, rows, 32):
        for col in range(0, cols, across):
            depths, ends = block_passes(blocks, values["in"][0][1], row, col, min(cols, col + across))
            found.append(CARD["start_cycles"] + sum(map(stages, depths)) * cycles + ends * PASS_END)
    return found


def what_binds(product, units, sass):
    """What a stage of its tiles takes longest for."""
    down = tile_height(product, units)
    stage = {"issue": sass(units, down, product[3]), "shared memory": SHARED.get((units, down), SHARED_TENSOR),
             "tensor cores": fragments(units, down) * CARD["hmma_cycles"] / 4,
             "FMA": down * 32 * 32 / CARD["fma_lanes"] if units == "fp32" else 0}
    return max(stage, key=stage.get)


def row_cycles(op, values):
    """What an op of a chain takes beside its step: products of a block's rows, and gathers."""
    if op.startswith("matmul") and "sum" not in op:
        rows, cols, depths, *_ = product_of(values, False)
        if cols == 1:  # of 16 k, a thread has four multiply-adds one after another
            return sum(900 + math.ceil(d / 16) * COLUMN_CYCLES for d in depths)
        return sum(900 * math.ceil(cols / 256) + math.ceil(d / 16) * math.ceil(cols / 128) * CARD["few_cycles"] for d in depths)
    if op == "sparse_matmul":
        entries = values["in"][0][2]
        return math.ceil(entries / 8 / (4 if entries > 32 else 1)) * CARD["gather_cycles"]
    return CARD["adam_us"] * CARD["clock_mhz"] if op == "adam" else 0


def chain_time(chain):
    """Microseconds of a chain without the product of its tiles: its steps, and what they wait for."""
    steps, cycles, loop = 0, 0, False
    for i, (op, values) in enumerate(zip(chain["ops"], chain["values"])):
        steps += not (loop and op in ELEMENTWISE)
        loop = op in ELEMENTWISE
        if not (chain["cut"] == "tiles" and i == 0):
            cycles += row_cycles(op, values)
    return cycles_to_us((steps - 1) * CARD["step_cycles"] + cycles)


def launch_time(group, units, sass):
    """Microseconds of a generated launch, and what it takes them for."""
    tiles, binds, parts = [], {}, {"latency": max(chain_time(chain) for chain in group["chains"])}
    for chain in group["chains"]:
        if chain["cut"] == "tiles" and chain["ops"][0].startswith("matmul") and "sum" not in chain["ops"][0]:
            product = product_of(chain["values"][0], "slices" in chain["ops"][0])
            own = tiles_after(product, units, sass)
            tiles += own
            why = what_binds(product, units, sass)
            binds[why] = binds.get(why, 0) + sum(own)
        elif chain["ops"][0] == "block_matmul":
            own = block_tiles(chain["values"][0], sass)
            tiles += own
            binds["shared memory"] = binds.get("shared memory", 0) + sum(own)
    if tiles:
        why = max(binds, key=binds.get)
        parts[why] = parts.get(why, 0) + microseconds(tiles)
    l2 = group["bytes"] / CARD["l2_bytes_a_cycle"] / CARD["multiprocessors"] / CARD["clock_mhz"]
    if l2 > sum(parts.values()):
        parts = {"L2": l2}
    parts["launch"] = CARD["node_us"] + CARD["entry_us"]
    return sum(parts.values()), max(parts, key=parts.get)


def predict_launch(group, units="fp32", card="h100"):
    """(microseconds, low, high, what binds it), None for a launch that has no source."""
    global CARD
    if "not_emitted" in group or any(c["cut"] == "whole" for c in group["chains"]):
        return None
    sass, found = read_sass(), {}
    for end in ("low", "high", "value"):
        CARD = read_card(card, end)
        found[end], binds = launch_time(group, units, sass)
    return found["value"], found["low"], found["high"], binds


def issue_time(instructions, blocks):
    """Microseconds of a launch, given the instructions that its blocks execute: each scheduler starts one per cycle."""
    waves = math.ceil(blocks / CARD["multiprocessors"])
    return CARD["node_us"] + CARD["entry_us"] + cycles_to_us(waves * instructions / 4)


def print_plan(path, arguments, card):
    """Of a file of `tessera plan --device cuda --json`; with a file of ncu beside it, what each launch took."""
    groups = json.loads(pathlib.Path(path).read_text())["groups"]
    took = measured(arguments[0]) if arguments else []
    predicted = [predict_launch(group, card=card) for group in groups]
    print("| launch | predicted µs | from | to | bound by |" + (" measured µs | measured / predicted |" if took else "") +
          " ops |\n|" + (8 if took else 6) * "---|")
    total = [0.0, 0.0, 0.0]
    for n, (group, found) in enumerate(zip(groups, predicted)):
        ops = " · ".join(op for chain in group["chains"] for op in chain["ops"])
        row = [f"{x:.1f}" for x in found[:3]] + [found[3]] if found else ["–", "", "", "no source"]
        if took:
            row += [f"{took[n]:.1f}", f"{took[n] / found[0]:.2f}"] if n < len(took) and found else ["", ""]
        total = [t + x for t, x in zip(total, found[:3])] if found else total
        print(f"| {n + 1} | " + " | ".join(row) + f" | {ops if len(ops) < 70 else ops[:69] + '…'} |")
    ends = " | |" + (" | |" if took else "") + " |"
    print("| all | " + " | ".join(f"{x:.0f}" for x in total) + ends)
    print("| all, begun early | " + " | ".join(f"{x:.0f}" for x in begun_early(predicted, total, card)) + ends)


def begun_early(predicted, total, card):
    """The sums of a step's launches, of which each begins early whose predecessor has a source too."""
    early = sum(bool(a and b) for a, b in zip(predicted, predicted[-1:] + predicted[:-1])) if len(predicted) > 1 else 0
    return [t - early * read_card(card, end)["early_us"] for t, end in zip(total, ("value", "low", "high"))]


def measured(path):
    """Microseconds of the launches in a CSV of ncu, in order."""
    try:
        lines = [line for line in pathlib.Path(path).read_text().splitlines() if line.startswith('"')]
    except OSError as error:
        sys.exit(f"{error}: what a GPU took is written by tools/gpu_check.sh launches, on one")
    found = {}
    for row in csv.DictReader(lines):
        if row["Metric Name"] == "gpu__time_duration.sum":
            scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1}[row["Metric Unit"]]
            found[int(row["ID"])] = float(row["Metric Value"].replace(",", "")) * scale
    return [found[k] for k in sorted(found)]


def main(arguments):
    card = "h100"
    if arguments[:1] == ["--card"]:
        card, arguments = arguments[1], arguments[2:]
    if arguments and arguments[0].endswith(".json"):
        print_plan(arguments[0], arguments[1:], card)
        return
    if arguments:
        sass = read_sass()
        for launch, took in enumerate(measured(arguments[0]), 1):
            products = PRODUCTS.get(launch, [])
            said = microseconds([t for p in products for t in tiles_after(p, "fp32", sass)]) if products else None
            print(f"launch {launch:2}: {took:6.1f} us" + (f", its products predicted at {said:.1f}" if said else ""))
        return
    sass, columns = read_sass(), ["fp32", "3xtf32", "tf32", "bf16"]
    rows = []
    for launch, products in PRODUCTS.items():
        before = [microseconds([t for p in products for t in tiles_before(p, x)]) for x in ("fp32", "tf32")]
        rows.append([launch, ", ".join("×".join(map(str, (p[0], p[1], "+".join(map(str, p[2]))))) for p in products)] + before +
                    [microseconds([t for p in products for t in tiles_after(p, x, sass)]) for x in columns])
    sums = [sum(r[i] for r in rows) for i in range(2, 8)]
    print("# Steps on an H100, predicted\n\nPrinted by `bench/predict.py`, which holds constants and arithmetic; nothing of "
          "this was measured. Microseconds.\n\n## Steps, on Adult\n\nA launch "
          f"{CARD['launch_us']:g}, a further step of its longest chain {cycles_to_us(CARD['further_cycles']):.2f}, products; "
          "± 40 %. TimeGAN's iteration, "
          "585 (430 to 760): [recurrent_2026-11-27.md](recurrent_2026-11-27.md).\n\n"
          "| method | launches | further steps | products | fp32 | 3xtf32 |\n|---|---|---|---|---|---|")
    for name, launches, further, what, *took in steps(sums[2:4], sass):
        fixed = launches * CARD["launch_us"] + further * cycles_to_us(CARD["further_cycles"])
        print(f"| {name} | {launches} | {further} | {what} | " +
              " | ".join(f"{fixed:.0f} + {t:.0f} = **{fixed + t:.0f}**" for t in took) + " |")
    print("\n## CTGAN's products, by launch\n\n\"Before\" is commit bfaac812, \"now\" tiles of 64 × 32 (and, in fp32, 32 × 32).\n\n" +
          __doc__.split("\n\n")[1] + "\n")
    print("| launch | products, rows × columns × depths | " + " | ".join(
        ["before: fp32", "tf32", "now: " + columns[0], *columns[1:]]) + " |\n|" + 8 * "---|")
    for r in rows:
        print(f"| {r[0]} | {r[1]} | " + " | ".join(f"{x:.1f}" for x in r[2:]) + " |")
    print("| | all products | " + " | ".join(f"{x:.0f}" for x in sums) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
