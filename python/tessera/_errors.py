"""An exception class for every status of the library."""

from __future__ import annotations

import errno
import re


class TesseraError(Exception):
    """What every error of this package is."""


class UsageError(TesseraError, ValueError):
    """An option or argument makes no sense."""


class DataError(TesseraError, ValueError):
    """A table, value or type is not what was promised; the message names row, column and value."""


class FileError(TesseraError, OSError):
    """A file cannot be read or written."""


class OutOfMemoryError(TesseraError, MemoryError):
    """An allocation or ``memory_limit`` failed."""


class NumericError(TesseraError, ArithmeticError):
    """NaN or infinity in a training step."""


class ConditionError(TesseraError, ValueError):
    """``where`` names what the model has not seen, or cannot be met within the bound."""


class FormatError(TesseraError, ValueError):
    """A model file is damaged, foreign or hostile."""


class UnsupportedError(TesseraError, RuntimeError):
    """This build, machine or environment cannot do it."""


class TesseraWarning(UserWarning):
    """What a fit changed or could not do, where nobody watches its progress; see :attr:`Model.notices`."""


class CancelledError(TesseraError):
    """The call was cancelled."""


class InternalError(TesseraError, RuntimeError):
    """A broken invariant of the library: please report it."""


_OF_STATUS = {
    2: UsageError, 3: DataError, 4: FileError, 5: OutOfMemoryError, 6: NumericError, 7: ConditionError,
    8: FormatError, 9: UnsupportedError, 10: CancelledError, 70: InternalError,
}  # fmt: skip

# What a stream of the library returns; any other number came from a stream that the caller gave.
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
    """The message with the values of options as Python writes them; what is in double quotes is the caller's.

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
