"""Metadata of one table, in the JSON formats that SDV reads and writes."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any, Union

import pandas
from tessera import DataError, FormatError, UnsupportedError, UsageError

Path = Union[str, os.PathLike]
_TABLE = "table"
_PLAIN = ("numerical", "categorical", "boolean", "datetime", "id", "unknown")


class Metadata:
    """The metadata of SDV since its version 1.13, with one table.

    >>> metadata = Metadata.detect_from_dataframe(people)
    >>> metadata.update_column("children", sdtype="categorical")
    >>> metadata.columns["children"], metadata.columns["joined"]["sdtype"]
    ({'sdtype': 'categorical'}, 'datetime')
    """

    METADATA_SPEC_VERSION = "V1"

    def __init__(self, table_name: str = _TABLE) -> None:
        self.table_name = table_name
        self.columns: dict[str, dict[str, Any]] = {}
        self.primary_key: str | None = None

    @classmethod
    def detect_from_dataframe(cls, data: Any, table_name: str = _TABLE) -> Metadata:
        """Finds the columns of a DataFrame and their sdtypes."""
        metadata = cls(table_name)
        metadata._detect(data)
        return metadata

    def add_column(self, column_name: str, table_name: str | None = None, **described: Any) -> None:
        """Adds a column: ``add_column("age", sdtype="numerical")``."""
        if column_name in self.columns:
            raise UsageError(f"The column {column_name!r} is in the metadata already; use update_column.")
        self._set(column_name, table_name, described)

    def update_column(self, column_name: str, table_name: str | None = None, **described: Any) -> None:
        """Replaces the description of a column."""
        self.check_column(column_name)
        self._set(column_name, table_name, described)

    def set_primary_key(self, column_name: str, table_name: str | None = None) -> None:
        """Names the column that identifies rows; its values are generated."""
        self._check_table(table_name)
        self.check_column(column_name)
        self.primary_key = column_name

    def validate(self) -> None:
        """Raises :class:`tessera.UsageError` if there are no columns."""
        if not self.columns:
            raise UsageError("The metadata have no columns: detect them with detect_from_dataframe.")

    def validate_data(self, data: Any) -> None:
        """Raises :class:`tessera.DataError` if the columns of a table differ."""
        missing = [name for name in self.columns if name not in data.columns]
        unknown = [name for name in data.columns if name not in self.columns]
        if missing or unknown:
            raise DataError(
                "The table does not have the columns of the metadata."
                + (f" It has no {', '.join(map(repr, missing))}." if missing else "")
                + (f" The metadata have no {', '.join(map(repr, unknown))}." if unknown else "")
                + " Detect them again with detect_from_dataframe, or add and remove columns."
            )

    def check_column(self, column_name: str) -> None:
        if column_name not in self.columns:
            known = ", ".join(map(repr, self.columns))
            raise UsageError(f"The metadata have no column {column_name!r}. There are {known}.")

    def to_dict(self) -> dict[str, Any]:
        tables = {self.table_name: self._table()}
        return {"tables": tables, "relationships": [], "METADATA_SPEC_VERSION": self.METADATA_SPEC_VERSION}

    @classmethod
    def load_from_dict(cls, metadata_dict: Mapping[str, Any], table_name: str | None = None) -> Any:
        """From the dict of either kind of metadata."""
        tables = metadata_dict.get("tables", {table_name or _TABLE: metadata_dict})
        if len(tables) != 1:
            raise UnsupportedError(
                f"The metadata are of {len(tables)} tables ({', '.join(tables)}); Tessera learns one table at a time."
            )
        ((name, table),) = tables.items()
        metadata = cls()
        metadata.table_name = name
        for column, described in table.get("columns", {}).items():
            metadata.add_column(column, **described)
        if table.get("primary_key") is not None:
            metadata.set_primary_key(table["primary_key"])
        return metadata

    def save_to_json(self, filepath: Path, mode: str = "write") -> None:
        """Writes the metadata; an existing file is replaced if `mode` is ``"overwrite"``."""
        if mode not in ("write", "overwrite"):
            raise UsageError(f"mode is {mode!r}; it must be 'write' or 'overwrite'.")
        with open(filepath, "x" if mode == "write" else "w", encoding="utf-8") as file:
            file.write(repr(self))

    @classmethod
    def load_from_json(cls, filepath: Path, table_name: str | None = None) -> Any:
        with open(filepath, encoding="utf-8") as file:
            found = json.load(file)
        if not isinstance(found, dict):
            raise FormatError(f"{filepath}: is not metadata: it must be a JSON object.")
        return cls.load_from_dict(found, table_name)

    def __repr__(self) -> str:
        return json.dumps(self.to_dict(), indent=4, ensure_ascii=False)

    def _table(self) -> dict[str, Any]:
        key = {} if self.primary_key is None else {"primary_key": self.primary_key}
        return {**key, "columns": copy.deepcopy(self.columns)}

    def _detect(self, data: Any) -> None:
        for name in data.columns:
            self.add_column(str(name), sdtype=_sdtype(data[name]))

    def _set(self, name: str, table_name: str | None, described: dict[str, Any]) -> None:
        self._check_table(table_name)
        if not described.get("sdtype") or not isinstance(described["sdtype"], str):
            raise UsageError(
                f"The column {name!r} needs an sdtype: one of {', '.join(_PLAIN)}, or a kind of personal data such as "
                "'email'."
            )
        self.columns[name] = described

    def _check_table(self, table_name: str | None) -> None:
        if table_name not in (None, self.table_name):
            raise UsageError(f"The metadata are of the table {self.table_name!r}, not of {table_name!r}.")


class SingleTableMetadata(Metadata):
    """The metadata of SDV before its version 1.13: of one table without a name.

    >>> metadata = SingleTableMetadata()
    >>> metadata.add_column("age", sdtype="numerical")
    >>> metadata.to_dict()["columns"]
    {'age': {'sdtype': 'numerical'}}
    """

    METADATA_SPEC_VERSION = "SINGLE_TABLE_V1"

    def detect_from_dataframe(self, data: Any) -> None:  # type: ignore[override]
        """Finds the columns of a DataFrame and their sdtypes."""
        self._detect(data)

    def detect_from_csv(self, filepath: Path, read_csv_parameters: Mapping[str, Any] | None = None) -> None:
        """Finds the columns of a CSV file, as pandas reads it."""
        self._detect(pandas.read_csv(filepath, **(read_csv_parameters or {})))

    def to_dict(self) -> dict[str, Any]:
        return {**self._table(), "METADATA_SPEC_VERSION": self.METADATA_SPEC_VERSION}


def metadata_of(given: Any) -> Metadata:
    """Metadata of this package, of SDV itself, or as a dict."""
    if isinstance(given, Metadata):
        return given
    described = given.to_dict() if hasattr(given, "to_dict") else given
    if not isinstance(described, Mapping):
        raise UsageError(
            f"metadata is {type(given).__name__}; it must be Metadata, SingleTableMetadata or a dict of either."
        )
    return Metadata.load_from_dict(described)


def _sdtype(column: Any) -> str:
    types, values = pandas.api.types, column.dropna()
    if types.is_bool_dtype(column):
        return "boolean" if len(values) else "unknown"
    if types.is_datetime64_any_dtype(column):
        return "datetime"
    if types.is_numeric_dtype(column):
        return "numerical"
    if len(values) and all(type(value).__name__ in ("date", "datetime", "Timestamp") for value in values):
        return "datetime"
    if len(values) > 1 and values.is_unique and all(isinstance(value, str) for value in values):
        return "id"
    return "categorical"
