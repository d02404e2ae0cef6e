"""SDV's class names and metadata: a program that changes its import runs."""

import inspect
import json
import pathlib
import tempfile
import unittest

import pandas

import tessera
from tessera_sdv import cag
from tessera_sdv.evaluation import single_table
from tessera_sdv.metadata import Metadata, SingleTableMetadata
from tessera_sdv.sampling import Condition
from tessera_sdv.single_table import CTGANSynthesizer, TVAESynthesizer

PEOPLE = tessera.example(500, seed=1).drop(columns=["last_seen"])
PEOPLE["day"] = pandas.to_datetime(PEOPLE["joined"]).dt.strftime("%d/%m/%Y")


def metadata():
    found = Metadata.detect_from_dataframe(PEOPLE)
    found.update_column("day", sdtype="datetime", datetime_format="%d/%m/%Y")
    found.update_column("children", sdtype="categorical")
    found.set_primary_key("person_id")
    return found


def fitted(kind=TVAESynthesizer, **parameters):
    synthesizer = kind(metadata(), epochs=1, **parameters)
    synthesizer.fit(PEOPLE)
    return synthesizer


class MetadataFormats(unittest.TestCase):
    def test_detected(self):
        kinds = {name: column["sdtype"] for name, column in Metadata.detect_from_dataframe(PEOPLE).columns.items()}
        self.assertEqual(kinds["age"], "numerical")
        self.assertEqual(kinds["city"], "categorical")
        self.assertEqual(kinds["joined"], "datetime")
        self.assertEqual(kinds["person_id"], "id")

    def test_both_formats_come_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "metadata.json"
            metadata().save_to_json(path)
            again = Metadata.load_from_json(path)
            self.assertEqual(again.to_dict(), metadata().to_dict())
            self.assertEqual(json.loads(path.read_text())["METADATA_SPEC_VERSION"], "V1")
            with self.assertRaises(FileExistsError):
                again.save_to_json(path)
            again.save_to_json(path, mode="overwrite")
            path.write_text("[1]")
            with self.assertRaises(tessera.FormatError):
                Metadata.load_from_json(path)
        old = SingleTableMetadata()
        old.detect_from_dataframe(PEOPLE)
        self.assertEqual(old.to_dict()["METADATA_SPEC_VERSION"], "SINGLE_TABLE_V1")
        self.assertEqual(Metadata.load_from_dict(old.to_dict()).columns, old.columns)

    def test_mistakes(self):
        with self.assertRaisesRegex(tessera.UsageError, "ages"):
            metadata().update_column("ages", sdtype="numerical")
        with self.assertRaisesRegex(tessera.UsageError, "sdtype"):
            metadata().update_column("age")
        with self.assertRaises(tessera.UnsupportedError):
            Metadata.load_from_dict({"tables": {"a": {}, "b": {}}})
        with self.assertRaises(tessera.UsageError):
            TVAESynthesizer(Metadata())
        with self.assertRaises(tessera.UsageError):
            TVAESynthesizer("metadata.json")


def orders():
    rows = pandas.DataFrame({"start": range(300), "items": [i * 37 % 91 - 20 for i in range(300)]})
    rows["end"] = rows["start"] + rows.index % 9 + 1
    rows["late"] = rows["end"] + rows.index % 4
    rows["day"] = pandas.to_datetime("2024-01-01") + pandas.to_timedelta(rows["start"], unit="D")
    rows["day"] = rows["day"].dt.strftime("%d/%m/%Y")
    rows["size"] = ["small", "big", "big"] * 100
    rows["colour"] = ["red", "blue", "green"] * 100
    for k, name in enumerate("abc"):
        rows[name] = (rows.index % 3 == k).astype(int)
    return rows


