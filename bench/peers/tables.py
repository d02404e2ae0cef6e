"""CSV files as data frames that the judge's other files agree on: numbers as float64 (NaN = missing), everything else as text (None = missing).

The real training table decides which column is what; the other tables are read as it says.
"""

import sys

import numpy as np
import pandas as pd

DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"


class TableError(Exception):
    """What is wrong with a file, where, and what to do: the judge prints it and stops."""


def read_text(path):
    """All cells as trimmed text, empty where missing."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: {error}") from error
    if frame.empty:
        raise TableError(f"{path}: no rows below the header.")
    return frame.apply(lambda column: column.str.strip())


def numbers(column):
    """The column as float64, or None if some cell that is not empty is no number. Dates become seconds since 1970."""
    filled = column[column != ""]
    if filled.empty:
        return None
    parsed = pd.to_numeric(filled, errors="coerce")
    if parsed.isna().any() and filled.str.fullmatch(DATE).all():
        parsed = pd.to_datetime(filled, format="ISO8601").astype("datetime64[ns]").astype("int64") / 1e9
    if parsed.isna().any() or not np.isfinite(parsed).all():
        return None
    return parsed.astype(float).reindex(column.index)


class Tables:
    """Real training, real test and synthetic rows with the same columns.

    train, test, synthetic   data frames, columns in the training table's order
    numeric, text            names of the columns of each kind
    left_out                 text columns with a new value in more than half of the training rows: identifiers, which no metric here can judge
    """

    def __init__(self, train, test, synthetic):
        raw = [read_text(path) for path in (train, test, synthetic)]
        names = list(raw[0].columns)
        for path, frame in zip((test, synthetic), raw[1:]):
            missing = [name for name in names if name not in frame.columns]
            if missing:
                raise TableError(f"{path}: column {missing[0]!r} of {train} is not there. It has: {', '.join(frame.columns)}.")
        self.numeric, self.text, self.left_out = [], [], []
        frames = [{}, {}, {}]
        for name in names:
            real = numbers(raw[0][name])
            if real is None:
                if raw[0][name].nunique() > max(20, len(raw[0]) // 2):
                    self.left_out.append(name)
                    continue
                self.text.append(name)
                for frame, table in zip(frames, raw):
                    frame[name] = table[name].where(table[name] != "", None)
                continue
            self.numeric.append(name)
            for frame, table, path in zip(frames, raw, (train, test, synthetic)):
                frame[name] = numbers(table[name])
                if frame[name] is None:
                    bad = pd.to_numeric(table[name].where(table[name] != "", "0"), errors="coerce")
                    row = int(np.argmax(~np.isfinite(bad.to_numpy(float))))
                    raise TableError(f"{path}: row {row + 1}, column {name!r} holds {table[name].iloc[row]!r}; in {train} the column has numbers only.")
        self.train, self.test, self.synthetic = (pd.DataFrame(frame) for frame in frames)
        self.columns = list(self.train.columns)
        if not self.columns:
            raise TableError(f"{train}: every column looks like an identifier; there is nothing to judge.")


def say(text):
    print(text, file=sys.stderr, flush=True)
