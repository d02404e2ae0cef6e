#!/usr/bin/env python3
"""One launch of a training step in a file, and what becomes of it with another kernel (docs/engine/lab.md).

  capsule.py write data.csv --method ctgan --launch 10 -o ten.capsule [batch_size=100 …]
  capsule.py show ten.capsule                      what it holds, and the predicted time
  capsule.py source ten.capsule > mine.cu          the kernel, as `tessera plan --emit` writes it
  capsule.py run ten.capsule --source mine.cu      on the emulated GPU: bits, races, barriers
  capsule.py run ten.capsule --source mine.cu --on ptx     what NVRTC makes of it, on the PTX machine
  capsule.py run ten.capsule --source mine.cu --on cuda    on a GPU: bits and time
  capsule.py run ten.capsule --source mine.cpp --on processor --error 1e-6     a C++ function instead of the kernel

Exit code 0: the kernel was accepted; 1: rejected; 2: it could not be run.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/lab")]
import predict  # noqa: E402
import processor  # noqa: E402
WHERE = {"emulated": "the emulated GPU", "ptx": "the PTX machine", "cuda": "the GPU", "processor": "the processor"}

# As a library: on the emulated GPU every access to memory calls the race checker.
COMPILED = {"emulated": ["-O1", "-g1", "-fsanitize=thread"], "processor": ["-O3", "-march=native"]}


class Refused(Exception):
    """What was asked for cannot be done; the text says why."""


def program(name, build):
    """A program of the build."""
    build = build or os.environ.get("TESSERA_BUILD")
    folders = [pathlib.Path(build)] if build else sorted((ROOT / "build").glob("*"))
    for folder in folders:
        if (folder / "bench/lab/capsule" / name).exists():
            return folder / "bench/lab/capsule" / name
    raise Refused(f"There is no {name}. Build it: cmake --preset release && cmake --build --preset release --target "
                  "lab_capsule lab_machine")


def output_of(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode < 0:
        raise Refused(f"{pathlib.Path(command[0]).name} was ended by {signal.Signals(-done.returncode).name}: "
                      "the kernel divided by 0, or went beyond all values")
    if done.returncode != 0:
        raise Refused(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    return done.stdout


def read(path):
    """(header of the tensors, what the capsule says of itself, its source)"""
    try:
        with open(path, "rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(length)) if length < os.path.getsize(path) else {}
    except OSError as error:
        raise Refused(error) from error
    except (ValueError, struct.error):
        header = {}
    metadata = header.pop("__metadata__", {})
    if "capsule" not in metadata:
        raise Refused(f"{path} is not a capsule")
    return header, json.loads(metadata["capsule"]), metadata["source"]


# ---- write, show, source ---------------------------------------------------------------------------------------------
def write(a):
    use = ["use=" + a.use.read_text()] if a.use else []
    output_of([program("lab_capsule", a.build), a.data, a.output, a.method, a.preset, a.launch, a.steps, *a.options, *use])
    show(a.output, a.card)
    print(f"written     {a.output}, {os.path.getsize(a.output) / 1024:.0f} kB")


def title(about):
    return (f"{about['kernel']} of {about['method']}, preset {about['preset']}: a batch of {about['batch']}, "
            f"after {about['steps']} steps")


def predicted(about):
    found = predict.predict_launch(about["what"])
    if found is None:
        return "nothing: the model knows no recurrent layers (bench/results/recurrent_2026-11-27.md does)"
    us, low, high, binds = found
    return f"{us:.1f} us for the original on an H100 ({low:.1f} to {high:.1f}), bound by {binds}; never measured"


def on_processor(about, card):
    """What its ops should take on one thread by processor.py's model; its constants are those of one processor."""
    constants = processor.read_card(card)
    us = sum(processor.predict(constants, phase)[0] for phase in about["processor"]["phases"])
    return f"{us:.0f} predicted for {card}"


def show(path, card):
    header, about, _ = read(path)
    print(title(about))
    for chain in about["what"]["chains"]:
        print(f"  by {chain['cut']:9} {' · '.join(chain['ops'])}")
    for piece in about["pieces"]:
        name = piece["name"]
        known = [header.get(f"{when}.{name}") for when in ("before", "after")]
        used = " and ".join(word for word, tensor in zip(("read", "written"), known) if tensor)
        print(f"  {name:<34} {(known[0] or known[1])['dtype']} {piece['rows']} × {piece['cols']:<7} {used}")
    print(f"grid        {about['blocks']} blocks of {about['threads']} threads")
    print("predicted   " + predicted(about))
    cpu = about["processor"]
    print(f"processor   {cpu['microseconds']:.0f} us for the same ops, measured, one thread, {cpu['kernels']}; "
          f"{on_processor(about, card)}; floor {cpu['floor']:.0f} us")


