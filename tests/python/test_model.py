"""Models: sampled, saved, pickled, forked, shared; estimators, reports, files, mistakes."""

import concurrent.futures
import copy
import inspect
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import duckdb
import pandas
import polars
import pyarrow as pa

import tessera
from tessera import _frames

PEOPLE = tessera.example(800, seed=1)
MODEL = tessera.fit(PEOPLE, epochs=2, calibrate="off", seed=1)


def in_folder(test):
    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            test(self, pathlib.Path(folder))

    run.__name__ = test.__name__
    return run


class Losses(unittest.TestCase):
    @in_folder
    def test_a_file_keeps_them(self, folder):
        model = tessera.fit(PEOPLE.head(60)[["age", "income"]], epochs=451, calibrate="off", batch_size=30)
        heard = model.losses
        self.assertEqual(len(heard), 451)
        model.save(folder / "m.tessera")
        for again in (tessera.load(folder / "m.tessera"), pickle.loads(pickle.dumps(model))):
            kept = again.losses
            self.assertTrue(100 <= len(kept) <= 200)
            self.assertEqual(list(kept), [name for name in heard if name != "seconds"])
            self.assertEqual(kept["step"].iloc[-1], heard["step"].iloc[-1])
            same = heard.set_index("step").loc[kept["step"]]
            for name in ("epoch", "surprise"):
                self.assertTrue((abs(kept[name].to_numpy() / same[name].to_numpy() - 1) < 1e-5).all())
            self.assertIn('id="training"', again.to_html())
            self.assertEqual(again.sample(20).shape, (20, 2))


class Rules(unittest.TestCase):
    def test_rows_that_break_a_rule_are_counted(self):
        orders = pandas.DataFrame({"items": range(1, 201), "extras": [i * 37 % 11 for i in range(200)]})
        orders["total"] = orders["items"] + orders["extras"]
        broken = orders.copy()
        broken.loc[::20, "total"] += 1
        report = tessera.evaluate(orders, broken, rules=["items >= 2"], distances=False, c2st=False)
        rules = report.rules.set_index("rule")
        self.assertEqual(rules.loc["total = items + extras", "broken"], 10)
        self.assertEqual(rules.loc["items >= 2", "real_broken"], 1)
        self.assertIn("row 1: total = 2, items = 1", rules.loc["total = items + extras", "example"])
        self.assertIn("rules are broken", report.to_html())
        self.assertEqual(len(tessera.evaluate(orders, broken, rules="off", distances=False, c2st=False).rules), 0)
        with self.assertRaises(tessera.ConditionError):
            tessera.evaluate(orders, broken, rule="nothing > 3")

    def test_a_list_of_rules_is_kept(self):
        model = tessera.fit(PEOPLE, epochs=1, calibrate="off", rules=["age >= 25"])
        self.assertGreaterEqual(model.sample(200)["age"].min(), 25)
        self.assertIn("age >= 25", [rule["rule"] for rule in model.describe()["rules"]])

    @in_folder
    def test_rules_of_a_schema_file_are_kept(self, folder):
        PEOPLE.to_csv(folder / "people.csv", index=False)
        (folder / "schema.json").write_text('{"rules": ["age >= 25"]}')
        rows = tessera.read(folder / "people.csv", schema=folder / "schema.json")
        model = tessera.fit(pa.table(rows), epochs=1, calibrate="off", rules="off")
        self.assertEqual([rule["rule"] for rule in model.describe()["rules"]], ["age >= 25"])
        self.assertGreaterEqual(min(model.sample(200)["age"].to_pylist()), 25)


