#!/usr/bin/env python3
"""Writes the index of bench/lab/experiments/ into bench/lab/README.md, by area and outcome.

    index.py [--check]      --check: writes nothing, and fails if the index or an experiment is not in its form
"""
import pathlib
import re
import sys

LAB = pathlib.Path(__file__).resolve().parent
HEAD = re.compile(r"# (\d{3}) (.+)\n\n"
                  r"Area: ([^·\n]+) · Outcome: (kept|not kept|a choice)( · [^\n]+)?\n\n\*\*Tried\*\*\n")
PARTS = ["Tried", "Expected", "Measured", "Decision"]
MARK = "<!-- index.py writes what follows -->\n"


def experiments():
    """[(number, title, area, outcome, file)], and what is wrong with those that are left out."""
    found, wrong = [], []
    for file in sorted((LAB / "experiments").glob("*.md")):
        text = file.read_text()
        head = HEAD.match(text)
        parts = re.findall(r"^\*\*(\w+)\*\*$", text, re.MULTILINE)
        if not head or not file.name.startswith(head[1] + "-") or parts != PARTS:
            wrong.append(f"{file.name}: not in the form of the others (bench/lab/README.md)")
            continue
        wrong += [f"{file.name}: there is no {link}" for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", text)
                  if "://" not in link and not (file.parent / link).exists()]
        found.append((int(head[1]), head[2], head[3].strip(), head[4], file.name))
    numbers = [n for n, *_ in found]
    wrong += [f"two experiments {n:03}" for n in sorted(set(numbers)) if numbers.count(n) > 1]
    return found, wrong


def index(found):
    text = MARK
    for area in sorted({area for _, _, area, _, _ in found}, key=str.lower):
        text += f"\n## {area}\n"
        for outcome in ("kept", "a choice", "not kept"):
            those = [e for e in found if e[2] == area and e[3] == outcome]
            if those:
                text += f"\n{outcome[0].upper()}{outcome[1:]}:\n\n"
                text += "".join(f"- [{n:03}](experiments/{file}) {title}\n" for n, title, _, _, file in those)
    return text


def main(check):
    found, wrong = experiments()
    page = LAB / "README.md"
    before = page.read_text()
    after = before.split(MARK)[0] + index(found)
    if check and after != before:
        wrong.append("the index of bench/lab/README.md is an older one: run bench/lab/index.py")
    if not check:
        page.write_text(after)
    print(*wrong, f"{len(found)} experiments", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
