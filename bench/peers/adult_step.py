"""What the peers' steps share: the widths of Adult's columns as CTGAN encodes them, and its presets `paper`."""
import numpy as np

MODES, CATEGORIES = [10, 9, 10, 5, 8], [9, 16, 7, 15, 6, 5, 2, 42, 2, 16]
BATCH, PAC, NOISE, HIDDEN, ROWS = 500, 10, 128, 256, 32561
COND = sum(CATEGORIES)


def spans():
    """[(start, width, is it a softmax, start of its condition or -1)] of a row, and the width of a row."""
    found, at, cond = [], 0, 0
    for modes in MODES:
        found += [(at, 1, False, -1), (at + 1, modes, True, -1)]
        at += 1 + modes
    for values in CATEGORIES:
        found.append((at, values, True, cond))
        at += values
        cond += values
    return found, at


SPANS, DATA = spans()
SOFT = [(s, w, c) for s, w, soft, c in SPANS if soft]
WIDEST = max(w for _, w, _ in SOFT)


def padded():
    """All softmax spans side by side in [spans, WIDEST], so that one kernel serves them all.

    into [spans, WIDEST]: the element of a row, DATA where there is none; back [DATA]: the place of an element of a
    row in the padded array (0 for scalars); soft [DATA]: whether it is part of a softmax.
    """
    into, back, soft = np.full((len(SOFT), WIDEST), DATA), np.zeros(DATA, dtype=np.int64), np.zeros(DATA, dtype=bool)
    for i, (s, w, _) in enumerate(SOFT):
        into[i, :w] = np.arange(s, s + w)
        back[s:s + w] = i * WIDEST + np.arange(w)
        soft[s:s + w] = True
    return into, back, soft


class Sampling:
    """Training by sampling as tables, so that a device draws a batch by itself: a discrete column, a value of it by
    log-frequency, a row that has the value. The codes are random: only shapes matter for time."""

    def __init__(self):
        rng = np.random.default_rng(0)
        codes = np.stack([rng.integers(0, w, ROWS) for w in CATEGORIES], axis=1)
        widest = max(CATEGORIES)
        self.below = np.ones((len(CATEGORIES), widest), dtype=np.float32)  # cumulative chances
        self.first, self.count = (np.zeros((len(CATEGORIES), widest), dtype=np.int64) for _ in range(2))
        self.order = np.argsort(codes, axis=0, kind="stable").T.copy()     # rows of a column by value
        self.start = np.concatenate([[0], np.cumsum(CATEGORIES)[:-1]])     # of a column in the condition
        for c, width in enumerate(CATEGORIES):
            count = np.bincount(codes[:, c], minlength=width)
            chance = np.log1p(count)
            self.below[c, :width] = np.cumsum(chance / chance.sum())
            self.count[c, :width], self.first[c, :width] = count, np.cumsum(count) - count
            self.below[c, width - 1:] = 1