class Sampling(unittest.TestCase):
    def test_rows_depend_on_model_seed_and_place_only(self):
        rows = MODEL.sample(300, seed=4)
        parts = [MODEL.sample(100, seed=4, offset=offset, batch_size=7) for offset in (0, 100, 200)]
        pandas.testing.assert_frame_equal(pandas.concat(parts, ignore_index=True), rows)
        parts = list(MODEL.sample_iter(90, 300, seed=4))
        self.assertEqual([len(part) for part in parts], [90, 90, 90, 30])
        pandas.testing.assert_frame_equal(pandas.concat(parts, ignore_index=True), rows)
        self.assertFalse(MODEL.sample(300, seed=5).equals(rows))
        numbers = pa.array([300, 4]).to_numpy()
        pandas.testing.assert_frame_equal(MODEL.sample(numbers[0], seed=numbers[1]), rows)

    def test_iteration_without_an_end(self):
        rows = MODEL.sample_iter(5, offset=2)
        pandas.testing.assert_frame_equal(next(rows), MODEL.sample(5, offset=2))
        pandas.testing.assert_frame_equal(next(rows), MODEL.sample(5, offset=7))

    def test_every_row_meets_the_condition(self):
        self.assertTrue((MODEL.sample(200, where="age >= 40")["age"] >= 40).all())

    def test_given_cells_stay_and_the_others_are_drawn(self):
        partial = PEOPLE[["education", "age"]].head(60).copy()
        partial["age"] = partial["age"].astype("Int64")
        partial.loc[::3, "age"] = pandas.NA
        given = partial["age"].notna()
        filled = MODEL.complete(partial, seed=2)
        self.assertEqual(list(filled.columns), list(PEOPLE.columns))
        self.assertEqual(filled["age"][given].tolist(), partial["age"][given].tolist())
        self.assertEqual(filled["education"].astype(str).tolist(), partial["education"].astype(str).tolist())
        self.assertFalse(filled["age"].isna().any())
        pandas.testing.assert_frame_equal(MODEL.complete(partial, seed=2, batch_size=7, threads=2), filled)
        self.assertFalse(MODEL.complete(partial, seed=3).equals(filled))
        frame = polars.from_pandas(partial)
        self.assertEqual(MODEL.complete(frame, seed=2)["age"].to_list(), filled["age"].tolist())

    @in_folder
    def test_a_file_of_given_cells_is_completed(self, folder):
        (folder / "given.csv").write_text("age,education\n40,\n,\n")
        filled = MODEL.complete(folder / "given.csv")
        self.assertEqual((len(filled), filled["age"][0]), (2, 40))
        MODEL.complete(folder / "given.csv", out=folder / "filled.csv")
        self.assertEqual(pandas.read_csv(folder / "filled.csv")["age"][0], 40)
        lazy = MODEL.complete(folder / "given.csv", out="rows")
        self.assertEqual(pa.table(lazy).num_rows, 2)

    def test_rows_come_as_asked(self):
        kinds = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pa.Table, "rows": tessera.Rows}
        for out, kind in kinds.items():
            self.assertIsInstance(MODEL.sample(5, out=out), kind)
        first = MODEL.sample(5, out="arrow").to_pylist()[0]
        self.assertEqual(MODEL.sample(5, out="duckdb").fetchall()[0], tuple(first.values()))
        as_rows = tessera.fit(PEOPLE, epochs=0).sample(5, out="rows")
        self.assertTrue(pa.table(as_rows).equals(pa.table(as_rows)))

    def test_threads_may_share_a_model(self):
        expected = [MODEL.sample(200, seed=seed) for seed in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for found, rows in zip(pool.map(lambda seed: MODEL.sample(200, seed=seed), range(4)), expected):
                pandas.testing.assert_frame_equal(found, rows)

    def test_a_forked_process_may_use_a_model(self):
        expected = MODEL.sample(50)
        child = os.fork()
        if child == 0:
            os._exit(0 if MODEL.sample(50).equals(expected) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Notices(unittest.TestCase):
    def test_a_fit_warns_once_of_what_it_changed(self):
        with self.assertWarns(tessera.TesseraWarning) as caught:
            model = tessera.fit(PEOPLE, epochs=0)
        self.assertEqual(len(caught.warnings), 1)
        self.assertTrue(any("regenerated" in note for note in model.notices))
        self.assertNotIn("--", "".join(model.notices))

    def test_rules_are_notices_and_no_warning(self):
        table = tessera.example(300)[["age", "country"]]
        table["twice"] = 2 * table["age"]
        with warnings.catch_warnings():
            warnings.simplefilter("error", tessera.TesseraWarning)
            model = tessera.fit(table, epochs=0)
        self.assertTrue(any("twice = 2 * age" in note for note in model.notices), model.notices)

    def test_the_method_that_options_choose_is_said(self):
        model = tessera.fit(PEOPLE.head(60), calibrate="full", epochs=0)
        self.assertTrue(any("tvae, not made" in note and "calibrate='full'" in note for note in model.notices))

    def test_reasons_are_words(self):
        found = tessera.inspect(PEOPLE)
        self.assertIn("int64", found["reason"][list(found["name"]).index("age")])
        self.assertNotIn("(format", "".join(found["reason"]))


class Limits(unittest.TestCase):
    def test_more_rows_than_memory_has_are_refused_at_once(self):
        with self.assertRaisesRegex(tessera.OutOfMemoryError, "sample_iter"):
            MODEL.sample(2**62)

    def test_halves_of_surrogate_pairs_are_named(self):
        with self.assertRaisesRegex(tessera.UsageError, "surrogate"):
            MODEL.sample(1, where="city = '\ud800'")
        with self.assertRaises(tessera.DataError):
            tessera.fit(PEOPLE.assign(city=pandas.Series(["\ud800"] * len(PEOPLE), dtype=object)))

    @in_folder
    def test_a_table_is_no_model(self, folder):
        PEOPLE.to_parquet(folder / "people.parquet")
        with self.assertRaisesRegex(tessera.FormatError, "a Parquet file, not a model"):
            tessera.load(folder / "people.parquet")


class Files(unittest.TestCase):
    @in_folder
    def test_messages_write_options_as_python(self, folder):
        (folder / "odd.csv").write_text('a b,"c,d"\n1,x\n3O,"`device=cpu`"\n', encoding="utf-8")
        for name, missing in (("a b", "3O"), ("c,d", "x")):
            with self.assertRaises(tessera.DataError) as error:
                tessera.fit(tessera.read(folder / "odd.csv", types={name: "integer"}))
            self.assertIn(f"`types={{{name!r}: 'category'}}`", str(error.exception))
            self.assertIn(f"`missing={missing!r}`", str(error.exception))

    @in_folder
    def test_models_are_saved_and_loaded(self, folder):
        path = folder / "m.tessera"
        MODEL.save(path)
        MODEL.save(path)  # as in a notebook whose cell runs again
        with self.assertRaisesRegex(tessera.FileError, "overwrite=True"):
            MODEL.save(path, overwrite=False)
        self.assertEqual(os.listdir(folder), ["m.tessera"])
        self.assertTrue(tessera.load(path).sample(20).equals(MODEL.sample(20)))
        again = pickle.loads(pickle.dumps(MODEL))
        self.assertTrue(again.sample(20).equals(MODEL.sample(20)))
        self.assertEqual(again.schema.names, list(PEOPLE.columns))
        path.write_bytes(path.read_bytes()[:1000])
        with self.assertRaises(tessera.FormatError):
            tessera.load(path)

    @in_folder
    def test_rows_are_written_and_read_by_the_ending(self, folder):
        names = MODEL.schema.names
        for name in ("r.csv", "r.parquet", "r.arrow"):
            path = folder / name
            self.assertEqual(MODEL.sample(50, out=path), path)
            with self.assertRaises(tessera.FileError):
                MODEL.sample(50, out=str(path), overwrite=False)
            read = tessera.fit(path, epochs=0)
            self.assertEqual(read.schema.names, names)
            self.assertIsInstance(read.sample(3), pandas.DataFrame)
            self.assertIn(name, read.describe()["provenance"]["source"])

    @in_folder
    def test_pyarrow_serves_where_the_plugin_is_missing(self, folder):
        code = """
import pandas, sys, tessera
assert not tessera.info()["parquet_and_arrow"]["available"]
model = tessera.fit(tessera.example(300), epochs=0)
for name in ("r.parquet", "r.arrow", "r.arrows"):
    for count in (60, 0):
        model.sample(count, out=name, overwrite=True)
    model.sample(60, out=name, overwrite=True)
    again = tessera.fit(name, types={"children": "category"}, epochs=0)
    assert again.schema.names == model.schema.names and again.schema["children"].type == "category"
    for path in (name, "no/" + name):
        try:
            model.sample(5, out=path, overwrite=False)
            sys.exit(f"{path} was written")
        except tessera.FileError as error:
            assert name in str(error)
"""
        here = dict(os.environ, TESSERA_ARROW_PLUGIN="/no/plugin.so", PYTHONPATH=os.pathsep.join(sys.path))
        subprocess.run([sys.executable, "-c", code], cwd=folder, env=here, check=True)

    @in_folder
    def test_words_about_how_to_read_a_file(self, folder):
        path = folder / "t.csv"
        path.write_text("zip;x\n" + "00501;?\n10115;2\n" * 30)
        rows = tessera.read([path], missing="?", delimiter=";", types={"zip": "category"})
        frame = tessera.fit(rows, epochs=0).sample(50)
        self.assertEqual(set(frame["zip"]), {"00501", "10115"})
        self.assertEqual(str(frame["x"].dtype), "Int64")
        self.assertEqual(tessera.inspect(rows)["type"].tolist(), ["category", "integer"])


class Options(unittest.TestCase):
    def test_options_of_methods_need_no_list_here(self):
        for method in tessera.methods():
            self.assertTrue(tessera.options(method))
        model = tessera.fit(PEOPLE, method="ctgan", epochs=0, pac=5, generator_dim=(16, 16), calibrate="off")
        config = model.describe()["config"]
        self.assertEqual((config["pac"], config["generator_dim"]), (5, [16, 16]))

    def test_types_are_overridden(self):
        model = tessera.fit(PEOPLE, types={"children": "category"}, epochs=0)
        self.assertEqual(model.schema["children"].type, "category")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("r.csv", "r.parquet"):
                path = MODEL.sample(60, out=os.path.join(folder, name))
                model = tessera.fit(path, types={"children": "category"}, epochs=0)
                self.assertEqual(model.schema["children"].type, "category")
        odd = pandas.DataFrame({'a,"b=c': [1, 2, 3] * 10})
        self.assertEqual(tessera.fit(odd, types={'a,"b=c': "category"}, epochs=0).schema.names, ['a,"b=c'])

    def test_mistakes_are_named_when_the_call_is_made(self):
        calls = {
            lambda: tessera.fit(PEOPLE, pacc=3): (tessera.UsageError, "pacc.*The options of made are `epochs`"),
            lambda: tessera.fit(PEOPLE, epoch=3): (tessera.UsageError, "Nearest: .epochs"),
            lambda: tessera.fit(PEOPLE, method="gan"): (tessera.UsageError, "gan"),
            lambda: tessera.fit(PEOPLE, method="ctgan", batch_size=3): (tessera.UsageError, "`batch_size=3`.*`pac=10`"),
            lambda: tessera.fit(PEOPLE, types={"age": "number"}): (tessera.UsageError, "decimal"),
            lambda: tessera.fit(PEOPLE, types=["age"]): (tessera.UsageError, "a dictionary of columns"),
            lambda: tessera.fit(PEOPLE, epsilon=0): (tessera.UsageError, "epsilon is 0"),
            lambda: tessera.fit(3): (tessera.DataError, "int is not a table"),
            lambda: tessera.fit("no.csv"): (tessera.FileError, "no.csv"),
            lambda: tessera.fit(PEOPLE, device="abacus"): (tessera.TesseraError, "`device='abacus'`"),
            lambda: tessera.load("a\0b"): (tessera.UsageError, "NUL"),
            lambda: tessera.load(3): (tessera.UsageError, "3 is not a path"),
            lambda: MODEL.save(3): (tessera.UsageError, "3 is not a path"),
            lambda: MODEL.save("a\0b"): (tessera.UsageError, "NUL"),
            lambda: MODEL.sample(3, out=3): (tessera.UsageError, "3 is not a path"),
            lambda: MODEL.to_html("a\0b"): (tessera.UsageError, "NUL"),
            lambda: MODEL.predict(PEOPLE, "a\0b"): (tessera.UsageError, "NUL"),
            lambda: tessera.fit("a\0b.csv"): (tessera.UsageError, "NUL"),
            lambda: tessera.fit(PEOPLE.rename(columns={"age": "a\0b"})): (tessera.DataError, "column 3.*NUL"),
            lambda: tessera.fit(pa.table({"a\0b": [1, 2]})): (tessera.DataError, "column 1.*NUL"),
            lambda: tessera.fit(polars.DataFrame({"a\0b": [1, 2]})): (tessera.DataError, "column 1.*NUL"),
            lambda: tessera.load("no.tessera"): (tessera.FileError, "no.tessera"),
            lambda: MODEL.sample(3, where="agee > 3"): (tessera.ConditionError, "agee"),
            lambda: MODEL.sample(3, where="age >"): (tessera.UsageError, "where"),
            lambda: MODEL.sample(3, where="a\0"): (tessera.UsageError, "NUL"),
            lambda: tessera.fit(PEOPLE, method=3): (tessera.UsageError, "method is 3"),
            lambda: tessera.fit(PEOPLE, seed=-1): (tessera.UsageError, "seed is -1"),
            lambda: tessera.fit(PEOPLE, patience=2**32): (tessera.UsageError, "out of range"),
            lambda: MODEL.sample(2**64): (tessera.UsageError, "out of range"),
            lambda: MODEL.sample(1.5): (tessera.UsageError, "integer"),
            lambda: MODEL.sample_iter(3, out="x.csv"): (tessera.UsageError, "sample_iter"),
            lambda: MODEL.sample(9, where="age > 40 and age < 30", max_tries=9): (tessera.ConditionError, "age"),
            lambda: MODEL.complete(pandas.DataFrame({"agee": [1]})): (tessera.TesseraError, "agee"),
            lambda: MODEL.forecast(PEOPLE.head(2), 2): (tessera.UsageError, "a model of rows"),
            lambda: MODEL.complete(3): (tessera.DataError, "int is not a table"),
            lambda: MODEL.complete(["a.csv", "b.csv"]): (tessera.UsageError, "one file"),
            lambda: MODEL.sample(-1): (tessera.UsageError, "-1"),
            lambda: MODEL.sample(3, out="panda"): (tessera.UsageError, "ending"),
            lambda: MODEL.sample_iter(3, where="agee > 3"): (tessera.ConditionError, "agee"),
            lambda: MODEL.sample_iter(0): (tessera.UsageError, "batch"),
            lambda: tessera.evaluate(PEOPLE, PEOPLE[["age"]]): (tessera.DataError, "person_id"),
            lambda: tessera.evaluate(PEOPLE, PEOPLE, target="age"): (tessera.UsageError, "holdout"),
            lambda: tessera.TVAE(pac=3): (tessera.UsageError, "pac"),
            lambda: tessera.TVAE().sample(3): (tessera.UsageError, "not fitted"),
        }
        for call, (kind, words) in calls.items():
            with self.assertRaisesRegex(kind, words):
                call()

    def test_a_loaded_model_needs_no_library_of_its_frames(self):
        class Missing(_frames.Polars):
            module = "no_such_module"

        self.assertFalse(Missing().installed())


class Estimators(unittest.TestCase):
    def test_parameters_pass_through(self):
        made = tessera.CTGAN(epochs=0, pac=5, random_state=3, calibrate="off")
        self.assertEqual({**made.get_params(), "pac": 10}, made.set_params(pac=10).get_params())
        self.assertEqual(repr(made), "CTGAN(calibrate='off', epochs=0, pac=10, random_state=3)")
        self.assertIn("pac", inspect.signature(tessera.CTGAN).parameters)
        self.assertEqual(made.fit(PEOPLE).model_.describe()["config"]["pac"], 10)
        self.assertEqual(made.model_.describe()["provenance"]["seed"], 3)
        self.assertEqual(len(pickle.loads(pickle.dumps(made)).sample(4)), 4)

    def test_clones_are_equal_and_not_fitted(self):
        made = tessera.TVAE(epochs=0, types={"children": "category"}).fit(PEOPLE)
        try:
            from sklearn.base import clone
        except ImportError:
            clone = lambda estimator: type(estimator)(**copy.deepcopy(estimator.get_params(deep=False)))  # noqa: E731
        self.assertEqual(clone(made).get_params(), made.get_params())
        self.assertFalse(hasattr(clone(made), "model_"))


class Reports(unittest.TestCase):
    def test_scores_columns_and_pairs(self):
        report = tessera.evaluate(PEOPLE, MODEL.sample(400), holdout=tessera.example(400, seed=2), target="employed")
        self.assertGreater(report.scores["quality"], 0.5)
        self.assertIn("utility_auc", report.scores)
        self.assertEqual(report.columns["name"].tolist(), [name for name in PEOPLE if name != "person_id"])
        self.assertEqual(len(report.pairs), 13 * 12 / 2)
        self.assertIn("<td>", report._repr_html_())
        page = report.to_html()
        self.assertIn(f"{100 * report.document['scores']['column_shapes']:.1f}\u00a0%", page)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.html")
            report.to_html(path)
            self.assertEqual(path.read_text(encoding="utf-8"), page)
            with self.assertRaises(tessera.FileError):
                report.to_html(path, overwrite=False)
        frame = polars.DataFrame(PEOPLE)
        self.assertIsInstance(tessera.evaluate(frame, PEOPLE, c2st=False, distances=False).columns, polars.DataFrame)

    def test_several_tables_are_compared(self):
        tables = {"near": MODEL.sample(200), "copy": PEOPLE}
        compared = tessera.evaluate(PEOPLE, tables, c2st=False, distances=False)
        self.assertEqual(list(compared), ["near", "copy"])
        alone = tessera.evaluate(PEOPLE, tables["near"], c2st=False, distances=False)
        self.assertEqual(compared["near"].document, alone.document)
        self.assertEqual(compared.scores["table"].tolist(), ["near", "copy"])
        page = compared.to_html(models={"near": MODEL})
        for part in ("copy", "near", "Which synthetic table", "fingerprint of the table"):
            self.assertIn(part, page)
        with self.assertRaisesRegex(tessera.DataError, "odd"):
            tessera.evaluate(PEOPLE, {"odd": PEOPLE[["age"]]})
        with self.assertRaises(tessera.UsageError):
            tessera.evaluate(PEOPLE, {})

    def test_relations_of_one_connection_are_read_together(self):
        real, synthetic = duckdb.from_df(PEOPLE), MODEL.sample(100, out="duckdb")
        quick = dict(c2st=False, distances=False, drawings=False)
        document = tessera.evaluate(PEOPLE, MODEL.sample(100), holdout=PEOPLE, **quick).document
        self.assertEqual(tessera.evaluate(real, synthetic, holdout=real, **quick).document, document)
        self.assertEqual(list(tessera.evaluate(real, {"a": synthetic, "b": real}, **quick)), ["a", "b"])

    def test_a_model_has_a_page_of_its_training(self):
        page = MODEL.to_html()
        self.assertIn("How was this model trained?", page)
        report = tessera.evaluate(PEOPLE, PEOPLE, c2st=False, distances=False)
        self.assertIn('id="model"', report.to_html(model=MODEL))
        self.assertNotIn('id="model"', report.to_html())

    def test_sequences(self):
        steps = pandas.DataFrame({"who": [i // 5 for i in range(200)], "day": [i % 5 for i in range(200)],
                                  "x": [float(i % 7) for i in range(200)]})  # fmt: skip
        key = {"sequence_key": "who", "sequence_index": "day"}
        model = tessera.fit(steps, method="timegan", iterations=2, static=["who"][:0], **key)
        rows = model.sample(10)
        self.assertEqual(dict(rows.dtypes), dict(steps.dtypes))
        self.assertIn("column_shapes", tessera.evaluate(steps, rows, judges=0, **key).scores)

    def test_forecast(self):
        steps = pandas.DataFrame({"who": [i // 5 for i in range(400)], "day": [i % 5 for i in range(400)],
                                  "x": [i % 7 + i / 1000 for i in range(400)]})  # fmt: skip
        model = tessera.fit(steps, epochs=2, sequence_key="who", sequence_index="day")
        self.assertEqual(model.method, "made")
        first = steps[(steps.day < 2) & (steps.who < 2)].reset_index(drop=True)
        paths = model.forecast(first, 3, n=4, quantiles=None)
        self.assertEqual(list(paths["draw"]), [k for _ in range(2) for k in range(4) for _ in range(3)])
        self.assertEqual(list(paths["who"]), 12 * [0] + 12 * [1])
        self.assertEqual(list(paths["day"]), 8 * [2, 3, 4])
        bands = model.forecast(first, 3, n=4, quantiles=(0.25, 0.5))
        self.assertEqual(list(bands.columns), ["who", "day", "x_0.25", "x_0.5"])
        self.assertEqual(list(bands["x_0.5"])[0], paths["x"][0:12:3].quantile(0.5))
        whole = model.complete(first)
        self.assertTrue(whole.iloc[[0, 1, 5, 6]].reset_index(drop=True).equals(first))


if __name__ == "__main__":
    unittest.main()
