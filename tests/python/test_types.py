"""Every type goes in and comes back, from and to pyarrow, polars, pandas and DuckDB.

A row of a table whose rows are all alike is given back by a model of that table as it was. Such a table has five rows,
because a number that fewer share is not learned (docs/quality/privacy.md).
"""

import datetime as dt
import decimal
import unittest

import duckdb
import polars
import pyarrow as pa

import tessera

D = decimal.Decimal
utc = dt.timezone.utc
moment, early = dt.datetime(2024, 2, 29, 23, 59, 58, 123456), dt.datetime(1960, 1, 1)

UNITS = ("s", "ms", "us", "ns")
# Two values of every type.
TYPES = {
    **{f"int{b}": (getattr(pa, f"int{b}")(), [-(2 ** (b - 1)), 2 ** (b - 1) - 1]) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (getattr(pa, f"uint{b}")(), [3, 2**b - 1]) for b in (8, 16, 32, 64)},
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
    **{
        f"timestamp_{u}_{z}": (pa.timestamp(u, z), [m.replace(tzinfo=z and utc) for m in (cut, early)])
        for u, cut in (
            ("s", moment.replace(microsecond=0)),
            ("ms", moment.replace(microsecond=123000)),
            ("us", moment),
            ("ns", moment),
        )
        for z in (None, "UTC", "Europe/Berlin")
    },
    "time32_s": (pa.time32("s"), [dt.time(0, 0, 1), dt.time(23, 59, 59)]),
    "time32_ms": (pa.time32("ms"), [dt.time(0, 0, 1, 5000), dt.time(23, 59, 59)]),
    "time64_us": (pa.time64("us"), [dt.time(0, 0, 1, 5), dt.time(23, 59, 59)]),
    "time64_ns": (pa.time64("ns"), [dt.time(0, 0, 1, 5), dt.time(23, 59, 59)]),
    **{f"duration_{u}": (pa.duration(u), [dt.timedelta(days=-1), dt.timedelta(hours=5)]) for u in UNITS},
    "null": (pa.null(), [None, None]),
}

ROWS = 5


def alike(row, names, rows=ROWS):
    """A table of equal rows; row 2 is a table without values."""
    return pa.table({n: pa.array([TYPES[n][1][row] if row < 2 else None] * rows, TYPES[n][0]) for n in names})


def again(table, **options):
    return tessera.fit(table, epochs=0, **options).sample(ROWS)


def plain(table):
    return {
        n: (c.dictionary_decode() if pa.types.is_dictionary(c.type) else c).to_pylist()
        for n, c in zip(table.column_names, (c.combine_chunks() for c in table.columns))
    }


class Arrow(unittest.TestCase):
    def test_every_type_comes_back(self):
        for row in range(3):
            table = alike(row, TYPES)
            for given in (table, pa.concat_tables([alike(1, TYPES), table, alike(1, TYPES)]).slice(ROWS, ROWS)):
                found = again(given)
                found.validate(full=True)
                self.assertEqual(found.schema.types, table.schema.types)
                self.assertEqual(plain(found), plain(table))

    def test_dictionaries_come_back_as_dictionaries(self):
        for index in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64()):
            codes = pa.DictionaryArray.from_arrays(pa.array([1] * ROWS, index), pa.array(["never", "always"]))
            found = again(pa.table({"c": codes}))
            self.assertTrue(pa.types.is_dictionary(found.schema.field("c").type))
            self.assertEqual(plain(found), {"c": ["always"] * ROWS})

    def test_numbers_and_dates_that_are_texts_stay_texts(self):
        for type_ in (pa.string(), pa.large_string(), pa.string_view()):
            texts = {"n": ["7", "12"], "x": ["0.50", "2.25"], "on": ["31.12.2023", "01.02.2024"], "is": ["True", "False"]}
            table = pa.table({name: pa.array(values * 30, type_) for name, values in texts.items()})
            model = tessera.fit(table, epochs=0)
            for found in (model.sample(60), model.complete(table.select(["n", "on"]))):
                self.assertEqual(found.schema.types, table.schema.types)
                days = [dt.datetime.strptime(day, "%d.%m.%Y").year for day in found["on"].to_pylist()]
                self.assertEqual(set(days), {2023, 2024})
            self.assertEqual(found["n"].to_pylist(), table["n"].to_pylist())

    def test_chunks_and_runs(self):
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array([2.5]))
        self.assertEqual(plain(again(pa.table({"r": runs}))), {"r": [2.5] * ROWS})
        chunks = pa.chunked_array([pa.array([7], pa.int16()), pa.array([], pa.int16()), pa.array([7] * 4, pa.int16())])
        self.assertEqual(plain(again(pa.table({"c": chunks}))), {"c": [7] * ROWS})

    def test_nested_columns_are_refused_by_name(self):
        for nested in (pa.array([[1]]), pa.array([{"a": 1}])):
            with self.assertRaisesRegex(tessera.DataError, '"n"'):
                again(pa.table({"n": nested}))

    def test_rows_that_vary_lie_within_what_was_seen(self):
        names = [n for n in TYPES if n != "null"]
        table = pa.concat_tables([alike(i % 2, names, 1 + i % 3) for i in range(60)])
        model = tessera.fit(table, epochs=0)
        rows = model.sample(200, seed=3)
        self.assertEqual(rows.schema.types, table.schema.types)
        self.assertEqual(pa.schema(model.schema).names, names)
        for kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal):
            for name in (n for n in names if kind(TYPES[n][0]) and not pa.types.is_duration(TYPES[n][0])):
                low, high = sorted(v for v in table[name].to_pylist()[:6] if v is not None)[::5]
                self.assertTrue(all(low <= v <= high for v in rows[name].to_pylist() if v is not None), name)
        parts = pa.concat_tables([model.sample(50, offset=o, seed=3) for o in range(0, 200, 50)])
        self.assertTrue(parts.equals(rows))

    def test_streams_that_are_taken_already(self):
        class Twice:
            rows = pa.table({"a": [1]})

            def __arrow_c_stream__(self, requested_schema=None):
                capsule = self.rows.__arrow_c_stream__()
                pa.RecordBatchReader._import_from_c_capsule(capsule)
                return capsule

        with self.assertRaises(tessera.TesseraError):
            again(Twice())

    def test_rows_are_the_same_for_every_reader(self):
        rows = tessera.example(100, out="rows")
        self.assertTrue(pa.table(rows).equals(pa.table(rows)))
        self.assertTrue(polars.DataFrame(rows).equals(polars.DataFrame(pa.table(rows))))
        self.assertEqual(len(duckdb.from_arrow(pa.table(rows)).fetchall()), 100)
        self.assertEqual(len(again(rows)), ROWS)


