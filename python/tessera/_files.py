"""Tables in files: the library reads CSV; its plugin, or else pyarrow, reads Parquet and Arrow."""

from __future__ import annotations

import contextlib
import ctypes as c
import glob
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Callable, Union

from . import _errors
from ._arrow import Incoming, Rows, Stream
from ._arrow import batches as arrow_batches
from ._context import Context
from ._library import CsvOptions, CsvWriteOptions, lib, name_list, path_bytes, read_json, type_list

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]

_HEADERS = {None: 0, True: 1, False: 2}


def path_list(data: Any) -> list[str] | None:
    """``data`` as a list of paths; None if it is no path or list of paths."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, os.PathLike)) for path in data):
        return [os.fspath(path) for path in data]
    return None


def are_csv(paths: Sequence[str]) -> bool:
    """Whether all files are CSV. Parquet and Arrow files define column types themselves."""
    for path in expanded(paths)[:1]:
        with contextlib.suppress(OSError), open(path, "rb") as file:  # the library reports unreadable files
            return not file.read(6).startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"))
    return True


def expanded(paths: Sequence[str]) -> list[str]:
    """The files that match paths with ``*``."""
    return [file for path in paths for file in ([path] if os.path.exists(path) else sorted(glob.glob(path)))]


def read(
    paths: Paths,
    *,
    types: Mapping[str, str] | None = None,
    missing: str | Iterable[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    max_rows: int = 0,
    seed: int = 0,
    schema: Path | None = None,
) -> Rows:
    """Reads a table from files with options; :func:`tessera.fit` also accepts plain paths.

    Parameters
    ----------
    paths : path or list of paths
        CSV, Parquet or Arrow files with the same columns; ``*`` in a name matches several files.
    types : mapping, optional
        Types of columns of CSV files, ``{"zip": "category"}``, that override detected ones: integer,
        decimal, boolean, category, date, datetime, identifier, uuid or constant.
    missing : str or iterable of str, optional
        Additional spellings of a missing value.
    delimiter : str, optional
        Default: detected among ``, ; tab |``.
    header : bool, optional
        Whether the first line holds column names. Default: detected.
    max_rows : int
        Number of rows drawn evenly, by `seed`, from larger Parquet and Arrow files. 0: all.
    schema : path, optional
        Schema file for a CSV file: types, missing values and rules for sampled rows; `types` override it.

    Returns
    -------
    Rows
        For :func:`tessera.fit`, :func:`tessera.evaluate`, ``pyarrow.table``, ``polars.DataFrame``, ….

    Examples
    --------
    >>> model = tessera.fit(tessera.read("people.csv", missing="?", types={"zip": "category"}))  # doctest: +SKIP
    """
    options = csv_options(types, missing, delimiter, header, max_rows, seed, schema)
    listed = path_list(paths)
    if listed is None:
        raise _errors.UsageError(f"Expected a path or a list of paths, not {type(paths).__name__}.")

    def open_stream(stream: Stream) -> None:
        Context(progress=False).run(lambda handle: open_table(handle, listed, options, stream))

    return Rows(open_stream)


def csv_options(
    types: Mapping[str, str] | None = None,
    missing: str | Iterable[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    max_rows: int = 0,
    seed: int = 0,
    schema: Path | None = None,
) -> CsvOptions:
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise _errors.UsageError(f"delimiter is {delimiter!r}; it must be one ASCII character.")
    return CsvOptions(
        types=type_list(types),
        missing=name_list(missing),
        delimiter=delimiter and delimiter.encode(),
        header=_HEADERS[header],
        max_rows=max_rows,
        sample_seed=seed,
        schema=None if schema is None else path_bytes(schema),
    )


def open_table(context: Any, paths: Sequence[str], options: CsvOptions, stream: Stream) -> None:
    """Exports the rows of files to `stream`."""
    encoded = (c.c_char_p * len(paths))(*map(path_bytes, paths))
    try:
        lib.tessera_table_open(context, encoded, len(paths), c.byref(options), c.byref(stream))
    except _errors.UnsupportedError as error:
        if options.max_rows or are_csv(paths):  # only the plugin samples rows
            raise
        Incoming(_read_by_pyarrow(paths, error)).move_to(stream)


def write_table(context: Any, rows: Any, path: Path, overwrite: bool) -> None:
    """Writes rows atomically, in the format of the ending of `path`."""
    writer = _pyarrow_writer(path)
    if writer and not read_json(lib.tessera_info)["parquet_and_arrow"]["available"]:
        if os.path.lexists(path) and not overwrite:
            raise _errors.FileError(f"{path}: the file exists.\n  Choose another name, or pass overwrite=True.")
        _write_by_pyarrow(rows, path, writer)
        return
    options = CsvWriteOptions(overwrite=overwrite)
    lib.tessera_table_write(context, Incoming(rows), path_bytes(path), c.byref(options))


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[str]:
    """A temporary file beside `path`; renamed to `path` at the end, removed after an error."""
    folder, name = os.path.split(os.path.abspath(path))
    beside = ""
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        os.close(handle)
        yield beside
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, 0o666 & ~umask)  # the mode of a file created by open()
        os.replace(beside, path)
    except BaseException as error:
        if beside:
            os.unlink(beside)
        if isinstance(error, OSError) and not isinstance(error, _errors.TesseraError):
            raise _errors.FileError(f"{path}: cannot be written: {error.strerror or error}.") from error
        raise


def _read_by_pyarrow(paths: Sequence[str], unsupported: _errors.UnsupportedError) -> Any:
    try:
        import pyarrow.dataset
        import pyarrow.ipc
    except ImportError:
        raise unsupported from None
    files = expanded(paths)
    with open(files[0], "rb") as first:
        magic = first.read(4)
    if magic == b"\xff\xff\xff\xff":  # Arrow's stream format, which data sets have not
        streams = [pyarrow.ipc.open_stream(file) for file in files]
        return pyarrow.RecordBatchReader.from_batches(streams[0].schema, itertools.chain(*streams))
    return pyarrow.dataset.dataset(files, format="parquet" if magic == b"PAR1" else "ipc").scanner().to_reader()


def _pyarrow_writer(path: Path) -> Callable[[str, Any], Any] | None:
    """Opens a file of Parquet or Arrow, where that is what the ending of `path` says."""
    ending = os.path.splitext(os.fspath(path))[1].lower()

    def open_writer(file: str, schema: Any) -> Any:
        if ending == ".parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetWriter(file, schema)
        import pyarrow.ipc

        return (pyarrow.ipc.new_stream if ending == ".arrows" else pyarrow.ipc.new_file)(file, schema)

    return open_writer if ending in (".parquet", ".arrow", ".feather", ".ipc", ".arrows") else None


def _write_by_pyarrow(rows: Any, path: Path, open_writer: Callable[[str, Any], Any]) -> None:
    try:
        import pyarrow
    except ImportError:
        raise _errors.UnsupportedError(f"{path}: Parquet and Arrow files need pyarrow: pip install pyarrow.") from None

    batches = map(pyarrow.record_batch, arrow_batches(rows))
    first = next(batches, None)
    schema = pyarrow.table(rows).schema if first is None else first.schema
    with whole_file(path) as beside, open_writer(beside, schema) as writer:
        for batch in itertools.chain([] if first is None else [first], batches):
            writer.write_batch(batch)
