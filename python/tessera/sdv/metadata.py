"""Metadata of one table, in the JSON formats that SDV reads and writes."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any

from .. import _errors
from .._files import Path, whole_file

_TABLE = "table"
_PLAIN = ("numerical", "categorical", "boolean", "datetime", "id", "unknown")


class _Columns:
    """What both kinds of metadata share: columns with their sdtypes, and a primary key."""

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Any]] = {}
        self.primary_key: str | None = None

    def add_column(self, column_name: str, **described: Any) -> None:
        """Adds a column: ``add_column("age", sdtype="numerical")``."""
        if column_name in self.columns:
            raise _errors.UsageError(f"The column {column_name!r} is in the metadata already; use update_column.")
        self.columns[column_name] = _checked(column_name, described)

    def update_column(self, column_name: str, **described: Any) -> None:
        """Changes what the metadata says of a column."""
        self._known(column_name)
        self.columns[column_name] = _checked(column_name, described)

    def set_primary_key(self, column_name: str) -> None:
        """Says which column identifies rows; its values are made up."""
        self._known(column_name)
        self.primary_key = column_name

    def validate(self) -> None:
        """Raises :class:`tessera.UsageError` where the metadata contradict themselves."""
        if not self.columns:
            raise _errors.UsageError("The metadata have no columns: detect them with detect_from_dataframe.")
        for name, described in self.columns.items():
            _checked(name, described)
        if self.primary_key is not None:
            self._known(self.primary_key)

    def validate_data(self, data: Any) -> None:
        """Raises :class:`tessera.DataError` where the columns of a table are others."""
        missing = [name for name in self.columns if name not in data.columns]
        unknown = [name for name in data.columns if name not in self.columns]
        if missing or unknown:
            raise _errors.DataError(
                "The table does not have the columns of the metadata."
                + (f" It has no {', '.join(map(repr, missing))}." if missing else "")
                + (f" The metadata have no {', '.join(map(repr, unknown))}." if unknown else "")
                + " Detect them again with detect_from_dataframe, or add and remove columns."
            )

    def visualize(self, *_arguments: Any, **_options: Any) -> Any:
        raise _errors.UnsupportedError("Metadata are not drawn here; print(metadata) shows them.")

    def _known(self, column_name: str) -> None:
        if column_name not in self.columns:
            known = ", ".join(map(repr, self.columns))
            raise _errors.UsageError(f"The metadata have no column {column_name!r}. There are {known}.")

    def _table(self) -> dict[str, Any]:
        key = {} if self.primary_key is None else {"primary_key": self.primary_key}
        return {**key, "columns": copy.deepcopy(self.columns)}

    def _read_table(self, table: Mapping[str, Any]) -> None:
        for name, described in table.get("columns", {}).items():
            self.add_column(name, **described)
        key = table.get("primary_key")
        if key is not None:
            self.set_primary_key(key)

    def _detect(self, data: Any) -> None:
        for name, dtype in data.dtypes.items():
            self.add_column(str(name), **_detected(data[name], dtype))

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def save_to_json(self, filepath: Path, mode: str = "write") -> None:
        """Writes the metadata; an existing file is replaced if `mode` is ``"overwrite"``."""
        if mode not in ("write", "overwrite"):
            raise _errors.UsageError(f"mode is {mode!r}; it must be 'write' or 'overwrite'.")
        if os.path.lexists(filepath) and mode == "write":
            raise _errors.FileError(f"{filepath}: the file is there already. Give another name, or mode='overwrite'.")
        with whole_file(filepath) as beside, open(beside, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=4, ensure_ascii=False)

    def __repr__(self) -> str:
        return json.dumps(self.to_dict(), indent=4, ensure_ascii=False)


class SingleTableMetadata(_Columns):
    """The metadata of SDV before its version 1.13: of one table without a name.

    >>> metadata = SingleTableMetadata()
    >>> metadata.add_column("age", sdtype="numerical")
    >>> metadata.to_dict()["columns"]
    {'age': {'sdtype': 'numerical'}}
    """

    METADATA_SPEC_VERSION = "SINGLE_TABLE_V1"

    def detect_from_dataframe(self, data: Any) -> None:
        """Finds the columns of a DataFrame of pandas and what they hold."""
        self._detect(data)

    def detect_from_csv(self, filepath: Path, read_csv_parameters: Mapping[str, Any] | None = None) -> None:
        """Finds the columns of a CSV file, as pandas reads it."""
        import pandas

        self._detect(pandas.read_csv(filepath, **(read_csv_parameters or {})))

    def to_dict(self) -> dict[str, Any]:
        return {**self._table(), "METADATA_SPEC_VERSION": self.METADATA_SPEC_VERSION}

    @classmethod
    def load_from_dict(cls, metadata_dict: Mapping[str, Any]) -> SingleTableMetadata:
        metadata = cls()
        metadata._read_table(metadata_dict)
        return metadata

    @classmethod
    def load_from_json(cls, filepath: Path) -> SingleTableMetadata:
        return cls.load_from_dict(_read(filepath))


class Metadata(_Columns):
    """The metadata of SDV since its version 1.13, with one table.

    >>> metadata = Metadata.detect_from_dataframe(people)
    >>> metadata.update_column("children", sdtype="categorical")
    >>> metadata.columns["children"], metadata.columns["joined"]["sdtype"]
    ({'sdtype': 'categorical'}, 'datetime')
    """

    METADATA_SPEC_VERSION = "V1"

    def __init__(self, table_name: str = _TABLE) -> None:
        super().__init__()
        self.table_name = table_name

    @classmethod
    def detect_from_dataframe(cls, data: Any, table_name: str = _TABLE) -> Metadata:
        """Finds the columns of a DataFrame of pandas and what they hold."""
        metadata = cls(table_name)
        metadata._detect(data)
        return metadata

    def add_column(self, column_name: str, table_name: str | None = None, **described: Any) -> None:
        self._only(table_name)
        super().add_column(column_name, **described)

    def update_column(self, column_name: str, table_name: str | None = None, **described: Any) -> None:
        self._only(table_name)
        super().update_column(column_name, **described)

    def set_primary_key(self, column_name: str, table_name: str | None = None) -> None:
        self._only(table_name)
        super().set_primary_key(column_name)

    def to_dict(self) -> dict[str, Any]:
        tables = {self.table_name: self._table()}
        return {"tables": tables, "relationships": [], "METADATA_SPEC_VERSION": self.METADATA_SPEC_VERSION}

    @classmethod
    def load_from_dict(cls, metadata_dict: Mapping[str, Any], table_name: str | None = None) -> Metadata:
        """Of the dict of either kind of metadata."""
        if "tables" not in metadata_dict:
            metadata = cls(table_name or _TABLE)
            metadata._read_table(metadata_dict)
            return metadata
        tables = metadata_dict["tables"]
        if len(tables) != 1:
            raise _errors.UnsupportedError(
                f"The metadata are of {len(tables)} tables ({', '.join(tables)}); Tessera learns one table at a time."
            )
        ((name, table),) = tables.items()
        metadata = cls(name)
        metadata._read_table(table)
        return metadata

    @classmethod
    def load_from_json(cls, filepath: Path, table_name: str | None = None) -> Metadata:
        return cls.load_from_dict(_read(filepath), table_name)

    def _only(self, table_name: str | None) -> None:
        if table_name not in (None, self.table_name):
            raise _errors.UsageError(f"The metadata are of the table {self.table_name!r}, not of {table_name!r}.")


def of(metadata: Any) -> _Columns:
    """Metadata of this package, of SDV itself, or as a dict."""
    if isinstance(metadata, _Columns):
        return metadata
    described = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    if not isinstance(described, Mapping):
        raise _errors.UsageError(
            f"metadata is {type(metadata).__name__}; it must be Metadata, SingleTableMetadata or a dict of either."
        )
    return Metadata.load_from_dict(described)


def _read(filepath: Path) -> dict[str, Any]:
    try:
        with open(filepath, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise _errors.FileError(f"{filepath}: cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise _errors.FormatError(f"{filepath}: is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise _errors.FormatError(f"{filepath}: is no metadata: it must be a JSON object.")
    return found


def _checked(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    sdtype = described.get("sdtype")
    if not isinstance(sdtype, str) or not sdtype:
        kinds = ", ".join(_PLAIN)
        raise _errors.UsageError(
            f"The column {name!r} needs an sdtype: one of {kinds}, or a kind of personal data such as 'email'."
        )
    return dict(described)


def _detected(column: Any, dtype: Any) -> dict[str, Any]:
    kind = getattr(dtype, "kind", "O")
    if kind == "b" or str(dtype) == "boolean":
        return {"sdtype": "boolean"} if column.notna().any() else {"sdtype": "unknown"}
    if kind == "M" or type(dtype).__name__ == "DatetimeTZDtype":
        return {"sdtype": "datetime"}
    if kind in "iuf" and type(dtype).__name__ != "CategoricalDtype":
        return {"sdtype": "numerical"}
    values = column.dropna()
    if len(values) and all(type(value).__name__ in ("date", "datetime", "Timestamp") for value in values):
        return {"sdtype": "datetime"}
    if len(values) > 1 and values.is_unique and all(isinstance(value, str) for value in values):
        return {"sdtype": "id"}
    return {"sdtype": "categorical"}
