"""Options of the methods by name, as listed by the library."""

from __future__ import annotations

import ctypes as c
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from . import _errors
from ._library import SequenceOptions, lib, name_list, read_json


@functools.cache
def _all() -> list[dict[str, Any]]:
    return list(read_json(lib.tessera_method_options))


def methods() -> list[str]:
    """The methods of :func:`tessera.fit`.

    >>> tessera.methods()[:2]
    ['made', 'tvae']
    """
    return list(read_json(lib.tessera_info)["methods"])


def options(method: str | None = None) -> dict[str, str]:
    """The options of one method, or of all, with descriptions.

    >>> tessera.options("ctgan")["pac"]
    'rows the critic sees at once (default 10)'
    """
    found = {}
    for option in _all():
        for of_method in option["methods"]:
            if method in (None, of_method["method"]):
                default = option["default"] if method is None else of_method["default"]
                help_ = option["help"] if method is None else of_method["help"]
                found[option["option"]] = f"{help_} (default {default})"
    return found


def not_zero(name: str, value: float | None) -> float | None:
    """The library takes a zero as not given: a fit that should be private would not be."""
    if value == 0:
        raise _errors.UsageError(f"{name} is 0; it must be above. Omit it for the default.")
    return value


def settings_text(settings: Mapping[str, Any]) -> str | None:
    """Options of a method in the library's format; None selects the default.

    >>> settings_text({"pac": 10, "generator_dim": (256, 256), "epochs": None})
    'pac=10;generator_dim=256,256'
    """
    return ";".join(f"{name}={_text(value)}" for name, value in settings.items() if value is not None) or None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def rule_options(
    rules: str | Iterable[str] | None, rule: str | Iterable[str] | None, unique: Iterable[Any] | None = None
) -> dict[str, str | None]:
    """`rules`, `rule` and `unique` as options of the C interface; given rules are one per line.

    >>> rule_options(["end >= start"], "age >= 18")
    {'rules': None, 'rule': 'end >= start\\nage >= 18'}
    >>> rule_options(None, None, ("user", "loan"))["rule"]
    '"user" and "loan" are unique together'
    """
    how = rules if rules is None or isinstance(rules, str) else None
    given = [] if rules is how else list(rules or ())
    given += [rule] if isinstance(rule, str) else list(rule or ())
    pairs = list(unique or ())
    for pair in [pairs] if pairs and all(isinstance(name, str) for name in pairs) else pairs:
        given.append(" and ".join('"' + name.replace('"', '""') + '"' for name in pair) + " are unique together")
    return {"rules": how, "rule": "\n".join(given) if given else None}


def sequence_options(
    length: int | None, key: str | None, index: str | None, stride: int | None, static: Any
) -> c.c_void_p:
    options = SequenceOptions(length=length, stride=stride, key=key, index=index, statics=name_list(static))
    return c.cast(c.pointer(options), c.c_void_p)  # keeps the options alive
