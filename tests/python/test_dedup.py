"""Copies of rows: what is kept is as it was given."""

import unittest

import pandas
import polars
import pyarrow

import tessera

PEOPLE = tessera.example(300, seed=1)
TWICE = pandas.concat([PEOPLE, PEOPLE.iloc[[4, 7]]], ignore_index=True)


class Copies(unittest.TestCase):
    def test_kept_rows_are_of_the_kind_that_was_given(self):
        pandas.testing.assert_frame_equal(tessera.dedup(TWICE, mode="exact").rows, PEOPLE)
        frame = polars.DataFrame(TWICE)
        self.assertTrue(tessera.dedup(frame, mode="exact").rows.equals(frame.head(300)))
        table = pyarrow.Table.from_pandas(TWICE)
        kept = tessera.dedup(table, mode="exact").rows
        self.assertEqual(kept.schema.types, table.schema.types)
        self.assertTrue(kept.equals(table.slice(0, 300).cast(kept.schema)))

    def test_copies_are_listed_with_the_rows_they_are_of(self):
        found = tessera.dedup(TWICE, mode="exact")
        self.assertEqual(found.copies.to_dict("list"), {
            "row": [301, 302], "of": [5, 8], "kind": ["exact", "exact"], "similarity": [1.0, 1.0],
        })
        self.assertIn("2 exact and 0 near copies", repr(found))

    def test_rows_that_are_alike_are_reported_and_kept(self):
        found = tessera.dedup(TWICE, mode="semantic", columns=["age", "gender", "plan"])
        self.assertGreater(found.document["semantic"]["dimensions"], 0)
        self.assertEqual(len(found.rows), len(TWICE) - found.document["exact"])

    def test_rows_of_another_table_are_found(self):
        found = tessera.dedup(PEOPLE, against=PEOPLE.tail(10), columns=["person_id", "age"], mode="exact")
        self.assertEqual(found.document["exact"], 10)
        self.assertEqual(len(found.rows), 290)

    def test_sampled_rows_come_once_and_are_no_training_rows(self):
        small = PEOPLE[["gender", "education", "plan"]].dropna()
        model = tessera.fit(small, epochs=2)
        rows = model.sample(12, distinct=True)
        self.assertEqual(len(rows.drop_duplicates()), 12)
        few = rows.head(5)
        others = model.sample(8, against=few)
        self.assertEqual(len(others.merge(few)), 0)
        with self.assertRaisesRegex(tessera.UsageError, "offset"):
            model.sample(3, distinct=True, offset=2)

    def test_mistakes_are_exceptions(self):
        with self.assertRaisesRegex(tessera.UsageError, "alike"):
            tessera.dedup(PEOPLE, mode="alike")
        with self.assertRaisesRegex(tessera.UsageError, "Nearest"):
            tessera.dedup(PEOPLE, columns="agee")
        with self.assertRaisesRegex(tessera.DataError, "person_id"):
            tessera.dedup(PEOPLE, against=PEOPLE.drop(columns="person_id"))


if __name__ == "__main__":
    unittest.main()
