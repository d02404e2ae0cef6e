"""The columns of a model."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from typing import Any, NamedTuple

from ._arrow import Schema as ArrowSchema
from ._arrow import release, to_capsule


class Column(NamedTuple):
    """One column: its name, its type in the model (``"integer"``, ``"category"``, …), and why it has that type."""

    name: str
    type: str
    reason: str


class Schema:
    """The columns of sampled rows, in the order of the fitted table.

    ``pyarrow.schema(model.schema)`` gives their Arrow types.

    Examples
    --------
    >>> for column in model.schema:
    ...     print(column.name, column.type)
    person_id identifier
    gender category
    age integer
    ...
    >>> model.schema["age"].type
    'integer'
    """

    def __init__(self, export: Any) -> None:
        self._export = export  # fills a struct ArrowSchema
        schema = ArrowSchema()
        export(schema)
        try:
            self._columns = [_column(child) for child in _children(schema)]
        finally:
            release(schema)

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def __getitem__(self, name: str) -> Column:
        for column in self._columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self]

    def __repr__(self) -> str:
        width = max(map(len, self.names), default=0)
        return "\n".join(f"{column.name:<{width}}  {column.type:<10}  {column.reason}" for column in self)

    def __arrow_c_schema__(self) -> Any:
        schema = ArrowSchema()
        self._export(schema)
        return to_capsule(schema, b"arrow_schema")


def _children(schema: ArrowSchema) -> list[ArrowSchema]:
    pointers = c.cast(schema.children, c.POINTER(c.c_void_p))
    return [ArrowSchema.from_address(pointers[i]) for i in range(schema.n_children)]


def _column(schema: ArrowSchema) -> Column:
    metadata = _metadata(schema.metadata)
    return Column(schema.name.decode(), metadata.get("tessera.type", ""), metadata.get("tessera.reason", ""))


def _metadata(address: int) -> dict[str, str]:
    """Arrow's metadata: int32 count, then int32 length and bytes of each key and value."""
    found: dict[str, str] = {}
    at = address or 0

    def number() -> int:
        nonlocal at
        at += 4
        return c.c_int32.from_address(at - 4).value

    def text() -> str:
        nonlocal at
        length = number()
        at += length
        return c.string_at(at - length, length).decode()

    for _ in range(number() if at else 0):
        key = text()
        found[key] = text()
    return found
