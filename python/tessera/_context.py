"""One call into the library: its context, its progress, and Ctrl-C."""

from __future__ import annotations

import collections
import ctypes as c
import threading
from typing import Any, Callable, TypeVar

from . import _errors
from ._library import LOSSES_FN, PROGRESS_FN, ContextOptions, lib
from ._progress import Display, Progress, ProgressOption, listener

T = TypeVar("T")

_POLL_SECONDS = 0.05  # interval for drawing progress and handling signals


class Context:
    """A context of the library for one call of this package; cancelling it affects no other call.

    The work runs on its own thread. The caller's thread handles signals, draws progress and runs the caller's
    callbacks; an exception in a callback ends the work.
    """

    def __init__(
        self,
        progress: ProgressOption = None,
        device: str | None = None,
        threads: int = 0,
        memory_limit: int = 0,
        scratch: bytes | None = None,
    ) -> None:
        self.handle = c.c_void_p()
        self._listener = listen = listener(progress)
        events: collections.deque[Callable[[], object]] = collections.deque()  # calls for the caller's thread
        self._events = events
        self.notices: list[str] = []  # notices of the library, with option names as in Python

        def heard(event: Any, _user: Any) -> None:
            e = event.contents
            phase, note = e.phase.decode(), e.note.decode()
            if phase == "notice":
                note = _errors.in_python(note)
                self.notices.append(note)
            elif not listen:
                return
            copy = Progress(phase, e.done, e.total, e.unit.decode(), note, bool(e.finished))
            events.append(lambda: listen and listen(copy))

        self._hear = PROGRESS_FN(heard)  # must live as long as the context
        self._hear_losses: Any = None
        options = ContextOptions(
            threads=threads, progress=c.cast(self._hear, c.c_void_p), device=device, memory_limit=memory_limit,
            scratch=scratch,
        )  # fmt: skip
        lib.tessera_context_new(c.byref(options), c.byref(self.handle))

    def __del__(self) -> None:
        lib.tessera_context_free(self.handle)

    @property
    def watched(self) -> bool:
        """Whether notices are shown to the user."""
        return self._listener is not None

    def losses_callback(self, hear: Callable[[dict[str, float]], object]) -> c.c_void_p:
        """Wraps ``hear`` as a C callback; it receives each line of losses, in the caller's thread."""

        events = self._events

        def heard(losses: Any, _user: Any) -> None:
            line = losses.contents.by_name()  # the library's memory is valid only here
            events.append(lambda: hear(line))

        self._hear_losses = LOSSES_FN(heard)
        return c.cast(self._hear_losses, c.c_void_p)

    def run(self, work: Callable[[c.c_void_p], T]) -> T:
        """Runs ``work`` on the context's handle; returns its result or raises its error."""
        done = threading.Event()
        result: list[T] = []
        failure: list[BaseException] = []

        def body() -> None:
            try:
                result.append(work(self.handle))
            except BaseException as error:
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=body, name="tessera", daemon=True)
        try:
            thread.start()
            while not done.wait(_POLL_SECONDS):
                self._drain()
            self._drain()
        except BaseException as stop:
            lib.tessera_context_cancel(self.handle)
            done.wait()
            if isinstance(stop, KeyboardInterrupt) and failure:
                raise KeyboardInterrupt(str(failure[0])) from None  # the message says what was saved
            raise
        finally:
            if isinstance(self._listener, Display):
                self._listener.close()
        if failure:
            raise failure[0]
        return result[0]

    def _drain(self) -> None:
        while self._events:
            self._events.popleft()()
