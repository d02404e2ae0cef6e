"""Many fits in parallel: every table with every combination of values, sampled and evaluated; the closest is marked.

    python -m tessera.sweep people.csv --folder runs --vary method=made,tvae --vary seed=0..4 -- --epochs 50

docs/use/sweep.md describes it. It runs the program ``tessera`` and needs neither the library nor another package;
``python sweep.py`` does the same.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import ctypes
import functools
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

Record = dict[str, Any]

_USAGE, _IO, _INTERNAL = 2, 4, 70  # exit codes of tessera
_MAX_FITS = 10_000
_MAX_NAME = 200  # bytes, of the 255 that file systems allow
_EQUAL = 0.01  # of AUC, as on the page that compares tables (docs/quality/metrics.md)
_SECONDS_BETWEEN_LOOKS = 0.05
# Options that say what the table is: evaluate reads it the same way.
_SEQUENCES = {"--sequence-length", "--stride", "--sequence-key", "--sequence-index", "--static"}
_READING = _SEQUENCES.union({"--types", "--schema", "--missing", "--delimiter", "--header"})
# Options of fit that are the sweep's own.
_OWN = {"--model", "--force", "--resume", "--device", "--devices", "--threads", "--json", "--quiet", "--log"}
_OWN.update({"--report", "--help"})


class Failure(Exception):
    """An error that ends a sweep: a message with a way out, and an exit code."""

    def __init__(self, message: str, code: int = _USAGE) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Fit:
    """One table with one value of each varied option."""

    table: str
    varied: dict[str, str]  # by option: "--seed"
    fixed: list[list[str]]  # an option and its values each

    @property
    def title(self) -> str:
        return " ".join([self.table, *(f"{option[2:]}={value}" for option, value in self.varied.items())])

    @property
    def name(self) -> str:
        """The name of its files: "people_method-made_seed-3"."""
        parts = [_plain(pathlib.Path(self.table).stem), *(f"{o[2:]}-{_plain(v)}" for o, v in self.varied.items())]
        return "_".join(parts)

    def options(self, of: set[str] | None = None) -> list[str]:
        """All of its options, or only those in `of`."""
        words = [word for option in self.fixed if of is None or option[0].split("=")[0] in of for word in option]
        return words + [f"{option}={value}" for option, value in self.varied.items() if of is None or option in of]


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-zA-Z.\x80-\U0010ffff]", "-", text)


def _given_options(words: list[str]) -> list[list[str]]:
    """
    >>> _given_options(["--epochs", "50", "--patience=3"])
    [['--epochs', '50'], ['--patience=3']]
    """
    options: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            options.append([word])
        elif options:
            options[-1].append(word)
        else:
            raise Failure(f"{word}: options of tessera fit follow --, such as -- --epochs 50.")
    for name in (option[0].split("=")[0] for option in options):
        if name in _OWN:
            raise Failure(f"{name} is not an option of single fits.\n  Give it before --, if sweeps have it.")
    return options


def _values(text: str) -> list[str]:
    """
    >>> _values("3..5,9")
    ['3', '4', '5', '9']
    """
    values = []
    for one in text.split(","):
        ends = re.fullmatch(r"(\d+)\.\.(\d+)", one)
        if not ends:
            values.append(one)
            continue
        low, high = int(ends[1]), int(ends[2])
        if not low <= high < low + _MAX_FITS:
            raise Failure(f"--vary: {one} is not a range of values.")
        values += map(str, range(low, high + 1))
    return values


def _varied_options(given: list[str], fixed: list[list[str]]) -> dict[str, list[str]]:
    varied: dict[str, list[str]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        option = name if name.startswith("--") else "--" + name
        if not equals or not name:
            raise Failure(f"--vary {text}: it must be an option of fits and its values, such as method=made,tvae.")
        if option in _OWN:
            raise Failure(f"--vary {text}: fits of a sweep cannot differ in {option}.")
        if option in varied:
            raise Failure(f"--vary {text}: {option} is varied twice.\n  Give all of its values at once.")
        if any(words[0].split("=")[0] == option for words in fixed):
            raise Failure(f"{option} is both given and varied.\n  Omit one.")
        varied[option] = _values(values)
    return varied


def all_fits(tables: list[str], given: list[str], words: list[str]) -> list[Fit]:
    """All fits: tables vary slowest, the last varied option fastest.

    >>> [fit.name for fit in all_fits(["people.csv"], ["method=made,tvae", "seed=3..4"], [])]
    ['people_method-made_seed-3', 'people_method-made_seed-4', 'people_method-tvae_seed-3', 'people_method-tvae_seed-4']
    """
    fixed = _given_options(words)
    varied = _varied_options(given, fixed)
    if len(tables) * math.prod(map(len, varied.values())) > _MAX_FITS:
        raise Failure(f"These are more than {_MAX_FITS:,} fits.\n  Vary less.")
    combinations = [dict(zip(varied, values)) for values in itertools.product(*varied.values())]
    fits = [Fit(table, combination, fixed) for table in tables for combination in combinations]
    named: dict[str, Fit] = {}
    for fit in fits:
        if len(os.fsencode(fit.name)) > _MAX_NAME:
            raise Failure(f"{fit.title}: the name of its files is too long.\n  Vary fewer options, or shorter values.")
        if other := named.get(fit.name):
            raise Failure(
                f"{other.title} and {fit.title} would write the same files, {fit.name}.*\n"
                "  Name a table or a value otherwise, or omit one."
            )
        named[fit.name] = fit
    return fits


@dataclass
class Settings:
    """Settings of all fits."""

    program: str
    folder: pathlib.Path
    evaluate: list[str]
    rows: int | None  # sampled; None: as many as the fit learned from
    threads: int
    resume: bool
    force: bool

    @functools.cached_property
    def version(self) -> str:
        return subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.strip()

    def path(self, fit: Fit, ending: str) -> pathlib.Path:
        return self.folder / (fit.name + ending)


def _message(said: str) -> str:
    """The error in a process's output: the text from the last line that begins with "tessera: "; else the last line."""
    marks = list(re.finditer(r"^tessera(?: \w+)?: ", said, re.MULTILINE))
    return said[marks[-1].end() :].strip() if marks else said.strip().rpartition("\n")[2]


