#!/usr/bin/env python3
"""Prints a schema file for `tessera fit --epsilon`: values, ranges and decimals, here read from the table given, which a user may
not do; ranges are widened to round numbers.

    private_schema.py TABLE.csv [--categories sex,pay_0] > schema.json
"""

import argparse
import csv
import json
import math
import sys


def outward(low, high):
    """Both ends to two digits of the range."""
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)) - 1)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def column(name, texts, categories):
    present = [t for t in texts if t]
    try:
        numbers = [float(t) for t in present]
    except ValueError:
        numbers = []
    if name in categories or not numbers:
        return {"name": name, "type": "category", "values": sorted(set(present))}
    decimals = max(len(t.partition(".")[2]) if "e" not in t.lower() else 6 for t in present)
    low, high = outward(min(numbers), max(numbers))
    if decimals == 0:
        return {"name": name, "type": "integer", "min": math.floor(low), "max": math.ceil(high)}
    return {"name": name, "type": "decimal", "min": round(low, 9), "max": round(high, 9), "decimals": min(decimals, 6)}


def schema(path, categories=()):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {"columns": [column(name, [row[name] for row in rows], categories) for name in rows[0]]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table")
    parser.add_argument("--categories", default="", help="columns whose numbers are names")
    options = parser.parse_args()
    json.dump(schema(options.table, options.categories.split(",")), sys.stdout, indent=1)
