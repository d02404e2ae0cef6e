"""Progress of a call, drawn as text in terminals and notebooks."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Callable, NamedTuple, TextIO, Union


class Progress(NamedTuple):
    """One event of a call.

    Attributes
    ----------
    phase : str
        ``"read"``, ``"encode"``, ``"train"``, ``"sample"``, … ; ``"notice"``: ``note`` is a line for the user.
    done, total : float
        In units of ``unit``; ``total`` is 0 if it is unknown.
    unit : str
        ``"rows"``, ``"epochs"``, ``"steps"``, …
    note : str
        Text beside the bar: losses, yield.
    finished : bool
        Whether it is the last event of its phase.
    """

    phase: str
    done: float
    total: float
    unit: str
    note: str
    finished: bool


ProgressOption = Union[None, bool, Callable[[Progress], object]]

_BAR = 24
_MIN_SECONDS = 0.1  # between two updates
_DELAY = 1.0  # seconds before a call shows progress
_NOTEBOOK_COLUMNS = 110


class Display:
    """Shows the current phase on one line that each event overwrites; a finished phase keeps its line.

    Parameters
    ----------
    out : file
    width : int
        Maximum width of a line.
    delay : float
        Seconds before progress is shown: shorter calls show only notices.
    """

    def __init__(self, out: TextIO, width: int = 80, delay: float = 0.0) -> None:
        self._out, self._columns = out, width
        self._began = time.monotonic()  # start of the current phase
        self._shown_from = self._began + delay
        self._drawn = 0.0
        self._width = 0  # of the line on the screen
        self._waiting: list[str] = []  # lines of phases that finished within the delay

    def __call__(self, event: Progress) -> None:
        now = time.monotonic()
        if event.phase == "notice":
            self._write(event.note, end="\n")
            return
        if event.finished:
            self._waiting.append(line(event, now - self._began))
            self._began = now
        if now < self._shown_from:
            return
        for text in self._waiting:
            self._write(text, end="\n")
        self._waiting.clear()
        if not event.finished and now - self._drawn >= _MIN_SECONDS:
            self._drawn = now
            self._write(line(event, now - self._began)[: self._columns - 1], end="")

    def close(self) -> None:
        """Moves the cursor to the beginning of an empty line."""
        if self._width:
            self._write("", end="\r")

    def _write(self, text: str, end: str) -> None:
        self._out.write("\r" + text.ljust(self._width) + end)
        self._out.flush()
        self._width = 0 if end else len(text)


def line(event: Progress, seconds: float) -> str:
    """
    >>> line(Progress("train", 75, 300, "epochs", "critic -0.4", False), 20.0)
    'train         ━━━━━━────────────────── 75/300 epochs  critic -0.4  1:00 left'
    >>> line(Progress("train", 300, 300, "epochs", "critic -0.4", True), 80.0)
    'train         300 epochs  critic -0.4  1:20'
    """
    amount = f"{event.done:,.0f}" if event.finished or not event.total else f"{event.done:,.0f}/{event.total:,.0f}"
    unit = event.unit[:-1] if event.finished and event.done == 1 else event.unit
    parts = [f"{amount} {unit}", event.note]
    bar = ""
    if event.finished:
        parts.append(duration(seconds))
    elif event.total:
        share = min(event.done / event.total, 1.0)
        bar = "━" * round(share * _BAR) + "─" * (_BAR - round(share * _BAR)) + " "
        if share > 0.01:
            parts.append(f"{duration(seconds * (1 / share - 1))} left")
    return f"{event.phase:<13} {bar}" + "  ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """
    >>> duration(0.25), duration(80), duration(4000)
    ('0.2 s', '1:20', '1:06:40')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def listener(progress: ProgressOption) -> Callable[[Progress], object] | None:
    """The receiver of progress: by default a display in terminals and notebooks."""
    if callable(progress):
        return progress
    notebook = _in_notebook()
    out = sys.stdout if notebook else sys.stderr
    if progress is False or (progress is None and not notebook and (out is None or not out.isatty())):
        return None
    width = _NOTEBOOK_COLUMNS if notebook else shutil.get_terminal_size().columns
    return Display(out, width, 0.0 if progress else _DELAY)
