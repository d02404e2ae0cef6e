"""Models: fitted, sampled, saved, loaded."""

from __future__ import annotations

import ctypes as c
import io
import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Callable

from . import _errors, _files, _frames, _model_file
from ._arrow import Incoming, Rows, Stream
from ._context import Context
from ._files import Path
from ._library import (
    FILE_REGULAR,
    File,
    FitOptions,
    GivenOptions,
    SampleOptions,
    available_memory,
    checked,
    lib,
    path_bytes,
    read_json,
    type_list,
)
from ._looks import known_looks
from ._options import not_zero, rule_options, sequence_options, settings_text
from ._page import page
from ._progress import ProgressOption
from ._schema import Schema
from ._score import Scored
from ._tables import incoming, take

_KEEP_RARE = -1
_NO_PATIENCE = _NO_MIN_YIELD = -1
_BATCH = 65_536


def fit(
    data: Any,
    *,
    method: str | None = None,
    preset: str | None = None,
    seed: int = 0,
    types: Mapping[str, str] | None = None,
    index: bool = False,
    rare_categories: int | str | None = None,
    calibrate: str | None = None,
    numbers: str | None = None,
    rules: str | Iterable[str] | None = None,
    rule: str | Iterable[str] | None = None,
    unique: Iterable[Any] | None = None,
    sequence_length: int | None = None,
    sequence_key: str | None = None,
    sequence_index: str | None = None,
    stride: int | None = None,
    static: str | Iterable[str] | None = None,
    patience: int | None = None,
    keep: str | None = None,
    max_time: str | float | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: str | None = None,
    resume: bool = False,
    precision: str | None = None,
    recompute: str | None = None,
    devices: int | str | None = None,
    virtual_shards: int | None = None,
    parallel: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    privacy: str | None = None,
    device: str | None = None,
    threads: int = 0,
    memory_limit: int = 0,
    scratch: Path | None = None,
    progress: ProgressOption = None,
    callback: Callable[[dict[str, float]], object] | None = None,
    **settings: Any,
) -> Model:
    """Fits a model to a table.

    Parameters
    ----------
    data : table or path
        A DataFrame of pandas or polars, a table of pyarrow, a relation of DuckDB, any object with
        ``__arrow_c_stream__``, or the path of a CSV, Parquet or Arrow file, or a list of such paths.
    method : str, optional
        One of :func:`tessera.methods`; default: the first of them that supports the given `settings`,
        `calibrate` and `preset`: ``"made"`` if none of these is given.
    preset : {"best", "paper"}, optional
        ``"paper"``: as published; ``"best"``: with measured improvements.
    seed : int
        The same table, options and seed give the same model, bit for bit.
    types : mapping, optional
        Types of columns, ``{"zip": "category"}``, that override detected ones: integer, decimal, boolean,
        category, date, datetime, identifier, uuid or constant.
    index : bool
        Whether the index of a pandas DataFrame is learned too, and restored in sampled rows.
    rare_categories : int or "keep", optional
        Number of rows that must share a value for it to be learned (5); ``"keep"``: learn all values.
    calibrate : {"off", "marginals", "full"}, optional
        Correction of distributions that is learned after training.
    numbers : {"modes", "bins"}, optional
        How ctgan and tvae encode numbers: modes of a mixture, or quantile bins as in made. Default: tvae bins, ctgan
        modes.
    rules : {"find", "off"} or list of str, optional
        ``"find"``: find rules in the table, and sample only rows that satisfy them: ``end >= start``,
        ``total = items + extras``, fixed combinations of columns. A list: also these rules.
    rule : str or list of str, optional
        Additional rules, in the syntax of ``where`` of :meth:`Model.sample`.
    unique : pair of str, or list of pairs, optional
        Two columns whose pairs of values are unique: ``("user", "loan")``, the column of groups first.
    sequence_length, sequence_key, sequence_index, stride, static
        How the table is split into sequences, for methods of sequences. Without `sequence_index`, a date or time
        that increases in every row orders them; ``"none"``: the order of the rows.
    patience : int, optional
        Stop after this many epochs without a better held-out measure; 0: never.
    keep : {"best", "last"}, optional
        Weights to keep; default: ``"best"`` if `patience` is given, else ``"last"``.
    max_time : str or float, optional
        Time limit of the whole call: ``"30m"``, ``"2h"``, or seconds.
    checkpoint : path, optional
        File for the state of training, written regularly and on interruption; :meth:`Model.save` removes it.
    checkpoint_every : str, optional
        Interval: ``"60s"``, ``"10epochs"``, or ``"off"``: only when training ends or is stopped.
    resume : bool
        Whether to continue from `checkpoint` if it exists. The model is the same, bit for bit.
    precision : {"fp32", "tf32", "bf16", "fp16", "auto"}, optional
        Precision of matrix products in training; ``"auto"``: the fastest that `device` multiplies natively.
    recompute : {"off", "auto", "all"}, optional
        Activations recomputed instead of stored (gradient checkpointing), to meet `memory_limit`. The model is the same.
    devices : int or "all", optional
        Ranks of this process that train together, each on its part of every batch.
    virtual_shards : int, optional
        Number of gradient shards per batch. Any rank count that divides it gives the same model.
    parallel : {"data", "model", "auto"}, optional
        Split the rows of a batch, or the columns of the table; ``"auto"``: columns only if the weights do not fit otherwise.
    epsilon : float, optional
        Differential privacy of the model, for adding or removing a row. Every column is declared by `types`, or by
        the schema file of :func:`tessera.read`.
    delta : float, optional
        With `epsilon`, the probability that its bound does not hold. Default: 1e-5.
    privacy : {"auto", "counts", "gradients", "both"}, optional
        With `epsilon`, where the noise is: on counts, of which rows are drawn to train on; on gradients (DP-SGD);
        or on gradients after such rows. Default: chosen by the number of columns.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"auto"``.
    threads : int
        0: all processors. The result does not depend on it.
    memory_limit : int
        Limit of memory in bytes; 0: none.
    scratch : path, optional
        Folder for scratch files of tables that exceed `memory_limit`.
    progress : bool or callable, optional
        Whether to show progress; default: in terminals and notebooks. A callable receives each
        :class:`tessera.Progress` instead.
    callback : callable, optional
        Receives each line of :attr:`Model.losses` as a dict. An exception in it ends the training.
    **settings
        Options of the method, such as ``epochs=100`` or ``pac=10``: :func:`tessera.options` lists them.

    Returns
    -------
    Model

    Raises
    ------
    UsageError, DataError, FileError, OutOfMemoryError, NumericError, UnsupportedError
        See :class:`TesseraError`.
    KeyboardInterrupt
        Ctrl-C stops the training at the next step and writes `checkpoint`.

    Examples
    --------
    >>> model = tessera.fit(people, epochs=2, seed=1)
    >>> model.sample(3, where="age >= 40")[["age", "city"]]  # doctest: +SKIP
       age       city
    0   44   Lakeside
    1   59  Eastville
    2   41     Weston
    """
    context = Context(progress, device, threads, memory_limit, _encoded_path(scratch))
    losses: list[dict[str, float]] = []

    def hear(line: dict[str, float]) -> None:
        losses.append(line)
        if callback:
            callback(line)

    sequences = (sequence_length, sequence_key, sequence_index, stride, static)
    paths = _files.path_list(data)
    options = FitOptions(
        method=method,
        preset=preset,
        seed=seed,
        source=", ".join(paths) if paths else f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}",
        losses=context.losses_callback(hear),
        calibrate=calibrate,
        numbers=numbers,
        **rule_options(rules, rule, unique),
        sequences=None if all(x is None for x in sequences) else sequence_options(*sequences),
        checkpoint=_encoded_path(checkpoint),
        checkpoint_every=checkpoint_every,
        resume=resume,
        patience=_NO_PATIENCE if patience == 0 else patience,
        keep=keep,
        max_time=f"{max_time}s" if isinstance(max_time, (int, float)) else max_time,
        rare_categories=_KEEP_RARE if rare_categories == "keep" else rare_categories,
        precision=precision,
        recompute=recompute,
        devices=None if devices is None else str(devices),
        virtual_shards=virtual_shards,
        parallel=parallel,
        epsilon=not_zero("epsilon", epsilon),
        delta=not_zero("delta", delta),
        privacy=privacy,
        settings=settings_text(settings),
    )
    if devices == "launched":  # other ranks have no model to return
        raise _errors.UnsupportedError('devices="launched" needs the program: mpirun -n 4 tessera fit.')
    lib.tessera_check_fit_options(c.byref(options))  # before a large table is converted

    def work(handle: c.c_void_p) -> Model:
        kind, taken = take(data, index, handle, types)
        options.types = checked("types", c.c_char_p, type_list(taken.types) or "")
        model = c.c_void_p()
        lib.tessera_fit(handle, c.byref(options), Incoming(taken.rows), c.byref(model))
        return Model(model, kind, taken.looks)

    model = context.run(work)
    model._looks = known_looks(
        model._looks, model.describe(), lambda: model.sample(1, out="arrow", threads=1, progress=False)
    )
    model._losses, model._checkpoint, model._notices = losses, checkpoint, context.notices
    changes = [note for note in context.notices if not note.startswith("rule kept")]  # a found rule needs no warning
    if changes and not context.watched:
        warnings.warn("\n".join(changes), _errors.TesseraWarning, stacklevel=2)
    return model