class Constraints(unittest.TestCase):
    def synthesizer(self, constraints):
        found = Metadata.detect_from_dataframe(orders())
        found.update_column("day", sdtype="datetime", datetime_format="%d/%m/%Y")
        synthesizer = TVAESynthesizer(found, epochs=1)
        synthesizer.add_constraints(constraints)
        return synthesizer

    def check(self, rows):
        self.assertTrue((rows["end"] > rows["start"]).all())
        self.assertTrue(((rows["start"] <= rows["end"]) & (rows["end"] <= rows["late"])).all())
        self.assertLess(rows["items"].max(), 70)
        self.assertGreater(rows["start"].min(), -1)
        self.assertEqual(set(rows[["a", "b", "c"]].sum(axis=1)), {1})
        self.assertLessEqual(set(zip(rows["size"], rows["colour"])), set(zip(orders()["size"], orders()["colour"])))
        days = pandas.to_datetime(rows["day"], format="%d/%m/%Y")
        self.assertTrue((days >= "2024-02-01").all())

    def test_objects_and_dictionaries_are_kept(self):
        given = [
            cag.Inequality("start", "end"),
            cag.Range("start", "end", "late", strict_boundaries=False),
            cag.FixedCombinations(column_names=["size", "colour"]),
            cag.OneHotEncoding(["a", "b", "c"]),
            {
                "constraint_class": "ScalarInequality",
                "constraint_parameters": {"column_name": "items", "relation": "<", "value": 70},
            },
            {"constraint_class": "Positive", "constraint_parameters": {"column_name": "start"}},
            {
                "constraint_class": "ScalarInequality",
                "constraint_parameters": {
                    "column_name": "day",
                    "relation": ">=",
                    "value": pandas.Timestamp("2024-02-01"),
                },
            },
        ]
        data = orders().query("items < 70").iloc[31:]
        synthesizer = self.synthesizer(given)
        synthesizer.fit(data)
        self.check(synthesizer.sample(200))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "orders.tessera"
            synthesizer.save(path)
            again = TVAESynthesizer.load(path)
            said = [[constraint.to_dict() for constraint in s.get_constraints()] for s in (again, synthesizer)]
            self.assertEqual(*said)
            self.check(again.sample(50))
        older = self.synthesizer([constraint.to_dict() for constraint in synthesizer.get_constraints()])
        self.assertEqual([constraint.to_dict() for constraint in older.get_constraints()], said[0])

    def test_others_are_rules(self):
        data = orders()
        for constraint, rules in [
            (cag.Negative("items", strict_boundaries=True), ['"items" < 0']),
            (cag.ScalarRange("items", -5, 5), ['"items" > -5', '"items" < 5']),
            (cag.Inequality("end", "late"), ['"late" >= "end"']),
            (cag.Inequality("end", "late", strict_boundaries=True), ['"late" > "end"']),
        ]:
            self.assertEqual(constraint.rules(data), rules)

    def test_rows_that_break_one_are_refused(self):
        synthesizer = self.synthesizer([cag.ScalarInequality("items", "<", 70)])
        with self.assertRaisesRegex(tessera.DataError, "rows break ScalarInequality.*items = 7"):
            synthesizer.fit(orders())
        with self.assertRaisesRegex(tessera.DataError, "OneHotEncoding"):
            self.synthesizer([cag.OneHotEncoding(["a", "b"])]).fit(orders())

    def test_mistakes(self):
        with self.assertRaisesRegex(tessera.UsageError, "'ends'"):
            self.synthesizer([cag.Inequality("start", "ends")])
        with self.assertRaisesRegex(tessera.UnsupportedError, "set_primary_key"):
            self.synthesizer([{"constraint_class": "Unique", "constraint_parameters": {"column_names": ["a"]}}])
        with self.assertRaisesRegex(tessera.UsageError, "Positive.*nothing"):
            self.synthesizer([{"constraint_class": "Positive", "constraint_parameters": {"nothing": 1}}])
        with self.assertRaises(tessera.UsageError):
            self.synthesizer(["start < end"])
        with self.assertRaises(tessera.UsageError):
            cag.ScalarInequality("items", "=", 3)
        with self.assertRaises(tessera.UsageError):
            cag.FixedCombinations(["a"])


