"""Tessera: synthetic tables and sequences that are hard to distinguish from real ones.

>>> model = tessera.fit(people, epochs=2)                 # pandas, polars, pyarrow, DuckDB, or a path
>>> rows = model.sample(1000, where="age >= 40")          # the same kind of table as people
>>> report = tessera.evaluate(people, rows, distances=False)
"""

from ._arrow import Rows
from ._audit import audit
from ._dedup import Copies, dedup
from ._errors import (
    CancelledError,
    ConditionError,
    DataError,
    FileError,
    FormatError,
    InternalError,
    NumericError,
    OutOfMemoryError,
    TesseraError,
    TesseraWarning,
    UnsupportedError,
    UsageError,
)
from ._estimators import CTGAN, TVAE, Synthesizer, TimeGAN
from ._files import read
from ._library import info, version
from ._model import Model, example, fit, load
from ._options import methods, options
from ._prior import PriorTable, prior
from ._progress import Progress
from ._report import Attacks, Comparison, Report, evaluate, inspect
from ._schema import Column, Schema

__version__ = version()

__all__ = [
    "Attacks",
    "CTGAN",
    "CancelledError",
    "Column",
    "Comparison",
    "ConditionError",
    "Copies",
    "DataError",
    "FileError",
    "FormatError",
    "InternalError",
    "Model",
    "NumericError",
    "OutOfMemoryError",
    "PriorTable",
    "Progress",
    "Report",
    "Rows",
    "Schema",
    "Synthesizer",
    "TVAE",
    "TesseraError",
    "TesseraWarning",
    "TimeGAN",
    "UnsupportedError",
    "UsageError",
    "audit",
    "dedup",
    "evaluate",
    "example",
    "fit",
    "info",
    "inspect",
    "load",
    "methods",
    "options",
    "prior",
    "read",
]
