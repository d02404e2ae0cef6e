#!/usr/bin/env python3
"""Judges a synthetic table, independently of Tessera's own `evaluate`: JSON on standard output, one line of the main figures on standard error.

    judge.py REAL_TRAIN REAL_TEST SYNTHETIC [--target income] [--every-target] [--seed 0] [--threads 1]

The real training table is what was modelled; the test table is real rows that were not. What each figure means: README.md beside this file.
"""

import argparse
import json
import os
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("train", help="CSV of the real rows the model was fitted to")
    parser.add_argument("test", help="CSV of real rows it never saw")
    parser.add_argument("synthetic", help="CSV of synthetic rows; the same column names")
    parser.add_argument("--target", help="column the utility models predict (default: the last one)")
    parser.add_argument("--every-target", action="store_true", help="utility with each column as the target too: slow")
    parser.add_argument("--seed", type=int, default=0, help="of folds, subsamples and trees")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def judge(tables, target, every_target, threads, seed):
    import fidelity
    import joint
    import learners
    import nearness

    synthetic = tables.synthetic
    shapes = fidelity.shapes(tables, synthetic)
    own, real_edges = fidelity.trends(tables, synthetic)
    result = {
        "rows": {"train": len(tables.train), "test": len(tables.test), "synthetic": len(synthetic)},
        "left_out": tables.left_out,
        "shape_error": fidelity.error_percent(shapes),
        "trend_error": fidelity.error_percent(own),
        "trend_error_real_edges": fidelity.error_percent(real_edges),
        "utility": {"target": target, **learners.utility(tables, synthetic, target, threads, seed)},
        "c2st": learners.two_sample(tables, synthetic, threads, seed),
        "dcr": nearness.closest_records(tables, synthetic, seed),
        "three_way": joint.three_way(tables, synthetic, seed),
        **joint.precision_and_recall(tables, synthetic, seed),
        "exact_copies": nearness.copies(tables, synthetic),
        "exact_copies_expected": nearness.copies_among_real(tables) * len(synthetic),
        **fidelity.validity(tables, synthetic),
        "column_errors": {name: 100 * (1 - score) for name, score in sorted(shapes.items(), key=lambda item: item[1])},
    }
    worst = sorted((item for item in own.items() if item[1] == item[1]), key=lambda item: item[1])[:10]
    result["worst_pairs"] = [{"a": a, "b": b, "error": 100 * (1 - score), "error_real_edges": 100 * (1 - real_edges[a, b])} for (a, b), score in worst]
    if every_target:
        result["every_target"] = joint.every_target(tables, synthetic, threads, seed)
    return result


def line(result):
    """The main figures in one line."""
    def percent(value):
        return "–" if value is None else f"{value:.2f} %"

    utility = result["utility"]
    learnt = f"AUC {utility['auc']:.4f}" if "auc" in utility else f"R² {utility['r2']:.4f}"
    return (f"Shape {percent(result['shape_error'])} · Trend {percent(result['trend_error'])} (real edges {percent(result['trend_error_real_edges'])}) · {learnt} · "
            f"C2ST logistic {result['c2st']['logistic_auc']:.3f} tree {result['c2st']['tree_auc']:.3f} · DCR {result['dcr']['share']:.3f} (median {result['dcr']['median']:.3f}) · "
            f"α-precision {result['alpha_precision']:.3f} β-recall {result['beta_recall']:.3f} · copies {result['exact_copies']} (real rows {result['exact_copies_expected']:.0f}) · out of range {100 * result['out_of_range']:.2f} % · {result['seconds']:.0f} s")


def main():
    options = arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # read when numpy is loaded, hence the imports below
        os.environ[name] = str(options.threads)
    started = time.monotonic()
    import tables as reader
    try:
        tables = reader.Tables(options.train, options.test, options.synthetic)
        target = options.target or tables.columns[-1]
        if target not in tables.columns:
            raise reader.TableError(f"--target {target}: no such column. There are: {', '.join(tables.columns)}.")
    except reader.TableError as error:
        reader.say(error)
        return 1
    result = judge(tables, target, options.every_target, options.threads, options.seed)
    result["seconds"] = time.monotonic() - started
    print(json.dumps(result, indent=2))
    reader.say(line(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
