"""How near synthetic rows come to single real rows: distances to the closest training and holdout row, and exact copies.

Distance of two rows: |Δ| / range of the training column, summed over numbers, plus 2 for each text that differs (the L1 distance of one-hot rows).
Training rows are cut to as many as there are holdout rows, so that a table that knows nothing of single rows scores .5.
"""

from collections import Counter

import numpy as np

QUERIES = 10_000
CHUNK = 256


class Rows:
    """A frame as scaled numbers and as one-hot text, both float32."""

    def __init__(self, tables, frame):
        real = tables.train[tables.numeric]
        spread = (real.max() - real.min()).replace(0, 1)
        self.numbers = ((frame[tables.numeric].fillna(real.mean()) - real.min()) / spread).to_numpy(np.float32)
        blocks = []
        for name in tables.text:
            levels = np.array(sorted(set(tables.train[name].dropna())), dtype=object)
            blocks.append((frame[name].to_numpy(object)[:, None] == levels).astype(np.float32))
        self.texts = np.hstack(blocks) if blocks else np.zeros((len(frame), 0), np.float32)
        self.text_columns = len(tables.text)

    def __len__(self):
        return len(self.numbers)


def nearest(queries, references):
    """Distance of each query row to its closest reference row."""
    best = np.empty(len(queries), np.float32)
    ours, theirs = queries.numbers, np.ascontiguousarray(references.numbers.T)
    for start in range(0, len(queries), CHUNK):
        chunk = slice(start, start + CHUNK)
        distance = 2 * (queries.text_columns - queries.texts[chunk] @ references.texts.T)  # texts that differ, 2 each
        for column in range(ours.shape[1]):
            distance += np.abs(ours[chunk, column, None] - theirs[column])
        best[chunk] = distance.min(axis=1)
    return best


def closest_records(tables, synthetic, seed):
    """share: synthetic rows nearer to training than to holdout, ties half; .5 is ideal, .75 a copy of twice as many training rows. median: of the distances to training."""
    size = min(len(tables.train), len(tables.test))
    queries = Rows(tables, synthetic.sample(min(QUERIES, len(synthetic)), random_state=seed + 1))  # not the draw of the references
    to_train = nearest(queries, Rows(tables, tables.train.sample(size, random_state=seed)))
    to_test = nearest(queries, Rows(tables, tables.test.sample(size, random_state=seed)))
    tie = np.isclose(to_train, to_test, rtol=0, atol=1e-6)
    share = np.mean(np.where(tie, 0.5, to_train < to_test))
    return {"share": float(share), "median": float(np.median(to_train)), "rows": len(queries), "references": size}


def rows_of(tables, frame):
    return list(frame[tables.columns].fillna("").itertuples(index=False, name=None))


def copies(tables, synthetic):
    """Synthetic rows that equal a training row in every column."""
    known = set(rows_of(tables, tables.train))
    return sum(row in known for row in rows_of(tables, synthetic))


def copies_among_real(tables):
    """Share of the real rows that equal another real row of the training part's size: what copies a table without knowledge of single rows has."""
    rows = rows_of(tables, tables.train) + rows_of(tables, tables.test)
    others = len(tables.train) / (len(rows) - 1)  # of the other rows, the share that a training part holds
    alike = Counter(rows)
    return float(np.mean([1 - (1 - others) ** (alike[row] - 1) for row in rows]))
