"""What papers print of whole rows: α-precision and β-recall (Alaa et al. 2022, the form without a learned embedding), 3-way marginals (NIST's k-marginal).

They are here for comparison with published tables, not as a verdict: both scores of Alaa et al. are known to pass tables that they should not.
"""

import numpy as np
from sklearn.neighbors import NearestNeighbors

import learners
import nearness

ROWS = 10_000
TRIPLES, BINS = 100, 10


def embedded(tables, frame):
    rows = nearness.Rows(tables, frame)
    return np.hstack([rows.numbers, rows.texts])


def precision_and_recall(tables, synthetic, seed):
    """α-precision: over shares α, how near the share of synthetic rows within the radius that holds α of the real ones comes to α. β-recall: the same for
    real rows whose nearest synthetic row is nearer than their nearest real one, within the radii of those rows. Both 1 for a table without fault."""
    size = min(ROWS, len(tables.train), len(synthetic))
    real = embedded(tables, tables.train.sample(size, random_state=seed))
    made = embedded(tables, synthetic.sample(size, random_state=seed))
    shares = np.linspace(0, 1, 30)

    def score(reached):
        return float(1 - np.abs(shares - reached).sum() / shares.sum())

    def distance_to(center, rows):
        return np.linalg.norm(rows - center, axis=1)

    center, center_of_made = real.mean(axis=0), made.mean(axis=0)
    radii = np.quantile(distance_to(center, real), shares)
    precision = [np.mean(distance_to(center, made) <= radius) for radius in radii]
    to_real = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(real).kneighbors(real)[0][:, 1]
    to_made, nearest = (found[:, 0] for found in NearestNeighbors(n_neighbors=1, algorithm="brute").fit(made).kneighbors(real))
    covered = to_made <= to_real
    found = distance_to(center_of_made, made[nearest])
    recall = [np.mean(covered & (found <= radius)) for radius in np.quantile(found, shares)]
    return {"alpha_precision": score(np.array(precision)), "beta_recall": score(np.array(recall)), "rows_embedded": size}


def levels(tables, frame, name):
    """Codes of a column: texts as they are, numbers in bins of equally many training rows; missing is a level."""
    if name in tables.text:
        known = {value: code for code, value in enumerate(sorted(set(tables.train[name].dropna())), start=2)}
        return np.array([0 if value is None else known.get(value, 1) for value in frame[name]])
    edges = np.unique(np.nanquantile(tables.train[name], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(frame[name].isna(), 0, np.searchsorted(edges, frame[name], side="right") + 1)


def three_way(tables, synthetic, seed):
    """1 − mean total variation between the joint distributions of three columns in training rows and in others, over random triples: of synthetic rows, and of
    as many test rows, which have the error that chance brings."""
    if len(tables.columns) < 3:
        return None
    size = min(len(tables.test), len(synthetic))
    frames = {"synthetic": synthetic.sample(size, random_state=seed), "test": tables.test.sample(size, random_state=seed)}
    real = {name: levels(tables, tables.train, name) for name in tables.columns}
    scores = {}
    for side, frame in frames.items():
        draw = np.random.default_rng(seed)
        made = {name: levels(tables, frame, name) for name in tables.columns}
        each = []
        for _ in range(TRIPLES):
            chosen = [tables.columns[k] for k in draw.choice(len(tables.columns), 3, replace=False)]
            rows = np.vstack([np.stack([codes[name] for name in chosen], axis=1) for codes in (real, made)])
            cell = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
            shares = [np.bincount(part, minlength=cell.max() + 1) / len(part) for part in (cell[:len(tables.train)], cell[len(tables.train):])]
            each.append(1 - np.abs(shares[0] - shares[1]).sum() / 2)
        scores[side] = float(np.mean(each))
    return scores


def every_target(tables, synthetic, threads, seed):
    """Utility with each column as the target in turn: means of AUC over texts and of R² (at least 0) over numbers, trained on synthetic and on real rows."""
    means = {}
    for side, frame in (("synthetic", synthetic), ("real", tables.train)):
        scores = {name: learners.utility(tables, frame, name, threads, seed) for name in tables.columns if tables.test[name].nunique() > 1}
        auc = [score["auc"] for score in scores.values() if "auc" in score]
        r2 = [max(score["r2"], 0) for score in scores.values() if "r2" in score]
        means[side] = {"auc": float(np.mean(auc)) if auc else None, "r2": float(np.mean(r2)) if r2 else None}
    return means