# ---- run -------------------------------------------------------------------------------------------------------------
def emulated(source):
    """CUDA as the emulated GPU has it: an array in shared memory is declared by a macro. Lines stay where they are."""
    if re.search(r"\bextern\s+__shared__", source):
        raise Refused("Dynamic shared memory is not part of a launch: declare an array of a constant size")

    def declared(found):
        kind, names = found[1].strip(), found[2]
        each = re.findall(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:,|$)", names)
        return " ".join(f"TESS_SHARED({name}, {kind}{shape.replace(' ', '')});" for name, shape in each)
    source = re.sub(r"^\s*#\s*include\s*<cuda\w*(\.h)?>", "", source, flags=re.MULTILINE)
    return re.sub(r"\b__shared__\s+(?:__align__\(\d+\)\s+)?((?:unsigned\s+)?[\w:]+)\s+([^;=]+);", declared, source)


def check_form(about, original, source, on):
    """Refused for what is not a kernel in the original's place; a compiler would say it in many words, or nobody."""
    def parameters(text):  # the types of its members, which may have other names; lab_machine compares only bytes
        found = re.search(r"struct\s+Parameters\b[^{]*\{([^}]*)\}", re.sub(r"//.*", "", text))
        members = re.findall(r"([\w:]+)\s+([^;]+);", found[1]) if found else []
        return [kind for kind, names in members for name in names.split(",")
                for _ in range(math.prod(map(int, re.findall(r"\[(\d+)\]", name))))]
    text, kernel = source.read_text(), about["kernel"]
    if on == "processor" and "__global__" in text:
        raise Refused(f"{source} holds a CUDA kernel; --on processor takes a C++ function: extern \"C\" void "
                      f"{kernel}(const Parameters& p)")
    if on != "processor" and "__global__" not in text:
        raise Refused(f"{source} holds no kernel (extern \"C\" __global__ void {kernel}); a C++ function runs with "
                      "--on processor")
    forms = (rf"\bnamespace\s[\w:\s]*\b{kernel}\b", rf"\bvoid\b[^;{{]*\b{kernel}\s*\(")
    if not all(re.search(form, text) for form in forms):
        raise Refused(f"{source} defines no {kernel} in the namespace tessera::gpu::{kernel}, as the original does "
                      "(capsule.py source)")
    found = [parameters(text), parameters(original)]
    if found[0] != found[1] and all({*kinds} <= {"uint32_t", "int", "float"} for kinds in found):
        raise Refused(f"The struct Parameters of {source} is not the original's (capsule.py source): leave it as the "
                      "capsule has it")


def library(about, source, folder, flags):
    """The source as a library for lab_machine."""
    kernel = about["kernel"]
    space = f"tessera::gpu::{kernel}"
    text = (f'#line 1 "{source.name}"\n' + emulated(source.read_text()) + '\nextern "C" {\n'
            f"void capsule_kernel(void* p) {{ {space}::{kernel}(*static_cast<const {space}::Parameters*>(p)); }}\n"
            "extern const size_t capsule_parameter_bytes;\n"
            f"const size_t capsule_parameter_bytes = sizeof({space}::Parameters);\n}}\n")
    (folder / "kernel.cpp").write_text(text)
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise Refused("There is no C++ compiler: set CXX")
    same = ["-std=c++20", "-fPIC", "-ffp-contract=off", "-Wno-unknown-pragmas", f"-I{ROOT}", f"-I{ROOT}/tests"]
    output_of([compiler, *same, *flags, "-c", folder / "kernel.cpp", "-o", folder / "kernel.o"])
    output_of([compiler, "-shared", folder / "kernel.o", "-o", folder / "kernel.so"])
    return folder / "kernel.so"


def why_rejected(runs, error):
    """None: every run left what was expected, or differs by no more than `error` of a value's largest element."""
    for run in runs:
        if "fault" in run:
            return run["fault"]
        for d in run["differences"]:
            if error is None or d["error"] is None or d["error"] > error:
                return (f"{d['value']}, row {d['row']}, column {d['column']}: {d['got']} instead of {d['expected']}; "
                        f"{d['count']} of {d['of']} elements differ" +
                        ("" if d["error"] is None else f", by {d['error']:.1e} of the largest"))
    return None


