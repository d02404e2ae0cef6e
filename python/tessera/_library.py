"""The shared library: its location, its option structs and its functions (include/tessera/tessera.h)."""

from __future__ import annotations

import ctypes as c
import json
import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _errors

_ABI = 1


def _load() -> c.CDLL:
    beside = Path(__file__).with_name(f"libtessera.so.{_ABI}")
    path = os.environ.get("TESSERA_LIBRARY") or (str(beside) if beside.exists() else beside.name)
    try:
        library = c.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"libtessera cannot be loaded: {error}. Install the package with its library (pip install .), "
            "or set the environment variable TESSERA_LIBRARY to the path of the library."
        ) from error
    library.tessera_abi_version.restype = c.c_uint32
    if library.tessera_abi_version() != _ABI:
        raise ImportError(f"{path} has ABI {library.tessera_abi_version()}; this package needs ABI {_ABI}.")
    return library


def checked(name: str, kind: Any, value: Any) -> Any:
    """Checks a value for ctypes, which would accept a number as an address and truncate one that is too large."""
    if kind is c.c_char_p and not isinstance(value, bytes):
        if not isinstance(value, str) or "\0" in value:
            raise _errors.UsageError(f"{name} is {value!r}; it must be a text without NUL bytes.")
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise _errors.UsageError(f"{name} is {value!r}: it contains an unpaired surrogate.") from None
    if kind in (c.c_int32, c.c_int64, c.c_uint64):
        try:
            number = operator.index(value)
        except TypeError:
            raise _errors.UsageError(f"{name} is {value!r}; it must be an integer.") from None
        if kind(number).value != number:
            raise _errors.UsageError(f"{name} is {number} and out of range.")
        return number
    return value