def _check_options(settings: Settings, fits: list[Fit], devices: list[str]) -> None:
    """Checks options of tessera fit before any work, by running it on a table without rows."""
    by_options = {tuple(fit.options()): fit for fit in fits}
    tries = [(fit, "cpu") for fit in by_options.values()] + [(fits[0], device) for device in devices]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        empty = pathlib.Path(folder, "empty.csv")
        empty.touch()

        def said(number: int) -> subprocess.CompletedProcess[str]:
            fit, device = tries[number]
            line = [settings.program, "fit", str(empty), f"--model={folder}/{number}", f"--device={device}"]
            return subprocess.run(line + fit.options(), capture_output=True, text=True, stdin=subprocess.DEVNULL)

        for (fit, _), out in zip(tries, pool.map(said, range(len(tries)))):
            if out.returncode not in (0, 3):  # 3: the table is empty
                raise Failure(f"{fit.title}: {_message(out.stderr)}", out.returncode)


def _identity(fit: Fit, settings: Settings) -> Record:
    """The inputs that determine the figures."""
    table = os.stat(fit.table)
    state = {"bytes": table.st_size, "written": table.st_mtime_ns}
    of = {"table": fit.table, "state": state, "options": fit.options(), "rows": settings.rows}
    return {**of, "evaluate": settings.evaluate, "version": settings.version}


def _finished_before(fit: Fit, settings: Settings) -> Record | None:
    """The successful record of an earlier sweep for this fit and the present table, if there is one."""
    try:
        found: Record = json.loads(settings.path(fit, ".json").read_text())
    except (OSError, ValueError):
        return None
    good = found.get("status") == 0 and found.get("of") == _identity(fit, settings)
    return found if good and settings.path(fit, ".tessera").exists() else None


