"""Random tables from structural causal models (include/tessera/tessera_prior.h)."""

from __future__ import annotations

import ctypes as c
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Union

from . import _errors
from ._context import Context
from ._library import PriorOptions, checked, lib
from ._progress import ProgressOption

if TYPE_CHECKING:
    import numpy as np

Range = Union[int, float, "tuple[float, float]"]

_AT_ONCE = 64  # tables that are drawn in parallel


class _Table(c.Structure):
    """``tessera_prior_table``."""

    _fields_ = [
        ("struct_size", c.c_size_t), ("index", c.c_int64), ("rows", c.c_int64), ("features", c.c_int64),
        ("classes", c.c_int64), ("train_rows", c.c_int64), ("x", c.c_void_p), ("y", c.c_void_p),
        ("description", c.c_char_p),
    ]  # fmt: skip


class _Owner:
    """The library's memory of one table; arrays keep it alive."""

    __array_interface__: dict[str, Any]

    def __init__(self, handle: c.c_void_p) -> None:
        self.handle = handle

    def __del__(self) -> None:
        lib.tessera_prior_table_free(self.handle)

    def array(self, address: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        import numpy as np

        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": "<f4", "version": 3}
        return np.asarray(self)


class PriorTable:
    """One random table.

    Attributes
    ----------
    x, y
        Features [rows, features] and target [rows], float32, in memory of the library: classes 0, 1, … or numbers.
    train_rows
        Number of rows for training, which come first; the other rows have the same classes.
    drawn
        Sizes, attempts, and hyper-parameters by TabICL's names.
    """

    def __init__(self, handle: c.c_void_p) -> None:
        owner = _Owner(handle)
        t = c.cast(handle, c.POINTER(_Table)).contents
        self.index: int = t.index
        self.classes: int = t.classes
        self.train_rows: int = t.train_rows
        self.x = owner.array(t.x, (t.rows, t.features))
        self.y = owner.array(t.y, (t.rows,))
        self.drawn: dict[str, Any] = json.loads(t.description)

    def __repr__(self) -> str:
        rows, features = self.x.shape
        return f"PriorTable({self.index}: {rows} rows, {features} features, {self.classes} classes)"


def _ends(name: str, given: Range | None) -> tuple[Any, Any]:
    if given is None:
        return (None, None)
    if not isinstance(given, tuple):
        return (given, given)
    if len(given) != 2:
        raise _errors.UsageError(f"{name} is {given!r}; it must be a number or a pair of numbers.")
    return given


def prior(
    tables: int,
    *,
    rows: Range | None = None,
    features: Range | None = None,
    classes: Range | None = None,
    kind: str | None = None,
    task: str | None = None,
    imbalance: Range | None = None,
    separability: Range | None = None,
    missing: Range | None = None,
    seed: int = 0,
    first: int = 0,
    device: str | None = None,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Iterator[PriorTable]:
    """Draws random tables from structural causal models, to train and test tabular models.

    Table i depends only on the options, the seed and i.

    Parameters
    ----------
    tables
        Number of tables.
    rows, features, classes, imbalance, separability, missing
        A number, or a range as a pair: 1024, (2, 100), (2, 10), random, 1, 0 (docs/use/prior.md).
    kind
        ``"mix"``, ``"mlp"``, ``"tree"`` or ``"graph"``.
    task
        ``"classification"`` or ``"regression"``.
    seed, first
        The tables are first … first + tables − 1 of this seed.
    device, threads
        ``"cuda"``: a GPU computes the perceptrons; the tables are the same. 0 threads: all processors.
    progress
        As in :func:`fit`.

    Yields
    ------
    PriorTable
        The next table.

    Examples
    --------
    >>> for table in tessera.prior(2, rows=200, features=(2, 10), seed=1):
    ...     print(table.x.shape[0], table.y.shape)
    200 (200,)
    200 (200,)
    """
    ranges = {
        "rows": rows, "features": features, "classes": classes, "imbalance": imbalance, "separability": separability,
        "missing": missing,
    }  # fmt: skip
    fields: dict[str, Any] = {"kind": kind, "task": task, "seed": seed}
    for name, given in ranges.items():
        fields[f"min_{name}"], fields[f"max_{name}"] = _ends(name, given)
    options = PriorOptions(**fields)
    count, start = checked("tables", c.c_int64, tables), checked("first", c.c_int64, first)
    context = Context(progress, device, threads)

    def draw() -> Iterator[PriorTable]:
        for begin in range(start, start + count, _AT_ONCE):
            n = min(_AT_ONCE, start + count - begin)
            handles = (c.c_void_p * n)()
            context.run(lambda h: lib.tessera_prior_draw(h, c.byref(options), begin, n, handles))  # noqa: B023
            waiting = [PriorTable(c.c_void_p(handle)) for handle in handles]
            yield from waiting

    return draw()