def load(path: Path) -> Model:
    """Opens a model file; it cannot execute code.

    Raises
    ------
    FileError, FormatError
        The file cannot be read, or is not a valid model.
    """
    handle = c.c_void_p()
    lib.tessera_model_load(path_bytes(path), c.byref(handle))
    with open(path, "rb") as file:
        return _with_note(handle, _model_file.note(file))


def example(rows: int = 1000, *, seed: int = 0, out: str | None = None) -> Any:
    """An example table of people with known dependencies, dates, missing values and identifiers.

    Parameters
    ----------
    rows : int
    seed : int
    out : {"pandas", "polars", "arrow", "duckdb", "rows"}, optional
        Kind of table to return; default: the first of pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> tessera.example(3)["country"].tolist()
    ['Freedonia', 'Freedonia', 'Freedonia']
    """
    rows, seed = checked("rows", c.c_int64, rows), checked("seed", c.c_uint64, seed)

    def open_stream(stream: Stream) -> None:
        Context(progress=False).run(lambda handle: lib.tessera_example(handle, None, rows, seed, c.byref(stream)))

    return _frames.make(_frames.by_name(out) if out else _frames.default(), Rows(open_stream), {_frames.PLAIN: True})


class Model(Scored):
    """A model of a table, made by :func:`tessera.fit` or :func:`tessera.load`.

    It can be pickled (without its checkpoint), survives a fork, and can be sampled by several threads at once.

    Attributes
    ----------
    attrs : dict
        JSON-compatible metadata saved with the model, like ``DataFrame.attrs`` of pandas.
    """

    def __init__(
        self, handle: c.c_void_p, kind: _frames.Frames, looks: _frames.Looks, attrs: dict[str, Any] | None = None
    ) -> None:
        self.attrs = attrs or {}
        self._handle = handle
        self._kind = kind
        self._looks = looks
        self._losses: list[dict[str, float]] = []
        self._notices: list[str] = []
        self._checkpoint: Path | None = None
        weakref.finalize(self, lib.tessera_model_free, handle)

    def sample(
        self,
        n: int,
        where: str | None = None,
        *,
        out: str | Path | None = None,
        seed: int = 0,
        offset: int = 0,
        distinct: bool = False,
        against: Any = None,
        calibrate: str | None = None,
        min_yield: float | None = None,
        max_tries: int | None = None,
        batch_size: int | None = None,
        overwrite: bool = True,
        precision: str | None = None,
        device: str | None = None,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Any:
        """Draws rows [`offset`, `offset` + `n`) of the infinite table that model, `seed` and `where` define.

        Parameters
        ----------
        n : int
            Number of rows; of sequences for a model of sequences.
        where : str, optional
            A condition that every row satisfies: ``"education = 'Masters' and age >= 40"``.
        out : {"pandas", "polars", "arrow", "duckdb", "rows"} or path, optional
            Kind of table to return; default: the kind that was fitted. A path with an ending writes a file: ``.csv``,
            ``.parquet``, ``.arrow``, …. ``"rows"`` is a :class:`tessera.Rows`, generated while it is read.
        seed : int
            The same seed gives the same rows for any `batch_size` and `threads`.
        offset : int
            Rows to skip.
        distinct : bool
            No row equals an earlier one, identifiers aside: copies are drawn again. A warning says if there are fewer
            distinct rows than `n`.
        against : table or path, optional
            Nor does any row equal one of these, such as the training table; with `distinct`, which it implies.
        calibrate : {"off", "marginals", "full"}, optional
            Calibration tier; default: the one that measured best when the model was fitted.
        min_yield : float, optional
            Minimum share of candidates that calibration accepts (0.1; 0: none). Higher is faster but less exact.
        max_tries : int, optional
            Maximum number of candidates per row under `where` (65,536).
        batch_size : int, optional
            Rows generated at a time.
        overwrite : bool
            Whether to replace an existing file, as in pandas; False: an error.
        precision, device, threads, progress
            As in :func:`tessera.fit`; `precision` applies to the generator's matrix products.

        Returns
        -------
        DataFrame, Table, relation, Rows or path

        Raises
        ------
        ConditionError
            `where` names an unknown column or value, or too few candidates satisfy it.

        Examples
        --------
        >>> rows = model.sample(100, where="age >= 40", seed=3)
        >>> int(rows["age"].min()) >= 40, len(rows)
        (True, 100)
        """
        n, offset = checked("n", c.c_int64, n), checked("offset", c.c_int64, offset)
        if n < 0 or offset < 0:
            raise _errors.UsageError(f"n is {n} and offset {offset}; both must be 0 or more.")
        options = SampleOptions(
            seed=seed, where=where, batch_size=batch_size, max_tries=max_tries, calibrate=calibrate,
            min_yield=_NO_MIN_YIELD if min_yield == 0 else min_yield, texts="plain", precision=precision,
            distinct=int(distinct or against is not None),
        )  # fmt: skip

        def rows(context: Context) -> Rows:
            def open_stream(stream: Stream) -> None:
                if against is not None:
                    others = incoming(take(against, False, context.handle))
                    options.against = others.address
                lib.tessera_sample(context.handle, self._handle, offset, n, c.byref(options), c.byref(stream))

            return Rows(open_stream)

        run_as = (progress, device, threads)
        return self._delivered(out, overwrite, run_as, lambda context: (self._kind, rows(context)), n)

    def sample_iter(
        self, batch: int = _BATCH, n: int | None = None, where: str | None = None, **options: Any
    ) -> Iterator[Any]:
        """The rows of :meth:`sample` in frames of `batch` rows; without `n` endless.

        Invalid options raise at this call, not at the first batch.

        Examples
        --------
        >>> [len(rows) for rows in model.sample_iter(40, 100)]
        [40, 40, 20]
        """
        if batch < 1:
            raise _errors.UsageError(f"batch is {batch}; it must be 1 or more.")
        if options.get("out") not in (None, *_frames.names()):
            raise _errors.UsageError("sample_iter returns frames. To write a file, use sample.")
        begin = options.pop("offset", 0)
        self.sample(0, where, offset=begin, **options)

        def batches() -> Iterator[Any]:
            done = 0
            while n is None or done < n:
                count = batch if n is None else min(batch, n - done)
                yield self.sample(count, where, offset=begin + done, **options)
                done += count

        return batches()

    def complete(
        self,
        partial: Any,
        *,
        out: str | Path | None = None,
        seed: int = 0,
        max_candidates: int | None = None,
        where: str | None = None,
        batch_size: int | None = None,
        overwrite: bool = True,
        precision: str | None = None,
        device: str | None = None,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Any:
        """Keeps the given cells and draws the others from the model's conditional distribution.

        Parameters
        ----------
        partial : DataFrame, Table, relation or path
            Rows with any columns of the model, in any order; missing cells and missing columns are drawn. A value
            that is unknown to the model is kept.
        out : {"pandas", "polars", "arrow", "duckdb", "rows"} or path, optional
            As in :meth:`sample`; default: the kind of `partial`.
        seed : int
            Row i of the result depends only on the model, `seed`, its given cells and i.
        max_candidates : int, optional
            Maximum number of candidates per row (1,024). Unlikely cells need more for an accurate distribution.
        where : str, optional
            A condition that every row satisfies, as in :meth:`sample`.
        batch_size : int, optional
            Candidates generated at a time.
        overwrite, precision, device, threads, progress
            As in :meth:`sample`.

        Returns
        -------
        DataFrame, Table, relation, Rows or path
            All columns of the model, in its order. A row for each given row of a model of rows, with the index of a
            pandas DataFrame; an index that the model learned (``fit(index=True)``) is given cells.

        Raises
        ------
        DataError
            A column is not in the model, or a value does not have the column's type.
        ConditionError
            The given cells of a row break a rule of the table, or no candidate satisfies `where`.

        Examples
        --------
        >>> partial = tessera.example(3)[["age", "education"]]
        >>> filled = model.complete(partial, seed=1)
        >>> bool((filled["age"] == partial["age"]).all()), bool(filled["income"].notna().any())
        (True, True)
        """
        path = _files.path_list(partial)
        if path is not None and len(path) > 1:
            raise _errors.UsageError("complete accepts one file only.")
        options = GivenOptions(
            seed=seed, batch_size=batch_size, max_candidates=max_candidates, completes=1, precision=precision,
            where=where, file=path[0] if path else None, texts="plain",
        )  # fmt: skip
        given = self._given(partial, path, options)
        index = None if self._is_of_sequences() else _frames.index_of(partial)  # sequences get further steps
        return self._delivered(out, overwrite, (progress, device, threads), given, index=index)

    def forecast(
        self,
        history: Any,
        steps: int,
        *,
        n: int = 100,
        quantiles: Sequence[float] | None = (0.1, 0.5, 0.9),
        out: str | Path | None = None,
        seed: int = 0,
        batch_size: int | None = None,
        overwrite: bool = True,
        precision: str | None = None,
        device: str | None = None,
        threads: int = 0,
        progress: ProgressOption = None,
    ) -> Any:
        """Continues sequences, `n` times each. For models of sequences of the method ``"made"``; needs pyarrow.

        Parameters
        ----------
        history : DataFrame, Table, relation or path
            First steps of sequences, with the key and the index of the table that was fitted, if it has them; without
            a key one sequence, or those of a column ``sequence``. Given cells are kept, missing ones are drawn.
        steps : int
            Steps to draw after the given ones.
        n : int
            Continuations of each sequence.
        quantiles : sequence of float, optional
            Quantiles of each numeric column over the `n` continuations. None: the continuations themselves.
        seed : int
            Continuation i depends only on the model, `seed`, its given steps and i.
        out, batch_size, overwrite, precision, device, threads, progress
            As in :meth:`complete`.

        Returns
        -------
        DataFrame, Table, relation, Rows or path
            One row for each sequence and drawn step: the key, the index of its first continuation, and the quantiles of
            each number (``price_0.5``). Without quantiles one row for each continuation and drawn step, with its number in the
            column ``draw``.

        Raises
        ------
        UsageError
            The model is not one of sequences by method made.
        """
        if not self._is_of_sequences():
            raise _errors.UsageError(
                "forecast continues sequences, and this is a model of rows.\n  Fit one with sequence_key or "
                "sequence_length; complete() draws missing cells of rows."
            )
        if steps < 1 or n < 1:
            raise _errors.UsageError(f"steps={steps}, n={n}: both must be at least 1.")
        path = _files.path_list(history)
        if path is not None and len(path) > 1:
            raise _errors.UsageError("forecast accepts one file only.")
        options = GivenOptions(
            seed=seed, batch_size=batch_size, precision=precision, file=path[0] if path else None, texts="plain",
            steps=steps, copies=n, drawn_only=1,
        )  # fmt: skip
        drawn = self._given(history, path, options)

        def summary(context: Context) -> tuple[Any, Any]:
            kind, rows = drawn(context)
            encoder = self.describe()["encoder"]
            places = (encoder["key_column"]["name"], encoder["index"] or encoder["step_column"])
            return kind, _frames.continuations(rows, steps, n, quantiles, places)

        return self._delivered(out, overwrite, (progress, device, threads), summary, looks=False)

    def _given(self, partial: Any, path: list[str] | None, options: GivenOptions) -> Callable[[Context], Any]:
        """The rows that keep the cells of `partial`, and the kind of frame that it is."""

        def completed(context: Context) -> tuple[Any, Rows]:
            if path:
                file, kind = path_bytes(path[0]), _frames.default()
                given = Rows(lambda to: lib.tessera_given_open(context.handle, self._handle, file, None, c.byref(to)))
            else:
                kind, taken = take(partial, _frames.has_index(partial, self._looks), context.handle)
                given = taken.rows

            def open_stream(stream: Stream) -> None:
                lib.tessera_sample_given(
                    context.handle, self._handle, Incoming(given), c.byref(options), c.byref(stream)
                )

            return kind, Rows(open_stream)

        return completed

    def _is_of_sequences(self) -> bool:
        return bool(self.describe()["of"] == "sequences")

    def _check_memory(self, n: int) -> None:
        """A frame needs at least one byte per cell."""
        cells, room = n * len(self.schema), available_memory()
        if room and cells > room:
            raise _errors.OutOfMemoryError(
                f"{n:,} rows of {len(self.schema)} columns need at least {cells / 1e9:,.0f} GB; {room / 1e9:,.1f} GB "
                "are available.\n  Write them to a file with out='rows.csv', or read them in batches with sample_iter."
            )

    def _delivered(
        self,
        out: Any,
        overwrite: bool,
        run_as: tuple[Any, ...],
        rows: Callable[[Context], Any],
        n: int = 0,
        looks: bool = True,
        index: Any = None,
    ) -> Any:
        """The result of `rows` in the form of `out`: the kind that comes with the rows, another kind, or a file."""
        if out is not None and out not in _frames.names():
            path = _output(out)
            context = Context(*run_as)
            context.run(lambda handle: _files.write_table(handle, rows(context)[1], path, overwrite))
            return out
        kind = _frames.by_name(str(out)) if out else None
        lazy = (kind or self._kind).name == "rows"  # nothing is generated yet
        if not lazy:
            self._check_memory(n)
        context = Context(False if lazy else run_as[0], *run_as[1:])

        def made(_: Any) -> Any:
            own, drawn = rows(context)
            wanted = kind or own
            fitted = self._looks if looks and wanted is self._kind else {}
            return _frames.make(wanted, drawn, {**fitted, _frames.INDEX: index})

        return context.run(made)

    def save(self, path: Path, *, overwrite: bool = True) -> None:
        """Writes a model file atomically and removes the checkpoint of its training.

        An existing file is replaced, as in pandas, unless ``overwrite=False``.
        """
        file_ = File(name="the model", path=path_bytes(path), use=FILE_REGULAR, overwrite=overwrite)
        lib.tessera_check_files(c.byref(file_), 1)
        with _files.whole_file(path) as beside, open(beside, "wb") as file:
            file.write(self._bytes())
        if self._checkpoint is not None:
            lib.tessera_checkpoint_remove(path_bytes(self._checkpoint))
            self._checkpoint = None

    @property
    def losses(self) -> Any:
        """Losses of the training at regular intervals of steps, as a frame of the kind that was fitted.

        A model file keeps up to 200 of the lines, without seconds.

        >>> list(model.losses)
        ['step', 'epoch', 'seconds', 'surprise']
        """
        return self._kind.from_records(self._lines())

    @property
    def notices(self) -> list[str]:
        """Notices of the fit: rules of the table, regenerated columns, protected values.

        In a script, all but the rules are also warnings (:class:`tessera.TesseraWarning`). A model file keeps none.

        >>> [note for note in model.notices if "regenerated" in note][0][:19]
        'Column "person_id" '
        """
        return list(self._notices)

    def _lines(self) -> list[dict[str, float]]:
        """The lines of losses received during training, else those in the model file."""
        if self._losses:
            return self._losses
        kept = self.describe()["provenance"].get("training")
        if kept is None:
            return []
        names = ["step", "epoch", *(loss["name"] for loss in kept["losses"])]
        columns = (kept["step"], kept["epoch"], *(loss["values"] for loss in kept["losses"]))
        return [dict(zip(names, line)) for line in zip(*columns)]

    @property
    def schema(self) -> Schema:
        """The columns of sampled rows."""
        return Schema(lambda out: lib.tessera_model_schema(self._handle, c.byref(out)))

    @property
    def method(self) -> str:
        """The method of the model.

        >>> model.method
        'made'
        """
        return str(self.describe()["method"])

    def to_html(self, path: Path | None = None, *, overwrite: bool = True) -> str | None:
        """An HTML page of the training with a model card; returned as text if there is no `path`.

        >>> "How was this model trained?" in model.to_html()
        True
        """
        return page(self._card(), path, overwrite)

    def _card(self) -> dict[str, Any]:
        """The model card for a page."""
        return {"model": self.describe(), "training": self._losses}

    def describe(self) -> dict[str, Any]:
        """The description in the model file: configuration, columns, encoders, provenance."""
        return dict(read_json(lib.tessera_model_describe, self._handle))

    def __repr__(self) -> str:
        document = self.describe()
        rows = document["provenance"]["rows"]
        return f"<tessera.Model: {document['method']}, {len(self.schema)} columns, fitted to {rows:,} rows>"

    def __reduce__(self) -> Any:
        return _from_bytes, (self._bytes(),)

    def _bytes(self) -> bytes:
        data, size = c.c_void_p(), c.c_size_t()
        lib.tessera_model_save_memory(self._handle, c.byref(data), c.byref(size))
        try:
            model = c.string_at(data.value or 0, size.value)
        finally:
            lib.tessera_memory_free(data)
        return _model_file.annotated(model, {"kind": self._kind.name, "looks": self._looks, "attrs": self.attrs})


def _from_bytes(model: bytes) -> Model:
    handle = c.c_void_p()
    lib.tessera_model_load_memory(model, len(model), c.byref(handle))
    return _with_note(handle, _model_file.note(io.BytesIO(model)))


def _with_note(handle: c.c_void_p, note: dict[str, Any]) -> Model:
    kind = _frames.by_name(note["kind"]) if note.get("kind") in _frames.names() else _frames.default()
    attrs = note.get("attrs", {})
    if not kind.installed():
        return Model(handle, _frames.default(), {}, attrs)
    return Model(handle, kind, note.get("looks", {}), attrs)


def _encoded_path(path: Path | None) -> bytes | None:
    return None if path is None else path_bytes(path)


def _output(out: Path) -> Path:
    path_bytes(out)
    if isinstance(out, str) and not os.path.splitext(out)[1]:
        raise _errors.UsageError(
            f"out={out!r} is neither {', '.join(_frames.names())} nor a path with an ending, such as rows.csv."
        )
    return out
