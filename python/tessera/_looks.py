"""How rows look as a frame, without what a model must not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import _frames


def known_looks(looks: _frames.Looks, document: Any) -> _frames.Looks:
    """Looks without the categories that the model does not know: rare ones must not stand in its file."""
    if not looks.get("categories"):
        return looks
    known = dict(_levels(document))
    for name, levels in list(known.items()):  # columns that a rule keeps in combinations are one column of the model
        names, cells = name.split(" | "), [_cells(level) for level in levels]
        if len(names) > 1 and all(len(parts) == len(names) for parts in cells):
            for place, part in enumerate(names):
                known.setdefault(part, {parts[place] for parts in cells})
    kept = {
        name: {**given, "values": [value for value in given["values"] if str(value) in known[name]]}
        for name, given in looks["categories"].items()
        if name in known
    }
    return {**looks, "categories": kept}


def _cells(level: str) -> list[str | None]:
    """The values of a combination, as the model writes them in one text; None is missing.

    >>> _cells("Paris|France"), _cells("a\\\\|b|\\\\N")
    (['Paris', 'France'], ['a|b', None])
    """
    cells = re.findall(r"(?:^|\|)((?:[^|\\]|\\.)*)", level)
    return [None if cell == r"\N" else re.sub(r"\\(.)", r"\1", cell) for cell in cells]


def _levels(node: Any) -> Iterator[Any]:
    """The columns of a model's document whose values are a list, with these as texts."""
    if isinstance(node, dict) and "name" in node and ("levels" in node or "value" in node):
        yield node["name"], set(map(str, node.get("levels", [node.get("value")])))
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _levels(child)
