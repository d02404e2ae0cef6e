"""Constraints by the names of SDV's classes: what every row keeps, as Tessera's rules (docs/use/rules.md).

``synthesizer.add_constraints([Inequality("start", "end")])`` takes these objects, and the older dictionaries of
``constraint_class`` and ``constraint_parameters``. `table_name` has no effect: there is one table.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import pandas
from tessera import DataError, UnsupportedError, UsageError

from .sampling import literal, quoted

_RELATIONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Constraint:
    """What the constraints share: their columns, parameters, rules and check."""

    def __init__(self, columns: Iterable[str], **parameters: Any) -> None:
        self.columns = tuple(columns)
        self._parameters = parameters

    def rules(self, data: Any) -> list[str]:
        """The rules, as ``tessera.fit(rule=)`` takes them, for a DataFrame that keeps them."""
        return [
            f"{quoted(name)} {relation} {quoted(than) if is_column else literal(than)}"
            for name, relation, than, is_column in self._comparisons(data)
        ]

    def check(self, data: Any) -> None:
        """Raises :class:`tessera.DataError` if a row of a DataFrame breaks the constraint."""
        broken = self._broken(data)
        if not broken.any():
            return
        row = int(broken.to_numpy().argmax())
        cells = ", ".join(f"{name} = {data[name].iloc[row]}" for name in self.columns)
        raise DataError(
            f"{int(broken.sum())} of the rows break {self!r}; the first is row {row + 1}: {cells}. "
            "Drop these rows, or omit the constraint."
        )

    def to_dict(self) -> dict[str, Any]:
        """The older form: ``constraint_class`` and ``constraint_parameters``."""
        parameters = {name: _plain(value) for name, value in self._parameters.items()}
        return {"constraint_class": type(self).__name__, "constraint_parameters": parameters}

    def _comparisons(self, data: Any) -> list[tuple[str, str, Any, bool]]:
        """(column, relation, value or column, whether it is a column)."""
        return []

    def _broken(self, data: Any) -> Any:
        """A Series: which rows break the constraint. Missing values break none."""
        broken = pandas.Series(False, index=data.index)
        for name, relation, than, is_column in self._comparisons(data):
            other = data[than] if is_column else than
            given = data[name].notna() & (other.notna() if is_column else True)
            broken |= given & ~_RELATIONS[relation](data[name], other)
        return broken

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items() if value is not None)
        return f"{type(self).__name__}({given})"


class _Ordered(Constraint):
    """Columns each at or above the one before it; strictly, unless a row of the data has equal values."""

    def _comparisons(self, data: Any) -> list[tuple[str, str, Any, bool]]:
        pairs, strict = list(zip(self.columns, self.columns[1:])), self._parameters["strict_boundaries"]
        if strict is None:
            strict = not any((data[low] == data[high]).any() for low, high in pairs)
        return [(high, ">" if strict else ">=", low, True) for low, high in pairs]


class Inequality(_Ordered):
    """One column is above another in every row.

    >>> import pandas
    >>> Inequality("start", "end").rules(pandas.DataFrame({"start": [1, 2], "end": [1, 3]}))
    ['"end" >= "start"']
    """

    def __init__(
        self,
        low_column_name: str,
        high_column_name: str,
        strict_boundaries: bool | None = None,
        table_name: str | None = None,
    ) -> None:
        columns = {"low_column_name": low_column_name, "high_column_name": high_column_name}
        super().__init__(columns.values(), **columns, strict_boundaries=strict_boundaries)


class Range(_Ordered):
    """One column lies between two others in every row."""

    def __init__(
        self,
        low_column_name: str,
        middle_column_name: str,
        high_column_name: str,
        strict_boundaries: bool | None = None,
        table_name: str | None = None,
    ) -> None:
        columns = {
            "low_column_name": low_column_name,
            "middle_column_name": middle_column_name,
            "high_column_name": high_column_name,
        }
        super().__init__(columns.values(), **columns, strict_boundaries=strict_boundaries)


class _Bounded(Constraint):
    """A column against values."""

    def __init__(self, column_name: str, bounds: Iterable[tuple[str, Any]], **parameters: Any) -> None:
        super().__init__((column_name,), column_name=column_name, **parameters)
        self._bounds = tuple(bounds)

    def _comparisons(self, data: Any) -> list[tuple[str, str, Any, bool]]:
        (name,) = self.columns
        is_time = pandas.api.types.is_datetime64_any_dtype(data[name])
        return [(name, is_, pandas.to_datetime(v) if is_time else v, False) for is_, v in self._bounds]


class ScalarInequality(_Bounded):
    """A column is above or below a value in every row.

    >>> import pandas
    >>> ScalarInequality("age", ">=", 18).rules(pandas.DataFrame({"age": [20]}))
    ['"age" >= 18']
    """

    def __init__(self, column_name: str, relation: str, value: Any) -> None:
        if relation not in _RELATIONS:
            raise UsageError(f"ScalarInequality: the relation {relation!r} is none of {', '.join(_RELATIONS)}.")
        super().__init__(column_name, [(relation, value)], relation=relation, value=value)


class ScalarRange(_Bounded):
    """A column lies between two values in every row."""

    def __init__(self, column_name: str, low_value: Any, high_value: Any, strict_boundaries: bool = True) -> None:
        above, below = (">", "<") if strict_boundaries else (">=", "<=")
        bounds = [(above, low_value), (below, high_value)]
        given = {"low_value": low_value, "high_value": high_value, "strict_boundaries": strict_boundaries}
        super().__init__(column_name, bounds, **given)


class Positive(_Bounded):
    """A column is 0 or more, or above 0, in every row."""

    def __init__(self, column_name: str, strict_boundaries: bool = False) -> None:
        super().__init__(column_name, [(">" if strict_boundaries else ">=", 0)], strict_boundaries=strict_boundaries)


class Negative(_Bounded):
    """A column is 0 or less, or below 0, in every row."""

    def __init__(self, column_name: str, strict_boundaries: bool = False) -> None:
        super().__init__(column_name, [("<" if strict_boundaries else "<=", 0)], strict_boundaries=strict_boundaries)


class FixedCombinations(Constraint):
    """Only combinations of values that real rows have.

    >>> FixedCombinations(["city", "country"]).rules(None)
    ['"city" and "country" occur in fixed combinations']
    """

    def __init__(self, column_names: Iterable[str], table_name: str | None = None) -> None:
        names = list(column_names)
        if len(names) < 2:
            raise UsageError(f"{type(self).__name__} needs two columns or more.")
        super().__init__(names, column_names=names)

    def rules(self, data: Any) -> list[str]:
        *first, last = map(quoted, self.columns)
        return [f"{', '.join(first)} and {last} occur in fixed combinations"]


class OneHotEncoding(FixedCombinations):
    """Exactly one of the columns is 1 in every row, the others are 0."""

    def __init__(
        self, column_names: Iterable[str], table_name: str | None = None, learning_strategy: str = "one_hot"
    ) -> None:
        super().__init__(column_names, table_name)

    def _broken(self, data: Any) -> Any:
        values = data[list(self.columns)]
        return ~values.isin([0, 1]).all(axis=1) | (values.sum(axis=1) != 1)


def _plain(value: Any) -> Any:
    """A value as JSON writes it: a number of numpy as one of Python, a time as a text."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return str(value)
    return value.item() if hasattr(value, "item") else value


_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        FixedCombinations, Inequality, Negative, OneHotEncoding, Positive, Range, ScalarInequality, ScalarRange,
    )
}  # fmt: skip
_MISSING = {
    "FixedIncrements": "Tessera keeps the steps of a column that its table shows; omit the constraint.",
    "Unique": "metadata.set_primary_key(column) makes the values of a column unique.",
}


def constraint_of(given: Any) -> Constraint:
    """A constraint, from an object of this module or from the older dictionary."""
    if isinstance(given, Constraint):
        return given
    if not isinstance(given, Mapping) or "constraint_class" not in given:
        raise UsageError(
            f"A constraint is an object of tessera_sdv.cag or a dictionary of constraint_class and "
            f"constraint_parameters, not {type(given).__name__}."
        )
    name = given["constraint_class"]
    if name not in _CLASSES:
        way_out = _MISSING.get(name, "tessera.fit(table, rule=...) takes rules of its own language.")
        raise UnsupportedError(f"There is no constraint {name!r}: {way_out} There are {', '.join(_CLASSES)}.")
    try:
        return _CLASSES[name](**given.get("constraint_parameters", {}))
    except TypeError as error:
        raise UsageError(f"The constraint {name}: {error}.") from None
