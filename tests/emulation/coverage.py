#!/usr/bin/env python3
"""Which lines of the CUDA kernels and of the backend the tests run: runs test_gpu_coverage and asks gcov.

    python3 tests/emulation/coverage.py BUILD [--filter GTEST_FILTER] [--keep]

Prints a table by file and the lines that were not reached; ends with 1 if there are any. A line that no test can reach says why in a comment that begins with
`not reached:`, at its end or on the line above. --keep: what earlier runs have reached counts too.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--program", default="tests/test_gpu_coverage")
    parser.add_argument("--filter", default="-*Adults*:Cli*")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    build = args.build.resolve()
    notes = [p for p in build.rglob("*.gcno")]
    if not args.keep:
        for p in build.rglob("*.gcda"):
            p.unlink()
    ran = subprocess.run([str(build / args.program), f"--gtest_filter={args.filter}", "--gtest_brief=1"])
    if ran.returncode != 0:
        print("coverage: the tests failed", file=sys.stderr)
        return ran.returncode
    hits = collections.defaultdict(collections.Counter)  # file → line → times
    for note in notes:
        report = subprocess.run(["gcov", "--json-format", "--stdout", str(note)], cwd=note.parent, capture_output=True, text=True).stdout
        for text in report.splitlines():
            for file in json.loads(text)["files"]:
                path = pathlib.Path(file["file"])
                path = (path if path.is_absolute() else note.parent / path).resolve()
                if not path.exists():
                    name = pathlib.Path(file["file"]).name
                    path = next((p for folder in ("kernels/gpu", "engine/device/cuda") for p in (ROOT / folder).rglob(name)), path)
                if path.suffix in (".cu", ".cuh") and ROOT in path.parents:
                    for line in file["lines"]:
                        hits[path.relative_to(ROOT)][line["line_number"]] += line["count"]
    missing, all_lines = [], 0
    print(f"{'file':<36}{'lines':>7}{'reached':>9}")
    for path in sorted(hits):
        source = (ROOT / path).read_text().splitlines()
        excused = {n + 1 + source[n].lstrip().startswith("//") for n in range(len(source)) if "not reached:" in source[n]}
        lines = {n: c for n, c in hits[path].items() if n <= len(source) and n not in excused}
        left = sorted(n for n, c in lines.items() if c == 0)
        missing += [(path, n, source[n - 1].strip()) for n in left]
        all_lines += len(lines)
        print(f"{str(path):<36}{len(lines):>7}{100 * (len(lines) - len(left)) / max(len(lines), 1):>8.1f}%")
    print(f"{'all':<36}{all_lines:>7}{100 * (all_lines - len(missing)) / max(all_lines, 1):>8.1f}%")
    for path, n, text in missing:
        print(f"not reached: {path}:{n}: {text}")
    return 1 if missing or all_lines == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