class Polars(unittest.TestCase):
    # What polars has no type for, it casts when it takes the table; what it gives out is compared with what it took.
    names = [n for n in TYPES if n not in ("float16", "decimal32", "decimal64", "decimal256")]

    def test_every_type_comes_back(self):
        for row in range(3):
            frame = polars.DataFrame(alike(row, self.names))
            found = again(frame)
            self.assertEqual(found.schema, frame.schema)
            self.assertTrue(found.equals(frame, null_equal=True))

    def test_categoricals_and_enums(self):
        words = ["low", "high"] * ROWS
        for dtype in (polars.Categorical, polars.Enum(["low", "high"])):
            frame = polars.DataFrame({"c": words}, schema={"c": dtype})
            model = tessera.fit(frame, epochs=0)
            self.assertEqual(model.sample(30).schema, frame.schema)
            self.assertEqual(tessera.fit(frame.lazy(), epochs=0).sample(30).schema, frame.schema)

    def test_what_is_rare_is_in_no_dtype(self):
        dtype = polars.Enum(["Ada", "low", "high"])
        frame = polars.DataFrame({"c": ["low", "high"] * 50 + ["Ada"]}, schema={"c": dtype})
        model = tessera.fit(frame, epochs=0)
        self.assertEqual(model.sample(9).schema["c"], polars.Enum(["low", "high"]))


class DuckDB(unittest.TestCase):
    CASTS = {
        "TINYINT": "-128", "SMALLINT": "-32768", "INTEGER": "-2147483648", "BIGINT": "-9223372036854775808",
        "UTINYINT": "255", "USMALLINT": "65535", "UINTEGER": "4294967295", "UBIGINT": "18446744073709551615",
        "HUGEINT": "12345678901234567890123456789", "FLOAT": "0.1", "DOUBLE": "0.1", "DECIMAL(4,1)": "-0.5",
        "DECIMAL(9,2)": "0.05", "DECIMAL(18,3)": "0.001", "DECIMAL(38,10)": "1234567890123456789012345678.0123456789",
        "BOOLEAN": "true", "VARCHAR": "Zürich", "DATE": "1969-12-31", "TIME": "00:00:01.000005",
        "TIMESTAMP": "2024-02-29 23:59:58.123456", "TIMESTAMP_S": "2024-02-29 23:59:58",
        "TIMESTAMP_MS": "2024-02-29 23:59:58.123", "TIMESTAMP_NS": "2024-02-29 23:59:58.123456",
        "TIMESTAMPTZ": "2024-02-29 23:59:58.123456+00", "UUID": "123e4567-e89b-12d3-a456-426614174000",
    }  # fmt: skip

    def test_every_type_comes_back(self):
        for value in (repr, lambda _: "NULL"):
            columns = ", ".join(f'{value(v)}::{t} AS "{t}"' for t, v in self.CASTS.items())
            relation = duckdb.sql(f"SELECT {columns} FROM range({ROWS})")
            found = again(relation)
            self.assertEqual(found.columns, relation.columns)
            as_text = "COLUMNS(*)::VARCHAR"
            self.assertEqual(found.project(as_text).fetchall(), relation.project(as_text).fetchall())

    def test_enums(self):
        mood = duckdb.sql(f"SELECT 'ok'::ENUM('sad', 'ok') AS mood FROM range({ROWS})")
        self.assertEqual(again(mood).fetchall(), [("ok",)] * ROWS)


if __name__ == "__main__":
    unittest.main()
