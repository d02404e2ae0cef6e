#!/usr/bin/env python3
"""Runs a numbered series of kernels for one launch: each must give its results; those for the processor are timed.

    series.py product [--only 02] [--on emulated|ptx|cuda] [--data TABLE.csv] [--beside]

A series is a folder of files 00_…, 01_…, each one idea further than the one before. The head of a file says what was
expected, the arithmetic, what it predicts, and at the end of its first line the grid. *.cu are CUDA kernels, run on the
emulated GPU (or as PTX, or on a GPU); *.cpp are functions for the processor; with --beside, also those of the series'
folder beside/, which call libraries that must be installed. The launch is the first of the step of
SERIES that has these ops, or is made of the first chain with them; a file calls it launch_10 whatever its number is now.
Exit code 1: a kernel was rejected.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
CAPSULE = FOLDER.parent / "capsule/capsule.py"
SERIES = {  # method, rows or sequences of a step, ops of each chain
    # a layer of the critic and its leaky ReLU: 30 × 256 × 256
    "product": ("ctgan", 100, [["matmul", "unary"]]),
    # a layer of the generator for both its batches, with ReLU: 2 × 100 × 256
    "batch_norm": ("ctgan", 100, [["batch_norm", "running_stats"], ["batch_norm"]]),
    # three GRU layers of 24 units, reset before the product, over 24 steps of 32 inputs: 32 sequences
    "gru": ("timegan", 32, [["recurrent"] * 3]),
    # the decoder: 100 rows of 128, layers of 128, 128 and 63 with ReLU between them
    "row_network": ("tvae", 100, [["matmul", "unary", "matmul", "unary", "matmul"]]),
}
LENGTH = 24  # of sequences


def call(*command):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.returncode, done.stdout


def number_of(groups, chains):
    """Of the first launch of these chains; None if there is none."""
    return next((n for n, g in enumerate(groups, 1) if [c["ops"] for c in g["chains"]] == chains), None)


def cut_out(fusion, ops):
    """Makes these ops of a chain a launch of their own; what stood behind them follows in another one."""
    for at, launch in enumerate(fusion["launches"]):
        for chain in launch["chains"]:
            kinds = [re.sub(r"_\d+$", "", op) for op in chain["ops"]]
            for i in range(len(kinds) - len(ops) + 1):
                if kinds[i:i + len(ops)] == ops:
                    own, behind = chain["ops"][i:i + len(ops)], chain["ops"][i + len(ops):]
                    chain["ops"] = chain["ops"][:i]
                    launch["chains"] = [c for c in launch["chains"] if c["ops"]]
                    fusion["launches"][at + 1:at + 1] = [{"chains": [{"cut": chain["cut"], "ops": part}]}
                                                         for part in (own, behind) if part]
                    return
    sys.exit("No chain of this step has the ops " + " · ".join(ops))


def launch_of(series, tessera, data, folder):
    """The first launch of a series' chains: its number, and options of capsule.py for its step."""
    name, batch, chains = SERIES[series]
    method = ["--method", name, "--preset", "paper"]
    sequences = name == "timegan"
    plan = [tessera, "plan", data, *method, "--batch-size", batch, "--device", "cuda", "--quiet"]
    plan += ["--sequence-length", LENGTH] if sequences else []
    options = [f"batch_size={batch}"] + ([f"sequence_length={LENGTH}"] if sequences else []) + method

    def printed(*more):
        code, text = call(*plan, *more)
        return json.loads(text) if code == 0 else sys.exit(text)
    number = number_of(printed("--json")["groups"], chains)
    if number is None:
        fusion = printed("--fusion")
        cut_out(fusion, chains[0])
        (folder / "fusion.json").write_text(json.dumps(fusion))
        use = ["--use", folder / "fusion.json"]
        number, options = number_of(printed("--json", *use)["groups"], chains), options + use
    return number, options


def head(path):
    """(title, options of capsule.py) of the first line of a file."""
    title, _, options = path.read_text().splitlines()[0].removeprefix("// ").partition("  ")
    return title.strip(), options.split()


def measured(text):
    """Of a processor or a GPU: time; of PTX: instructions."""
    time = re.search(r"^measured\s+([\d.]+) us", text, re.MULTILINE)
    count = re.search(r"^counted\s+([\d,]+) PTX", text, re.MULTILINE)
    return f"{time[1]} us" if time else f"{count[1]} instructions" if count else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("series", choices=sorted(SERIES))
    parser.add_argument("--data", type=pathlib.Path, help="a table (default: generated people)")
    parser.add_argument("--only", default="", help="files whose name begins so")
    parser.add_argument("--tessera", default="tessera", help="the program (default: the one in PATH)")
    parser.add_argument("--on", choices=("emulated", "ptx", "cuda"), default="emulated", help="where *.cu run")
    parser.add_argument("--beside", action="store_true", help="also OpenBLAS and oneDNN, of the series product")
    a = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data = a.data or folder / "people.csv"
        if not a.data:
            call(a.tessera, "example", data, "--rows", "1000", "--seed", "1", "--quiet")
        number, options = launch_of(a.series, a.tessera, data, folder)
        code, text = call(sys.executable, CAPSULE, "write", data, *options, "--launch", number,
                          "-o", folder / "x.capsule")
        if code != 0:
            sys.exit(text)
        kernel = re.match(r"(\w+) of", text)[1]
        print(text + "\n| kernel | what | result | measured or counted |\n|---|---|---|---|")
        own = FOLDER / a.series
        files = [*own.glob(a.only + "*.c*")] + ([*own.glob("beside/*.cpp")] if a.beside else [])
        for path in sorted(files, key=lambda p: (p.suffix, p.parent != own, p.name)):
            title, options = head(path)
            (folder / path.name).write_text(path.read_text().replace("launch_10", kernel))
            where = "processor" if path.suffix == ".cpp" else a.on
            code, text = call(sys.executable, CAPSULE, "run", folder / "x.capsule", "--source", folder / path.name,
                              "--on", where, *options)
            lines = text.splitlines()
            result = next((line for line in lines if line.startswith(("accepted", "rejected"))), text.strip())
            print(f"| {path.name} | {title} | {re.sub(' +', ' ', result)} | {measured(text)} |", flush=True)
            failed += code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
