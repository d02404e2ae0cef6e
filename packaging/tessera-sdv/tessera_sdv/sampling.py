"""Conditions for ``sample_from_conditions``."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Mapping
from typing import Any

from tessera import UsageError


class Condition:
    """Rows to draw whose columns have these values.

    >>> Condition(num_rows=3, column_values={"city": "O'Hare", "age": 40}).where()
    '"city" = \\'O\\'\\'Hare\\' and "age" = 40'
    """

    def __init__(self, column_values: Mapping[str, Any], num_rows: int = 1) -> None:
        if not column_values:
            raise UsageError("A condition needs column_values: {'column': value}.")
        self.column_values = dict(column_values)
        self.num_rows = num_rows

    def get_num_rows(self) -> int:
        return self.num_rows

    def get_column_values(self) -> dict[str, Any]:
        return dict(self.column_values)

    def where(self) -> str:
        """The same as Tessera writes it."""
        return " and ".join(
            f"{quoted(name)} is null" if value is None or value != value else f"{quoted(name)} = {literal(value)}"
            for name, value in self.column_values.items()
        )


def quoted(name: Any) -> str:
    """The name of a column in an expression of Tessera."""
    return '"' + str(name).replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A value in an expression of Tessera."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "true" if value else "false"
    if isinstance(value, numbers.Real):
        if math.isinf(value):
            raise UsageError("A value of a condition is infinite.")
        return str(value)
    if isinstance(value, datetime.datetime):  # a Timestamp of pandas is one
        value = value.strftime("%Y-%m-%d" if value.time() == datetime.time() else "%Y-%m-%d %H:%M:%S")
    return "'" + str(value).replace("'", "''") + "'"