def _die_with_parent() -> None:
    """In a new process: end it when the sweep is killed (Linux only; elsewhere it continues)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    except (OSError, AttributeError):
        pass


class Work:
    """One fit in progress: fitted, sampled and evaluated by three processes, one after another."""

    def __init__(self, fit: Fit, settings: Settings, device: str) -> None:
        self.fit, self.settings, self.device = fit, settings, device
        self.record: Record = {"name": fit.name, "table": fit.table}
        self.record["options"] = {option[2:]: value for option, value in fit.varied.items()}
        self.record |= {"model": str(settings.path(fit, ".tessera")), "device": device, "seconds": {}}
        self.record["of"] = _identity(fit, settings)
        self._rows, self._out = settings.path(fit, ".rows.csv"), settings.path(fit, ".out")
        for old in (settings.path(fit, ".json"), settings.path(fit, ".log"), self._rows):
            old.unlink(missing_ok=True)
        self._stages = self._lines()
        self._start()

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        """The stages and their arguments; each begins after the previous one has succeeded."""
        fit, settings, model = self.fit, self.settings, self.record["model"]
        again = ["--resume"] * settings.resume + ["--force"] * settings.force
        device = f"--device={self.device}"
        yield "fit", [fit.table, f"--model={model}", device, *fit.options(), *again]
        said = self._said["description"]
        learned = said["provenance"].get("sequences", said["provenance"]["rows"])
        self.record |= {"method": said["method"], "learned": learned, "peak_bytes": self._said["peak_bytes"]}
        rows = f"--rows={settings.rows or learned}"
        yield "sample", [model, f"--output={self._rows}", rows, device, "--force", *fit.options({"--memory-limit"})]
        sequences = ["--method=sequence"] if fit.options(_SEQUENCES) else []
        yield "evaluate", [fit.table, str(self._rows), *fit.options(_READING), *settings.evaluate, *sequences]
        for long in ("columns", "pairs", "features"):
            self._said.pop(long, None)
        self.record |= {"evaluation": self._said, "status": 0}

    def _start(self) -> None:
        self._stage, arguments = next(self._stages)
        self._begun = time.monotonic()
        line = [self.settings.program, self._stage, *arguments, f"--threads={self.settings.threads}", "--json"]
        with open(self._out, "wb") as out, open(self.settings.path(self.fit, ".log"), "ab") as log:
            # Ctrl-C reaches only this process, which interrupts the others.
            how: Record = {"start_new_session": True, "preexec_fn": _die_with_parent}
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=log, **how)

    def advance(self) -> bool:
        """Advances; True once the fit has ended and its record is written."""
        code = self.process.poll()
        if code is None:
            return False
        self.record["seconds"][self._stage] = time.monotonic() - self._begun
        try:
            if code != 0:
                raise ValueError
            self._said = {} if self._stage == "sample" else json.loads(self._out.read_text())
            self._start()
        except StopIteration:
            self._end()
        except ValueError:  # also if the output is not JSON
            self._fail(code)
            self._end()
        return "status" in self.record

    def _fail(self, code: int) -> None:
        ended = f"ended by signal {-code}" + (": was there too little memory?" if code == -signal.SIGKILL else "")
        said = self.settings.path(self.fit, ".log").read_text(errors="replace")
        self.record |= {"stage": self._stage, "status": code if code > 0 else _INTERNAL}
        self.record["error"] = ended if code < 0 else _message(said)

    def _end(self) -> None:
        self.clean()
        _write(self.settings.path(self.fit, ".json"), json.dumps(self.record, indent=2, ensure_ascii=False) + "\n")

    def clean(self) -> None:
        """Removes the files passed between stages."""
        for passing in (self._rows, self._out):
            passing.unlink(missing_ok=True)


def _write(path: pathlib.Path, text: str) -> None:
    """Writes a file atomically."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8", errors="replace")
    os.replace(beside, path)


@dataclass
class Sweep:
    """Parallel fits, one per slot."""

    fits: list[Fit]
    settings: Settings
    devices: list[str]
    jobs: int
    quiet: bool
    caught: int = 0  # the signal that stops it
    running: dict[int, tuple[int, Work]] = field(default_factory=dict)  # by slot: the fit's number

    def run(self) -> list[Record | None]:
        """The records of all fits; None for those that a signal stopped."""
        records: list[Record | None] = [None] * len(self.fits)
        waiting, done = list(range(len(self.fits))), 0
        try:
            while (waiting and not self.caught) or self.running:
                while waiting and not self.caught and len(self.running) < self.jobs:
                    number = waiting.pop(0)
                    fit = self.fits[number]
                    if self.settings.resume and (before := _finished_before(fit, self.settings)):
                        records[number], done = before, done + 1
                        continue
                    slot = next(slot for slot in range(self.jobs) if slot not in self.running)
                    self.running[slot] = number, Work(fit, self.settings, self.devices[slot % len(self.devices)])
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                for slot, (number, work) in list(self.running.items()):
                    if self.caught and work.process.poll() is not None:
                        work.clean()
                    elif self.caught or not work.advance():
                        continue
                    else:
                        records[number], done = work.record, done + 1
                        self._tell(f"{done}/{len(self.fits)}  {work.fit.title}", work.record)
                    del self.running[slot]
        finally:
            for _, work in self.running.values():
                work.process.kill()
                work.clean()
        return records

    def _tell(self, what: str, record: Record) -> None:
        if not self.quiet:
            print(f"fit  {what}" + (f"  failed: {record['error']}" if "error" in record else ""), file=sys.stderr)

    def stop(self, number: int, frame: object) -> None:
        """Each fit writes a checkpoint; a second signal ends this process and the fits."""
        self.caught = number
        signal.signal(number, signal.SIG_DFL)
        for _, work in self.running.values():
            work.process.terminate()


