"""How likely a model takes rows to be, and a column given the others."""

import importlib.util
import unittest

import tessera

PEOPLE = tessera.example(300, seed=1)
MODEL = tessera.fit(PEOPLE, epochs=3)


class Scores(unittest.TestCase):
    def test_every_row_has_a_likelihood(self):
        scores = MODEL.log_prob(PEOPLE, cells=True)
        self.assertEqual(len(scores), len(PEOPLE))
        cells = scores.filter(like="log_probability of ")
        self.assertLess((cells.sum(axis=1) - scores["log_probability"]).abs().max(), 1e-4)

    def test_an_estimator_scores_as_scikit_learns_do(self):
        estimator = tessera.Synthesizer(epochs=1, random_state=0).fit(PEOPLE)
        scores = estimator.score_samples(PEOPLE.head(7))
        self.assertEqual(len(scores), 7)
        self.assertTrue((scores < 0).all())
        self.assertAlmostEqual(estimator.score(PEOPLE.head(7)), scores.mean(), places=9)
        self.assertTrue(estimator.__sklearn_is_fitted__())
        self.assertFalse(tessera.TVAE().__sklearn_is_fitted__())

    @unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not installed")
    def test_scikit_learn_accepts_estimators(self):
        from sklearn.exceptions import NotFittedError
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import check_is_fitted

        estimator = tessera.Synthesizer(epochs=1)
        with self.assertRaises(NotFittedError):
            check_is_fitted(estimator)
        scores = cross_val_score(estimator, PEOPLE, cv=3)
        self.assertTrue((scores < 0).all())
        search = GridSearchCV(Pipeline([("model", estimator)]), {"model__epochs": [0, 3]}, cv=2).fit(PEOPLE)
        self.assertEqual(search.best_params_, {"model__epochs": 3})
        self.assertEqual(len(search.best_estimator_["model"].sample(4)), 4)
        self.assertIn("Synthesizer", search._repr_html_())

    def test_the_kind_of_table_is_kept(self):
        import polars

        self.assertIsInstance(MODEL.log_prob(polars.from_pandas(PEOPLE)), polars.DataFrame)

    def test_a_column_is_predicted_without_being_given(self):
        found = MODEL.predict(PEOPLE.drop(columns="education"), "education")
        self.assertLess((found.filter(like="p(").sum(axis=1) - 1).abs().max(), 1e-5)
        self.assertLessEqual(set(found["education"]), set(PEOPLE["education"].dropna()))
        ages = MODEL.predict(PEOPLE, "age")
        self.assertTrue((ages["low"] <= ages["high"]).all())

    def test_a_result_for_each_row_has_the_index_of_the_rows(self):
        shuffled = PEOPLE.sample(frac=0.2, random_state=3)
        scores = MODEL.log_prob(shuffled)
        self.assertEqual(scores.index.tolist(), shuffled.index.tolist())
        whole = MODEL.log_prob(PEOPLE)
        self.assertLess((whole["log_probability"] - scores["log_probability"]).dropna().abs().max(), 1e-6)
        self.assertEqual(MODEL.predict(shuffled, "age").index.tolist(), shuffled.index.tolist())
        named = shuffled[["age", "education"]].set_index(shuffled["person_id"].rename("who"))
        filled = MODEL.complete(named)
        self.assertTrue(filled.index.equals(named.index) and filled.index.name == "who")
        self.assertTrue((filled["age"] == named["age"]).all())
        self.assertEqual(MODEL.complete(named.head(0)).shape[0], 0)
        filled.index.name = "other"
        self.assertEqual(named.index.name, "who")

    def test_an_index_that_was_learned_is_given_too(self):
        frame = PEOPLE[["age", "city", "income"]].set_index("city")
        model = tessera.fit(frame, index=True, epochs=1)
        self.assertEqual(model.log_prob(frame.head(9)).index.tolist(), frame.index[:9].tolist())
        self.assertEqual(model.complete(frame[["age"]].head(9)).index.tolist(), frame.index[:9].tolist())
        drawn = model.complete(frame[["age"]].head(9).reset_index(drop=True))
        self.assertLessEqual(set(drawn.index), set(frame.index))

    def test_dates_are_predicted_as_dates(self):
        found = MODEL.predict(PEOPLE.head(20), "joined")
        self.assertTrue((found["low"] <= found["median"]).all())
        self.assertEqual(type(found["median"][0]), type(PEOPLE["joined"].dropna().iloc[0]))

    def test_mistakes_are_exceptions(self):
        with self.assertRaisesRegex(tessera.UsageError, "person_id"):
            MODEL.predict(PEOPLE, "person_id")
        with self.assertRaisesRegex(tessera.DataError, "age"):
            MODEL.log_prob(PEOPLE.drop(columns="age"))
