"""What attacks find: in rows that are copies, and in a model's own."""

import unittest

import tessera

PEOPLE = tessera.example(300, seed=1)
UNSEEN = tessera.example(300, seed=2)


class Attacks(unittest.TestCase):
    def test_rows_that_are_copies_are_found(self):
        found = tessera.audit(PEOPLE, synthetic=PEOPLE, holdout=UNSEEN)
        self.assertEqual(found.mark, "poor")
        table = found.table.set_index("name")
        self.assertEqual(table.loc["copies", "value"], 1)
        self.assertEqual(table.loc["copies", "baseline"], 0)
        self.assertIn("copies", repr(found))

    def test_a_model_is_attacked_with_its_file(self):
        model = tessera.fit(PEOPLE, epochs=2)
        found = tessera.audit(PEOPLE, model=model, holdout=UNSEEN, rows=500)
        self.assertIn("likelihood", found.table["name"].tolist())
        self.assertEqual(found.document["rows"]["synthetic"], 500)
        report = tessera.evaluate(PEOPLE, model.sample(300), holdout=UNSEEN, model=model, distances=False, c2st=False)
        self.assertIn("likelihood", report.attacks.table["name"].tolist())
        self.assertIn("membership", report.scores)

    def test_a_report_without_a_holdout_has_no_attacks(self):
        self.assertIsNone(tessera.evaluate(PEOPLE, PEOPLE, distances=False, c2st=False).attacks)

    def test_mistakes_are_exceptions(self):
        with self.assertRaisesRegex(tessera.UsageError, "nothing to attack"):
            tessera.audit(PEOPLE)
        with self.assertRaisesRegex(tessera.UsageError, "holdout"):
            tessera.audit(PEOPLE, synthetic=PEOPLE)
        with self.assertRaisesRegex(tessera.DataError, "10 rows"):
            tessera.audit(PEOPLE, synthetic=PEOPLE, holdout=UNSEEN.head(10))


if __name__ == "__main__":
    unittest.main()
