"""Tables of pandas, polars, pyarrow and DuckDB: taken as Arrow streams, and made of rows again."""

from __future__ import annotations

import functools
import importlib.util
import json
import numbers
import sys
import warnings
from typing import Any, Callable, NamedTuple

from . import _errors
from ._arrow import batches

Looks = dict[str, Any]  # properties of a frame that Arrow lacks; a JSON object in the model file
PLAIN = "plain"  # in `looks`: dictionary-encoded texts become plain texts
INDEX = "index"  # in `looks` of rows that belong to the rows of a DataFrame: its index; no model file has it


class Taken(NamedTuple):
    """An imported table."""

    rows: Any  # has __arrow_c_stream__
    looks: Looks
    types: dict[str, str]  # column types for the fit, from the caller or from dtypes


class Frames:
    """One library of data frames."""

    name = "rows"
    module = ""

    def is_frame(self, data: Any) -> bool:
        return hasattr(data, "__arrow_c_stream__")

    def take(self, data: Any, index: bool) -> Taken:
        return Taken(data, {}, {})

    def apart(self, rows: Any) -> Any:
        """Rows that can be read while another table of the same library is being read."""
        return rows

    def frame(self, rows: Any, looks: Looks) -> Any:
        return rows

    def from_records(self, records: list[dict[str, Any]]) -> Any:
        return records

    def installed(self) -> bool:
        return not self.module or importlib.util.find_spec(self.module) is not None

    def _loaded(self) -> Any:
        """The module if the program has imported it; otherwise no table can belong to it."""
        return sys.modules.get(self.module)


class Arrow(Frames):
    name, module = "arrow", "pyarrow"

    def frame(self, rows: Any, looks: Looks) -> Any:
        return _arrow_table(rows, looks)

    def from_records(self, records: list[dict[str, Any]]) -> Any:
        return _pyarrow().Table.from_pylist(records)