def path_bytes(path: Any) -> bytes:
    """
    >>> path_bytes("people.csv")
    b'people.csv'
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise _errors.UsageError(f"{path!r} is not a path.")
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise _errors.UsageError(f"{path!r} is not a path: it contains a NUL byte.")
    return encoded


class _Options(c.Structure):
    """An option struct: fields that are not given are 0 or NULL, which selects the default."""

    def __init__(self, **fields: Any) -> None:
        kinds = {field[0]: field[1] for field in self._fields_}
        given = {name: checked(name, kinds[name], value) for name, value in fields.items() if value is not None}
        super().__init__(struct_size=c.sizeof(self), **given)


def _fields(lines: str) -> Any:
    """The fields of lines such as ``text method preset``: a C type and names."""
    types = {
        "size": c.c_size_t, "int32": c.c_int32, "int64": c.c_int64, "uint64": c.c_uint64, "double": c.c_double,
        "text": c.c_char_p, "pointer": c.c_void_p, "char": c.c_char,
    }  # fmt: skip
    named = [(name, types[kind]) for kind, *names in map(str.split, lines.strip().splitlines()) for name in names]
    return [("struct_size", c.c_size_t), *named]


class ContextOptions(_Options):
    """``tessera_context_options``."""

    _fields_ = _fields(
        """
        int32 threads
        pointer progress log user
        text device
        int64 memory_limit
        text scratch
        int64 memory_held
        """
    )


class Progress(_Options):
    """``tessera_progress``."""

    _fields_ = _fields(
        """
        text phase
        double done total
        text unit note
        int32 finished
        """
    )


class Losses(_Options):
    """``tessera_losses``."""

    _fields_ = _fields(
        """
        int64 step
        double epoch seconds
        text method
        pointer names values
        size count
        """
    )

    def by_name(self) -> dict[str, float]:
        """One line: position and losses; a loss that the phase does not have is 0."""
        names = (c.c_char_p * self.count).from_address(self.names)
        values = (c.c_double * self.count).from_address(self.values)
        losses = {name.decode(): value for name, value in zip(names, values) if name and value != 0}
        return {"step": self.step, "epoch": self.epoch, "seconds": self.seconds, **losses}


class SequenceOptions(_Options):
    """``tessera_sequence_options``."""

    _fields_ = _fields(
        """
        int32 length stride
        text key index statics
        """
    )


class FitOptions(_Options):
    """``tessera_fit_options``; options of a method are in `settings`."""

    _fields_ = _fields(
        """
        text method preset settings
        uint64 seed
        text passes_off source
        pointer losses losses_user
        text calibrate
        pointer sequences
        text checkpoint checkpoint_every
        int32 resume patience
        text keep max_time types
        int32 rare_categories
        double seconds_used
        text recompute devices
        int32 virtual_shards
        text rules rule precision
        int32 micro_batch
        text numbers parallel
        double epsilon delta
        text privacy fusion
        """
    )


class SampleOptions(_Options):
    """``tessera_sample_options``."""

    _fields_ = _fields(
        """
        uint64 seed
        text where
        int32 batch_size max_tries
        pointer report
        text calibrate
        double min_yield
        text texts precision
        int32 together distinct
        pointer against
        """
    )


class GivenOptions(_Options):
    """``tessera_given_options``."""

    _fields_ = _fields(
        """
        uint64 seed
        int32 batch_size max_candidates completes
        text file precision
        pointer report
        text where texts
        int32 steps copies drawn_only
        """
    )


class CsvOptions(_Options):
    """``tessera_csv_options``."""

    _fields_ = _fields(
        """
        text types missing
        char delimiter
        int32 header
        pointer like
        int32 more_columns
        int64 max_rows
        uint64 sample_seed
        text schema
        """
    )


class CsvWriteOptions(_Options):
    """``tessera_csv_write_options``."""

    _fields_ = _fields(
        """
        int32 overwrite
        char delimiter
        pointer written
        text format
        """
    )


class PriorOptions(_Options):
    """``tessera_prior_options``."""

    _fields_ = _fields(
        """
        uint64 seed
        int64 min_rows max_rows min_features max_features min_classes max_classes
        text kind task
        double min_imbalance max_imbalance min_separability max_separability min_missing max_missing
        """
    )


class EvaluateOptions(_Options):
    """``tessera_evaluate_options``."""

    _fields_ = _fields(
        """
        uint64 seed
        int32 without_distances
        text target
        int32 without_c2st without_utility
        pointer sequences
        int32 judges drawings
        text rules rule where
        int32 without_attacks
        pointer model
        """
    )


class AuditOptions(_Options):
    """``tessera_audit_options``."""

    _fields_ = _fields(
        """
        uint64 seed
        int64 rows
        int32 shadows canaries
        """
    )


class DedupOptions(_Options):
    """``tessera_dedup_options``."""

    _fields_ = _fields(
        """
        text mode
        double threshold
        text columns texts source output
        int32 overwrite
        """
    )


class File(_Options):
    """``tessera_file``."""

    _fields_ = _fields(
        """
        text name path
        int32 use overwrite
        """
    )


FILE_REGULAR = 2  # enum tessera_file_use: a model

PROGRESS_FN = c.CFUNCTYPE(None, c.POINTER(Progress), c.c_void_p)
LOSSES_FN = c.CFUNCTYPE(None, c.POINTER(Losses), c.c_void_p)

lib = _load()
for _name in ("tessera_version", "tessera_last_error"):
    getattr(lib, _name).restype = c.c_char_p


def _check(status: int, _function: Any, _arguments: Any) -> int:
    if status:  # the message belongs to this thread, which made no other call since
        raise _errors.of_status(status, lib.tessera_last_error().decode())
    return status


def _declare(name: str, *arguments: Any) -> None:
    function = getattr(lib, name)
    function.argtypes, function.restype, function.errcheck = arguments, c.c_int, _check


_pointer, _text, _int64 = c.c_void_p, c.c_char_p, c.c_int64
_declare("tessera_context_new", _pointer, _pointer)
_declare("tessera_check_fit_options", _pointer)
_declare("tessera_method_options", _pointer)
_declare("tessera_prior_draw", _pointer, _pointer, _int64, _int64, _pointer)
_declare("tessera_fit", _pointer, _pointer, _pointer, _pointer)
_declare("tessera_checkpoint_remove", _text)
_declare("tessera_model_load", _text, _pointer)
_declare("tessera_model_load_memory", _text, c.c_size_t, _pointer)
_declare("tessera_model_save_memory", _pointer, _pointer, _pointer)
_declare("tessera_model_schema", _pointer, _pointer)
_declare("tessera_model_describe", _pointer, _pointer)
_declare("tessera_sample", _pointer, _pointer, _int64, _int64, _pointer, _pointer)
_declare("tessera_given_open", _pointer, _pointer, _text, _pointer, _pointer)
_declare("tessera_sample_given", _pointer, _pointer, _pointer, _pointer, _pointer)
_declare("tessera_inspect", _pointer, _pointer, _pointer)
_declare("tessera_evaluate", _pointer, _pointer, _pointer, _pointer, _pointer, _pointer)
_declare("tessera_evaluate_tables", _pointer, _pointer, _pointer, _pointer, _pointer, c.c_size_t, _pointer, _pointer)
_declare("tessera_audit", _pointer, _pointer, _pointer, _pointer, _pointer, _pointer, _pointer)
_declare("tessera_score", _pointer, _pointer, _pointer, c.c_int, _pointer, _pointer)
_declare("tessera_predict", _pointer, _pointer, _pointer, _text, _pointer)
_declare("tessera_dedup", _pointer, _pointer, _pointer, _pointer, _pointer, _pointer, _pointer)
_declare("tessera_schema_write", _text, _text, c.c_int)
_declare("tessera_report_html", _text, _pointer)
_declare("tessera_report_write", _text, _text, c.c_int)
_declare("tessera_info", _pointer)
_declare("tessera_process_memory", _pointer, _pointer, _pointer)
_declare("tessera_table_open", _pointer, _pointer, c.c_size_t, _pointer, _pointer)
_declare("tessera_table_write", _pointer, _pointer, _text, _pointer)
_declare("tessera_check_files", _pointer, c.c_size_t)
_declare("tessera_example", _pointer, _text, _int64, c.c_uint64, _pointer)
for _name in ("context_free", "context_cancel", "model_free", "string_free", "memory_free", "prior_table_free"):
    _function = getattr(lib, f"tessera_{_name}")
    _function.argtypes, _function.restype = (_pointer,), None


def read_text(function: Any, *arguments: Any) -> str:
    """The text that a function writes to its last parameter ``char**``."""
    text = c.c_void_p()
    function(*arguments, c.byref(text))
    try:
        return c.string_at(text.value or 0).decode()
    finally:
        lib.tessera_string_free(text)


def read_json(function: Any, *arguments: Any) -> Any:
    return json.loads(read_text(function, *arguments))


def quoted(name: Any) -> str:
    """A name, quoted for lists of names."""
    return '"' + str(name).replace('"', '""') + '"'


def name_list(names: str | Iterable[Any] | None) -> str | None:
    if names is None:
        return None
    return ",".join(map(quoted, [names] if isinstance(names, str) else names))


def type_list(types: Mapping[Any, str] | None) -> str | None:
    """
    >>> type_list({"zip": "category", "a,b": "date"})
    '"zip"=category,"a,b"=date'
    """
    return ",".join(f"{quoted(name)}={type_}" for name, type_ in type_dict(types).items()) if types else None


def type_dict(types: Mapping[Any, str] | None) -> dict[Any, str]:
    if types and not isinstance(types, Mapping):
        raise _errors.UsageError(f'types is {types!r}; it must be a dictionary of columns: {{"zip": "category"}}.')
    return dict(types or {})


def available_memory() -> int:
    """Bytes available on the machine or in the process's cgroup; 0: unknown."""
    resident, peak, available = c.c_int64(), c.c_int64(), c.c_int64()
    lib.tessera_process_memory(c.byref(resident), c.byref(peak), c.byref(available))
    return available.value


def version() -> str:
    return str(lib.tessera_version().decode())


def info() -> dict[str, Any]:
    """This library and machine: version, instruction sets, processors, devices or why none is usable.

    >>> tessera.info()["abi"]
    1
    """
    return dict(read_json(lib.tessera_info))
