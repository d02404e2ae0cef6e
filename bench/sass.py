#!/usr/bin/env python3
"""Machine code of every CUDA kernel and device function for sm_90: a budget that may not get worse. No GPU needed.

  bench/sass.py OBJECTS            prints the table of bench/results/sass.md
  bench/sass.py --check OBJECTS    fails if a function differs from the committed table, and says what got worse
                                   (compared only if the same nvcc made both)

OBJECTS are object files of the plugin, in build/release/engine/device/cuda/. Columns: registers and static shared
memory of kernels; code size; loads and stores by address space. "generic" is an access to shared or global memory
through a pointer whose address space the compiler does not know (LD, ST): it costs 64-bit address arithmetic, and an
LDS or STS in its place does not. "local" accesses are spilled registers or arrays that are indexed at run time; those
in loops cost the most.

Exit code 77 (skipped) without cuobjdump and nvdisasm. They are in the CUDA Toolkit, and on PyPI as
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

COMMITTED = pathlib.Path(__file__).parent / "results" / "sass.md"
COLUMNS = ["file", "function", "registers", "shared, bytes", "code, KB", "shared accesses", "generic", "local",
           "local in loops"]


def tool(name):
    folders = ["/usr/local/cuda/bin", *pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin")]
    found = shutil.which(name) or next((str(f) for f in (pathlib.Path(d) / name for d in folders) if f.is_file()), None)
    if found is None:
        print(f"no {name}: the machine code of the kernels is not checked")
        sys.exit(77)
    return found


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def functions_of(disassembly):
    """[(symbol, [instruction], {label: index})] of the output of nvdisasm -c."""
    found, labels, code = [], {}, []
    for line in disassembly.splitlines():
        if m := re.match(r"\s+\.type\s+(\S+),@function", line):
            labels, code = {}, []
            found.append((m[1], code, labels))
        elif m := re.match(r"(\.L_\S+):", line):
            labels[m[1]] = len(code)
        elif m := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(m[1])
    return [f for f in found if f[1]]


def opcode(instruction):
    return re.sub(r"^@!?\S+\s+", "", instruction).split()[0].split(".")[0]


def budget(code, labels):
    """(code in KB, accesses of known shared memory, generic ones, local ones, local ones in loops)."""
    ops = [opcode(i) for i in code]
    in_loop = [False] * len(code)
    for at, instruction in enumerate(code):
        m = re.search(r"BRA.*`\((\.L_\S+)\)", instruction)
        if m and labels.get(m[1], at + 1) <= at:
            in_loop[labels[m[1]]:at + 1] = [True] * (at + 1 - labels[m[1]])
    count = collections.Counter(ops)
    local = [op in ("LDL", "STL") for op in ops]
    return [f"{len(code) * 16 / 1024:.1f}", count["LDS"] + count["STS"] + count["LDSM"], count["LD"] + count["ST"],
            sum(local), sum(a and b for a, b in zip(local, in_loop))]


def short(symbol):
    name = re.sub(r"\(anonymous namespace\)::|tessera::(gpu::)?|^void |\(Cell\)|\(Precision\)", "", symbol)
    depth = 0
    for i, c in enumerate(name):  # up to the argument list
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0 and i > 0:
            return name[:i]
    return name


def rows_of(path, cuobjdump, nvdisasm):
    with tempfile.TemporaryDirectory() as work:
        run(cuobjdump, "-xelf", "all", str(path), cwd=work)
        cubins = sorted(pathlib.Path(work).glob("*sm_90*.cubin"))
        if not cubins:
            print(f"{path}: holds no machine code for sm_90. Build with -DTESSERA_CUDA_ARCHITECTURES=90.")
            sys.exit(77)
        functions = functions_of(run(nvdisasm, "-c", str(cubins[0])))
        usage = run(cuobjdump, "--dump-resource-usage", str(path))
    resources = {m[1]: (m[2], m[3])
                 for m in re.finditer(r"Function (\S+):\s+REG:(\d+) STACK:\d+ SHARED:(\d+)", usage)}
    names = run("c++filt", input="\n".join(f[0].split("$")[-1] for f in functions)).splitlines()
    for (symbol, code, labels), name in zip(functions, names):
        registers, shared = resources.get(symbol, ("", ""))
        yield [path.name.removesuffix(".o") + ".cu", f"`{short(name)}`", registers, shared, *budget(code, labels)]


def main(arguments):
    check = "--check" in arguments
    objects = [pathlib.Path(a).resolve() for a in arguments if not a.startswith("--")]
    if not objects:
        sys.exit(__doc__)
    cuobjdump, nvdisasm = tool("cuobjdump"), tool("nvdisasm")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    version = re.search(r"release [\d.]+, V[\d.]+", run(nvcc, "--version"))[0]
    table = sorted(list(map(str, row)) for o in objects for row in rows_of(o, cuobjdump, nvdisasm))
    head = ["# Machine code of the CUDA kernels", "",
            f"From `bench/sass.py`, which explains the columns: nvcc {version}, sm_90, as the plugin is compiled.", "",
            "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    text = "\n".join(head + ["| " + " | ".join(row) + " |" for row in table]) + "\n"
    if not check:
        print(text, end="")
        return 0
    committed = COMMITTED.read_text()
    if version not in committed:
        print(f"not compared: {COMMITTED.name} was made by another nvcc than {version}")
        return 0
    before = {tuple(c[:2]): c[2:] for line in committed.splitlines()[6:] if (c := line[2:-2].split(" | "))}
    after = {tuple(row[:2]): row[2:] for row in table}
    number = lambda s: float(s or 0)
    failed = False
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        failed = True
        worse = [c for c, a, b in zip(COLUMNS[2:], old or [], new or []) if number(b) > number(a)
                 and c != "shared accesses"]
        print(*key, "is new" if old is None else "is gone" if new is None else f"{old} -> {new}",
              f"WORSE: {', '.join(worse)}" if worse else "")
    if failed:
        print(f"The kernels changed. If that is wanted: bench/sass.py OBJECTS > {COMMITTED.name}, and say why.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
