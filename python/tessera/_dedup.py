"""Copies of rows, exact and near."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterable
from typing import Any

from . import _frames
from ._arrow import Stream
from ._context import Context
from ._files import Path
from ._library import DedupOptions, lib, name_list, path_bytes, read_json
from ._progress import ProgressOption
from ._tables import incoming, once, take


class Copies:
    """The result of :func:`tessera.dedup`.

    Attributes
    ----------
    rows : DataFrame, Table, relation or Rows
        The rows that remain, in the kind of table that was given.
    copies : DataFrame, Table, relation or Rows
        One row per copy: ``row`` and ``of``, from 1, the ``kind`` (exact, near) and the ``similarity``.
    document : dict
        The report; docs/use/dedup.md describes each entry.
    """

    def __init__(self, document: dict[str, Any], rows: Any, copies: Any) -> None:
        self.document = document
        self.rows = rows
        self.copies = copies

    def __repr__(self) -> str:
        said = self.document
        of = f"rows of {said['against']:,}" if "against" in said else f"{said['groups']['count']:,} of the kept rows"
        lines = [
            f"{said['exact']:,} exact and {said['near']:,} near copies of {of}; {said['kept']:,} of {said['rows']:,} "
            f"rows are kept ({said['mode']})",
            *said["notes"],
        ]
        return "\n".join(lines)


def dedup(
    data: Any,
    *,
    against: Any = None,
    mode: str = "auto",
    threshold: float | None = None,
    columns: str | Iterable[str] | None = None,
    index: bool = False,
    device: str | None = None,
    threads: int = 0,
    memory_limit: int = 0,
    scratch: Path | None = None,
    progress: ProgressOption = None,
) -> Copies:
    """Finds rows that are exact or near copies of other rows; each copy is confirmed cell by cell.

    Parameters
    ----------
    data : table or path
        As in :func:`tessera.fit`.
    against : table or path, optional
        Finds copies of these rows in `data`, instead of copies within `data`.
    mode : {"auto", "exact", "fuzzy", "nearest", "documents", "semantic"}
        exact: equal rows; nearest: also near copies, comparing all pairs; fuzzy: also near copies, by hashed keys, for
        large tables; documents: texts, by the share of common pieces of five bytes; semantic: rows that a TVAE,
        trained on the table, sees as alike; auto: nearest up to 10^10 pairs of rows, else fuzzy.
    threshold : float, optional
        Similarity of near copies, which are dropped: 1 minus the mean difference over columns (numbers: relative to the
        range; other values: 0 or 1). Default: 0.9 for documents; else one that rows of independent columns seldom
        reach, and near copies are listed in `copies` but stay in `rows`.
    columns : str or iterable of str, optional
        Columns to compare; default: all.
    index, device, threads, memory_limit, scratch, progress
        As in :func:`tessera.fit`; a GPU compares rows in mode nearest, which auto chooses up to 10^12 pairs
        there, and hashes texts in mode documents.

    Returns
    -------
    Copies

    Raises
    ------
    DataError
        The tables do not have the same columns.

    Examples
    --------
    >>> import pandas
    >>> found = tessera.dedup(pandas.concat([people, people.head(3)]), mode="exact")
    >>> found.document["exact"], len(found.rows) == len(people), found.copies["of"].tolist()
    (3, True, [1, 2, 3])
    """
    options = DedupOptions(mode=mode, threshold=threshold or 0, columns=name_list(columns), texts="plain")
    folder = None if scratch is None else path_bytes(scratch)
    context = Context(progress, device, threads, memory_limit, folder)

    def work(handle: c.c_void_p) -> Copies:
        (kind, taken), *_ = tables = [take(t, index, handle) for t in (data, against) if t is not None]
        given = [incoming(table) for table in tables] + [None] * (against is None)
        kept, copies = Stream(), Stream()
        streams = (*given, c.byref(kept), c.byref(copies))
        document = read_json(lib.tessera_dedup, handle, c.byref(options), *streams)
        rows = _frames.make(kind, once(kept), taken.looks)
        return Copies(document, rows, _frames.make(kind, once(copies), {_frames.PLAIN: True}))

    return context.run(work)
