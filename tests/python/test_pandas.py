"""DataFrames of pandas come back with the dtypes, names and index they had; run with pandas 2 and 3."""

import datetime as dt
import decimal
import os
import pickle
import tempfile
import unittest

import pandas

import tessera

ROWS = 60
BERLIN = "Europe/Berlin"


def repeated(values, dtype=None):
    return pandas.Series(values * (ROWS // len(values)), dtype=dtype)


def columns():
    days = [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]
    found = {
        "object": repeated(["Zürich", "Bern"], object),
        "str": repeated(["Zürich", "Bern"], "str"),
        "string": repeated(["Zürich", None, "Bern"], "string"),
        "Int64": repeated([1, None, 2**53 + 1], "Int64"),
        "UInt8": repeated([1, None, 255], "UInt8"),
        "int8": repeated([1, -7], "int8"),
        "uint64": repeated([1, 7], "uint64"),
        "Float32": repeated([0.5, None, 2.25], "Float32"),
        "float32": repeated([0.5, 2.25], "float32"),
        "float64": repeated([0.5, float("nan"), 1e300], "float64"),
        "bool": repeated([True, False], "bool"),
        "boolean": repeated([True, None, False], "boolean"),
        "nullable bool": repeated([True, None], object),
        "decimal": repeated([decimal.Decimal("1.50"), decimal.Decimal("-20.25")], object),
        "date": repeated(days, object),
        "time": repeated([dt.time(1, 2, 3), dt.time(23, 59)], object),
        "timedelta": repeated([dt.timedelta(1), dt.timedelta(hours=-3)]),
        "category": repeated(["low", "high"], pandas.CategoricalDtype(["low", "high"])),
        "ordered": repeated(["low", "high"], pandas.CategoricalDtype(["low", "high"], ordered=True)),
        "numbers": repeated([1, 10], pandas.CategoricalDtype([10, 1], ordered=True)),
    }
    for unit in ("s", "ms", "us", "ns"):
        found[f"datetime {unit}"] = repeated(days).astype(f"datetime64[{unit}]")
        found[f"zoned {unit}"] = found[f"datetime {unit}"].dt.tz_localize(BERLIN)
    return found


class Dtypes(unittest.TestCase):
    def test_dtypes_come_back(self):
        frame = pandas.DataFrame(columns())
        # All columns have two values in turn: rules would make them of each other, and their categories with them.
        model = tessera.fit(frame, epochs=0, rules="off")
        rows = model.sample(40, seed=2)
        self.assertEqual(dict(rows.dtypes), dict(frame.dtypes))
        for name in frame:
            seen = frame[name].dropna()
            kinds = {type(value) for value in seen}
            self.assertLessEqual({type(value) for value in rows[name].dropna()}, kinds, name)
            if not isinstance(frame[name].dtype, pandas.CategoricalDtype):
                self.assertTrue(rows[name].dropna().between(seen.min(), seen.max()).all(), name)
        empty = model.sample(0)
        self.assertEqual(list(empty.columns), list(frame.columns))

    def test_equal_rows_come_back_as_they_were(self):
        for row in range(2):
            frame = pandas.DataFrame({name: [column.iloc[row]] * 5 for name, column in columns().items()})
            frame = frame.astype({name: column.dtype for name, column in columns().items()})
            for name in ("category", "ordered", "numbers"):  # a model knows no category that no row has
                frame[name] = frame[name].cat.remove_unused_categories()
            pandas.testing.assert_frame_equal(tessera.fit(frame, epochs=0).sample(5), frame)

    def test_files_and_pickles_keep_dtypes(self):
        frame = pandas.DataFrame(columns())
        model = tessera.fit(frame, epochs=0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tessera")
            model.save(path)
            for other in (tessera.load(path), pickle.loads(pickle.dumps(model))):
                pandas.testing.assert_frame_equal(other.sample(20), model.sample(20))

    def test_categories_that_a_rule_combines_come_back(self):
        cities = ["A|1", "A\\2", "B1", "B2", "C1"]
        at = [(7 * i + i // 5) % 5 for i in range(600)]
        frame = pandas.DataFrame(
            {
                "city": pandas.Categorical([cities[i] for i in at], categories=cities[::-1]),
                "country": pandas.Categorical([cities[i][0] for i in at], categories=list("CAB"), ordered=True),
                "zone": pandas.Categorical([10 * (i % 3) for i in at]),
                "size": [float(i * i % 97) for i in range(600)],
            }
        )
        frame.loc[:2, ["city", "country"]] = [["A|1", "A"]] * 3
        frame["city"] = frame["city"].cat.add_categories(["rare"])
        frame.loc[5, "city"] = "rare"
        model = tessera.fit(frame, epochs=1, calibrate="off")
        self.assertTrue(model.describe()["rules"], "the test needs a rule")
        rows = model.sample(200)
        expected = frame["city"].dtype.categories.drop("rare").tolist()
        self.assertEqual(rows["city"].dtype.categories.tolist(), expected)
        for name in ("country", "zone"):
            self.assertEqual(rows[name].dtype, frame[name].dtype)
        self.assertNotIn(b"rare", model._bytes().replace(b"rare_categories", b"").replace(b"rare-categories", b""))

    def test_names_that_are_no_texts(self):
        frame = pandas.DataFrame({0: [1.5, 2.5] * 10, 1: ["a", "b"] * 10})
        rows = tessera.fit(frame, epochs=0).sample(3)
        self.assertEqual(list(rows.columns), [0, 1])

    def test_names_that_arrow_does_not_restore_are_plain(self):
        days = pandas.to_datetime(["2020-01-31", "2020-02-29"])
        names = {
            "categories": (pandas.CategoricalIndex(["b", "a"], name="which"), ["b", "a"]),
            "numbers": (pandas.CategoricalIndex([3, 1]), [3, 1]),
            "intervals": (pandas.IntervalIndex.from_breaks([0, 1, 2]), ["(0, 1]", "(1, 2]"]),
            "periods": (days.to_period("M"), ["2020-01", "2020-02"]),
            "dates": (pandas.Index(days.date), ["2020-01-31", "2020-02-29"]),
            "truths": (pandas.Index([True, False]), ["True", "False"]),
            "levels": (pandas.MultiIndex.from_arrays([pandas.Categorical(["A", "B"]), [1, 2]]), [("A", 1), ("B", 2)]),
        }
        for case, (given, expected) in names.items():
            frame = pandas.DataFrame([[1.5, "a"], [2.5, "b"]] * 10)
            frame.columns = given
            rows = tessera.fit(frame, epochs=0).sample(3)
            self.assertEqual(list(rows.columns), expected, case)
            self.assertEqual(rows.columns.names, given.names, case)
            self.assertTrue(frame.columns.equals(given), case)
        counts = pandas.crosstab(pandas.Categorical(["a", "b"] * 9), pandas.Categorical(["u", "v", "w"] * 6))
        self.assertEqual(list(tessera.fit(counts, epochs=0).sample(2).columns), ["u", "v", "w"])

    def test_the_index_is_kept_or_dropped_as_asked(self):
        index = pandas.Index(range(100, 100 + ROWS), name="place")
        frame = pandas.DataFrame({"x": [float(i % 7) for i in range(ROWS)]}, index=index)
        self.assertEqual(list(tessera.fit(frame, epochs=0).sample(5).columns), ["x"])
        rows = tessera.fit(frame, epochs=0, index=True).sample(5)
        self.assertEqual((list(rows.columns), rows.index.name), (["x"], "place"))

    def test_what_is_rare_is_in_no_dtype_and_no_file(self):
        frame = pandas.DataFrame({"c": pandas.Categorical(["low", "high"] * 50 + ["Ada Lovelace"])})
        model = tessera.fit(frame, epochs=0)
        self.assertEqual(sorted(model.sample(9)["c"].cat.categories), ["high", "low"])
        self.assertNotIn(b"Lovelace", pickle.dumps(model))

    def test_intervals_come_back(self):
        for values in (pandas.Series(range(100)), pandas.Series(range(100)) / 7):
            frame = pandas.DataFrame({"band": pandas.cut(values, 4), "x": values})
            model = tessera.fit(frame, epochs=0)
            for known in (model, pickle.loads(pickle.dumps(model))):
                self.assertEqual(known.sample(30)["band"].dtype, frame["band"].dtype)

    def test_a_scale_keeps_levels_without_rows(self):
        scale = pandas.CategoricalDtype(["none", "low", "mid", "high"], ordered=True)
        texts = pandas.Series(["low", "high"] * 50 + ["none"]).astype(scale)
        model = tessera.fit(pandas.DataFrame({"c": texts}), epochs=0)
        self.assertEqual(list(model.sample(9)["c"].cat.categories), ["low", "mid", "high"])
        self.assertNotIn(b"none", pickle.dumps(model).split(b"looks")[-1])

    def test_integers_of_other_tables_stay_integers(self):
        import pyarrow

        table = pyarrow.table({"n": pyarrow.array([1, None, 2**53 + 1] * 20), "t": ["a", "b", "c"] * 20})
        rows = tessera.fit(table, epochs=0).sample(50, out="pandas")
        self.assertEqual(str(rows["n"].dtype), "Int64")


class Errors(unittest.TestCase):
    def test_columns_of_texts_and_numbers_are_learned_as_texts(self):
        frame = pandas.DataFrame({"a": pandas.Series(["P", 1, 1.0, None] * 20, dtype=object), "b": range(80)})
        before = frame.copy()
        with self.assertWarnsRegex(tessera.TesseraWarning, "'a' holds texts and numbers"):
            model = tessera.fit(frame, epochs=0)
        self.assertTrue(set(model.sample(200)["a"].dropna()) <= {"P", "1", "1.0"})
        self.assertTrue(frame.equals(before))

    def test_columns_of_lists_are_named(self):
        with self.assertRaisesRegex(tessera.DataError, "a"):
            tessera.fit(pandas.DataFrame({"a": [[1], [2]]}))

    def test_infinity_has_a_place(self):
        with self.assertRaisesRegex(tessera.DataError, 'row 2.*"a".*infinity'):
            tessera.fit(pandas.DataFrame({"a": [1.0, float("inf")]}))


if __name__ == "__main__":
    unittest.main()
