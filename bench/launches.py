#!/usr/bin/env python3
"""Machine code of the generated launches of a step, for sm_90: the table of bench/results/predicted.md. No GPU needed.

  bench/launches.py PROGRAM TABLE [METHOD...]    PROGRAM: tessera; TABLE: adult_train.csv
  bench/launches.py PROGRAM TABLE METHOD --each  each launch by itself, with the functions of it that spill

`tessera plan --emit N` writes the source, NVRTC (TESSERA_NVRTC) makes PTX of it with the options of
engine/emit/nvrtc.cpp, ptxas of that machine code with -fmad=false. Columns as those of bench/sass.py; "spilled": bytes
that the launch with the most of them stores and loads around; "local in stages": local accesses in the loops over the
stages of its products.
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import sass

PTXAS = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"


def ptx_of(source):
    """By NVRTC, and the processor seconds that it took."""
    nvrtc = ctypes.CDLL(os.environ.get("TESSERA_NVRTC", "libnvrtc.so"))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"launch.cu", 0, None, None)
    options = ["-arch=compute_90", "-std=c++20", "-default-device", "-diag-suppress=20044", f"-I{sass.ROOT}",
               f"-I{sass.ROOT}/engine/emit/rtc", "-I/usr/local/cuda/include"]
    begin = time.process_time()
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options)))
    took = time.process_time() - begin
    get_size, get = ((nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog) if failed else
                     (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
    get_size(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    get(program, text)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        sys.exit(text.value.decode())
    return text.value, took


def code_of(ptx):
    """{function: {column: number}} of PTX."""
    with tempfile.TemporaryDirectory() as work:
        (path := pathlib.Path(work, "launch.ptx")).write_bytes(ptx)
        log = subprocess.run([PTXAS, "-arch=sm_90", "-fmad=false", "-v", path, "-o", path.with_suffix(".cubin")], check=True,
                             capture_output=True, text=True).stderr
        text = sass.run(sass.tool("nvdisasm"), "-c", str(path.with_suffix(".cubin")))
    found = sass.reported(log)
    for symbol, *code in sass.functions_of(text):
        found.setdefault(symbol, {}).update(sass.counted(*code))
    names = sass.run("c++filt", input="\n".join(found)).splitlines()
    return {sass.short(name): numbers for name, numbers in zip(names, found.values())}


def launches(program, table, method):
    """[({function: {column: number}}, seconds)]"""
    plan = [program, "plan", table, "--method", method, "--device", "cuda"] + ["--preset", "paper"] * (method != "made")
    groups = json.loads(sass.run(*plan, "--json"))["groups"]
    found = []
    for n, group in enumerate(groups, 1):
        if "not_emitted" not in group:
            ptx, took = ptx_of(sass.run(*plan, "--emit", str(n)))
            found.append((code_of(ptx), took))
    return len(groups), found


def main(program, table, *arguments):
    each = "--each" in arguments
    if not each:
        print("| step | launches with a source | KB of code a launch: min · median · max | all | registers, max | launches that "
              "spill | spilled, bytes, max | local in stages, max | processor seconds of NVRTC, all |\n|" + 9 * "---|")
    for method in [a for a in arguments if a != "--each"] or ["ctgan", "tvae", "made"]:
        count, found = launches(program, table, method)
        of = lambda code, column, join=sum: join([numbers.get(column, 0) for numbers in code.values()])
        if each:
            for n, (code, _) in enumerate(found, 1):
                spills = {name: numbers for name, numbers in code.items() if numbers.get("spilled, bytes")}
                print(n, f"{of(code, 'code, KB'):.0f} KB", f"{of(code, 'registers', max)} registers", spills or "")
            continue
        sizes = [of(code, "code, KB") for code, _ in found]
        spilled = [of(code, "spilled, bytes", max) for code, _ in found]
        print(f"| {method} | {len(found)} of {count} | {min(sizes):.2g} · {statistics.median(sizes):.0f} · {max(sizes):.0f} | "
              f"{sum(sizes):,.0f} | {max(of(code, 'registers', max) for code, _ in found)} | {sum(map(bool, spilled))} | "
              f"{max(spilled)} | {max(of(code, 'local in stages', max) for code, _ in found)} | {sum(t for _, t in found):.0f} |")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
