#!/usr/bin/env python3
"""Prints the schema file of Adult for `tessera fit --epsilon`: the values that the UCI documentation lists, here read from
the table given, and ranges as round numbers. adult_schema.py adult_train.csv > adult.json"""

import csv
import json
import sys

RANGES = {"age": (17, 90), "fnlwgt": (0, 1500000), "education_num": (1, 16), "capital_gain": (0, 99999),
          "capital_loss": (0, 5000), "hours_per_week": (1, 99)}

rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
columns = []
for name in rows[0]:
    if name in RANGES:
        columns.append({"name": name, "type": "integer", "min": RANGES[name][0], "max": RANGES[name][1]})
    else:
        columns.append({"name": name, "type": "category", "values": sorted({row[name] for row in rows if row[name]})})
json.dump({"columns": columns}, sys.stdout, indent=1)
