"""An exception class for every status of the library."""

from __future__ import annotations

import errno
import re


class TesseraError(Exception):
    """Base class of all errors of this package."""


class UsageError(TesseraError, ValueError):
    """An option or argument is invalid."""


class DataError(TesseraError, ValueError):
    """A table, value or type is invalid; the message names row, column and value."""


class FileError(TesseraError, OSError):
    """A file cannot be read or written."""


class OutOfMemoryError(TesseraError, MemoryError):
    """Out of memory, or ``memory_limit`` is too small."""


class NumericError(TesseraError, ArithmeticError):
    """NaN or infinity in a training step."""


class ConditionError(TesseraError, ValueError):
    """``where`` names a column or value unknown to the model, or ``max_tries`` candidates did not satisfy it."""


class FormatError(TesseraError, ValueError):
    """A model file is damaged, or it is not a model file."""


class UnsupportedError(TesseraError, RuntimeError):
    """Not supported by this build, machine or environment."""


class TesseraWarning(UserWarning):
    """Something that a fit changed or could not do; raised if progress is not shown. See :attr:`Model.notices`."""


class CancelledError(TesseraError):
    """The call was cancelled."""


class InternalError(TesseraError, RuntimeError):
    """A broken invariant of the library: please report it."""


_OF_STATUS = {
    2: UsageError, 3: DataError, 4: FileError, 5: OutOfMemoryError, 6: NumericError, 7: ConditionError,
    8: FormatError, 9: UnsupportedError, 10: CancelledError, 70: InternalError,
}  # fmt: skip

# Error codes of the library's streams; other codes come from a stream of the caller.
_OF_ERRNO = {
    errno.EINVAL: UsageError, errno.EILSEQ: DataError, errno.EIO: FileError, errno.ENOMEM: OutOfMemoryError,
    errno.ERANGE: NumericError, errno.EDOM: ConditionError, errno.EBADMSG: FormatError,
    errno.ENOTSUP: UnsupportedError, errno.ECANCELED: CancelledError,
}  # fmt: skip


def of_status(status: int, message: str) -> TesseraError:
    return _OF_STATUS.get(status, InternalError)(in_python(message))


def of_errno(number: int, message: str) -> TesseraError:
    return _OF_ERRNO.get(number, InternalError)(in_python(message))


def in_python(message: str) -> str:
    """The message with option values in Python syntax; text in double quotes comes from the caller and stays.

    >>> in_python("Read it as text with `types=age=category`, or replace it with `overwrite=yes`. See `batch_size`.")
    "Read it as text with `types={'age': 'category'}`, or replace it with `overwrite=True`. See `batch_size`."
    """
    value = r'"(?:[^"\\]|\\.)*"|[^`\s"]+'
    message = re.sub(rf'"[^"\n]*"|`(\w+)=({value})`', lambda m: _argument(m[1], m[2]) if m[1] else m[0], message)
    return re.sub(r"`without_(distances|c2st|utility)`", r"`\1=False`", message)


def _argument(name: str, value: str) -> str:
    if value.startswith('"'):
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    if name == "types":
        column, kind = value.rsplit("=", 1)
        literal: object = {column[1:-1].replace('""', '"') if column.startswith('"') else column: kind}
    else:
        literal = {"yes": True, "no": False}.get(value, value)
    number = name != "missing" and re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", value)
    return f"`{name}={value if number else repr(literal)}`"
