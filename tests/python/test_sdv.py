"""SDV's class names and metadata: a program that changes its import runs."""

import inspect
import json
import pathlib
import tempfile
import unittest

import pandas

import tessera
from tessera.sdv.metadata import Metadata, SingleTableMetadata
from tessera.sdv.sampling import Condition
from tessera.sdv.single_table import CTGANSynthesizer, TVAESynthesizer

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
            with self.assertRaises(tessera.FileError):
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

    def test_what_is_missing_says_so(self):
        synthesizer = TVAESynthesizer(metadata())
        with self.assertRaisesRegex(tessera.UnsupportedError, "rule="):
            synthesizer.add_constraints([])
        with self.assertRaises(tessera.UsageError):
            synthesizer.sample(3)
        with self.assertRaises(AttributeError):
            synthesizer.unheard_of  # noqa: B018
        with self.assertRaisesRegex(ImportError, "TVAESynthesizer"):
            from tessera.sdv.single_table import GaussianCopulaSynthesizer  # noqa: F401
        with self.assertRaisesRegex(tessera.DataError, "'age'"):
            synthesizer.fit(PEOPLE.drop(columns=["age"]))
        with self.assertRaises(tessera.DataError):
            synthesizer.fit([1])


if __name__ == "__main__":
    unittest.main()
