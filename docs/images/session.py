#!/usr/bin/env python3
"""Draws the terminal session of README.md, of what the program prints today.

    session.py <tessera> [--check]

It writes docs/images/session.svg and, where there is Chromium, report.png. --check: writes nothing, and fails if the picture has other words than the program
prints now; numbers and rows of tables may differ between processors.
"""

import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OUT = pathlib.Path(__file__).resolve().parent / "session.svg"
CHARACTER, LINE, MARGIN, BAR, COLUMNS = 7.83, 18, 18, 34, 142
STYLE = {"$": ("prompt", "#f0f6fc"), "": ("output", "#c9d1d9")}
# A command, and the beginnings of the lines of its output that are shown.
COMMANDS = (
    ("tessera inspect people.csv", ("5,000 rows", "  column", "  person_id", "  income", "  joined")),
    ("tessera fit people.csv", ("train ", "saved ")),
    ("tessera sample people.tessera --rows 5000 --output synthetic.csv", ()),
    ("head -3 synthetic.csv", ("",)),
    (
        "tessera evaluate people.csv synthetic.csv",
        ("column shapes", "column pair", "written form  ", "detection  ", "boosted", "exact copies", "✓ ", "~ ", "✗ ", "  ✓ No"),
    ),
)


def session(program):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "tessera").symlink_to(pathlib.Path(program).resolve())

        def run(command):
            line = f'PATH="$PWD:$PATH"; {command} 2>&1'
            return subprocess.run(line, shell=True, cwd=folder, check=True, capture_output=True, text=True).stdout

        run("tessera example people.csv --rows 5000 --quiet")
        for command, wanted in COMMANDS:
            output = run(command).splitlines()
            # Times differ from run to run.
            output = [re.sub(r"\s+[\d.]+ s( in total)?$", "", line) for line in output]
            shown = []
            for begin in wanted:
                found = [line for line in output if line.startswith(begin)]
                shown += found if begin == "" else found[-1:]  # the last, of lines of progress
            lines += ["$ " + command, *(line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…" for line in shown)]
    return lines


def page(program):
    """The top of the page of the same table, as a browser shows it."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            "example people.csv --rows 5000",
            "fit people.csv",
            "sample people.tessera --rows 5000 --output synthetic.csv",
            "example unseen.csv --rows 2000 --seed 1",
            "evaluate people.csv synthetic.csv --holdout unseen.csv --target employed --report page.html",
        ):
            line = [pathlib.Path(program).resolve(), *command.split(), "--quiet"]
            subprocess.run(line, cwd=folder, check=True, capture_output=True)
        size = ("--window-size=1280,1500", f"--screenshot={OUT.with_name('report.png')}")
        line = [chromium, "--headless", "--no-sandbox", "--hide-scrollbars", *size, f"file://{folder}/page.html"]
        subprocess.run(line, check=True, capture_output=True)


def picture(lines):
    width = round(max(map(len, lines)) * CHARACTER) + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN + BAR - 8
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>A Tessera session in a terminal</title>",
        f'<rect width="{width}" height="{height}" rx="9" fill="#0d1117"/>',
    ]
    for i, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        svg.append(f'<circle cx="{20 + 20 * i}" cy="18" r="6" fill="{color}"/>')
    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    svg.append(f'<g font-family="{font}" font-size="13">')
    for row, line in enumerate(lines):
        name, color = STYLE[line[:1] if line.startswith("$ ") else ""]
        weight = ' font-weight="600"' if name == "prompt" else ""
        at = f'x="{MARGIN}" y="{BAR + MARGIN + row * LINE}"'
        # No-break spaces: browsers no longer heed xml:space, and white-space not on every element.
        text = html.escape(line).replace(" ", "\N{NO-BREAK SPACE}")
        svg.append(f'<text {at} fill="{color}"{weight}>{text}</text>')
    return "\n".join([*svg, "</g></svg>", ""])


def words(svg):
    """The words of each line, without numbers; rows of tables are their commas."""
    lines = [html.unescape(line) for line in re.findall(r"<text[^>]*>(.*?)</text>", svg)]
    return [["row"] if line.count(",") > 8 else re.findall(r"[^\W\d_]{3,}", line)[:4] for line in lines]


def main():
    svg = picture(session(sys.argv[1]))
    if "--check" not in sys.argv:
        OUT.write_text(svg, encoding="utf-8")
        page(sys.argv[1])
        return 0
    shown = words(OUT.read_text(encoding="utf-8"))
    for old, new in zip(shown, words(svg)):
        if old != new:
            print(f"docs/images/session.svg shows {old}, the program prints {new}: run docs/images/session.py")
            return 1
    return 0 if len(shown) == len(words(svg)) else 1


if __name__ == "__main__":
    sys.exit(main())
