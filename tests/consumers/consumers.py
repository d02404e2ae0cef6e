"""Rows from and to pyarrow, pandas, polars and DuckDB, by the code of docs/python.md as it stands there.

    consumers.py <libtessera.so> <docs/python.md>

A row of a table whose rows are all alike is given back by a model of that table as it was: so every type goes in and out and must be equal.
Such a table has five rows, because a number that fewer share is not learned (docs/privacy.md). Exit code 77: a package is missing.
"""
import datetime as dt
import decimal
import re
import sys

try:
    import duckdb, pandas, polars
    import pyarrow as pa
except ImportError as missing:
    print(f"skipped: {missing}. tools/setup.sh installs what is needed where CI is set; else: pip install pyarrow pandas polars duckdb")
    sys.exit(77)

library, page = sys.argv[1:3]
code = re.search(r"```python\n(import ctypes.*?)```", open(page, encoding="utf-8").read(), re.S).group(1)
exec(compile(code.replace("libtessera.so.1", library), page, "exec"))

UNTRAINED = -1
D = decimal.Decimal
utc = dt.timezone.utc
moment = dt.datetime(2024, 2, 29, 23, 59, 58, 123456)

# Two values of every type.
TYPES = {
    **{f"int{b}": (pa.int8() if b == 8 else pa.int16() if b == 16 else pa.int32() if b == 32 else pa.int64(), [-(2 ** (b - 1)), 2 ** (b - 1) - 1]) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (pa.uint8() if b == 8 else pa.uint16() if b == 16 else pa.uint32() if b == 32 else pa.uint64(), [3, 2**b - 1]) for b in (8, 16, 32, 64)},
    "float16": (pa.float16(), [0.5, -65504.0]),
    "float32": (pa.float32(), [0.10000000149011612, -2.5]),
    "float64": (pa.float64(), [0.1, -1.5e300]),
    "decimal32": (pa.decimal32(9, 2), [D("-1234567.89"), D("0.05")]),
    "decimal64": (pa.decimal64(18, 3), [D("123456789012345.678"), D("0.001")]),
    "decimal128": (pa.decimal128(38, 10), [D("1.5"), D("-1234567890123456789012345678.0123456789")]),
    "decimal256": (pa.decimal256(76, 4), [D("-123456789012345678901234567890123456789012345678.9012"), D("1")]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["Zürich", "a text of more than twelve bytes"]),
    "large_string": (pa.large_string(), ["x", "a text of more than twelve bytes"]),
    "string_view": (pa.string_view(), ["x", "a text of more than twelve bytes"]),
    "binary": (pa.binary(), [b"x", b"bytes that are text"]),
    "binary_view": (pa.binary_view(), [b"x", b"bytes that are text"]),
    "date32": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "date64": (pa.date64(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    **{f"timestamp_{u}_{z or 'none'}": (pa.timestamp(u, z), [m.replace(tzinfo=utc if z else None) for m in (cut, dt.datetime(1960, 1, 1))])
       for u, cut in (("s", moment.replace(microsecond=0)), ("ms", moment.replace(microsecond=123000)), ("us", moment), ("ns", moment)) for z in (None, "UTC", "Europe/Berlin")},
    "time32_s": (pa.time32("s"), [dt.time(0, 0, 1), dt.time(23, 59, 59)]),
    "time32_ms": (pa.time32("ms"), [dt.time(0, 0, 1, 5000), dt.time(23, 59, 59)]),
    "time64_us": (pa.time64("us"), [dt.time(0, 0, 1, 5), dt.time(23, 59, 59)]),
    "time64_ns": (pa.time64("ns"), [dt.time(0, 0, 1, 5), dt.time(23, 59, 59)]),
    **{f"duration_{u}": (pa.duration(u), [dt.timedelta(days=-1), dt.timedelta(hours=5)]) for u in ("s", "ms", "us", "ns")},
    "null": (pa.null(), [None, None]),
}


ROWS = 5


def alike(row, names, rows=ROWS):
    """A table of equal rows; row 2 is a table without values."""
    return pa.table({n: pa.array([TYPES[n][1][row] if row < 2 else None] * rows, TYPES[n][0]) for n in names})


def again(table, **options):
    return Model(table, epochs=UNTRAINED).sample(len(table), **options)


def equal(found, expected, who):
    found, expected = pa.table(found), pa.table(expected)
    assert found.column_names == expected.column_names, who
    for name in expected.column_names:
        a, b = found[name].combine_chunks(), expected[name].combine_chunks()
        if pa.types.is_dictionary(a.type): a = a.dictionary_decode()
        if pa.types.is_dictionary(b.type): b = b.dictionary_decode()
        assert a.to_pylist() == b.to_pylist(), f"{who}: {name} ({b.type}) gave {a.to_pylist()} for {b.to_pylist()}"


def same_types(found, expected, who):
    for f, e in zip(pa.table(found).schema, pa.table(expected).schema, strict=True):
        assert f.type == e.type, f"{who}: {e.name} went in as {e.type} and came out as {f.type}"


def check_pyarrow():
    for row in range(3):
        table = alike(row, TYPES)
        out = pa.table(again(table, texts=b"plain"))
        same_types(out, table, "pyarrow")
        equal(out, table, "pyarrow")
        out.validate(full=True)
        dictionaries = pa.table(again(table))
        dictionaries.validate(full=True)
        equal(dictionaries, table, "pyarrow, dictionaries")
        assert row == 2 or pa.types.is_dictionary(dictionaries.schema.field("string").type)
        sliced = pa.concat_tables([alike(1, TYPES), table, alike(1, TYPES)]).slice(ROWS, ROWS)
        equal(pa.table(again(sliced, texts=b"plain")), table, "pyarrow, sliced")
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
        for ordered in (False, True):
            codes = pa.DictionaryArray.from_arrays(pa.array([1] * ROWS, index), pa.array(["never", "always"]), ordered=ordered)
            equal(pa.table(again(pa.table({"c": codes}))), pa.table({"c": ["always"] * ROWS}), f"dictionary of {index}")
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array([2.5]))
    equal(pa.table(again(pa.table({"r": runs}))), pa.table({"r": [2.5] * ROWS}), "run-end encoded")
    chunks = pa.chunked_array([pa.array([7], pa.int16()), pa.array([], pa.int16()), pa.array([7] * (ROWS - 1), pa.int16())])
    equal(pa.table(again(pa.table({"c": chunks}))), pa.table({"c": pa.array([7] * ROWS, pa.int16())}), "chunks")
    for nested in (pa.array([[1]]), pa.array([{"a": 1}])):
        try:
            Model(pa.table({"n": nested}), epochs=UNTRAINED)
            raise AssertionError("a nested column was taken")
        except RuntimeError as error:
            assert '"n"' in str(error) and "nested" in str(error), error


def check_polars():
    # What polars has no type for, it casts when it takes the table; what it gives out is compared with what it took.
    names = [n for n in TYPES if n not in ("float16", "decimal32", "decimal64", "decimal256")]
    for row in range(3):
        frame = polars.DataFrame(alike(row, names))
        out = polars.DataFrame(again(frame, texts=b"plain"))
        assert out.schema == frame.schema, {n: (frame.schema[n], out.schema[n]) for n in names if frame.schema[n] != out.schema[n]}
        assert out.equals(frame, null_equal=True), out
    words = polars.DataFrame({"c": ["x"] * ROWS}, schema={"c": polars.Categorical})
    assert polars.DataFrame(again(words)).equals(words)


def check_pandas():
    for row in range(2):
        # Arrow-backed columns have every type; those of NumPy fewer.
        names = [n for n in TYPES if n not in ("null", "decimal32", "decimal64")]
        frame = alike(row, names).to_pandas(types_mapper=pandas.ArrowDtype)
        equal(again(frame, texts=b"plain"), pa.table(frame), "pandas")
        names = [n for n in TYPES if TYPES[n][0] in (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string())
                 or n.startswith("timestamp_ns") or n.startswith("duration_ns")]
        plain = alike(row, names).to_pandas()
        taken = pa.table(again(plain, texts=b"plain")).to_pandas()
        pandas.testing.assert_frame_equal(taken, plain, check_dtype=True)
    category = pandas.DataFrame({"c": pandas.Categorical(["low"] * ROWS, categories=["low", "high"], ordered=True)})
    assert pa.table(again(category)).to_pandas()["c"].tolist() == ["low"] * ROWS
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(again(category))["c"].tolist() == ["low"] * ROWS


def check_duckdb():
    casts = {"TINYINT": ["-128", "127"], "SMALLINT": ["-32768", "3"], "INTEGER": ["-2147483648", "3"], "BIGINT": ["-9223372036854775808", "3"], "UTINYINT": ["255", "1"], "USMALLINT": ["65535", "1"],
             "UINTEGER": ["4294967295", "1"], "UBIGINT": ["18446744073709551615", "1"], "HUGEINT": ["12345678901234567890123456789", "1"], "FLOAT": ["0.1", "-2.5"], "DOUBLE": ["0.1", "1e300"],
             "DECIMAL(4,1)": ["-0.5", "1"], "DECIMAL(9,2)": ["0.05", "1"], "DECIMAL(18,3)": ["0.001", "1"], "DECIMAL(38,10)": ["1234567890123456789012345678.0123456789", "1"], "BOOLEAN": ["true", "false"],
             "VARCHAR": ["Zürich", "a text of more than twelve bytes"], "DATE": ["1969-12-31", "2024-02-29"], "TIME": ["00:00:01.000005", "23:59:59"], "TIMESTAMP": ["2024-02-29 23:59:58.123456", "1960-01-01"],
             "TIMESTAMP_S": ["2024-02-29 23:59:58", "1960-01-01"], "TIMESTAMP_MS": ["2024-02-29 23:59:58.123", "1960-01-01"], "TIMESTAMP_NS": ["2024-02-29 23:59:58.123456", "1960-01-01"],
             "TIMESTAMPTZ": ["2024-02-29 23:59:58.123456+00", "1960-01-01 00:00:00+00"], "UUID": ["123e4567-e89b-12d3-a456-426614174000"] * 2}
    for row in range(3):
        columns = ", ".join(f"{'NULL' if row == 2 else repr(v[row])}::{t} AS \"{t}\"" for t, v in casts.items())
        relation = duckdb.sql(f"SELECT {columns} FROM range({ROWS})")
        rows = duckdb.from_arrow(again(relation, texts=b"plain"))
        assert rows.columns == relation.columns
        as_text = "COLUMNS(*)::VARCHAR"
        found, expected = rows.project(as_text).fetchall(), relation.project(as_text).fetchall()
        for name, f, e in zip(rows.columns, found[0], expected[0], strict=True):
            assert f == e, f"duckdb: {name} gave {f} for {e}"
        assert len(found) == ROWS and found == expected
    mood = duckdb.sql(f"SELECT 'ok'::ENUM('sad', 'ok') AS mood FROM range({ROWS})")
    assert duckdb.from_arrow(again(mood)).fetchall() == [("ok",)] * ROWS


def check_sampling():
    """A model of rows that vary: what it samples has their types, lies within what it saw, and is the same whoever takes it."""
    names = [n for n in TYPES if n != "null"]
    table = pa.concat_tables([alike(i % 2, names, 1 + i % 3) for i in range(60)])
    model = Model(table, epochs=UNTRAINED)
    taken = pa.table(model.sample(200, texts=b"plain", seed=3))
    same_types(taken, table, "sampling")
    for name in names:
        assert set(taken[name].to_pylist()) <= set(table[name].to_pylist()), name
    shared = [n for n in names if n not in ("float16", "decimal32", "decimal64", "decimal256")]
    rows = Model(table.select(shared), epochs=UNTRAINED).sample(200, texts=b"plain", seed=3)
    assert polars.DataFrame(rows).equals(polars.DataFrame(pa.table(rows))), "the same rows each time"
    parts = pa.concat_tables([pa.table(model.sample(50, offset=o, texts=b"plain", seed=3)) for o in range(0, 200, 50)])
    equal(parts, taken, "sampling in parts")


def check_errors():
    class Twice:  # gives a stream that was taken already
        def __init__(self): self.rows = pa.table({"a": [1]})
        def __arrow_c_stream__(self, requested_schema=None):
            capsule = self.rows.__arrow_c_stream__()
            pa.RecordBatchReader._import_from_c_capsule(capsule)
            return capsule
    for wrong, words in ((Twice(), "released already"), (pa.table({"a": [float("inf"), 1.0]}), "infinity"), (pa.table({"a": pa.array([b"\xff"])}), "UTF-8")):
        try:
            Model(wrong, epochs=UNTRAINED)
            raise AssertionError(words)
        except RuntimeError as error:
            assert words in str(error), error
    rows = Model(pa.table({"a": [1, 2, 3]}), epochs=UNTRAINED).sample(5)
    capsule = rows.__arrow_c_stream__()
    (stream,) = streams.values()
    assert stream.release
    del capsule  # a stream that nobody takes is released with its capsule
    assert not streams and not stream.release


for check_one in (check_pyarrow, check_polars, check_pandas, check_duckdb, check_sampling, check_errors):
    check_one()
    print(check_one.__name__, "ok")
