#!/usr/bin/env python3
"""Plants bugs in the kernels and in the backend, one at a time, and checks that the tests find each.

    python3 tests/emulation/mutate.py BUILD [--file NAME] [--kind KIND] [--sample N --seed S] [--list]

BUILD is a built folder (build/release). For each mutant the files that see the changed line are compiled anew and linked with the rest of test_gpu, which must then
fail: in the plain build first (values, NaN-filled memory, schedules), then in the build that checks every access for races and bounds. A mutant that no test finds is
printed, and the script ends with 1. All of them take hours; --sample takes some at random.

Kinds:  barrier  a barrier of a block, a warp or the grid is left out
        wait     a wait for an asynchronous copy or an event, or the record of an event, is left out
        bound    a comparison moves by one
A line that ends in a comment with `mutant:` says why its mutant changes nothing that can be seen, and is passed over.
"""
import argparse, os, pathlib, random, re, shlex, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("kernels/*.cu"), *ROOT.glob("kernels/*.cuh"), ROOT / "engine/cuda/backend.cu"])
BARRIER = re.compile(r"\b(?:__syncthreads|__syncwarp|grid_sync)\([^;]*\);")
WAIT = re.compile(r"\bcp_async_wait<\d+>\(\);|\bcheck\(cuda(?:EventSynchronize|EventRecord|StreamWaitEvent|StreamSynchronize)\(.*\);")
LESS, AT_LEAST, LEFT = re.compile(r" < "), re.compile(r" >= "), re.compile(r" <= ")
# What each file is tested by; everything else of test_gpu follows where that passes.
FIRST = {
    "gpu_batch_norm": "*batch_norm*:*running*:*norm_eval*", "batch_norm": "*batch_norm*:*running*:*norm_eval*", "gpu_columns": "*batch_norm*:*sum_rows*", "copy": "*concat*:*slice*:*reshape*:*fill*",
    "elementwise": "*unary*:*binary*:*lerp*:*broadcast*", "gpu_map": "*unary*:*binary*:*average*", "gpu_functions": "*unary*:*binary*:*lerp*", "gpu_span": "*span*", "span": "*span*",
    "gpu_sparse": "*sparse*", "sparse": "*sparse*", "gpu_optimizer": "*adam*:*average*:*clamp*:*report*", "optimizer": "*adam*:*average*:*clamp*:*report*", "matmul": "*atmul*:Maths*",
    "matmul_tile": "*atmul*:Maths*", "gpu_product": "*atmul*:Maths*", "gpu_random": "*random*", "random": "*random*", "gpu_sampling": "*draw*:*gather*:*mixture*", "rows": "*draw*:*gather*:*mixture*",
    "gpu_rows": "*dot*:*sum_cols*", "reduce": "*dot*:*sum_*", "fused": "Fused.A*-*Adults*", "gpu_fused": "Fused.A*-*Adults*", "backend": "Backend*", "gpu_step": "Backend*",
}


class Mutant:
    def __init__(self, path, line, kind, before, after):
        self.path, self.line, self.kind, self.before, self.after = path, line, kind, before, after

    def __str__(self):
        return f"{self.path.relative_to(ROOT)}:{self.line + 1} {self.kind}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def mutants():
    for path in FILES:
        host = False  # from the line on that says so, a file's code runs on the host and is no kernel
        for number, line in enumerate(path.read_text().splitlines()):
            code = line.split("//")[0]
            host = host or "the host's side" in line
            if "mutant:" in line or not code.strip() or code.lstrip().startswith(("template", "#", "static_assert", "constexpr")):
                continue
            for kind, pattern in (("barrier", BARRIER), ("wait", WAIT)):
                for m in pattern.finditer(code):
                    yield Mutant(path, number, kind, line, line[: m.start()] + ";" + line[m.end():])
            if path.name == "backend.cu" or host or "launch(" in code:
                continue
            for pattern, other in ((LESS, " <= "), (AT_LEAST, " > "), (LEFT, " < ")):
                for m in pattern.finditer(code):
                    yield Mutant(path, number, "bound", line, line[: m.start()] + other + line[m.end():])


