#!/usr/bin/env python3
"""Plants bugs in the kernels and in the backend, one at a time, and checks that the tests find each.

    python3 tests/emulation/mutate.py BUILD [--file NAME] [--kind KIND] [--only N,N,…] [--sample N --seed S] [--list]

BUILD is a built folder (build/release). The sources are compiled once with all mutants in them (emulation/mutants.h), and linked with the rest of test_gpu and of
test_gpu_race; TESSERA_MUTANT then chooses one. A mutant is found where a test fails: in the plain build (values, NaN-filled memory, guards, schedules) or in the one that
checks every access for races. What no test finds is printed, and the script ends with 1. All of them take an hour or two
of one core; --near, --kind and --file take less.

Kinds:  barrier  a barrier of a block, a warp or the grid is left out
        wait     a wait for an asynchronous copy, a stream or an event, or the record of an event, is left out
        fill     device memory is not cleared
        mask     the lowest lane is missing in a warp's collective
        bound    a comparison moves by one; a 1 that is added or taken off is not; the smaller of two is one too many
Mutants that change nothing that can be seen are listed in equivalent_mutants.txt, each with its reason, and are passed over. A line of the list that fits no line of code is an error.
"""
import argparse, collections, os, pathlib, random, re, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("kernels/gpu/**/*.cu"), *ROOT.glob("kernels/gpu/**/*.cuh"), ROOT / "engine/device/cuda/backend.cu"])
EQUIVALENT = ROOT / "tests/emulation/equivalent_mutants.txt"
M = "tessera::mutants::"
OMITTED = "(tessera::mutants::on({id}) ? void() : void({call}))"
CALLS = {
    "barrier": re.compile(r"\b(?:__syncthreads|__syncwarp|grid_sync)\([^;]*\)(?=;)"),
    "wait": re.compile(r"\bcp_async_wait<\d+>\(\)(?=;)|\bcheck\(cuda(?:EventSynchronize|EventRecord|StreamWaitEvent|StreamSynchronize)\(.*\)(?=; *}?)|(?<!void )\bwait\(\*s\)(?=;)"
                       r"|(?<!check\()\bcuda(?:StreamSynchronize|EventSynchronize)\([^;]*\)(?=;)"),
    "fill": re.compile(r"\bcheck\(cudaMemsetAsync\(.*\)(?=;)"),
}
RELATIONS = {" < ": " < {m}less({id}) < ", " <= ": " <= {m}at_most({id}) <= ", " > ": " > {m}more({id}) > ", " >= ": " >= {m}at_least({id}) >= "}
RELATION, ONE, MIN = re.compile(r" (?:<|<=|>|>=) "), re.compile(r"(?<= [+-] )1(?![\w.])"), re.compile(r"(?<![\w:])min\(")
MASK = re.compile(r"\bkWholeWarp\b(?=,)")
# The compiler tells the race checker nothing of the store of what a call returns: mutants make functions longer, which must not keep them from being inlined.
INLINE = "--param max-inline-insns-single=4000 --param large-function-growth=4000 --param inline-unit-growth=400"
# What each file is tested by; everything else follows where that passes.
FUSED = "Each/FusedOps*:FusedL*:Fused.AStepHas*:Fused.AWide*"
NORM, MAP, SPARSE, ROWS = "*batch_norm*:*running*:*norm_eval*", "*unary*:*binary*:*lerp*:*broadcast*:*average*", "*sparse*", "*draw*:*gather*:*mixture*"
FIRST = {
    "batch_norm": NORM, "columns": "*batch_norm*:*sum_rows*", "copy": "*concat*:*slice*:*reshape*:*fill*", "elementwise": MAP, "map": MAP, "span": "*span*", "sparse": SPARSE,
    "optimizer": "*adam*:*average*:*clamp*:*report*", "matmul": "*atmul*:*GpuProducts*", "matmul_tile": "*atmul*:*GpuProducts*", "product": "*atmul*:*GpuProducts*", "random": "*random*", "sampling": ROWS, "rows.cu": ROWS,
    "rows.cuh": "*dot*:*sum_cols*", "reduce": "*dot*:*sum_*", "recurrent": "*recurrent*", "fused": FUSED, "chains": FUSED, "chain": FUSED, "backend": "Backend*", "step": "Backend*",
}
EVERYTHING = "-*Adults*:Cli*"


