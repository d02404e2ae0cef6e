"""Synthesizers of one table."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import pandas
from tessera import DataError, FormatError, Model, UnsupportedError, UsageError, fit, load

from .cag import Constraint, constraint_of
from .metadata import Path, metadata_of
from .sampling import Condition

# What Tessera decides for every model: accepted, without effect.
_WITHOUT_EFFECT = ("enforce_min_max_values", "enforce_rounding", "locales", "log_frequency", "verbose")


class _Synthesizer:
    """What the synthesizers share. Parameters that are not given are Tessera's own (:func:`tessera.options`)."""

    method: ClassVar[str]
    _names: ClassVar[dict[str, str]]  # a parameter of SDV: the option it is

    def __init__(self, metadata: Any, **parameters: Any) -> None:
        self.metadata = metadata_of(metadata)
        self.metadata.validate()
        self._given = parameters
        self._settings = self._translated(parameters)
        self._constraints: list[Constraint] = []
        self._model: Model | None = None
        self._formats: dict[str, str] = {}
        self._samples = 0

    def fit(self, data: Any) -> None:
        """Learns a DataFrame of pandas that has the columns of the metadata."""
        self.validate(data)
        data = data[list(self.metadata.columns)]
        types = {name: t for name, t in ((n, self._type(n, data[n])) for n in data.columns) if t}
        self._formats = {n: f for n, f in ((n, self._format(n, data[n])) for n in data.columns) if f}
        table = self._with_times(data)
        for constraint in self._constraints:
            constraint.check(table)
        rules = [rule for constraint in self._constraints for rule in constraint.rules(table)]
        self._model = fit(table, method=self.method, types=types, rule=rules, **self._settings)
        self._samples = 0

    def add_constraints(self, constraints: Iterable[Any]) -> None:
        """Adds what every row keeps: objects of :mod:`tessera_sdv.cag`, or dictionaries; before :meth:`fit`."""
        found = [constraint_of(given) for given in constraints]
        for constraint in found:
            for name in constraint.columns:
                self.metadata.check_column(name)
        self._constraints += found

    add_cag = add_constraints

    def get_constraints(self) -> list[Constraint]:
        """The constraints that were added."""
        return list(self._constraints)

    def sample(
        self,
        num_rows: int,
        max_tries_per_batch: int | None = None,
        batch_size: int | None = None,
        output_file_path: Path | None = None,
    ) -> Any:
        """Draws rows; each call draws others, until :meth:`reset_sampling`."""
        return self._written(self._draw(num_rows, None, batch_size), output_file_path)

    def sample_from_conditions(
        self,
        conditions: Iterable[Condition],
        max_tries_per_batch: int | None = None,
        batch_size: int | None = None,
        output_file_path: Path | None = None,
    ) -> Any:
        """Draws the rows of each condition, in their order."""
        conditions = list(conditions)
        if not conditions:
            raise UsageError("sample_from_conditions needs one condition or more.")
        parts = [self._draw(c.get_num_rows(), Condition(c.get_column_values()).where(), batch_size) for c in conditions]
        return self._written(pandas.concat(parts, ignore_index=True), output_file_path)

    def sample_remaining_columns(
        self,
        known_columns: Any,
        max_tries_per_batch: int | None = None,
        batch_size: int | None = None,
        output_file_path: Path | None = None,
    ) -> Any:
        """Keeps the columns of a DataFrame and draws the others, row by row."""
        known = known_columns.copy(deep=False)
        for name in known.columns:
            self.metadata.check_column(name)
        known = self._with_times(known)
        frame = self._fitted().complete(known, out="pandas", seed=self._samples, batch_size=batch_size)
        return self._written(self._as_given(frame), output_file_path)

    def reset_sampling(self) -> None:
        """The next samples are those that the first calls drew."""
        self._samples = 0

    def get_loss_values(self) -> Any:
        """The losses of the training: a row at regular intervals of steps."""
        names = {"epoch": "Epoch", "generator": "Generator Loss", "critic": "Discriminator Loss"}
        return self._fitted().losses.rename(columns=names)

    def get_parameters(self) -> dict[str, Any]:
        """All parameters; None where Tessera's own default is used."""
        names = [*self._names, *_WITHOUT_EFFECT, "cuda"]
        return {name: self._given.get(name) for name in names}

    def get_metadata(self) -> Any:
        return self.metadata

    def validate(self, data: Any) -> None:
        """Raises :class:`tessera.DataError` where the columns are not those of the metadata."""
        if not hasattr(data, "columns") or not hasattr(data, "dtypes"):
            raise DataError(f"A DataFrame of pandas is needed, not {type(data).__name__}.")
        self.metadata.validate_data(data)

    def save(self, filepath: Path) -> None:
        """Writes a model file, which :func:`tessera.load` opens too; nothing in it is executed."""
        model = self._fitted()
        model.attrs["sdv"] = {
            "class": type(self).__name__, "parameters": self._given, "metadata": self.metadata.to_dict(),
            "formats": self._formats, "samples": self._samples,
            "constraints": [constraint.to_dict() for constraint in self._constraints],
        }  # fmt: skip
        model.save(filepath)

    @classmethod
    def load(cls, filepath: Path) -> Any:
        """Opens what :meth:`save` wrote."""
        model = load(filepath)
        note = model.attrs.get("sdv")
        if note is None or note["class"] != cls.__name__:
            written = note["class"] if note else "tessera.fit"
            raise FormatError(f"{os.fspath(filepath)}: was written by {written}, not by {cls.__name__}.")
        synthesizer = cls(note["metadata"], **note["parameters"])
        synthesizer._constraints = [constraint_of(given) for given in note["constraints"]]
        synthesizer._model, synthesizer._formats, synthesizer._samples = model, note["formats"], note["samples"]
        return synthesizer

    @classmethod
    def _translated(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        for name, value in parameters.items():
            if value is None or name in _WITHOUT_EFFECT:
                continue
            if name == "cuda":
                settings["device"] = value if isinstance(value, str) else "auto" if value else "cpu"
            elif name not in cls._names:
                known = ", ".join([*cls._names, *_WITHOUT_EFFECT, "cuda"])
                raise UsageError(f"{cls.__name__} has no parameter {name!r} here. There are {known}.")
            elif settings.setdefault(cls._names[name], value) != value:
                raise UsageError(
                    f"{name} is {value!r}: both networks of {cls.__name__} have one learning rate."
                )
        return settings

    def _type(self, name: str, column: Any) -> str | None:
        """The type of a column that the metadata decide; None: found."""
        sdtype: str = self.metadata.columns[name]["sdtype"]
        if sdtype in ("numerical", "datetime", "unknown") or column.isna().all():
            return None
        if sdtype in ("categorical", "boolean") and name != self.metadata.primary_key:
            return {"categorical": "category"}.get(sdtype, sdtype)
        return "identifier" if column.dropna().map(type).eq(str).all() else None

    def _format(self, name: str, column: Any) -> str | None:
        described: dict[str, str] = self.metadata.columns[name]
        texts = column.dropna().map(type).eq(str).all() and column.notna().any()
        return described.get("datetime_format") if described["sdtype"] == "datetime" and texts else None

    def _with_times(self, data: Any) -> Any:
        """Times that are texts, as times."""
        data = data.copy(deep=False)
        for name, format_ in self._formats.items():
            if name not in data.columns:
                continue
            try:
                data[name] = pandas.to_datetime(data[name], format=format_)
            except (ValueError, TypeError) as error:
                raise DataError(f"Column {name!r} is not written as {format_!r}: {error}") from error
        return data

    def _draw(self, rows: int, where: str | None, batch_size: int | None) -> Any:
        frame = self._fitted().sample(rows, where, out="pandas", seed=self._samples, batch_size=batch_size)
        return self._as_given(frame)

    def _as_given(self, frame: Any) -> Any:
        """Rows as the fitted table wrote them; the next call draws others."""
        self._samples += 1
        for name, format_ in self._formats.items():
            frame[name] = frame[name].dt.strftime(format_).astype(object).where(frame[name].notna(), None)
        return frame

    def _written(self, frame: Any, path: Path | None) -> Any:
        if path is not None:
            frame.to_csv(path, index=False)
        return frame

    def _fitted(self) -> Model:
        if self._model is None:
            raise UsageError(f"This {type(self).__name__} is not fitted: call fit first.")
        return self._model

    def __getattr__(self, name: str) -> Any:
        if name in _MISSING:
            raise UnsupportedError(f"{type(self).__name__}.{name}: {_MISSING[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_MISSING = {
    "load_custom_constraint_classes": "constraints of your own are rules: tessera.fit(table, rule='end >= start').",
    "update_transformers": "Tessera encodes columns by their types; change them with metadata.update_column.",
    "get_transformers": "Tessera encodes columns by their types; tessera.load(path).describe() shows how.",
    "get_loss_values_plot": "plot get_loss_values(), or write the page of tessera.load(path).to_html('page.html').",
    "get_learned_distributions": "these models have networks, not distributions of columns.",
}


def _signature(synthesizer: type[_Synthesizer]) -> inspect.Signature:
    names = ["metadata", *synthesizer._names, *_WITHOUT_EFFECT, "cuda"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [inspect.Parameter(n, kind, default=inspect.Parameter.empty if n == "metadata" else None) for n in names]
    )


class CTGANSynthesizer(_Synthesizer):
    """CTGAN by the name of SDV's class.

    Parameters that Tessera decides for every model are taken and have no effect: `enforce_min_max_values`,
    `enforce_rounding`, `locales`, `log_frequency`, `verbose`. `cuda` is False for the CPU, True for a GPU if there is
    one.
    """

    method = "ctgan"
    _names = {
        "epochs": "epochs", "batch_size": "batch_size", "embedding_dim": "embedding_dim", "pac": "pac",
        "generator_dim": "generator_dim", "discriminator_dim": "discriminator_dim",
        "discriminator_steps": "discriminator_steps", "generator_lr": "learning_rate",
        "discriminator_lr": "learning_rate",
    }  # fmt: skip


class TVAESynthesizer(_Synthesizer):
    """TVAE by the name of SDV's class; see :class:`CTGANSynthesizer` for what has no effect."""

    method = "tvae"
    _names = {
        "epochs": "epochs", "batch_size": "batch_size", "embedding_dim": "embedding_dim",
        "compress_dims": "encoder_dim", "decompress_dims": "decoder_dim", "loss_factor": "loss_factor",
    }  # fmt: skip


CTGANSynthesizer.__signature__ = _signature(CTGANSynthesizer)  # type: ignore[attr-defined]
TVAESynthesizer.__signature__ = _signature(TVAESynthesizer)  # type: ignore[attr-defined]


def __getattr__(name: str) -> Any:
    if name.endswith("Synthesizer"):
        raise ImportError(
            f"Tessera has no {name}. There are CTGANSynthesizer and TVAESynthesizer; tessera.fit is better."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
