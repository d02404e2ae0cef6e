"""Models: fitted, sampled, saved, loaded."""

from __future__ import annotations

import ctypes as c
import io
import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping
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
    read_json,
    type_list,
)
from ._looks import known_looks
from ._options import rule_options, sequence_options, settings_text
from ._page import page
from ._progress import ProgressOption
from ._schema import Schema

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
    device: str | None = None,
    threads: int = 0,
    memory_limit: int = 0,
    scratch: Path | None = None,
    progress: ProgressOption = None,
    callback: Callable[[dict[str, float]], object] | None = None,
    **settings: Any,
) -> Model:
    """Learns a model of a table.

    Parameters
    ----------
    data : table or path
        A DataFrame of pandas or polars, a table of pyarrow, a relation of DuckDB, anything with
        ``__arrow_c_stream__``, or the path of a CSV, Parquet or Arrow file, or a list of such paths.
    method : str, optional
        One of :func:`tessera.methods`; if not given, the first of them that has what `settings`,
        `calibrate` and `preset` ask for: ``"made"`` if they are not given.
    preset : {"best", "paper"}, optional
        ``"paper"`` is the published model.
    seed : int
        The same table, options and seed give the same model, bit for bit.
    types : mapping, optional
        Types of columns, ``{"zip": "category"}``, where those that are found are not meant: integer, decimal, boolean,
        category, date, datetime, identifier or constant.
    index : bool
        Whether the index of a pandas DataFrame is learned too, as columns, and given back as the index.
    rare_categories : int or "keep", optional
        Rows that must share a value for it to be learned (5); ``"keep"`` learns all.
    calibrate : {"off", "marginals", "full"}, optional
        What is learned after training so that rows look real.
    numbers : {"modes", "bins"}, optional
        How ctgan and tvae hold numbers: modes of a mixture, or quantile bins as made has. Default: tvae bins, ctgan
        modes.
    rules : {"find", "off"} or list of str, optional
        Whether rules that the table shows are kept by sampled rows: ``end >= start``, ``total = items + extras``,
        fixed combinations of columns. A list finds them, and is of further rules.
    rule : str or list of str, optional
        Further rules, as ``where`` of :meth:`Model.sample` writes them.
    unique : pair of str, or list of pairs, optional
        Columns of which no pair of values occurs twice: ``("user", "loan")``, the column of groups first.
    sequence_length, sequence_key, sequence_index, stride, static
        What makes sequences of the table, for methods that learn sequences. Without `sequence_index` a date or time
        that rises in every row orders them; ``"none"``: the order of the rows.
    patience : int, optional
        Epochs without a better held-out measure after which training ends; 0: not before `epochs`.
    keep : {"best", "last"}, optional
        Which weights; ``"best"`` where `patience` is given.
    max_time : str or float, optional
        Of the whole call: ``"30m"``, ``"2h"``, or seconds.
    checkpoint : path, optional
        Where training is kept while it goes, and when it is stopped; :meth:`Model.save` removes it.
    checkpoint_every : str, optional
        ``"60s"``, ``"10epochs"``, or ``"off"``: only when training ends or is stopped.
    resume : bool
        Whether to continue from `checkpoint` if it is there: to the same model, bit for bit.
    precision : {"fp32", "tf32", "bf16", "fp16", "auto"}, optional
        Of the products of training; ``"auto"`` is the fastest that `device` multiplies natively.
    recompute : {"off", "auto", "all"}, optional
        Values of a step that are made again instead of kept, where `memory_limit` needs it. No bit changes.
    devices : int or "all", optional
        Ranks of this process that train together, each on its part of every batch.
    virtual_shards : int, optional
        Parts of a batch that are summed apart: every number of ranks that divides it trains the same model.
    parallel : {"data", "model", "auto"}, optional
        What ranks share: the rows of a batch, or the columns of the table; ``"auto"``: columns where only they leave room.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"auto"``.
    threads : int
        0: every processor. The result does not depend on it.
    memory_limit : int
        Bytes that the call may hold; 0: no limit.
    scratch : path, optional
        A folder for what `memory_limit` has no room for.
    progress : bool or callable, optional
        Whether progress is drawn; by default in terminals and notebooks. A callable gets each
        :class:`tessera.Progress` instead.
    callback : callable, optional
        Gets each line of :attr:`Model.losses` as a dict. An exception in it ends the training.
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
        settings=settings_text(settings),
    )
    if devices == "launched":  # its other ranks have no model to return
        raise _errors.UnsupportedError('devices="launched" needs the program: mpirun -n 4 tessera fit.')
    lib.tessera_check_fit_options(c.byref(options))  # before a large table is converted

    def work(handle: c.c_void_p) -> Model:
        kind, taken = _take(data, index, handle, types)
        options.types = checked("types", c.c_char_p, type_list(taken.types) or "")
        model = c.c_void_p()
        lib.tessera_fit(handle, c.byref(options), Incoming(taken.rows), c.byref(model))
        return Model(model, kind, taken.looks)

    model = context.run(work)
    model._looks = known_looks(
        model._looks, model.describe(), lambda: model.sample(1, out="arrow", threads=1, progress=False)
    )
    model._losses, model._checkpoint, model._notices = losses, checkpoint, context.notices
    changes = [note for note in context.notices if not note.startswith("rule kept")]  # a find is no reason to warn
    if changes and not context.watched:
        warnings.warn("\n".join(changes), _errors.TesseraWarning, stacklevel=2)
    return model


def load(path: Path) -> Model:
    """Opens a model file; nothing in it is executed.

    Raises
    ------
    FileError, FormatError
        The message says what is wrong and where.
    """
    handle = c.c_void_p()
    lib.tessera_model_load(os.fsencode(path), c.byref(handle))
    with open(path, "rb") as file:
        return _with_note(handle, _model_file.note(file))


def example(rows: int = 1000, *, seed: int = 0, out: str | None = None) -> Any:
    """A table with a known truth, for demonstrations and tests: people, with dates, missing values and identifiers.

    Parameters
    ----------
    rows : int
    seed : int
    out : {"pandas", "polars", "arrow", "duckdb", "rows"}, optional
        What it comes as; if not given, the first of pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> tessera.example(3)["country"].tolist()
    ['Freedonia', 'Freedonia', 'Freedonia']
    """
    rows, seed = checked("rows", c.c_int64, rows), checked("seed", c.c_uint64, seed)

    def open_stream(stream: Stream) -> None:
        Context(progress=False).run(lambda handle: lib.tessera_example(handle, None, rows, seed, c.byref(stream)))

    return _frames.make(_frames.by_name(out) if out else _frames.default(), Rows(open_stream), {_frames.PLAIN: True})


class Model:
    """A model of a table, made by :func:`tessera.fit` or :func:`tessera.load`.

    It can be pickled, which takes the bytes of its file and no checkpoint, passes to forked processes,
    and may be sampled by several threads at once.

    Attributes
    ----------
    attrs : dict
        Anything that JSON can express, saved with the model, as ``DataFrame.attrs`` of pandas.
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
            Rows; sequences, of a model of sequences.
        where : str, optional
            A condition that every row meets: ``"education = 'Masters' and age >= 40"``.
        out : {"pandas", "polars", "arrow", "duckdb", "rows"} or path, optional
            What the rows come as; if not given, what the fitted table was. A path with an ending is written, as
            ``.csv``, ``.parquet``, ``.arrow``, …. ``"rows"`` is a :class:`tessera.Rows`, made as it is read.
        seed : int
            The same seed gives the same rows, whatever `batch_size` and `threads`.
        offset : int
            Rows to skip.
        calibrate : {"off", "marginals", "full"}, optional
            The tier of calibration; if not given, the one that served best when the model was fitted.
        min_yield : float, optional
            Share of candidates that calibration keeps at least (0.1; 0: none). Higher is faster and less exact.
        max_tries : int, optional
            Candidates a row may take under `where` (65,536).
        batch_size : int, optional
            Rows made at a time.
        overwrite : bool
            Whether `out` replaces a file, as in pandas; False: an error.
        precision, device, threads, progress
            As in :func:`tessera.fit`; `precision` is that of the generator's products.

        Returns
        -------
        DataFrame, Table, relation, Rows or path

        Raises
        ------
        ConditionError
            `where` names what the model has not seen, or is not met often enough.

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
        )  # fmt: skip

        def rows(context: Context) -> Rows:
            def open_stream(stream: Stream) -> None:
                lib.tessera_sample(context.handle, self._handle, offset, n, c.byref(options), c.byref(stream))

            return Rows(open_stream)

        run_as = (progress, device, threads)
        return self._delivered(out, overwrite, run_as, lambda context: (self._kind, rows(context)), n)

    def sample_iter(
        self, batch: int = _BATCH, n: int | None = None, where: str | None = None, **options: Any
    ) -> Iterator[Any]:
        """The rows of :meth:`sample`, `batch` at a time; without `n`, without end.

        A mistake in the options is raised by this call and not by the first batch.

        Examples
        --------
        >>> [len(rows) for rows in model.sample_iter(40, 100)]
        [40, 40, 20]
        """
        if batch < 1:
            raise _errors.UsageError(f"batch is {batch}; it must be 1 or more.")
        if options.get("out") not in (None, *_frames.names()):
            raise _errors.UsageError("sample_iter gives frames; a file takes all rows at once, by sample.")
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
        """Keeps the cells that are given and draws the others from the model's law under them.

        Parameters
        ----------
        partial : DataFrame, Table, relation or path
            Rows with columns of the model, any of them, in any order; missing cells are drawn, as are columns that are
            not there. A value that the model has not seen is kept.
        out : {"pandas", "polars", "arrow", "duckdb", "rows"} or path, optional
            As in :meth:`sample`; if not given, what `partial` is.
        seed : int
            Row i of the result depends on the model, `seed`, its given cells and i only.
        max_candidates : int, optional
            Candidates that a row may take (1,024): under unlikely cells more of them are nearer to the law.
        where : str, optional
            A condition that every row meets, as in :meth:`sample`.
        batch_size : int, optional
            Candidates made at a time.
        overwrite, precision, device, threads, progress
            As in :meth:`sample`.

        Returns
        -------
        DataFrame, Table, relation, Rows or path
            All columns of the model, in its order.

        Raises
        ------
        DataError
            A column is not the model's, or a value not one of its type.
        ConditionError
            The given cells of a row break a rule of the table, or no candidate meets `where`.

        Examples
        --------
        >>> partial = tessera.example(3)[["age", "education"]]
        >>> filled = model.complete(partial, seed=1)
        >>> bool((filled["age"] == partial["age"]).all()), bool(filled["income"].notna().any())
        (True, True)
        """
        path = _files.path_list(partial)
        if path is not None and len(path) > 1:
            raise _errors.UsageError("complete takes one file.")
        options = GivenOptions(
            seed=seed, batch_size=batch_size, max_candidates=max_candidates, completes=1, precision=precision,
            where=where, file=path[0] if path else None, texts="plain",
        )  # fmt: skip

        def completed(context: Context) -> tuple[Any, Rows]:
            if path:
                file, kind = os.fsencode(path[0]), _frames.default()
                given = Rows(lambda to: lib.tessera_given_open(context.handle, self._handle, file, None, c.byref(to)))
            else:
                kind, taken = _take(partial, False, context.handle)
                given = taken.rows

            def open_stream(stream: Stream) -> None:
                lib.tessera_sample_given(
                    context.handle, self._handle, Incoming(given), c.byref(options), c.byref(stream)
                )

            return kind, Rows(open_stream)

        return self._delivered(out, overwrite, (progress, device, threads), completed)

    def _check_room(self, n: int) -> None:
        """A frame has a byte for every cell at least."""
        cells, room = n * len(self.schema), available_memory()
        if room and cells > room:
            raise _errors.OutOfMemoryError(
                f"{n:,} rows of {len(self.schema)} columns are {cells / 1e9:,.0f} GB at least, of which {room / 1e9:,.1f} "
                "are available.\n  Write them to a file, with out='rows.csv', or take them in parts, with sample_iter."
            )

    def _delivered(
        self, out: Any, overwrite: bool, run_as: tuple[Any, ...], rows: Callable[[Context], Any], n: int = 0
    ) -> Any:
        """What `rows` gives of a context, as `out` says: the kind that comes with the rows, another, or a file."""
        if out is not None and out not in _frames.names():
            path = _output(out)
            context = Context(*run_as)
            context.run(lambda handle: _files.write_table(handle, rows(context)[1], path, overwrite))
            return out
        kind = _frames.by_name(str(out)) if out else None
        lazy = (kind or self._kind).name == "rows"  # of which nothing is made yet
        if not lazy:
            self._check_room(n)
        context = Context(False if lazy else run_as[0], *run_as[1:])

        def made(_: Any) -> Any:
            own, drawn = rows(context)
            wanted = kind or own
            return _frames.make(wanted, drawn, self._looks if wanted is self._kind else {})

        return context.run(made)

    def save(self, path: Path, *, overwrite: bool = True) -> None:
        """Writes a model file, whole or not at all, and removes the checkpoint of its training.

        A file of this name is replaced, as in pandas; ``overwrite=False`` refuses to.
        """
        file_ = File(name="the model", path=os.fsencode(path), use=FILE_REGULAR, overwrite=overwrite)
        lib.tessera_check_files(c.byref(file_), 1)
        with _files.whole_file(path) as beside, open(beside, "wb") as file:
            file.write(self._bytes())
        if self._checkpoint is not None:
            lib.tessera_checkpoint_remove(os.fsencode(self._checkpoint))
            self._checkpoint = None

    @property
    def losses(self) -> Any:
        """Losses of the training, a line at regular intervals of steps, as a frame of the kind that was fitted.

        A model file keeps up to 200 of the lines, without seconds.

        >>> list(model.losses)
        ['step', 'epoch', 'seconds', 'surprise']
        """
        return self._kind.from_records(self._lines())

    @property
    def notices(self) -> list[str]:
        """What the fit said: rules that rows keep, columns that are regenerated, what was protected.

        In a script all but the rules are also a warning (:class:`tessera.TesseraWarning`). A model file keeps none.

        >>> [note for note in model.notices if "regenerated" in note][0][:19]
        'Column "person_id" '
        """
        return list(self._notices)

    def _lines(self) -> list[dict[str, float]]:
        """The lines of losses that were heard while it trained, else those that are in the model file."""
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
        """The method it was fitted by.

        >>> model.method
        'made'
        """
        return str(self.describe()["method"])

    def to_html(self, path: Path | None = None, *, overwrite: bool = True) -> str | None:
        """The page of the training, and a card of the model for an audit; as text if there is no `path`.

        >>> "How was this model trained?" in model.to_html()
        True
        """
        return page(self._card(), path, overwrite)

    def _card(self) -> dict[str, Any]:
        """What a page says of the model."""
        return {"model": self.describe(), "training": self._losses}

    def describe(self) -> dict[str, Any]:
        """All that the model file says of itself: configuration, columns, encoders, provenance."""
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


def _take(data: Any, index: bool, context: Any, types: Mapping[str, str] | None = None) -> Any:
    """The library that a table is of, and the table, with the types that its rows have not yet."""
    given = dict(types or {})
    if isinstance(data, Rows):
        return _frames.default(), _frames.Taken(data, {}, given)
    paths = _files.path_list(data)
    if paths is None:
        kind = _frames.of(data)
        taken = kind.take(data, index)
        return kind, taken._replace(types={**taken.types, **given})
    csv = _files.are_csv(paths)
    options = _files.csv_options(given if csv else None)
    rows = Rows(lambda stream: _files.open_table(context, paths, options, stream))
    return _frames.default(), _frames.Taken(rows, {}, {} if csv else given)


def _encoded_path(path: Path | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def _output(out: Path) -> Path:
    if isinstance(out, str) and not os.path.splitext(out)[1]:
        raise _errors.UsageError(
            f"out={out!r} is neither {', '.join(_frames.names())} nor a path with an ending, such as rows.csv."
        )
    return out
