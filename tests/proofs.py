#!/usr/bin/env python3
"""Runs a test that costs minutes only if what it proves has changed since it last passed.

  proofs.py NAME INPUT... -- COMMAND...     INPUT: a file or folder, from the source folder

tests/proofs.txt holds the hash of the inputs of each such test, as they were when it passed. With the same inputs it
ends with 77, which ctest takes for "skipped". TESSERA_PROOFS=all runs it in any case, TESSERA_PROOFS=record (tools/test.sh
all) also writes the hash down when it has passed.
"""
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RECORD = SOURCE / "tests" / "proofs.txt"


def hash_of(inputs):
    total = hashlib.sha256()
    for given in inputs:
        path = SOURCE / given
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc")
        if not files:
            sys.exit(f"proofs: there is nothing at {path}")
        for file in files:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{file.relative_to(SOURCE)} {content}\n".encode())
    return total.hexdigest()[:32]


def recorded():
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def record(name, value):
    with open(SOURCE / "tests" / "proofs.py") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = recorded() | {name: value}
        RECORD.write_text("# Written by proofs.py: tests that cost minutes, and a hash of what they proved when they "
                          "last passed.\n" + "".join(f"{n} {h}\n" for n, h in sorted(known.items())))


def main(arguments):
    at = arguments.index("--")
    name, inputs, command = arguments[0], arguments[1:at], arguments[at + 1:]
    mode, value = os.environ.get("TESSERA_PROOFS", ""), hash_of(inputs)
    if not mode and recorded().get(name) == value:
        print(f"skipped: {name} passed with these inputs ({', '.join(inputs)}); TESSERA_PROOFS=all runs it")
        return 77
    result = subprocess.run(command).returncode
    if result == 0 and mode == "record":
        record(name, value)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