class Pandas(Frames):
    """`looks`: pandas' schema metadata (dtypes, index, names), object columns, and orders of categories."""

    name, module = "pandas", "pandas"

    def is_frame(self, data: Any) -> bool:
        return self._loaded() is not None and isinstance(data, self._loaded().DataFrame)

    def take(self, data: Any, index: bool) -> Taken:
        pyarrow = _pyarrow()
        given, data = data, self._plain(self._plainly_named(data))
        try:
            table = pyarrow.Table.from_pandas(data, preserve_index=index)
            without_index = pyarrow.Table.from_pandas(data.iloc[:0].reset_index(drop=True))
        except UnicodeEncodeError as error:
            raise _errors.DataError(f"A text contains an unpaired surrogate and is not valid Unicode: {error}") from error
        except Exception as error:  # pyarrow names the column
            raise _errors.DataError(f"The DataFrame cannot be passed as an Arrow stream: {error}") from error
        note = json.loads(table.schema.metadata[b"pandas"])
        note["column_indexes"] = json.loads(without_index.schema.metadata[b"pandas"])["column_indexes"]
        for column in note["columns"]:
            if column["pandas_type"] == "categorical":  # the stored number of categories includes rare ones
                column.update(numpy_type="int8", metadata=None)
        dtypes = dict(zip(table.column_names, given.dtypes))
        objects = [name for name, dtype in dtypes.items() if str(dtype) == "object"]
        categories = {name: known for name, known in map(self._categories, dtypes.items()) if known}
        for place, name in enumerate(table.column_names[: len(data.columns)]):
            if name in categories and categories[name]["ordered"]:  # an ordinal scale; some levels may have no rows
                used = set(data.iloc[:, place].dropna().unique())
                categories[name]["unused"] = [value for value in categories[name]["values"] if value not in used]
        # Integer categories must not be learned as numbers: a model would generate values between them.
        types = {name: "category" for name, known in categories.items() if not isinstance(known["values"][0], str)}
        return Taken(table, {"pandas": json.dumps(note), "objects": objects, "categories": categories}, types)

    def frame(self, rows: Any, looks: Looks) -> Any:
        table = _arrow_table(rows, looks)
        if "pandas" in looks:
            table = table.replace_schema_metadata({b"pandas": looks["pandas"].encode()})
        frame = table.to_pandas(types_mapper=None if "pandas" in looks else self._nullable(table))
        restored = {name: self._object for name in looks.get("objects", ())}
        for name, known in looks.get("categories", {}).items():
            restored[name] = functools.partial(self._category, known)
        for name, restore in restored.items():
            column = frame.columns[table.column_names.index(name)]
            frame[column] = restore(frame[column])
        if looks.get(INDEX) is not None and not self._learned_index(looks):
            frame.index = looks[INDEX].copy()  # a name given to it later is not that of the caller's
        return frame

    def has_index(self, data: Any, looks: Looks) -> bool:
        """Whether the index of `data` is that of the table with these `looks`."""
        names = data.index.names if self.is_frame(data) else []
        names = [f"__index_level_{level}__" if name is None else str(name) for level, name in enumerate(names)]
        return bool(names) and names == self._learned_index(looks)

    def _learned_index(self, looks: Looks) -> list[str]:
        """The columns that are the index; empty if it was not learned."""
        return list(json.loads(looks["pandas"])["index_columns"]) if "pandas" in looks else []

    def _plainly_named(self, data: Any) -> Any:
        """Columns under names that pyarrow restores; it does not restore categories, intervals, periods, dates, ….

        Such names become plain values, or else texts.
        """
        columns, levels = data.columns, range(data.columns.nlevels)
        for plain in (lambda name: name, str):
            if self._come_back(columns):
                break
            names = [[plain(name) for name in data.columns.get_level_values(level)] for level in levels]
            columns = self._loaded().MultiIndex.from_arrays(names) if len(levels) > 1 else self._loaded().Index(names[0])
            columns.names = data.columns.names
        return data if columns is data.columns else data.set_axis(columns, axis=1)

    def _come_back(self, columns: Any) -> bool:
        try:
            restored = _pyarrow().Table.from_pandas(self._loaded().DataFrame(columns=columns)).to_pandas().columns
        except Exception:  # of pandas and pyarrow, by the names' types
            return False
        return bool(restored.equals(columns))

    def _plain(self, data: Any) -> Any:
        """Converts columns without an Arrow type to text: mixed texts and numbers, and intervals."""
        for place in range(data.shape[1]):
            column = data.iloc[:, place]
            if self._has_intervals(column.dtype):
                column = column.cat.rename_categories(list(map(str, column.cat.categories)))
            elif column.dtype == object and _is_mixed(column.dropna()):
                column = column.map(str, na_action="ignore")
                warnings.warn(
                    f"Column {data.columns[place]!r} holds texts and numbers: all values are learned as texts.",
                    _errors.TesseraWarning,
                    stacklevel=2,
                )
            else:
                continue
            data = data.copy(deep=False)
            data.isetitem(place, column)
        return data

    def _has_intervals(self, dtype: Any) -> bool:
        return isinstance(getattr(dtype, "categories", None), self._loaded().IntervalIndex)

    def _categories(self, column: tuple[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """The categories of a column if they are texts or integers; other categories are returned as plain values."""
        name, dtype = column
        values = dtype.categories.tolist() if isinstance(dtype, self._loaded().CategoricalDtype) else []
        if values and self._has_intervals(dtype):
            known = {"values": list(map(str, values)), "ordered": dtype.ordered}
            if dtype.categories.dtype.subtype.kind in "iuf":
                known["intervals"] = {str(value): [value.left, value.right] for value in values}
                known["closed"] = dtype.categories.closed
            return name, known
        known = values and any(all(type(value) is type_ for value in values) for type_ in (str, int))
        return name, {"values": values, "ordered": dtype.ordered} if known else None

    def _object(self, column: Any) -> Any:
        return column if str(column.dtype) == "object" else column.astype(object).where(column.notna(), None)

    def _category(self, known: dict[str, Any], column: Any) -> Any:
        import pandas

        values = known["values"] + sorted(set(column.dropna().unique()) - set(known["values"]))
        column = column.astype(pandas.CategoricalDtype(values, ordered=known["ordered"]))
        if "intervals" in known:
            bounds = [tuple(known["intervals"][value]) for value in values]
            return column.cat.rename_categories(pandas.IntervalIndex.from_tuples(bounds, known["closed"]))
        return column.cat.set_categories(values)  # astype would keep the old order of categories

    def _nullable(self, table: Any) -> Callable[[Any], Any]:
        """Keeps integers with missing values as integers, unless the rows' DataFrame had another dtype."""
        import pandas

        pyarrow = _pyarrow()
        nullable = {
            getattr(pyarrow, name.lower())(): getattr(pandas, name + "Dtype")()
            for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
        }
        missing = {field.type for field, column in zip(table.schema, table.columns) if column.null_count}
        return {type_: dtype for type_, dtype in nullable.items() if type_ in missing}.get

    def from_records(self, records: list[dict[str, Any]]) -> Any:
        import pandas

        return pandas.DataFrame(records)


class Polars(Frames):
    """`looks`: the categories of Enum columns, in their order."""

    name, module = "polars", "polars"

    def is_frame(self, data: Any) -> bool:
        polars = self._loaded()
        return polars is not None and isinstance(data, (polars.DataFrame, polars.LazyFrame))

    def take(self, data: Any, index: bool) -> Taken:
        polars = self._loaded()
        data = data.collect() if isinstance(data, polars.LazyFrame) else data
        enums = {n: {"values": d.categories.to_list()} for n, d in data.schema.items() if isinstance(d, polars.Enum)}
        return Taken(data, {"categories": enums}, {})

    def frame(self, rows: Any, looks: Looks) -> Any:
        import polars

        read = [polars.DataFrame(batch) for batch in batches(rows)]
        frame = polars.concat(read, rechunk=False) if read else polars.DataFrame(rows)
        if looks.get(PLAIN):
            frame = frame.with_columns(polars.col(polars.Categorical).cast(polars.String))
        for name, known in looks.get("categories", {}).items():
            values = known["values"]
            values = values + sorted(set(frame[name].drop_nulls().cast(polars.String).unique()) - set(values))
            frame = frame.with_columns(polars.col(name).cast(polars.String).cast(polars.Enum(values)))
        return frame

    def from_records(self, records: list[dict[str, Any]]) -> Any:
        import polars

        return polars.DataFrame(records, infer_schema_length=None)


class DuckDB(Frames):
    name, module = "duckdb", "duckdb"

    def is_frame(self, data: Any) -> bool:
        return self._loaded() is not None and isinstance(data, self._loaded().DuckDBPyRelation)

    def apart(self, rows: Any) -> Any:
        try:
            return _pyarrow().table(rows)  # a connection has only one open result
        except self._loaded().Error as error:
            raise _errors.DataError(f"The relation cannot be read: {error}") from error

    def frame(self, rows: Any, looks: Looks) -> Any:
        import duckdb

        return duckdb.from_arrow(_arrow_table(rows, looks))

    def from_records(self, records: list[dict[str, Any]]) -> Any:
        import duckdb

        return duckdb.from_arrow(_pyarrow().Table.from_pylist(records))


def check_names(rows: Any) -> None:
    """Names end at a NUL character in Arrow's C structs, so one that has it would become another."""
    names = getattr(rows, "column_names", None) or getattr(rows, "columns", ())  # of pyarrow; of polars and DuckDB
    for place, name in enumerate(names, 1):
        if isinstance(name, str) and "\0" in name:
            raise _errors.DataError(f"The name of column {place}, {name!r}, contains a NUL character.\n  Rename it.")


def _is_mixed(values: Any) -> bool:
    """
    >>> _is_mixed(["P", 1, 1.0]), _is_mixed(["P", "1"]), _is_mixed([1, 2.5]), _is_mixed(["P", [1]])
    (True, False, False, False)
    """
    texts = [isinstance(value, str) for value in values]
    scalars = (isinstance(value, (str, numbers.Number)) or type(value).__name__ == "bool_" for value in values)
    return any(texts) and not all(texts) and all(scalars)


_PANDAS = Pandas()
_ALL = (_PANDAS, Polars(), DuckDB(), Arrow(), Frames())


def _kind_name(data: Any) -> str:
    """
    >>> _kind_name(3), _kind_name(__import__("fractions").Fraction(1))
    ('int', 'fractions.Fraction')
    """
    kind = type(data)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def index_of(data: Any) -> Any:
    """The index of a DataFrame of pandas, for a result with a row for each of its rows; else None."""
    return data.index if _PANDAS.is_frame(data) else None


def has_index(data: Any, looks: Looks) -> bool:
    """Whether `data` is a DataFrame of pandas whose index is that of the table with these `looks`."""
    return _PANDAS.has_index(data, looks)


def of(data: Any) -> Frames:
    """The library that a table belongs to."""
    for frames in _ALL:
        if frames.is_frame(data):
            return frames if frames.installed() else by_name("rows")
    raise _errors.DataError(
        f"{_kind_name(data)} is not a table. Pass a DataFrame of pandas or polars, a table of pyarrow, a "
        "relation of DuckDB, an object with __arrow_c_stream__, or paths of files."
    )


def by_name(name: str) -> Frames:
    for frames in _ALL:
        if frames.name == name:
            return frames
    raise _errors.UsageError(f"{name!r} is not a kind of table. Choose one of {', '.join(f.name for f in _ALL)}.")


def names() -> list[str]:
    return [frames.name for frames in _ALL]


def default() -> Frames:
    """The kind of frame for rows if the caller passed a path instead of a frame."""
    return next(by_name(name) for name in ("pandas", "polars", "arrow", "rows") if _can_make(by_name(name)))


def _can_make(frames: Frames) -> bool:
    return frames.installed() and (frames.name != "pandas" or importlib.util.find_spec("pyarrow") is not None)


def make(frames: Frames, rows: Any, looks: Looks | None = None) -> Any:
    """The rows as a frame."""
    try:
        return frames.frame(rows, looks or {})
    except ImportError as error:
        raise _errors.UnsupportedError(f"out={frames.name!r} needs a package: {error}.") from error


def _arrow_table(rows: Any, looks: Looks) -> Any:
    pyarrow = _pyarrow()
    read = [pyarrow.record_batch(batch) for batch in batches(rows)]
    table = pyarrow.Table.from_batches(read) if read else pyarrow.table(rows)
    for position, field in enumerate(table.schema):
        if looks.get(PLAIN) and pyarrow.types.is_dictionary(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(field.type.value_type))
    return table


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise _errors.UnsupportedError("Tables of pandas and pyarrow need pyarrow: pip install pyarrow.") from None
    return pyarrow


def continuations(rows: Any, steps: int, n: int, quantiles: Any, places: tuple[str, str]) -> Any:
    """Drawn steps of `n` continuations of sequences, one after another: numbered, or their quantiles."""
    table = _arrow_table(rows, {})
    pyarrow = _pyarrow()
    sequences = table.num_rows // (steps * n)
    if quantiles is None:
        draw = [i // steps % n for i in range(table.num_rows)]
        return table.add_column(0, "draw", pyarrow.array(draw, pyarrow.int64()))
    import numpy

    # the rows of the first continuation of each sequence
    first = [s * steps * n + t for s in range(sequences) for t in range(steps)]
    names, columns = [], []
    for name in table.column_names:
        column = table[name].combine_chunks()
        kind = column.type
        if name in places:
            names.append(name), columns.append(column.take(pyarrow.array(first)))
            continue
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            continue
        cells = column.to_numpy(zero_copy_only=False).astype(float).reshape(sequences, n, steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a step without a number in any continuation
            found = numpy.nanquantile(cells, quantiles, axis=1)
        for quantile, values in zip(quantiles, found):
            names.append(f"{name}_{quantile:g}"), columns.append(pyarrow.array(values.ravel(), from_pandas=True))
    return pyarrow.table(columns, names=names)
