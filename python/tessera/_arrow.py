"""Arrow C streams without an Arrow library: imported from any object, exported to any consumer.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

import contextlib
import ctypes as c
import sys
from collections.abc import Iterator
from typing import Any, Callable

from . import _errors


class Stream(c.Structure):
    """``struct ArrowArrayStream``."""

    _fields_ = [(name, c.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class Schema(c.Structure):
    """``struct ArrowSchema``."""

    _fields_ = [
        ("format", c.c_char_p), ("name", c.c_char_p), ("metadata", c.c_void_p), ("flags", c.c_int64),
        ("n_children", c.c_int64), ("children", c.c_void_p), ("dictionary", c.c_void_p), ("release", c.c_void_p),
        ("private_data", c.c_void_p),
    ]  # fmt: skip


class Array(c.Structure):
    """``struct ArrowArray``."""

    _fields_ = [
        ("length", c.c_int64), ("null_count", c.c_int64), ("offset", c.c_int64), ("n_buffers", c.c_int64),
        ("n_children", c.c_int64), ("buffers", c.c_void_p), ("children", c.c_void_p), ("dictionary", c.c_void_p),
        ("release", c.c_void_p), ("private_data", c.c_void_p),
    ]  # fmt: skip


_GET = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
_GET_ERROR = c.CFUNCTYPE(c.c_char_p, c.c_void_p)
_RELEASE = c.CFUNCTYPE(None, c.c_void_p)
_capsule_pointer = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(("PyCapsule_GetPointer", c.pythonapi))
_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(("PyCapsule_New", c.pythonapi))


class _Held:
    """A capsule and its struct, which must outlive it."""

    def __init__(self, struct: c.Structure, name: bytes) -> None:
        self.struct = struct
        self.capsule = _new_capsule(c.addressof(struct), name, None)

    def references(self) -> int:
        return sys.getrefcount(self.capsule)


_held: list[_Held] = []
_OURS_ONLY = _Held(Stream(), b"arrow_array_stream").references()


def release(struct: Any) -> None:
    """Releases the contents of a struct, unless a consumer moved them."""
    if struct.release:
        _RELEASE(struct.release)(c.addressof(struct))


def to_capsule(struct: c.Structure, name: bytes) -> Any:
    """A capsule that owns a stream, schema or array."""
    release_unused()
    held = _Held(struct, name)
    capsule = held.capsule
    _held.append(held)
    return capsule


def release_unused() -> None:
    """Releases the contents of capsules that no consumer holds any more.

    A destructor of the capsule would run Python code while an exception is pending, if a reader fails.
    """
    for held in _held[:]:
        if held.references() != _OURS_ONLY:
            continue
        with contextlib.suppress(ValueError):  # another thread was first; a lock could be held during a fork
            _held.remove(held)
            release(held.struct)


class Incoming:
    """The stream of any object with ``__arrow_c_stream__``, for a function of the library that consumes it."""

    def __init__(self, table: Any) -> None:
        try:
            self._capsule = table.__arrow_c_stream__()
        except _errors.TesseraError:
            raise
        except Exception as error:  # any error of the table's library: Arrow cannot represent the table
            raise _errors.DataError(f"The table cannot be passed as an Arrow stream: {error}") from error
        self.address = _capsule_pointer(self._capsule, b"arrow_array_stream")
        self._as_parameter_ = c.c_void_p(self.address)  # ctypes accepts this object and keeps it alive during the call

    def move_to(self, stream: Stream) -> None:
        c.memmove(c.byref(stream), self.address, c.sizeof(Stream))
        Stream.from_address(self.address).release = None


class Rows:
    """Rows of the library, generated while they are read; the same on every read.

    Any consumer of Arrow streams accepts them: ``pyarrow.table(rows)``, ``polars.DataFrame(rows)``,
    ``pandas.DataFrame.from_arrow(rows)``, ``duckdb.from_arrow(rows)``, :func:`tessera.fit`.
    """

    def __init__(self, open_stream: Callable[[Stream], None]) -> None:
        self._open = open_stream

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        stream = Stream()
        self._open(stream)
        return to_capsule(stream, b"arrow_array_stream")


class Batch:
    """One batch of rows, for any consumer of ``__arrow_c_array__``."""

    def __init__(self, stream: Stream, array: Array) -> None:
        self._stream, self._array = stream, array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        schema = Schema()
        _call(self._stream, self._stream.get_schema, schema)
        return to_capsule(schema, b"arrow_schema"), to_capsule(self._array, b"arrow_array")


def batches(rows: Any) -> Iterator[Batch]:
    """The batches of rows. Errors are raised as exceptions of this package, not as errno values of the stream."""
    stream = Stream()
    Incoming(rows).move_to(stream)
    try:
        while True:
            array = Array()
            _call(stream, stream.get_next, array)
            if not array.release:
                return
            yield Batch(stream, array)
            release(array)
    finally:
        release(stream)
        release_unused()


def _call(stream: Stream, function: int, out: c.Structure) -> None:
    failed = _GET(function)(c.addressof(stream), c.addressof(out))
    if failed:
        message = _GET_ERROR(stream.get_last_error)(c.addressof(stream))
        raise _errors.of_errno(failed, (message or b"").decode())
