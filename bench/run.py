#!/usr/bin/env python3
"""The figures of this machine beside their floors, in less than five minutes: training steps, recurrent layers,
reading, writing, sampling. Needs a build with benches (-DTESSERA_BENCH=ON).

    run.py [--build build/release] [-o now.json] [--compare old.json] [--rounds 3] [--only PATTERN]

A share is floor / figure, both of one run, so that it means the same on a machine that is busier or slower. The
programs run in rounds, one after the other; the interval of a share is what the rounds saw and MARGIN more at each end.
With --compare the exit code is 1 if the best share of a figure lies below the interval of the older file, or if a
figure of it is missing.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MARGIN = 0.1
LOW_SHARE, LOW_GAIN = 0.4, 1.5  # below them a knob is named
PROGRAMS = {
    "bench_step": "^(ctgan_step|tvae_step|made_best_step|ctgan_sample_to_csv|tvae_sample_to_csv)/",
    "bench_prepare": "^(read_adult|write_adult|prepare_adult)",
    "bench_sequences": "^(iteration/joint/[12]/6/|layer/gru_both/)",
}
KNOBS = [  # of names of figures: what to look at, and what to turn
    ("_step", "which phase it is: python3 bench/lab/processor.py show DATA.csv METHOD PRESET; then batch_size, "
              "--threads, --precision bf16 where the processor has it; what a pass is worth: TESSERA_PASSES_OFF=fuse"),
    ("sample_to_csv", "tessera tune DATA.csv chooses batch, threads and precision; --threads"),
    ("iteration|layer", "batch_size in whole tiles of 16 sequences, --threads; the kernels: TESSERA_CPU=avx2 beside "
                        "avx512 (docs/use/command-line.md)"),
    ("read|write|prepare", "--threads; the disk: the same file in /dev/shm"),
]


def name_of(benchmark):
    return re.sub(r"/(iterations:\d+|manual_time|process_time|real_time)", "", benchmark["name"])


def figures_of(report):
    """{name: {unit, better, figure, floor, share}} of a report of Google Benchmark: counters best_X beside floor_X."""
    found = {}
    for b in report["benchmarks"]:
        if b.get("error_occurred") or b.get("run_type", "iteration") != "iteration":
            continue
        for key in b:
            unit = key.removeprefix("best_")
            if unit != key and "floor_" + unit in b:
                found[name_of(b)] = {"unit": unit, "better": "more" if unit.endswith("/s") else "less",
                                     "figure": b[key], "floor": b["floor_" + unit], "share": b["share"]}
    return found


def joined(rounds):
    """Of several rounds: the best figure with its floor, and the interval of its share."""
    all_of = {}
    for figures in rounds:
        for name, f in figures.items():
            all_of.setdefault(name, []).append(f)
    result = {}
    for name, seen in all_of.items():
        shares = [f["share"] for f in seen]
        best = (max if seen[0]["better"] == "more" else min)(seen, key=lambda f: f["figure"])
        result[name] = {**best, "share": max(shares), "low": min(shares) * (1 - MARGIN),
                        "high": max(shares) * (1 + MARGIN), "rounds": len(seen)}
    return result


def compare(old, new):
    """[(name, what happened, whether it counts)] of two sets of figures."""
    changes = []
    for name, was in old.items():
        if name not in new:
            changes.append((name, "is missing", True))
            continue
        share, before = new[name]["share"], f"of its floor, {was['low']:.2f} to {was['high']:.2f} before"
        if share < was["low"]:
            changes.append((name, f"reaches {share:.2f} {before}", True))
        elif share > was["high"]:
            changes.append((name, f"is faster: {share:.2f} {before}", False))
    changes += [(name, "is new", False) for name in new if name not in old]
    return changes


def knob(name):
    return next((text for pattern, text in KNOBS if re.search(pattern, name)), "")


def advice(figures):
    """[(name, why, knob)] of figures far from their floors, and of threads that do not help."""
    found = []
    for name, f in figures.items():
        if f["share"] < LOW_SHARE:
            found.append((name, f"{f['share']:.2f} of its floor", knob(name)))
        one = figures.get(re.sub(r"/2\b", "/1", name, count=1)) if re.search(r"/2\b", name) else None
        if one:
            gain = f["figure"] / one["figure"] if f["better"] == "more" else one["figure"] / f["figure"]
            if gain < LOW_GAIN:
                found.append((name, f"two threads are {gain:.2f} times one", "other work on the machine, or a batch "
                              "too small for two threads: --threads 1, or a larger batch_size"))
    return found


def table(figures):
    lines = ["| figure | best | floor | share | interval |", "|---|---|---|---|---|"]
    for name, f in figures.items():
        number = "{:,.0f}".format if f["figure"] >= 1000 else "{:.3g}".format
        lines.append(f"| {name} | {number(f['figure'])} {f['unit']} | {number(f['floor'])} | {f['share']:.2f} | "
                     f"{f['low']:.2f} to {f['high']:.2f} |")
    return "\n".join(lines)


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"processor": model[1] if model else platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}


def measure(build, rounds, only):
    missing = [program for program in PROGRAMS if not (build / "bench" / program).exists()]
    if missing:
        sys.exit(f"{', '.join(missing)} of {build}/bench: missing. cmake --build {build} --target {' '.join(missing)}")
    seen = []
    for number in range(rounds):
        figures = {}
        for program, pattern in PROGRAMS.items():
            path = build / "bench" / program
            command = [path, "--benchmark_format=json", "--benchmark_filter=" + (only or pattern)]
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0:
                sys.exit(f"{path} failed:\n{done.stderr}")
            figures |= figures_of(json.loads(done.stdout)) if done.stdout.strip() else {}
        seen.append(figures)
        print(f"round {number + 1} of {rounds}: {len(figures)} figures", file=sys.stderr)
    return joined(seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--compare", type=pathlib.Path, metavar="OLD.json")
    parser.add_argument("--figures", type=pathlib.Path, metavar="NEW.json", help="compare this file; measure nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="regular expression of names, for all programs")
    a = parser.parse_args()
    old = json.loads(a.compare.read_text()) if a.compare else None
    before = machine()
    if a.figures:
        now = json.loads(a.figures.read_text())
    else:
        now = {"date": datetime.datetime.now().isoformat(timespec="minutes"), "machine": before,
               "figures": measure(a.build, a.rounds, a.only)}
        now["machine"]["load_after"] = os.getloadavg()[0]
    if a.output:
        a.output.write_text(json.dumps(now, indent=1) + "\n")
    print(table(now["figures"]))
    print(f"\n{now['machine']['processor']}, {now['machine']['cores']} cores, load {now['machine']['load']:.1f} before")
    if now["machine"]["load"] > now["machine"]["cores"] / 2:
        print("The machine was busy: shares are lower and vary more than on an idle one.")
    failed = False
    if old:
        if old["machine"]["processor"] != now["machine"]["processor"]:
            print(f"The older figures are of another processor: {old['machine']['processor']}.")
        for name, what, counts in compare(old["figures"], now["figures"]):
            failed |= counts
            print(f"{'WORSE' if counts else 'note '} {name} {what}" + (f"\n      turn: {knob(name)}" if counts else ""))
        print("no figure is worse than before" if not failed else "")
    for name, why, turn in advice(now["figures"]):
        print(f"low   {name}: {why}\n      turn: {turn}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
