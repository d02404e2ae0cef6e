"""Not here: the names of SDV's ``sdv.sequential``, with what takes their place."""

from typing import Any

from .. import _errors


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    raise _errors.UnsupportedError(
        f'tessera.sdv.sequential has no {name}. Fit tables of sequences by tessera.fit(table, sequence_key="id").'
    )
