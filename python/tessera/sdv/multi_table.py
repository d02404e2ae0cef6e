"""Not here: the names of SDV's ``sdv.multi_table``, with what takes their place."""

from typing import Any

from .. import _errors


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    raise _errors.UnsupportedError(
        f"tessera.sdv.multi_table has no {name}. Tessera learns one table at a time: tessera.fit(table)."
    )
