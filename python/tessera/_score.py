"""How likely a model takes rows to be, and the values of a column."""

from __future__ import annotations

import ctypes as c
from typing import Any

from . import _frames
from ._arrow import Stream
from ._context import Context
from ._library import checked, lib, read_json
from ._progress import ProgressOption
from ._tables import incoming, once, take


class Scored:
    """Methods of :class:`tessera.Model`."""

    _handle: c.c_void_p
    _looks: _frames.Looks

    def log_prob(
        self, data: Any, *, cells: bool = False, threads: int = 0, memory_limit: int = 0, progress: ProgressOption = None
    ) -> Any:
        """The natural logarithm of the probability that the model gives to each row. Exact; for method made.

        Parameters
        ----------
        data : table or path
            Rows with the model's columns.
        cells : bool
            Also the logarithm for every cell, given the cells of the columns before it.
        threads, memory_limit, progress
            As in :func:`tessera.fit`.

        Returns
        -------
        table of the kind of `data`
            ``log_probability``; ``unknown``, the columns whose values the model does not know (each counts as one that
            no fitted row had); ``least_likely``, up to three columns. A row for each row, with the index of a pandas
            DataFrame.

        Raises
        ------
        UsageError
            The model is not one of rows by method made.
        DataError
            A column is missing.

        Examples
        --------
        >>> scores = model.log_prob(people)
        >>> len(scores) == len(people), bool((scores["log_probability"] < 0).all())
        (True, True)
        """

        def call(handle: c.c_void_p, rows: Any, out: Any) -> None:
            lib.tessera_score(handle, self._handle, rows, int(cells), out, None)

        return self._asked(data, call, Context(progress, None, threads, memory_limit))

    def predict(
        self, data: Any, column: str, *, threads: int = 0, memory_limit: int = 0, progress: ProgressOption = None
    ) -> Any:
        """A column of each row given all its other cells. Exact; for method made.

        Parameters
        ----------
        data : table or path
            Rows with the model's columns; `column` may be missing and is ignored.
        column : str
            The column that is predicted.
        threads, memory_limit, progress
            As in :func:`tessera.fit`.

        Returns
        -------
        table of the kind of `data`
            The column itself: the likeliest text, or the mean number. Then ``p(VALUE)`` for each value of texts; of
            numbers ``median``, ``low`` and ``high``, between which lie nine tenths of the probability. A row for each
            row, with the index of a pandas DataFrame.

        Raises
        ------
        UsageError
            The model is not one of rows by method made, or rules compute the column.
        DataError
            A column is missing.

        Examples
        --------
        >>> found = model.predict(people, "education")
        >>> bool((found.filter(like="p(").sum(axis=1).round(6) == 1).all())
        True
        """

        def call(handle: c.c_void_p, rows: Any, out: Any) -> None:
            lib.tessera_predict(handle, self._handle, rows, checked("column", c.c_char_p, column), out)

        return self._asked(data, call, Context(progress, None, threads, memory_limit))

    def _mean_log_prob(self, data: Any) -> float:
        """The mean of :meth:`log_prob` over the rows."""

        def work(handle: c.c_void_p) -> float:
            taken = take(data, _frames.has_index(data, self._looks), handle)
            return float(read_json(lib.tessera_score, handle, self._handle, incoming(taken), 0, None)["mean"])

        return Context().run(work)

    def _asked(self, data: Any, call: Any, context: Context) -> Any:
        def work(handle: c.c_void_p) -> Any:
            taken = take(data, _frames.has_index(data, self._looks), handle)
            kind: _frames.Frames = taken[0]
            out = Stream()
            call(handle, incoming(taken), c.byref(out))
            return _frames.make(kind, once(out), {_frames.PLAIN: True, _frames.INDEX: _frames.index_of(data)})

        return context.run(work)
