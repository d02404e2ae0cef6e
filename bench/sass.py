#!/usr/bin/env python3
"""Machine code of every CUDA kernel and device function for sm_90: a budget that may not get worse. No GPU needed.

  bench/sass.py OBJECTS            prints the table of bench/results/sass.md
  bench/sass.py --check OBJECTS    fails if a function differs from the committed table, and says what got worse
                                   (compared only if the same nvcc made both)

OBJECTS are the plugin's object files (build/release/engine/device/cuda/*.o); those whose source is not in kernels/gpu
(backend.o) are left out. The build keeps what ptxas reports of each beside it (*.o.ptxas): registers and static shared
memory of kernels, bytes spilled by every function. The other columns are counts of instructions. "generic" is an access
to shared or global memory through a pointer whose address space the compiler does not know (LD, ST): it costs 64-bit
address arithmetic, and an LDS or STS in its place does not. "local" accesses are spilled registers or arrays that are
indexed at run time; those in loops cost the most. "a stage": what a warp that multiplies and one that copies issue for a
full stage of a product whose operands are aligned, the shortest way through the loops that multiply and that copy 16
bytes at a time; slices that begin and ragged ends are not in it. "local in stages": local accesses in these two loops,
which have about eight rounds a slice. The last columns need cuobjdump and nvdisasm, from the CUDA Toolkit or from PyPI
(nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm); without them --check compares what ptxas reports. Exit code 77 (skipped)
if there is nothing to check.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "bench" / "results" / "sass.md"
OF_PTXAS = ["registers", "shared, bytes", "spilled, bytes"]
OF_SASS = ["code, KB", "shared accesses", "generic", "local", "local in loops", "local in stages", "a stage"]


def skip(reason):
    print(reason)
    sys.exit(77)


def tool(name):
    folders = ["/usr/local/cuda/bin", *pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin")]
    return shutil.which(name) or next((str(f) for f in (pathlib.Path(d) / name for d in folders) if f.is_file()), None)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def reported(log):
    """{symbol: {column: number}} of the output of ptxas -v for sm_90."""
    found, wanted, symbol = {}, False, None
    for line in log.splitlines():
        if m := re.search(r"Compiling entry function '\S+' for '(\w+)'", line):
            wanted = m[1] == "sm_90"
        elif m := re.search(r"Function properties for (\S+)", line):
            symbol = m[1]
        elif wanted and (m := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            found[symbol] = {"spilled, bytes": int(m[1]) + int(m[2])}
        elif wanted and (m := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            found[symbol].update({"registers": int(m[1]), "shared, bytes": int(shared[1]) if shared else 0})
    return found


def functions_of(disassembly):
    """[(symbol, [instruction], {label: index})] of the output of nvdisasm -c."""
    found, labels, code = [], {}, []
    for line in disassembly.splitlines():
        if m := re.match(r"\s+\.type\s+(\S+),@function", line):
            labels, code = {}, []
            found.append((m[1].split("$")[-1], code, labels))
        elif m := re.match(r"(\.L_\S+):", line):
            labels[m[1]] = len(code)
        elif m := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(m[1])
    return [f for f in found if f[1] and not f[0].startswith("__cuda")]


def opcode(instruction):
    return re.sub(r"^@!?\S+\s+", "", instruction).split()[0].split(".")[0]


def target_of(instruction, labels):
    """Where a branch goes; None for other instructions."""
    m = re.search(r"BRA.*`\((\.L_\S+)\)", instruction)
    return labels.get(m[1]) if m else None


def loops_of(code, labels):
    to = [target_of(i, labels) for i in code]
    return [(first, last) for last, first in enumerate(to) if first is not None and first <= last]


def stage_of(code, ops, labels):
    """Local accesses and instructions of a stage, None if there is none: of a warp that does all, or of one that
    multiplies and one that copies. Loops inside (products, half a stage each) count twice."""
    wide = [op == "LDGSTS" and ".128" in i for op, i in zip(ops, code)]
    multiplies = [op in ("FFMA", "HMMA") for op in ops]
    loops = loops_of(code, labels)
    rings = [(last - first, first, last) for first, last in loops if "BAR" in ops[first:last]]
    copying = [r for r in rings if any(wide[r[1]:r[2]])]
    multiplying = [r for r in rings if any(multiplies[r[1]:r[2]])]
    if not copying or not multiplying:
        return None
    stage = [min(copying)] if any(multiplies[slice(*min(copying)[1:])]) else [min(multiplying), min(copying)]
    parts = [issued_by(code, ops, labels, loops, wide, multiplies, ring) for ring in stage]
    local = sum(op in ("LDL", "STL") for _, first, last in stage for op in ops[first:last + 1])
    return (local, sum(parts)) if all(parts) else None


def issued_by(code, ops, labels, loops, wide, multiplies, ring):
    """Instructions of the way through a loop that copies and multiplies the most."""
    _, begin, end = ring
    inner = [(first, last) for first, last in loops if begin < first and last < end
             and any(multiplies[first:last]) and "LDGSTS" not in ops[first:last]]
    # (-copies, -multiplications, instructions) from an instruction to the end of the loop; None: it does not get there
    best = [None] * (len(code) + 1)
    for at in range(end, begin - 1, -1):
        to = target_of(code[at], labels)
        ways = [] if re.match(r"BRA(?!\.DIV)|EXIT|RET", code[at]) else [best[at + 1]]
        if to is not None:
            ways += [(0, 0, 0)] if to == begin else [best[to]] if at < to <= end else []
        ways = [w for w in ways if w is not None]
        if ways:
            copies, products, issued = min(ways)
            times = 2 if any(first <= at <= last for first, last in inner) else 1
            best[at] = (copies - wide[at], products - multiplies[at], issued + times)
    return best[begin][2] if best[begin] else None


def counted(code, labels):
    ops = [opcode(i) for i in code]
    in_loop = [False] * len(code)
    for first, last in loops_of(code, labels):
        in_loop[first:last + 1] = [True] * (last + 1 - first)
    count = collections.Counter(ops)
    local = [op in ("LDL", "STL") for op in ops]
    numbers = [round(len(code) * 16 / 1024, 1), count["LDS"] + count["STS"] + count["LDSM"], count["LD"] + count["ST"],
               sum(local), sum(a and b for a, b in zip(local, in_loop)), *(stage_of(code, ops, labels) or (None, None))]
    return {column: number for column, number in zip(OF_SASS, numbers) if number is not None}


def short(name):
    name = re.sub(r"\(anonymous namespace\)::|tessera::(gpu::)?|^void ", "", name)
    name = re.sub(r"\((Cell|Precision)\)", "", name)
    name = re.sub(r"_INTERNAL_\w+::", "", name)  # nvcc's name of a file, by its path
    depth = 0
    for i, c in enumerate(name):  # up to the argument list
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0 and i > 0:
            return name[:i]
    return name


def rows_of(path, cuobjdump, nvdisasm):
    """{(file, function): {column: number}}; of a function that several kernels have, the largest numbers."""
    log = path.with_name(path.name + ".ptxas")
    if not log.is_file():
        skip(f"{path}: the build kept no report of ptxas beside it")
    parts = list(reported(log.read_text()).items())
    if parts and cuobjdump and nvdisasm:
        with tempfile.TemporaryDirectory() as work:
            run(cuobjdump, "-xelf", "all", str(path), cwd=work)
            cubin = sorted(pathlib.Path(work).glob("*sm_90*.cubin"))[0]
            parts += [(symbol, counted(*code)) for symbol, *code in functions_of(run(nvdisasm, "-c", str(cubin)))]
    rows = {}
    for name, (_, numbers) in zip(run("c++filt", input="\n".join(p[0] for p in parts)).splitlines(), parts):
        row = rows.setdefault((path.name.removesuffix(".o") + ".cu", f"`{short(name)}`"), {})
        for column, number in numbers.items():
            row[column] = max(number, row.get(column, number))
    return rows


def main(arguments):
    check = "--check" in arguments
    objects = [pathlib.Path(a).resolve() for a in arguments if not a.startswith("--")]
    objects = [o for o in objects if any((ROOT / "kernels" / "gpu").rglob(o.stem + ".cu"))]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not objects or not pathlib.Path(nvcc).is_file():
        skip("no object files of nvcc: there is no machine code to check")
    cuobjdump, nvdisasm = tool("cuobjdump"), tool("nvdisasm")
    whole = bool(cuobjdump and nvdisasm)
    columns = OF_PTXAS + (OF_SASS if whole else [])
    if not whole:
        print("no cuobjdump and nvdisasm: only registers, shared memory and spills are checked")
    version = re.search(r"release [\d.]+, V[\d.]+", run(nvcc, "--version"))[0]
    table = {key: [str(row.get(c, "")) for c in columns]
             for o in objects for key, row in rows_of(o, cuobjdump, nvdisasm).items()}
    if not table:
        skip("no machine code for sm_90: build with -DTESSERA_CUDA_ARCHITECTURES=90")
    if not check:
        head = ["# Machine code of the CUDA kernels", "",
                f"From `bench/sass.py`, which explains the columns: nvcc {version}, sm_90, as the plugin is compiled.", "",
                "| " + " | ".join(["file", "function", *columns]) + " |", "|" + "---|" * (2 + len(columns))]
        print("\n".join(head + ["| " + " | ".join([*key, *row]) + " |" for key, row in sorted(table.items())]))
        return 0
    committed = COMMITTED.read_text()
    if version not in committed:
        print(f"not compared: {COMMITTED.name} was made by another nvcc than {version}")
        return 0
    before = {tuple(c[:2]): c[2:2 + len(columns)]
              for line in committed.splitlines()[6:] if (c := line[2:-2].split(" | "))}
    number = lambda s: float(s or 0)
    failed = False
    for key in sorted(before.keys() | table.keys()):
        old, new = before.get(key), table.get(key)
        if old == new:
            continue
        failed = True
        worse = [c for c, a, b in zip(columns, old or [], new or []) if number(b) > number(a) and c != "shared accesses"]
        print(*key, "is new" if old is None else "is gone" if new is None else f"{old} -> {new}",
              f"WORSE: {', '.join(worse)}" if worse else "")
    if failed:
        print(f"The kernels changed. If that is wanted: bench/sass.py OBJECTS > bench/results/{COMMITTED.name}, and say why.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