class Results:
    """One row per fit, with the best of each table marked."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.options = list(records[0]["options"])
        self.shown: dict[str, str] = {}  # the headline figures that were measured: label by key
        for record in records:
            for figure in record.get("evaluation", {}).get("figures", []):
                if figure["headline"]:
                    self.shown.setdefault(figure["key"], figure["label"].strip())
                    if "reference" in figure:
                        self.shown.setdefault(figure["reference"]["key"], "real rows")
        gaps = [_gap(record) for record in records]
        best: dict[str, int] = {}
        for number, record in enumerate(records):
            if gaps[number] < gaps[best.setdefault(record["table"], number)]:
                best[record["table"]] = number
        self.marks = []
        for number, record in enumerate(records):
            near = gaps[number] <= gaps[best[record["table"]]] + _EQUAL and math.isfinite(gaps[number])
            self.marks.append("" if not near else "best" if best[record["table"]] == number else "as close")

    def page(self) -> str:
        tables = len({record["table"] for record in self.records}) > 1
        rows = [["table"] * tables + self.options + list(self.shown.values()) + ["time", ""]]
        for record, mark in zip(self.records, self.marks):
            cells = [pathlib.Path(record["table"]).name] * tables + [record["options"][name] for name in self.options]
            figures = _figures(record)
            cells += [figures[key]["shown"] if key in figures else "–" for key in self.shown]
            failed = f"failed: {record['error'].splitlines()[0]}" if "error" in record else mark
            rows.append([*cells, f"{sum(record['seconds'].values()):.0f} s", failed])
        words = tables + len(self.options)  # columns; the others are figures
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = []
        for row in rows:
            padded = [c.ljust(w) if i < words else c.rjust(w) for i, (c, w) in enumerate(zip(row[:-1], widths))]
            lines.append("  ".join([*padded, row[-1]]).rstrip())
        return "\n".join(lines)

    def write_csv(self, path: pathlib.Path) -> None:
        last = ["seconds", "mark", "model", "status", "error"]
        beside = path.with_name(path.name + ".part")
        with open(beside, "w", newline="", encoding="utf-8", errors="replace") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["table", *self.options, *self.shown, *last])
            for record, mark in zip(self.records, self.marks):
                figures = _figures(record)
                numbers = [figures[key]["value"] if key in figures else "" for key in self.shown]
                made = record["model"] if record["status"] == 0 else ""
                end = [sum(record["seconds"].values()), mark, made, record["status"], record.get("error", "")]
                writer.writerow([record["table"], *(record["options"][o] for o in self.options), *numbers, *end])
        os.replace(beside, path)

    def document(self) -> dict[str, Any]:
        fits = []
        for record, mark in zip(self.records, self.marks):
            fit = {key: value for key, value in record.items() if key not in ("of", "evaluation")}
            fit |= {key: figure["value"] for key, figure in _figures(record).items() if key in self.shown}
            fits.append({**fit, "best": mark == "best", "as_close": mark == "as close"})
        return {"fits": fits, "failed": len(self.failed())}

    def failed(self) -> list[Record]:
        return [record for record in self.records if record["status"] != 0]


def _figures(record: Record) -> dict[str, Record]:
    """The figures of an evaluation and those of real rows beside them, by key."""
    figures = record.get("evaluation", {}).get("figures", [])
    return {f["key"]: f for figure in figures for f in (figure, figure.get("reference")) if f}


def _gap(record: Record) -> float:
    """The distance of the rows from real ones: by the trees, beyond their AUC between real rows; by the judge of
    sequences; otherwise by shapes and trends."""
    if "evaluation" not in record:
        return math.inf
    value: dict[str, float] = {key: figure["value"] for key, figure in _figures(record).items()}
    if "c2st_auc" in value:
        return max(0.0, value["c2st_auc"] - value.get("c2st_floor_auc", 0.5))
    if "discriminative" in value:
        return abs(value["discriminative"])
    shapes = value.get("column_shapes", math.nan)
    return 1 - (shapes + value.get("pair_trends", shapes)) / 2


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tessera.sweep", description="Fits many models in parallel and marks the one closest to each table.",
        epilog="Options of tessera fit for all fits follow --: … -- --epochs 50",
    )
    parser.add_argument("tables", nargs="+", help="files that tessera fit reads")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="folder for models, records and results.csv")
    parser.add_argument("--vary", action="append", default=[], metavar="OPTION=A,B", help="values of an option of fit")
    parser.add_argument("--jobs", type=int, help="concurrent fits (default: one per thread, or per device)")
    parser.add_argument("--devices", default="", help="where fits run: cuda:0,cuda:1 (default: cpu)")
    parser.add_argument("--threads", type=int, help="of all fits together (default: all cores)")
    parser.add_argument("--rows", type=int, help="rows to sample and evaluate (default: as many as learned)")
    parser.add_argument("--holdout", help="file of real rows that no model is trained on")
    parser.add_argument("--target", help="column to predict when measuring utility; needs --holdout")
    for part in ("distances", "c2st", "utility"):
        parser.add_argument(f"--without-{part}", action="store_true", help="as for tessera evaluate")
    parser.add_argument("--resume", action="store_true", help="skip finished fits, continue stopped ones")
    parser.add_argument("--force", action="store_true", help="replace the results of an earlier sweep")
    parser.add_argument("--json", action="store_true", help="print the results on standard output as JSON")
    parser.add_argument("--quiet", action="store_true", help="do not show progress")
    parser.add_argument("--program", help="tessera (default: the one of this package, else the one in PATH)")
    return parser


def _program(given: str | None) -> str:
    beside = pathlib.Path(__file__).with_name("tessera")
    found = given or (str(beside) if os.access(beside, os.X_OK) else shutil.which("tessera"))
    if not found:
        raise Failure("The program tessera is not in PATH.\n  Give its path with --program.", _IO)
    return found


def _check_files(tables: list[str], fits: list[Fit], settings: Settings) -> None:
    for table in tables:
        if table == "-":
            raise Failure("A table that several fits read must be a file, not -.")
        if not os.path.isfile(table):
            raise Failure(f"{table}: there is no such file.", _IO)
    for file in (settings.path(fit, ending) for fit in fits for ending in (".tessera", ".json", ".log")):
        if file.exists() and not (settings.resume or settings.force):
            raise Failure(
                f"{file}: an earlier sweep left this file.\n  Continue that with --resume, replace its results with "
                "--force, or choose another --folder.",
                _IO,
            )


def _run(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    a = _arguments().parse_args(arguments[:split])
    if len(a.tables) > 1 and (a.holdout or a.target):
        raise Failure("--holdout and --target belong to one table, but several are given.\n  Sweep over one table.")
    fits = all_fits(a.tables, a.vary, arguments[split + 1 :])
    evaluate = [f"--{name}={value}" for name in ("holdout", "target") if (value := getattr(a, name))]
    evaluate += [f"--without-{part}" for part in ("distances", "c2st", "utility") if getattr(a, f"without_{part}")]
    devices = [device for device in a.devices.split(",") if device]
    cores = a.threads or len(os.sched_getaffinity(0))
    jobs = min(len(fits), a.jobs or len(devices) or cores)
    settings = Settings(_program(a.program), a.folder, evaluate, a.rows, max(1, cores // jobs), a.resume, a.force)
    _check_files([*a.tables, *([a.holdout] if a.holdout else [])], fits, settings)
    _check_options(settings, fits, devices)
    a.folder.mkdir(parents=True, exist_ok=True)
    sweep = Sweep(fits, settings, devices or ["cpu"], jobs, a.quiet)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, sweep.stop)
    records = sweep.run()
    done = [record for record in records if record is not None]
    if sweep.caught:
        again = [word for word in arguments[:split] if word != "--resume"] + ["--resume"] + arguments[split:]
        line = shlex.join(["python", "-m", "tessera.sweep", *again])
        raise Failure(f"The sweep was stopped.\n  Continue with: {line}", 128 + sweep.caught)
    results = Results(done)
    results.write_csv(a.folder / "results.csv")
    print(json.dumps(results.document(), indent=2, ensure_ascii=False) if a.json else results.page())
    if failed := results.failed():
        raise Failure(
            f"{len(failed)} of {len(fits)} fits failed.\n  The files .log in {a.folder} say why; --resume tries them "
            "again.",
            failed[0]["status"],
        )
    return 0


def main() -> NoReturn:
    """The command ``python -m tessera.sweep``."""
    try:
        sys.exit(_run(sys.argv[1:]))
    except (Failure, OSError) as failure:
        print(f"tessera.sweep: {failure}", file=sys.stderr)
        sys.exit(failure.code if isinstance(failure, Failure) else _IO)


if __name__ == "__main__":
    main()