class Mutant:
    def __init__(self, number, path, line, kind, source, start, end, text):
        self.number, self.path, self.line, self.kind, self.source, self.start, self.end, self.text = number, path, line, kind, source, start, end, text

    def __str__(self):
        was = self.source[: self.start] + "⟦" + self.source[self.start: self.end] + "⟧" + self.source[self.end:]
        return f"{self.number:>3} {self.path.relative_to(ROOT)}:{self.line + 1} {self.kind}: {was.strip()}"


def equivalent():
    """Of each file and line of code, which of its mutants, by place from the left, change nothing; None: all of them."""
    listed = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line.startswith("#"):
            continue
        path, rest = line.split(" | ", 1)
        code, places, _why = rest.rsplit(" | ", 2)
        listed[ROOT / path, code] = None if places == "all" else [int(n) for n in places.split()]
    return listed


def mutants():
    """All mutants, and of each file its lines with all of its own planted."""
    found, texts = [], {}
    listed, used = equivalent(), set()
    for path in FILES:
        lines = path.read_text().splitlines()
        compile_time = False  # within an assertion or a constant, which a program cannot change
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            compile_time = compile_time or code.lstrip().startswith(("static_assert", "constexpr", "template", "#", "static constexpr", "__device__ constexpr"))
            key = path, code.strip()
            excused = listed.get(key, [])  # None: all of the line, or some by their place in it
            if key in listed:
                used.add(key)
            skip = compile_time or excused is None or "constexpr" in code
            compile_time = compile_time and not re.search(r"[;{>]\s*$", code) and not code.lstrip().startswith("#")
            if skip:
                continue
            here = []
            def plant(kind, start, end, text):
                here.append(Mutant(len(found) + len(here), path, number, kind, line, start, end, text))
            for kind, pattern in CALLS.items():
                for m in pattern.finditer(code):
                    plant(kind, m.start(), m.end(), OMITTED.replace("{call}", m[0]))
            for m in MASK.finditer(code):
                plant("mask", m.start(), m.end(), M + "lanes({id}, kWholeWarp)")
            for m in RELATION.finditer(code):
                if "Cut" not in code[m.start() - 3: m.start()]:
                    plant("bound", m.start(), m.end(), RELATIONS[m[0]].replace("{m}", M))
            for m in ONE.finditer(code):
                plant("bound", m.start(), m.end(), M + "one({id})")
            for m in MIN.finditer(code):
                plant("bound", m.start(), m.end(), M + "smaller({id}, ")
            here.sort(key=lambda m: m.start)
            here = [m for place, m in enumerate(here, 1) if place not in excused]
            for at, m in enumerate(here):
                m.number = len(found) + at
            for m in reversed(here):  # from the right, so that places stay
                lines[number] = lines[number][: m.start] + m.text.replace("{id}", str(m.number)) + lines[number][m.end:]
            found += here
        texts[path] = "\n".join(lines) + "\n"
    if stale := [f"{path.relative_to(ROOT)}: {code}" for path, code in listed.keys() - used]:
        sys.exit(f"{EQUIVALENT.relative_to(ROOT)} lists lines that are not there:\n  " + "\n  ".join(stale))
    return found, texts


