"""MinHash over the cells of a table, or over documents, by rensa and datasketch, beside `tessera dedup`.

    venv/bin/pip install numpy rensa datasketch
    venv/bin/python dedup.py TESSERA [--rows 20000] [--copies 2000] [--threshold .9] [--documents]

Makes a table of eight numbers and seven categories with planted near copies: one cell rewritten, the other numbers moved
by up to 1 % of their range. A row is a set of 15 tokens for the peers, numbers in bins of 1 % of the range; a pair that
they propose is not verified. With --documents: texts of 155 random words (about 1 kB), of which the copies are earlier ones
with up to twelve words replaced; a text is the set of its pieces of five characters, and a copy counts as planted if the
similarity (Jaccard's) of the two is at least the threshold. Prints for each: seconds (of the peers without reading), planted copies that are found, and
rows that are called copies and are none.
"""

import argparse
import csv
import json
import random
import resource
import string
import subprocess
import tempfile
import time

import numpy

NUMBERS, LEVELS = 8, (3, 7, 19, 39, 67, 103, 147)


def table(rows, copies, seed):
    draw = numpy.random.default_rng(seed)
    numbers = draw.normal(size=(rows, NUMBERS))
    numbers[:, 4:] = numpy.exp(numbers[:, 4:] / 2)
    levels = numpy.stack([draw.integers(0, n, rows) for n in LEVELS], axis=1)
    of, other = draw.integers(0, rows, copies), draw.integers(0, rows, copies)
    more, codes = numbers[of], levels[of]
    more = more + draw.uniform(-0.01, 0.01, more.shape) * numpy.ptp(numbers, axis=0)
    for i, column in enumerate(draw.integers(0, NUMBERS + len(LEVELS), copies)):
        if column < NUMBERS:
            more[i, column] = numbers[other[i], column]
        else:
            codes[i, column - NUMBERS] = levels[other[i], column - NUMBERS]
    return numpy.concatenate([numbers, more]).round(6), numpy.concatenate([levels, codes])


def tokens(numbers, levels):
    low, span = numbers.min(axis=0), numpy.ptp(numbers, axis=0)
    bins = numpy.floor((numbers - low) / span * 100).astype(int)
    return [[f"{k}:{v}" for k, v in enumerate(row)] for row in numpy.concatenate([bins, levels], axis=1)]


def pieces(text):
    return {text[i:i + 5] for i in range(len(text) - 4)}


def documents(rows, copies, threshold, seed):
    """Texts, and the numbers of those whose similarity to the text that they were made of is at least the threshold."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 9))) for _ in range(20_000)]
    texts = [draw.choices(words, k=155) for _ in range(rows)]
    planted = set()
    for i in range(copies):
        of = texts[draw.randrange(rows)]
        copy = list(of)
        for _ in range(draw.randint(0, 12)):
            copy[draw.randrange(len(copy))] = draw.choice(words)
        a, b = pieces(" ".join(of)), pieces(" ".join(copy))
        if len(a & b) >= threshold * len(a | b):
            planted.add(rows + i)
        texts.append(copy)
    return [" ".join(t) for t in texts], planted


def rensa_copies(sets, threshold, bands=8):
    import rensa

    index, found = rensa.RMinHashLSH(threshold=threshold, num_perm=128, num_bands=bands), set()
    for i, row in enumerate(sets):
        sketch = rensa.RMinHash(num_perm=128, seed=42)
        sketch.update(row)
        if any(j < i for j in index.query(sketch)):
            found.add(i)
        index.insert(i, sketch)
    return found


def datasketch_copies(sets, threshold):
    import datasketch

    index, found = datasketch.MinHashLSH(threshold=threshold, num_perm=128), set()
    for i, row in enumerate(sets):
        sketch = datasketch.MinHash(num_perm=128)
        sketch.update_batch([token.encode() for token in row])
        if index.query(sketch):
            found.add(i)
        index.insert(i, sketch)
    return found


def tessera_copies(program, path, mode, threshold):
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        options = ["--mode", mode, "--threshold", str(threshold), "--action", "report", "--force", "--json", "--quiet"]
        subprocess.run([program, "dedup", path, "--output", out.name, *options], check=True, stdout=subprocess.DEVNULL)
        with open(out.name, newline="") as file:
            return {int(row["row"]) - 1 for row in csv.DictReader(file)}


def main_of_documents(a):
    texts, planted = documents(a.rows, a.copies, a.threshold, 1)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([t] for t in texts)
        file.flush()
        runs = {  # rensa has no search for the bands: those of the threshold and a recall of .99, as tessera's
            "rensa": lambda: rensa_copies(map(pieces, texts), a.threshold, bands=16),
            "datasketch": lambda: datasketch_copies(map(pieces, texts), a.threshold),
            "tessera documents": lambda: tessera_copies(a.program, file.name, "documents", a.threshold),
        }
        for name, run in runs.items():
            begun, used = time.perf_counter(), time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            found = run()
            now = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            print(json.dumps({"peer": name, "seconds": round(time.perf_counter() - begun, 2),
                              "processor": round(now - used, 2), "planted found": round(len(found & planted) / len(planted), 4),
                              "others": len(found - planted)}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--copies", type=int, default=2000)
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--documents", action="store_true")
    a = parser.parse_args()
    if a.documents:
        return main_of_documents(a)
    numbers, levels = table(a.rows, a.copies, 1)
    sets = tokens(numbers, levels)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{k}" for k in range(NUMBERS)] + [f"c{k}" for k in range(len(LEVELS))])
        writer.writerows([*map(repr, map(float, x)), *(f"v{v}" for v in c)] for x, c in zip(numbers, levels))
        file.flush()
        runs = {
            "rensa": lambda: rensa_copies(sets, a.threshold),
            "datasketch": lambda: datasketch_copies(sets, a.threshold),
            "tessera fuzzy": lambda: tessera_copies(a.program, file.name, "fuzzy", a.threshold),
            "tessera nearest": lambda: tessera_copies(a.program, file.name, "nearest", a.threshold),
        }
        for name, run in runs.items():
            begun = time.perf_counter()
            found = run()
            planted = sum(i >= a.rows for i in found)
            print(json.dumps({"peer": name, "seconds": round(time.perf_counter() - begun, 2),
                              "planted found": round(planted / a.copies, 4), "others": len(found) - planted}))


if __name__ == "__main__":
    main()
