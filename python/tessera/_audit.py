"""What attacks find out about the rows that a model learned from."""

from __future__ import annotations

import ctypes as c
from typing import Any

from . import _frames
from ._context import Context
from ._library import AuditOptions, lib, read_json
from ._model import Model
from ._progress import ProgressOption
from ._report import Attacks
from ._tables import incoming, take


def audit(
    data: Any,
    *,
    model: Model | None = None,
    synthetic: Any = None,
    holdout: Any = None,
    rows: int = 0,
    shadows: int = 0,
    canaries: int = 0,
    seed: int = 0,
    index: bool = False,
    device: str | None = None,
    threads: int = 0,
    memory_limit: int = 0,
    progress: ProgressOption = None,
) -> Attacks:
    """Attacks a model, or rows of one: who was in the table, what their cells hold, what comes back.

    Parameters
    ----------
    data : table or path
        The rows that the model was fitted to; as in :func:`tessera.fit`.
    model : Model, optional
        The model that is attacked, its file included.
    synthetic : table or path, optional
        Synthetic rows that are attacked; if not given, `rows` are sampled from the model.
    holdout : table or path, optional
        Rows of the same source that the model has not seen: they show what chance makes. If not given, a model with the
        same options is fitted to one half of the rows and attacked with the other.
    rows : int
        Rows that are sampled (100,000).
    shadows : int
        Models like the attacked one that are trained for the likelihood-ratio attack; even.
    canaries : int
        Rows in unusual combinations that are planted in the training table of another model.
    seed : int
        Of every draw.
    index, device, threads, memory_limit, progress
        As in :func:`tessera.fit`.

    Returns
    -------
    Attacks

    Raises
    ------
    UsageError
        There is nothing to attack, or synthetic rows alone and no holdout.

    Examples
    --------
    >>> found = tessera.audit(people, synthetic=people, holdout=tessera.example(300, seed=9))
    >>> found.mark, "copies" in found.verdict                # the training rows themselves were given away
    ('poor', True)
    """
    options = AuditOptions(seed=seed, rows=rows, shadows=shadows, canaries=canaries)
    context = Context(progress, device, threads, memory_limit)

    def work(handle: c.c_void_p) -> Attacks:
        taken = [None if table is None else take(table, index, handle) for table in (data, synthetic, holdout)]
        kind: _frames.Frames = taken[0][0]
        streams = [None if table is None else incoming(table) for table in taken]
        attacked = None if model is None else model._handle
        return Attacks(read_json(lib.tessera_audit, handle, c.byref(options), attacked, *streams), kind)

    return context.run(work)