def make(build, target, folder):
    """Links a test program of the build with the planted sources."""
    subprocess.run(["ninja", "-C", str(build), target.split("/")[-1]], check=True, stdout=subprocess.DEVNULL)
    commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], capture_output=True, text=True, check=True).stdout.splitlines()
    link, name = commands[-1].split(" && cd ")[0], target.split("/")[-1]  # behind it CMake discovers tests
    for command in commands:
        obj, source = re.search(r" -o (\S+\.o)", command), re.search(r" -c (\S+\.cu)\b", command)
        if not obj or not source or f" {obj[1]} " not in link:
            continue
        path = pathlib.Path(os.path.realpath(os.path.join(build, source[1])))
        planted, new = folder / path.relative_to(ROOT), folder / f"{name}_{path.stem}.o"
        command = command.replace(f"-o {obj[1]}", f"-o {new}").replace(" -I", f" -I{folder} -I", 1)
        command = re.sub(r" -MD -MT \S+ -MF \S+", "", command)  # the build's own lists of what depends on what stay as they are
        command = re.sub(r"-c \S+", f"-w -Wno-error {INLINE} -include {ROOT}/tests/emulation/mutants.h -c {planted if planted.exists() else path}", command)
        subprocess.run(command, shell=True, cwd=build, check=True)
        link = link.replace(f" {obj[1]} ", f" {new} ", 1)
    program = folder / name
    link = re.sub(rf"-o (\S*{name})\b", f"-o {program}", link, count=1)
    subprocess.run(link, shell=True, cwd=build, check=True, stdout=subprocess.DEVNULL)
    return program


def passes(program, wanted, number, limit):
    try:
        done = subprocess.run([str(program), f"--gtest_filter={wanted}", "--gtest_fail_fast", "--gtest_brief=1"], env={**os.environ, "TESSERA_MUTANT": str(number)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False  # a step that never ends is noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--file", help="only mutants of files whose name holds this")
    parser.add_argument("--kind", choices=["barrier", "wait", "fill", "mask", "bound"])
    parser.add_argument("--only", help="these, by number")
    parser.add_argument("--sample", type=int, help="number of mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", action="append", help="test programs of the build (tests/test_gpu, then tests/test_gpu_race)")
    parser.add_argument("--list", action="store_true", help="say which there are, and end")
    parser.add_argument("--near", action="store_true", help="only the tests of the file that the mutant is in")
    parser.add_argument("--made", action="store_true", help="take the programs that an earlier run has made")
    args = parser.parse_args()
    everyone, texts = mutants()
    only = {int(n) for n in args.only.split(",")} if args.only else None
    todo = [m for m in everyone if (not args.file or args.file in m.path.name) and (not args.kind or m.kind == args.kind) and (only is None or m.number in only)]
    if args.sample is not None:
        todo = random.Random(args.seed).sample(todo, min(args.sample, len(todo)))
    if args.list:
        print(*todo, f"{len(todo)} mutants", sep="\n")
        return 0
    build = args.build.resolve()
    folder = build / "mutants"
    for path, text in texts.items():
        planted = folder / path.relative_to(ROOT)
        planted.parent.mkdir(parents=True, exist_ok=True)
        planted.write_text(text)
    names = args.program or ["tests/test_gpu", "tests/test_gpu_race"]
    programs = [folder / n.split("/")[-1] if args.made else make(build, n, folder) for n in names]
    limits = {}

    def limit(program, wanted):  # ten times what it takes with no mutant planted, which must pass
        if (program, wanted) not in limits:
            start = time.monotonic()
            if not passes(program, wanted, -1, 3600):
                sys.exit(f"{program.name} --gtest_filter={wanted} fails without a mutant")
            limits[program, wanted] = 20 + 10 * (time.monotonic() - start)
        return limits[program, wanted]

    table, missed = collections.defaultdict(collections.Counter), []
    for at, m in enumerate(todo):
        how = "missed"
        first = FIRST.get(m.path.name, FIRST.get(m.path.stem, EVERYTHING))
        for wanted in [first] if args.near else [first, EVERYTHING]:
            for program in programs:
                if how == "missed" and not passes(program, wanted, m.number, limit(program, wanted)):
                    how = f"found by {program.name}" + ("" if wanted == EVERYTHING else f", {wanted}")
        print(f"{at + 1}/{len(todo)} {m}\n    {how}", flush=True)
        table[m.path.relative_to(ROOT)][how != "missed"] += 1
        if how == "missed":
            missed.append(m)
    print(f"\n{'file':<36}{'found':>7}{'missed':>8}")
    for path, counts in sorted(table.items()):
        print(f"{str(path):<36}{counts[True]:>7}{counts[False]:>8}")
    print(f"{'all':<36}{len(todo) - len(missed):>7}{len(missed):>8}")
    for m in missed:
        print("missed:", m)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