def run(a):
    _, about, original = read(a.capsule)
    check_form(about, original, a.source, a.on)
    machine = program("lab_machine", a.build)
    grid = [a.blocks or about["blocks"], a.threads or about["threads"], a.cluster]
    if a.on == "cuda":
        os.environ.setdefault("TESSERA_CUDA_PLUGIN", str(machine.parents[3] / "libtessera_cuda.so"))
    with tempfile.TemporaryDirectory() as folder:
        where = "library" if a.on == "emulated" else a.on
        flags = COMPILED.get(a.on)
        file = library(about, a.source, pathlib.Path(folder), flags) if flags else a.source
        runs = json.loads(output_of([machine, a.capsule, where, file, *grid]))
    print(title(about))
    print(f"{a.source.name:<11} {grid[0]} blocks of {grid[1]} threads" +
          (f" in clusters of {a.cluster}" if a.cluster > 1 else "") + f" on {WHERE[a.on]}")
    wrong = why_rejected(runs, a.error)
    if wrong:
        print(f"rejected    {wrong}")
        return 1
    largest = max((d["error"] for r in runs for d in r["differences"]), default=0)
    bits = "the bits of the original" if largest == 0 else f"within {largest:.1e} of a value's largest element"
    print(f"accepted    {bits}" + (", under three schedules, and no race" if a.on == "emulated" else ""))
    print("predicted   " + predicted(about))
    if a.on == "ptx":
        own, original = runs[0]["instructions"], runs[0]["original_instructions"]
        print(f"counted     {own:,} PTX instructions of the warps of the longest block, the original {original:,}")
        print(f"predicted   {predict.issue_time(own, grid[0]):.1f} us on an H100 if nothing but issue took time, "
              f"the original {predict.issue_time(original, about['blocks']):.1f}")
    if a.on == "processor":
        cpu = about["processor"]
        print(f"measured    {runs[0]['microseconds']:.0f} us on one thread; Tessera's own kernels for the same ops "
              f"{cpu['microseconds']:.0f}, {on_processor(about, a.card)}, floor {cpu['floor']:.0f}")
    if a.on == "cuda":
        print(f"measured    {runs[0]['microseconds']:.2f} us, the original {runs[0]['original_microseconds']:.2f} "
              f"({runs[0]['schedule']}, in a graph of 200 launches)")
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="folder of the build (default: TESSERA_BUILD, or the first of build/ that has "
                                        "the programs)")
    parser.add_argument("--card", default="emerald_rapids", help="the processor's, in bench/lab/cards (processor.py "
                                                                 "calibrate)")
    commands = parser.add_subparsers(dest="command", required=True)
    w = commands.add_parser("write", help="take a launch out of a step")
    w.add_argument("data", help="CSV file")
    w.add_argument("options", nargs="*", metavar="option=value", help="of the method, as in model files: batch_size=100")
    w.add_argument("--method", default="ctgan")
    w.add_argument("--preset", default="paper")
    w.add_argument("--launch", type=int, required=True, help="as `tessera plan --device cuda` numbers them")
    w.add_argument("--steps", type=int, default=20, help="of training before it, on the processor (20)")
    w.add_argument("--use", type=pathlib.Path, help="launches of your own, as for `tessera plan`")
    w.add_argument("-o", "--output", required=True)
    for name in ("show", "source", "run"):
        commands.add_parser(name).add_argument("capsule")
    r = commands.choices["run"]
    r.add_argument("--source", type=pathlib.Path, required=True)
    r.add_argument("--on", choices=WHERE, default="emulated")
    r.add_argument("--blocks", type=int, help="default: those of the original")
    r.add_argument("--threads", type=int, help="of a block")
    r.add_argument("--cluster", type=int, default=1, help="consecutive blocks that run together, up to 8")
    r.add_argument("--error", type=float, help="accept differences of up to this part of a value's largest element")
    return parser.parse_args()


def main():
    a = arguments()
    try:
        if a.command == "write":
            write(a)
        elif a.command == "show":
            show(a.capsule, a.card)
        elif a.command == "source":
            print(read(a.capsule)[2], end="")
        else:
            return run(a)
    except (Refused, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
