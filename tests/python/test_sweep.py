"""Fits side by side: every combination is a model that tessera fit would write, a fit that fails is a row, and nothing
that is done is done twice."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(os.environ["TESSERA_LIBRARY"]).with_name("tessera")
SWEEP = pathlib.Path(__file__).resolve().parents[2] / "python/tessera/sweep.py"


@unittest.skipUnless(PROGRAM.exists(), f"there is no {PROGRAM}")
class Sweeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tessera("example", "people.csv", "--rows", "200")

    def tessera(self, *arguments):
        subprocess.run([PROGRAM, *arguments], cwd=self.folder, check=True, capture_output=True)

    def line(self, *arguments, fit=("--epochs", "1", "--calibrate", "off")):
        """One that takes a moment: no detection, no distances."""
        skipped = ["--without-c2st", "--without-distances", f"--program={PROGRAM}"]
        return [sys.executable, SWEEP, "--folder", "runs", *skipped, *arguments, "--", *fit]

    def run_line(self, *arguments, **fit):
        return subprocess.run(self.line(*arguments, **fit), cwd=self.folder, capture_output=True, text=True)

    def must(self, *arguments, **fit):
        out = self.run_line(*arguments, **fit)
        self.assertEqual(out.returncode, 0, out.stderr)
        return out.stdout

    def read(self, name):
        return (self.folder / name).read_bytes()

    def rows(self):
        return self.read("runs/results.csv").count(b"\n") - 1

    def test_every_combination_is_the_model_of_its_options(self):
        found = json.loads(self.must("people.csv", "--vary", "method=made,tvae", "--vary", "seed=3..4", "--json"))
        self.assertEqual((len(found["fits"]), found["failed"]), (4, 0))
        self.assertEqual(sum(fit["best"] for fit in found["fits"]), 1)
        self.assertTrue(all(fit["column_shapes"] > 0.5 and fit["learned"] == 200 for fit in found["fits"]))
        alone = ("--model", "alone", "--method", "tvae", "--seed", "4", "--epochs", "1", "--calibrate", "off")
        self.tessera("fit", "people.csv", *alone)
        self.assertEqual(self.read("alone"), self.read("runs/people_method-tvae_seed-4.tessera"))
        self.assertEqual(self.rows(), 4)

    def test_a_fit_that_fails_is_one_row(self):
        (self.folder / "ragged.csv").write_text("a,b\n1\n")
        out = self.run_line("people.csv", "ragged.csv", "--vary", "seed=0,1", "--json")
        self.assertEqual(out.returncode, 3, "that of the fit that failed")
        self.assertIn("2 of 4 fits failed", out.stderr)
        for fit in json.loads(out.stdout)["fits"]:
            good = fit["table"] == "people.csv"
            self.assertEqual(fit["status"], 0 if good else 3)
            self.assertEqual("column_shapes" in fit, good)
            self.assertEqual("ragged.csv:2" in fit.get("error", ""), not good)

    def test_resume_skips_what_is_done(self):
        two = ("people.csv", "--vary", "seed=0,1")
        self.must(*two)
        record = self.read("runs/people_seed-0.json")
        self.assertEqual(self.run_line(*two).returncode, 4, "results are not replaced without --force")
        self.assertEqual(self.read("runs/people_seed-0.json"), record)
        self.must("people.csv", "--vary", "seed=0..2", "--resume")
        self.assertEqual(self.read("runs/people_seed-0.json"), record)
        self.assertEqual(self.rows(), 3)
        # Another table under the same name: what was done is of no use, and the model says so.
        self.tessera("example", "people.csv", "--rows", "150", "--force")
        out = self.run_line("people.csv", "--vary", "seed=0", "--resume")
        self.assertNotEqual(out.returncode, 0)
        self.assertIn("failed", out.stdout)
        self.must("people.csv", "--vary", "seed=0", "--force")
        self.assertEqual(json.loads(self.read("runs/people_seed-0.json"))["learned"], 150)

    def test_a_stopped_sweep_goes_on(self):
        fit = ("--method", "tvae", "--calibrate", "off")
        arguments = ("people.csv", "--vary", "epochs=2500,1", "--jobs", "1")
        log = self.folder / "runs/people_epochs-2500.log"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(self.line(*arguments, fit=fit), cwd=self.folder, **pipes) as sweep:
            while sweep.poll() is None and not (log.exists() and "train " in log.read_text()):
                time.sleep(0.01)
            sweep.send_signal(signal.SIGTERM)
            out, said = sweep.communicate()
        self.assertEqual((sweep.returncode, out), (143, ""), said)
        self.assertIn("Continue with: ", said)
        self.assertTrue((self.folder / "runs/people_epochs-2500.tessera.checkpoint").exists())
        self.assertFalse((self.folder / "runs/people_epochs-1.log").exists(), "no fit begins after the signal")
        self.must(*arguments, "--resume", fit=fit)
        self.tessera("fit", "people.csv", "--model", "alone", "--epochs", "2500", *fit)
        self.assertEqual(self.read("alone"), self.read("runs/people_epochs-2500.tessera"))
        self.assertEqual(self.rows(), 2)

    def test_mistakes_are_found_before_any_fit(self):
        people = "people.csv"
        for said, code, arguments, fit in [
            ("--vary seed: it must be an option of fits and its values", 2, (people, "--vary", "seed"), ()),
            ("--speed", 2, (people, "--vary", "speed=1,2"), ()),
            ("--seed is varied twice", 2, (people, "--vary", "seed=1", "--vary", "seed=2"), ()),
            ("--seed is both given and varied", 2, (people, "--vary", "seed=1,2"), ("--seed", "3")),
            ("would write the same files", 2, (people, "--vary", "seed=1,1"), ()),
            ("1..99999 is not a range", 2, (people, "--vary", "seed=1..99999"), ()),
            ("method=made: --pac belongs to method ctgan", 2, (people, "--vary", "method=made,ctgan"), ("--pac", "10")),
            ("patience=-1", 2, (people, "--vary", "patience=1,-1"), ()),
            ("would write the same files", 2, (people, people, "--vary", "seed=1"), ()),
            ("must be a file, not -", 2, ("-", "--vary", "seed=1"), ()),
            ("--holdout and --target belong to one table", 2, (people, "other.csv", "--holdout", people), ()),
            ("gpu", 2, (people, "--vary", "seed=1", "--devices", "cpu,gpu"), ()),
            ("--model is not an option of single fits", 2, (people,), ("--model", "x")),
            ("there is no such file", 4, ("nowhere.csv", "--vary", "seed=1"), ()),
        ]:
            with self.subTest(said):
                out = self.run_line(*arguments, fit=fit)
                self.assertEqual(out.returncode, code, out.stderr)
                self.assertIn(said, out.stderr)
                self.assertFalse((self.folder / "runs").exists(), "nothing was begun")


if __name__ == "__main__":
    unittest.main()
