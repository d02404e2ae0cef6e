"""Properties of a frame that sampled rows restore, without values that a model must not reveal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Callable

from . import _frames


def known_looks(looks: _frames.Looks, document: Any, drawn: Callable[[], Any]) -> _frames.Looks:
    """Looks without the categories that the model does not know: rare ones must not stand in its file.

    `drawn` samples one row as a pyarrow table: it has the categories of columns that a rule computes.
    """
    if not looks.get("categories"):
        return looks
    known = dict(_levels(document))
    for name, levels in list(known.items()):  # columns under a rule of fixed combinations are one column of the model
        names, cells = name.split(" | "), [_cells(level) for level in levels]
        if len(names) > 1 and all(len(parts) == len(names) for parts in cells):
            for place, part in enumerate(names):
                known.setdefault(part, {parts[place] for parts in cells})
    if not known.keys() >= looks["categories"].keys() and "pandas" in looks:
        for name, column in zip((row := drawn()).column_names, row.columns):
            if hasattr(column.type, "index_type"):
                known.setdefault(name, set(map(str, column.combine_chunks().dictionary.to_pylist())))
    kept = {name: _known(given, known[name]) for name, given in looks["categories"].items() if name in known}
    return {**looks, "categories": kept}


def _known(given: dict[str, Any], known: set[str | None]) -> dict[str, Any]:
    """The categories of a column that the model knows, and those that no row has."""
    unused = given.get("unused", ())
    values = [value for value in given["values"] if str(value) in known or value in unused]
    kept = {**given, "values": values}
    kept.pop("unused", None)
    if "intervals" in given:
        kept["intervals"] = {value: given["intervals"][value] for value in values}
    return kept


def _cells(level: str) -> list[str | None]:
    """The values of a combination, which the model stores as one text; None is missing.

    >>> _cells("Paris|France"), _cells("a\\\\|b|\\\\N")
    (['Paris', 'France'], ['a|b', None])
    """
    cells = re.findall(r"(?:^|\|)((?:[^|\\]|\\.)*)", level)
    return [None if cell == r"\N" else re.sub(r"\\(.)", r"\1", cell) for cell in cells]


def _levels(node: Any) -> Iterator[Any]:
    """The columns of a model's document that list their values, with the values as texts."""
    if isinstance(node, dict) and "name" in node and ("levels" in node or "value" in node):
        yield node["name"], set(map(str, node.get("levels", [node.get("value")])))
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _levels(child)
