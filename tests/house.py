#!/usr/bin/env python3
"""Counts what makes the code easy to find one's way in, and asserts the bounds that were reached.

  house.py <source folder> [--all]      --all: every op with the files that name it, every word with its count

Sizes of folders, files and functions are warnings: a reviewer decides whether what outgrew its bound should be split.
"""
import collections
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

MAX_FILES, MAX_COLUMNS, MAX_FUNCTION, MAX_FILE = 20, 120, 80, 600
# In how many files beside its own an op is named (median, worst), and an option of a method in all.
OP_MEDIAN, OP_WORST, OPTION_FILES = 1, 6, 2
# Words that read badly, in code and comments of the product (CONTRIBUTING.md says what to write instead): how often
# they may occur. Lower a number whenever it falls; never raise one.
WORDS = {r"\bkMost\w*|\bkLeast\w*|\bkFewest\w*": 5, r"\broom(s)?\b": 14, r"\blearnt\b": 0, r"\bapart\b": 56,
         r"\bsettle[sd]?\b|\bunsettled\b": 13, r"\brelax\w*": 85, r"\btold\b": 8, r"\bstretch(es)?\b": 24}
# What the front ends spell, not the layers below them.
FLAGS = (r'"[^"\n]*--[a-z]', 0)

# A kind of column is one file of tables/kinds: how many other files name a kind, how many places ask whether a column
# holds numbers, how many files know the seconds of a day. They may only fall.
KIND_FILES, NUMERIC, DAY_FILES = 6, 7, 3

LAYERS = ["kernels", "base", "engine", "tables", "models", "tools", "plugins"]
CODE = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}
failures = 0


def fail(text):
    global failures
    failures += 1
    print(text)


def warn(text):
    print("warning:", text)


def files_of(*folders):
    return sorted(p for f in folders for p in pathlib.Path(f).rglob("*") if p.is_file() and "corpus" not in p.parts)


def folders_and_pages():
    folders = ["kernels", "base", "engine", "tables", "models", "include", "tools", "tests", "bench", "plugins", "examples", "docs"]
    for folder, count in collections.Counter(p.parent for p in files_of(*folders)).items():
        if count > MAX_FILES:
            warn(f"{folder} holds {count} files (bound {MAX_FILES})")
    index = pathlib.Path("docs/README.md").read_text()  # says of every page what it answers
    for page in pathlib.Path("docs").rglob("*.md"):
        name = page.relative_to("docs").as_posix()
        if name != "README.md" and f"]({name})" not in index:
            fail(f"docs/README.md does not list {name}")
        if "/" not in name and name not in ("README.md", "architecture.md"):
            fail(f"docs/{name} lies in no folder")


def functions_of(lines):
    """(first line, number of lines, head) of functions and methods: the tree is formatted, so a body ends at a brace in
    the column in which its head began."""
    head = inner = 0
    for at, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if re.match(r"(namespace|extern|class|struct|enum|union|//|template)", line) and "(" not in line:
            head = 0
            continue
        if re.match(r"[^ \t#/}]", line) and not head:
            head, name = at, line
        if line.startswith("}"):
            if head:
                yield head, at - head + 1, name
            head = 0
        if line.endswith(";") and head == at:
            head = 0
        if re.match(r"  [A-Za-z~].*\).*\{$", line) and not re.match(
                r"  (if|for|while|switch|do|else|return|struct|class|enum|union|namespace)", line):
            inner, method = at, line
        if line.startswith("  }"):
            if inner:
                yield inner, at - inner + 1, method
            inner = 0


def sizes(texts):
    for path, text in texts.items():
        lines = text.splitlines()
        if long := sum(len(line) > MAX_COLUMNS for line in lines):
            fail(f"{path} has {long} lines of more than {MAX_COLUMNS} columns")
        if len(lines) > MAX_FILE:
            warn(f"{path} has {len(lines)} lines (bound {MAX_FILE})")
        if path.parts[0] in LAYERS:
            for at, count, head in functions_of(lines):
                if count > MAX_FUNCTION:
                    warn(f"{path}:{at}: {count} lines: {head.strip()}")


