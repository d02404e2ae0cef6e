"""Samples a model by several processes, each its own range of rows: the rows are those of one process.

    python sample_parts.py program model.tessera 1000 4 out/rows.csv

Ray, Dask and Spark do the same with their own map: a row depends on the model, the seed and its number alone, so
`--offset`, or `--part I/N`, gives each worker its rows, wherever and however often it runs.
"""

import subprocess
import sys
from multiprocessing import Pool


def part(arguments):
    program, model, rows, parts, output, number = arguments
    subprocess.run(
        [program, "sample", model, "--rows", rows, "--output", output, "--part", f"{number}/{parts}", "--threads", "1",
         "--force", "--quiet"],
        check=True,
    )
    return number


if __name__ == "__main__":
    program, model, rows, parts, output = sys.argv[1:]
    with Pool() as pool:
        for number in pool.imap(part, [(program, model, rows, parts, output, i) for i in range(int(parts))]):
            print(f"part {number} of {parts}")