class Synthesizers(unittest.TestCase):
    def test_a_program_runs(self):
        synthesizer = fitted()
        first, second = synthesizer.sample(num_rows=50), synthesizer.sample(num_rows=50)
        self.assertEqual(list(first.columns), list(PEOPLE.columns))
        self.assertFalse(first.equals(second))
        synthesizer.reset_sampling()
        self.assertTrue(first.equals(synthesizer.sample(num_rows=50)))
        pandas.to_datetime(first["day"], format="%d/%m/%Y")
        self.assertLessEqual(set(first["children"].dropna()), set(PEOPLE["children"].dropna()))
        self.assertTrue(first["person_id"].is_unique)

    def test_conditions(self):
        rows = fitted().sample_from_conditions(
            [Condition(num_rows=7, column_values={"gender": "female"}), Condition({"gender": "male"}, num_rows=5)]
        )
        self.assertEqual(rows["gender"].tolist(), ["female"] * 7 + ["male"] * 5)
        with self.assertRaises(tessera.ConditionError):
            fitted().sample_from_conditions([Condition({"gender": "none of these"})])

    def test_losses(self):
        self.assertIn("Epoch", fitted().get_loss_values())
        losses = fitted(CTGANSynthesizer).get_loss_values()
        self.assertLessEqual({"Epoch", "Generator Loss", "Discriminator Loss"}, set(losses))

    def test_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "people.pkl"
            synthesizer = fitted(compress_dims=(64, 64))
            first = synthesizer.sample(20)
            synthesizer.reset_sampling()
            synthesizer.save(path)
            again = TVAESynthesizer.load(path)
            self.assertTrue(again.sample(20).equals(first))
            self.assertEqual(again.get_parameters()["compress_dims"], [64, 64])
            self.assertEqual(again.get_metadata().to_dict(), synthesizer.get_metadata().to_dict())
            self.assertEqual(len(tessera.load(path).sample(3)), 3)
            with self.assertRaisesRegex(tessera.FormatError, "TVAESynthesizer"):
                CTGANSynthesizer.load(path)
            tessera.fit(PEOPLE, epochs=1, calibrate="off").save(path, overwrite=True)
            with self.assertRaisesRegex(tessera.FormatError, "tessera.fit"):
                TVAESynthesizer.load(path)

    def test_rows_go_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.csv"
            self.assertEqual(len(fitted().sample(9, output_file_path=path)), len(pandas.read_csv(path)))

    def test_parameters(self):
        self.assertIn("pac", inspect.signature(CTGANSynthesizer).parameters)
        self.assertEqual(CTGANSynthesizer(metadata(), pac=5).get_parameters()["pac"], 5)
        CTGANSynthesizer(metadata(), generator_lr=1e-3, discriminator_lr=1e-3, verbose=True, cuda=False)
        with self.assertRaisesRegex(tessera.UsageError, "one learning rate"):
            CTGANSynthesizer(metadata(), generator_lr=1e-3, discriminator_lr=1e-4)
        with self.assertRaisesRegex(tessera.UsageError, "compress_dims"):
            CTGANSynthesizer(metadata(), compress_dims=(1,))

    def test_losses_are_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "people.tessera"
            synthesizer = fitted()
            synthesizer.save(path)
            again = TVAESynthesizer.load(path).get_loss_values()
            self.assertEqual(list(again), [name for name in synthesizer.get_loss_values() if name != "seconds"])

    def test_remaining_columns_are_drawn(self):
        known = PEOPLE[["age", "day"]].head(20)
        synthesizer = fitted()
        rows = synthesizer.sample_remaining_columns(known)
        self.assertEqual(list(rows), list(PEOPLE))
        for name in known:
            self.assertEqual(rows[name].tolist(), known[name].tolist())

    def test_quality_has_sdvs_names(self):
        report = single_table.evaluate_quality(PEOPLE, PEOPLE, metadata(), verbose=False)
        self.assertEqual(report.get_properties()["Score"].tolist(), [1.0, 1.0])
        self.assertEqual(len(report.get_details("Column Shapes")), len(PEOPLE.columns) - 1)
        with self.assertRaisesRegex(tessera.UnsupportedError, "to_html"):
            single_table.get_column_plot(PEOPLE, PEOPLE, "age")

    def test_what_is_missing_says_so(self):
        synthesizer = TVAESynthesizer(metadata())
        with self.assertRaisesRegex(tessera.UnsupportedError, "rule="):
            synthesizer.load_custom_constraint_classes("mine.py", ["Mine"])
        with self.assertRaises(tessera.UsageError):
            synthesizer.sample(3)
        with self.assertRaises(AttributeError):
            synthesizer.unheard_of  # noqa: B018
        with self.assertRaisesRegex(ImportError, "TVAESynthesizer"):
            from tessera_sdv.single_table import GaussianCopulaSynthesizer  # noqa: F401
        with self.assertRaisesRegex(tessera.DataError, "'age'"):
            synthesizer.fit(PEOPLE.drop(columns=["age"]))
        with self.assertRaises(tessera.DataError):
            synthesizer.fit([1])


if __name__ == "__main__":
    unittest.main()
