"""A CSV table of N rows and 50 columns, for measures of memory: python3 bench/tables/wide.py ROWS > wide.csv

Five groups of ten columns: four decimals, two integers, three categories, one date. The columns of a group depend on
one hidden number; a group has 65,536 combinations, and rows pick one of each group.
"""
import datetime
import random
import sys

GROUPS, COMBINATIONS, ROWS_AT_ONCE = 5, 1 << 16, 10_000
FIRST_DAY = datetime.date(2010, 1, 1)


def combination(rng):
    hidden = rng.gauss(0, 1)
    cells = [f"{hidden * (k + 1) + rng.gauss(0, 1):.3f}" for k in range(4)]
    cells += [str(round(100 * hidden + rng.gauss(0, 10 * (k + 1)))) for k in range(2)]
    cells += [f"v{min(int(rng.expovariate(1) * (k + 1) + abs(hidden)), 20)}" for k in range(3)]
    cells.append(str(FIRST_DAY + datetime.timedelta(days=int(1000 + 300 * hidden))))
    return ",".join(cells)


def main(rows):
    rng = random.Random(1)
    kinds = ["decimal"] * 4 + ["integer"] * 2 + ["category"] * 3 + ["date"]
    print(",".join(f"{kind}_{group}_{k}" for group in range(GROUPS) for k, kind in enumerate(kinds)))
    groups = [[combination(rng) for _ in range(COMBINATIONS)] for _ in range(GROUPS)]
    for begin in range(0, rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, rows - begin)
        picks = [rng.choices(group, k=count) for group in groups]
        sys.stdout.write("".join(",".join(row) + "\n" for row in zip(*picks)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
