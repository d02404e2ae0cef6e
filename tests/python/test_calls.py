"""Calls that take long: progress, losses, Ctrl-C, checkpoints."""

import io
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import unittest

import tessera
from tessera import _progress

PEOPLE = tessera.example(800, seed=1)
MANY = 1_000_000  # epochs that no test waits for


class Stopped(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.checkpoint = pathlib.Path(self.folder.name) / "m.checkpoint"

    def interrupt_once_training(self, losses):
        if losses["epoch"] >= 2:
            os.kill(os.getpid(), signal.SIGINT)

    def test_ctrl_c_keeps_the_checkpoint_and_resuming_gives_the_same_model(self):
        options = {"method": "tvae", "epochs": 40, "calibrate": "off", "checkpoint": self.checkpoint}
        with self.assertRaisesRegex(KeyboardInterrupt, "m.checkpoint"):
            tessera.fit(PEOPLE, callback=self.interrupt_once_training, **options)
        self.assertTrue(self.checkpoint.exists())
        first = []
        model = tessera.fit(PEOPLE, resume=True, callback=lambda losses: first.append(losses["epoch"]), **options)
        whole = tessera.fit(PEOPLE, method="tvae", epochs=40, calibrate="off")
        self.assertEqual(pickle.dumps(model), pickle.dumps(whole))
        model.save(self.checkpoint.with_suffix(".tessera"))
        self.assertEqual(os.listdir(self.folder.name), ["m.tessera"])

    def test_an_exception_of_a_callback_ends_the_call(self):
        def fail(_):
            raise LookupError("mine")

        with self.assertRaisesRegex(LookupError, "mine"):
            tessera.fit(PEOPLE, method="tvae", epochs=MANY, callback=fail)
        with self.assertRaisesRegex(LookupError, "mine"):
            tessera.fit(PEOPLE, method="tvae", epochs=MANY, progress=fail)

    def test_sampling_stops_too(self):
        model = tessera.fit(PEOPLE, epochs=0)

        def interrupt(event):
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            model.sample(10**9, progress=interrupt)
        self.assertEqual(len(model.sample(3)), 3)

    def test_ranks_of_one_process_train_one_model(self):
        options = dict(epochs=1, batch_size=64, calibrate="off", progress=False, virtual_shards=4)
        two, four = (tessera.fit(PEOPLE, devices=ranks, **options) for ranks in (2, 4))
        self.assertTrue(two.sample(50).equals(four.sample(50)))
        with self.assertRaises(tessera.UnsupportedError):
            tessera.fit(PEOPLE, devices="launched")
        with self.assertRaises(tessera.UsageError):
            tessera.fit(PEOPLE, devices="several")

    def test_losses_have_the_names_of_the_method(self):
        for method, names in (("made", {"surprise"}), ("ctgan", {"critic", "generator", "penalty"})):
            heard = []
            model = tessera.fit(PEOPLE, method=method, epochs=2, calibrate="off", callback=heard.append)
            self.assertLessEqual(names | {"step", "epoch", "seconds"}, set(model.losses))
            self.assertEqual(model.losses.to_dict("records"), heard)

    def test_other_threads_work_while_a_model_is_fitted(self):
        ended, counted = threading.Event(), []

        def count():
            while not ended.is_set():
                counted.append(0)
                ended.wait(0.001)

        counter = threading.Thread(target=count)
        counter.start()
        heard = []
        options = {"method": "tvae", "epochs": 20, "calibrate": "off"}
        tessera.fit(PEOPLE, callback=lambda _: heard.append(threading.current_thread()), **options)
        ended.set()
        counter.join()
        self.assertTrue(counted)
        self.assertEqual(set(heard), {threading.main_thread()})


class Progress(unittest.TestCase):
    def test_a_callable_hears_every_phase(self):
        events = []
        model = tessera.fit(PEOPLE, method="tvae", epochs=2, progress=events.append)
        self.assertLessEqual({"quantiles", "encode", "train"}, {event.phase for event in events if event.finished})
        self.assertEqual([line for line in model.losses["epoch"]], [1.0, 2.0])
        self.assertEqual(set(model.losses), {"step", "epoch", "seconds", "reconstruction", "divergence"})

    def test_a_line_is_overwritten_and_a_finished_one_stays(self):
        out = io.StringIO()
        display = _progress.Display(out)
        for done in (1, 2, 3):
            display(tessera.Progress("train", done, 3, "epochs", "critic 1", done == 3))
        display(tessera.Progress("notice", 0, 0, "", "a line for the user", False))
        display.close()
        lines = out.getvalue().split("\n")
        self.assertEqual(len(lines), 3)
        self.assertIn("\rtrain         3 epochs  critic 1", lines[0])
        self.assertIn("a line for the user", lines[1])

    def test_short_calls_show_notices_only(self):
        out = io.StringIO()
        display = _progress.Display(out, delay=1e9)
        for phase in ("encode", "notice", "train"):
            display(tessera.Progress(phase, 1, 1, "steps", "heard", True))
        display.close()
        self.assertEqual(out.getvalue(), "\rheard\n")

    def test_nothing_is_drawn_where_nobody_looks(self):
        self.assertIsNone(_progress.listener(False))
        self.assertIsInstance(_progress.listener(True), _progress.Display)


if __name__ == "__main__":
    unittest.main()
