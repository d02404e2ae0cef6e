"""Column Shapes and Column Pair Trends, as sdmetrics scores them, over all columns and all pairs: no threshold, no subsample.

The scores are sdmetrics' own (KSComplement, TVComplement, CorrelationSimilarity, ContingencySimilarity); only the binning of a number paired with a
category stands here, because it is the one thing to vary: each table cut by its own range (what the literature reports), or both by the real table's.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
from sdmetrics.single_column import KSComplement, TVComplement

BINS = 10


def shapes(tables, synthetic):
    """Score of each column, 1 = same distribution."""
    scores = {}
    for name in tables.columns:
        metric = KSComplement if name in tables.numeric else TVComplement
        scores[name] = float(metric.compute(tables.train[name], synthetic[name]))
    return scores


def own_bins(column):
    """Ten equal bins of the column's own range. The maximum lies beyond the last edge, alone with the missing values: sdmetrics' binning."""
    return np.digitize(column, np.histogram_bin_edges(column.dropna(), BINS))


def real_bins(column, real):
    """Ten equal bins of the real range, the outer two open; missing is a bin of its own."""
    bins = np.digitize(column, np.histogram_bin_edges(real.dropna(), BINS)[1:-1])
    return np.where(column.isna(), -1, bins)


def trends(tables, synthetic):
    """Scores of each pair of columns: two dicts, with each table's own edges and with the real table's. NaN where a correlation is undefined."""
    real = tables.train
    cut = {}
    for name in tables.numeric:
        cut[name] = {"own": (own_bins(real[name]), own_bins(synthetic[name])),
                     "real": (real_bins(real[name], real[name]), real_bins(synthetic[name], real[name]))}
    own, with_real_edges = {}, {}
    for a, b in combinations(tables.columns, 2):
        numeric = (a in cut) + (b in cut)
        if numeric == 2:
            own[a, b] = with_real_edges[a, b] = correlation(real[[a, b]], synthetic[[a, b]])
            continue
        for edges, scores in (("own", own), ("real", with_real_edges)):
            if edges == "real" and numeric == 0:
                scores[a, b] = own[a, b]
                continue
            pair = [pd.DataFrame({name: cut[name][edges][side] if name in cut else frame[name] for name in (a, b)})
                    for side, frame in enumerate((real, synthetic))]
            scores[a, b] = float(ContingencySimilarity.compute(*pair))
    return own, with_real_edges


def correlation(real, synthetic):
    """CorrelationSimilarity on the rows complete in both columns; NaN if a column is constant."""
    real, synthetic = real.dropna(), synthetic.dropna()
    if min(len(real), len(synthetic)) < 2 or (real.nunique() < 2).any() or (synthetic.nunique() < 2).any():
        return float("nan")
    return float(CorrelationSimilarity.compute(real, synthetic))


def error_percent(scores):
    """100·(1 − mean of the defined scores): what tables of the literature print. None if no score is defined."""
    defined = [score for score in scores.values() if not np.isnan(score)]
    return 100 * (1 - float(np.mean(defined))) if defined else None


def validity(tables, synthetic):
    """Shares: numeric cells outside the training range, text cells whose value training never had, training values that came back."""
    outside = cells = unknown = texts = levels = covered = 0
    for name in tables.numeric:
        values = synthetic[name].dropna()
        outside += int(((values < tables.train[name].min()) | (values > tables.train[name].max())).sum())
        cells += len(values)
    for name in tables.text:
        known, made = set(tables.train[name].dropna()), synthetic[name].dropna()
        unknown += int((~made.isin(known)).sum())
        texts += len(made)
        levels += len(known)
        covered += len(known & set(made))
    return {"out_of_range": outside / max(cells, 1), "unknown_values": unknown / max(texts, 1), "levels_covered": covered / levels if levels else 1.0}