class Program:
    """A test program of a build: how its kernels are compiled and how it is linked."""

    def __init__(self, build, target):
        self.build, self.name = build, target.split("/")[-1]
        commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], capture_output=True, text=True, check=True).stdout.splitlines()
        self.link = commands[-1]
        self.compile = {}  # source → command and object
        for command in commands:
            obj, source = re.search(r" -o (\S+\.o)", command), re.search(r" -c (\S+\.cu)\b", command)
            if obj and source:
                self.compile[os.path.realpath(os.path.join(build, source[1]))] = (command, obj[1])
        text = {source: subprocess.run(["ninja", "-C", str(build), "-t", "deps", obj], capture_output=True, text=True).stdout for source, (_, obj) in self.compile.items()}
        self.sees = lambda path: [s for s in self.compile if s == str(path) or f"/{path.name}\n" in text[s]]

    def make(self, mutant, folder):
        """Links the program with the mutant; None where it does not compile, which is as good as found."""
        folder = pathlib.Path(folder)
        changed = mutant.path.read_text().splitlines()
        changed[mutant.line] = mutant.after
        overlay = folder / mutant.path.relative_to(ROOT)
        overlay.parent.mkdir(parents=True, exist_ok=True)
        overlay.write_text("\n".join(changed) + "\n")
        link, jobs = self.link, []
        for number, source in enumerate(self.sees(mutant.path)):
            command, obj = self.compile[source]
            new = str(folder / f"{self.name}_{number}.o")
            command = command.replace(f"-o {obj}", f"-o {new}").replace(" -I", f" -I{folder} -I", 1)
            if source == str(mutant.path):
                command = re.sub(r"-c \S+", f"-c {overlay}", command)
            jobs.append(subprocess.Popen(command, shell=True, cwd=self.build, stderr=subprocess.DEVNULL))
            link = link.replace(f" {obj} ", f" {new} ", 1)
        program = folder / self.name
        if any([j.wait() != 0 for j in jobs]):
            return None
        link = re.sub(r"-o (\S*test_gpu\S*)", f"-o {program}", link, count=1)
        link = link.split(" && cd ")[0]  # what CMake does to a finished program: discover its tests
        subprocess.run(link, shell=True, cwd=self.build, check=True, stdout=subprocess.DEVNULL)
        return program


def found(program, wanted):
    try:
        done = subprocess.run([str(program), f"--gtest_filter={wanted}", "--gtest_fail_fast", "--gtest_brief=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=1200)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True  # a step that never ends is noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--file", help="only mutants of files whose name holds this")
    parser.add_argument("--kind", choices=["barrier", "wait", "bound"])
    parser.add_argument("--sample", type=int, help="so many at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", action="append", help="test programs of the build (tests/test_gpu, then tests/test_gpu_race)")
    parser.add_argument("--list", action="store_true", help="say which there are, and end")
    args = parser.parse_args()
    todo = [m for m in mutants() if (not args.file or args.file in m.path.name) and (not args.kind or m.kind == args.kind)]
    if args.sample is not None:
        todo = random.Random(args.seed).sample(todo, min(args.sample, len(todo)))
    if args.list:
        for m in todo:
            print(m)
        print(f"{len(todo)} mutants")
        return 0
    build = args.build.resolve()
    programs = [Program(build, name) for name in args.program or ["tests/test_gpu", "tests/test_gpu_race"]]
    runs = [(p, first) for first in (True, False) for p in programs]
    missed = []
    for number, m in enumerate(todo):
        first = FIRST.get(m.path.stem, "*")
        how = "missed"
        with tempfile.TemporaryDirectory() as folder:
            made = {}
            for program, narrow in runs:
                if program not in made:
                    made[program] = program.make(m, folder)
                wanted = first if narrow else "-*Adults*:Cli*"
                if made[program] is None or found(made[program], wanted):
                    how = "does not compile" if made[program] is None else f"found by {program.name}, {wanted}"
                    break
        print(f"{number + 1}/{len(todo)} {m}\n    {how}", flush=True)
        if how == "missed":
            missed.append(m)
    print(f"\n{len(todo) - len(missed)} of {len(todo)} mutants were found.")
    for m in missed:
        print("missed:", m)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
