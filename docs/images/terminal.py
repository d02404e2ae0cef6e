#!/usr/bin/env python3
"""Draws a terminal session as an SVG: python3 docs/images/terminal.py < session.txt > terminal.svg

Lines that begin with "$ " are commands, lines that begin with "# " are remarks; the rest is output.
"""
import html
import sys

CHARACTER, LINE, MARGIN, BAR = 7.83, 18, 18, 34
STYLE = {"$": ("prompt", "#f0f6fc"), "#": ("remark", "#8b949e"), "": ("output", "#c9d1d9")}


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    width = round(max(map(len, lines)) * CHARACTER) + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN + BAR - 8
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">')
    print("<title>A Tessera session in a terminal</title>")
    print(f'<rect width="{width}" height="{height}" rx="9" fill="#0d1117"/>')
    for i, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        print(f'<circle cx="{20 + 20 * i}" cy="18" r="6" fill="{color}"/>')
    print('<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" xml:space="preserve">')
    for row, line in enumerate(lines):
        kind = line[:1] if line[:2] in ("$ ", "# ") else ""
        name, color = STYLE[kind]
        weight = ' font-weight="600"' if name == "prompt" else ""
        print(f'<text x="{MARGIN}" y="{BAR + MARGIN + row * LINE}" fill="{color}"{weight}>{html.escape(line)}</text>')
    print("</g></svg>")


main()