def types_defined_twice(product):
    """A name of a type means one thing in a namespace: two definitions in two files are one entity to the linker."""
    first = {}
    for path, text in product.items():
        if path.suffix.startswith(".cu"):
            continue
        space = []
        for at, line in enumerate(text.splitlines(), 1):
            if m := re.match(r"namespace(?: ([\w:]+))?[^{]*\{", line):
                space.append(m[1] or "{}")
            elif line.startswith("}  // namespace") and space:
                space.pop()
            elif "{}" not in space and (m := re.match(
                    r"(?:template <.*> )?(?:enum class|enum|struct|class) (\w+)(?: final)?(?: : [^{;]*)? \{", line)):
                name = "::".join([*space, m[1]])
                if name in first:
                    fail(f"one name for two types: {name} in {first[name]} and {path}:{at}")
                first[name] = f"{path}:{at}"


def ops(product, verbose):
    """An op is described once: in how many files of engine/ and kernels/ it is named outside its own, which are
    kernels/ops.h and those with its Rule<Op>, its CPU kernel, its CUDA kernel, its Fused<Op> and its text in generated
    source."""
    listed = re.findall(r"^ *X\((\w+), (\w+), ", pathlib.Path("kernels/ops.h").read_text(), re.M)
    texts = {p: t for p, t in product.items() if p.parts[0] in ("engine", "kernels") and p.as_posix() != "kernels/ops.h"}
    words = {p: set(re.findall(r"(?:OpKind::)?[A-Za-z_]\w*", re.sub(r'//.*|"[^"\n]*"', "", t))) for p, t in texts.items()}
    own = collections.defaultdict(set)  # files of an op, by either of its names
    for path, text in texts.items():
        for m in re.finditer(r"Rule<(\w+)>(?:[^:\n]*\{| *:)|struct Fused<(\w+)>|TESSERA_KERNEL\((\w+),|kCpuOnly<(\w+)> = true|Kernel (\w+)_entry\(\)|OpText text\(const (\w+)&", text):
            own[next(filter(None, m.groups()))].add(path)
    counts = []
    for op, name in listed:
        others = [p for p in texts if (op in words[p] or f"OpKind::{name}" in words[p]) and p not in own[op] | own[name]]
        counts.append((len(others), op, others))
    counts.sort()
    if verbose:
        for count, op, others in counts:
            print(count, op, *others)
    median, worst = counts[(len(counts) - 1) // 2][0], counts[-1]
    print(f"{len(counts)} ops; named outside their own files: the median in {median} files (bound {OP_MEDIAN}), "
          f"the worst, {worst[1]}, in {worst[0]} (bound {OP_WORST})")
    if len(counts) < 48 or median > OP_MEDIAN or worst[0] > OP_WORST:
        fail("ops are named in too many files: house.py . --all lists them")


def options(texts):
    """An option of a method is described once, in options.cpp of its folder. Not counted: options that are words of
    the trainer and of judges too, and doctests."""
    found = set()
    for path in pathlib.Path("models").glob("*/options.cpp"):
        found |= set(re.findall(r'^ *(?:return \{)?\{"([a-z_]+)", &', path.read_text(), re.M))
    found -= {"epochs", "batch_size", "layers", "learning_rate"}
    python = {p: p.read_text() for p in pathlib.Path("python").rglob("*.py")}
    searched = {p: t for p, t in itertools.chain(texts.items(), python.items())
                if p.parts[0] in (*LAYERS, "include", "python") and p.parts[0] != "plugins"}
    named = collections.defaultdict(set)
    for path, text in searched.items():
        for word, flag in re.findall(r'"([a-z_]+)"|--([a-z][a-z-]*)', text):
            named[word or flag.replace("-", "_")].add(path.as_posix())
    counts = []
    for option in found:
        own = r"/options\.cpp$|^python/tessera/_options\.py$"
        counts.append((1 + sum(not re.search(own, p) for p in named[option]), option))
    counts.sort()
    print(f"{len(counts)} options of methods; the one named in most files, {counts[-1][1]}, in {counts[-1][0]} (bound {OPTION_FILES})")
    if len(counts) < 30 or counts[-1][0] > OPTION_FILES:
        fail(f"options are named in too many files: {counts[-5:]}")


def words(product, verbose):
    for pattern, bound in WORDS.items():
        count = sum(len(re.findall(pattern, t)) for t in product.values())
        if verbose:
            print(f"{count} of {pattern} (bound {bound})")
        if count > bound:
            fail(f"{count} of {pattern}, {bound} were there: write max, min, scratch, learned, stride, ... (CONTRIBUTING.md)")
    pattern, bound = FLAGS
    count = sum(len(re.findall(pattern, t)) for p, t in product.items() if p.parts[0] in ("base", "engine", "tables", "models"))
    if verbose:
        print(f"{count} strings of engine and models with a flag (bound {bound})")
    if count > bound:
        fail(f"{count} strings of engine and models hold a flag of the command line, {bound} were there")


def kinds_of_columns(product):
    tables = {p.as_posix(): t for p, t in product.items()
              if p.parts[0] not in ("kernels", "engine") and not p.as_posix().startswith("tables/kinds/")}
    files = sum("ColumnType::" in t for t in tables.values())
    asked = sum(t.count("is_numeric(") for t in tables.values())
    days = sum(bool(re.search(r"\b86400\b(?!.*\*/)", re.sub(r"//.*|\"[^\"\n]*\"", "", t))) for t in tables.values())
    print(f"kinds of columns are named in {files} files beside tables/kinds (bound {KIND_FILES}), is_numeric() stands in "
          f"{asked} places (bound {NUMERIC}), 86400 in {days} files (bound {DAY_FILES})")
    if files > KIND_FILES or asked > NUMERIC or days > DAY_FILES:
        fail("what differs from kind to kind of columns belongs into tables/kinds")


def tests_of_errors(texts):
    """The tests that tests/errors.md names exist."""
    tests = set()
    for path, text in texts.items():
        if path.parts[0] == "tests":
            tests |= {".".join(t) for t in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", text)}
    scripts = "".join(p.read_text() for p in [pathlib.Path("tests/CMakeLists.txt"), *pathlib.Path("tests/python").glob("*.py")])
    for row in re.findall(r"^\| .*$", pathlib.Path("tests/errors.md").read_text(), re.M):
        for name in re.findall(r"`(\w+(?:\.[^`]+)?)`", row.split("|")[-2]):
            begin = name.rstrip("*…")
            if not any(t == name or begin != name and t.startswith(begin) for t in tests) and name not in scripts \
                    and not any(t.startswith(name + ".") for t in tests):
                fail(f"tests/errors.md names a test that is not there: {name}")


def layout(paths):
    """By .clang-format, where the formatter of the release it was written with is there."""
    tool = shutil.which("clang-format")
    if not tool or "version 14." not in subprocess.run([tool, "--version"], capture_output=True, text=True).stdout:
        return
    run = subprocess.run([tool, "--dry-run", "-Werror", *map(str, paths)], capture_output=True, text=True)
    if errors := [line for line in run.stderr.splitlines() if "error:" in line]:
        fail(f"not as .clang-format has it: {len(errors)} places, the first: {errors[0]}")


def main(arguments):
    verbose = "--all" in arguments
    texts = {p: p.read_text() for p in files_of("kernels", "base", "engine", "tables", "models", "include", "tools", "tests", "bench", "plugins",
                                                "examples") if p.suffix in CODE}
    product = {p: t for p, t in texts.items() if p.parts[0] in LAYERS}
    folders_and_pages()
    sizes(texts)
    types_defined_twice(product)
    ops(product, verbose)
    options(texts)
    words(product, verbose)
    kinds_of_columns(product)
    tests_of_errors(texts)
    layout(texts)
    return int(failures > 0)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
