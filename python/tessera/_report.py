"""Reports of :func:`tessera.evaluate` and :func:`tessera.inspect`."""

from __future__ import annotations

import ctypes as c
import datetime
import html
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from . import _frames
from ._arrow import Incoming
from ._context import Context
from ._files import Path
from ._library import EvaluateOptions, checked, lib, read_json, version
from ._model import Model
from ._options import rule_options, sequence_options
from ._page import page
from ._progress import ProgressOption
from ._tables import incoming, take

_NO_JUDGES = -1
_SIGNS = {"good": "✓", "fair": "~", "poor": "✗", "plain": "•"}


class Attacks:
    """What attacks find out about the rows that a model learned from (:func:`tessera.audit`, :attr:`Report.attacks`).

    Attributes
    ----------
    document : dict
        All that was found; docs/quality/privacy.md names each entry.
    """

    def __init__(self, document: dict[str, Any], kind: _frames.Frames) -> None:
        self.document = document
        self._kind = kind

    @property
    def mark(self) -> str:
        """good: no attack tells training rows from unseen ones; fair: a little; poor: training rows are given away."""
        return str(self.document["verdict"]["mark"])

    @property
    def verdict(self) -> str:
        """The finding in words, then that of each attack that succeeds, and what to be careful with."""
        found = self.document
        said = [f"  {_SIGNS[a['mark']]} {a['name']}: {a['answer']}" for a in found["attacks"] if a["mark"] != "good"]
        return "\n".join([found["verdict"]["text"], *said, *(f"  ! {caution}" for caution in found["cautions"])])

    @property
    def table(self) -> Any:
        """A row for each attack, as a frame of the kind of the training table: its value with its interval, and what
        is right without the model."""
        names = ("name", "group", "measure", "value", "low", "high", "baseline", "mark", "question")
        return self._kind.from_records([{name: a[name] for name in names} for a in self.document["attacks"]])

    def __repr__(self) -> str:
        lines = (
            f"{_SIGNS[a['mark']]} {a['name']:<34}{a['value']:>7.3f} [{a['low']:.3f}, {a['high']:.3f}]"
            f"  without the model {a['baseline']:.3f}"
            for a in self.document["attacks"]
        )
        return "\n".join([*lines, "", self.verdict])


class Report:
    """Fidelity, utility and privacy of synthetic rows. Notebooks display it as a page.

    Attributes
    ----------
    document : dict
        All results; docs/quality/metrics.md describes each entry.
    """

    def __init__(self, document: dict[str, Any], kind: _frames.Frames) -> None:
        self.document = document
        self._kind = kind

    @property
    def scores(self) -> dict[str, float]:
        """The headline figures.

        >>> tessera.evaluate(people, people, distances=False, c2st=False).scores["quality"]
        1.0
        """
        return {name: score for name, score, _ in self._headlines()}

    @property
    def verdict(self) -> str:
        """The overall assessment, with its reasons and caveats.

        >>> tessera.evaluate(people, people, distances=False).verdict.splitlines()[0]
        'Hard to tell from real rows'
        """
        found = self.document["verdict"]
        reasons = [f"  {_SIGNS[reason['mark']]} {reason['text']}" for reason in found["reasons"]]
        return "\n".join([found["text"], *reasons, *(f"  ! {caution}" for caution in found["cautions"])])

    @property
    def written_form(self) -> Any:
        """Frequencies of each column's written forms, and near-certain relations, in real and synthetic rows."""
        found = self.document.get("written_form", {"forms": [], "rules": []})
        rules = [{"column": rule["rule"], "form": "relation", **rule} for rule in found["rules"]]
        names = ("column", "form", "level", "real", "synthetic", "gap")
        return self._kind.from_records([{name: entry.get(name) for name in names} for entry in found["forms"] + rules])

    @property
    def columns(self) -> Any:
        """One row per column, as a frame of the real table's kind."""
        return self._kind.from_records(_flat_records(self.document.get("columns", [])))

    @property
    def pairs(self) -> Any:
        """One row per pair of columns, as a frame of the real table's kind."""
        return self._kind.from_records(_flat_records(self.document.get("pairs", [])))

    @property
    def rules(self) -> Any:
        """One row per rule of the real table: the number of synthetic rows that break it, and an example.

        >>> rules = tessera.evaluate(people, people, rule="age >= 18", distances=False, c2st=False).rules
        >>> rules[["rule", "broken"]].values.tolist()
        [['age >= 18', 0], ['last_seen >= joined', 0]]
        """
        records = [{**rule, "example": _example(rule)} for rule in self.document.get("rules", [])]
        return self._kind.from_records(records)

    @property
    def attacks(self) -> Attacks | None:
        """What attacks found out about the real rows; None without a holdout of 40 rows.

        >>> report = tessera.evaluate(people, model.sample(300), holdout=tessera.example(300, seed=9), distances=False)
        >>> report.attacks.table["name"].tolist()[:2]
        ['nearest synthetic row', 'density ratio']
        """
        return Attacks(self.document["attacks"], self._kind) if "attacks" in self.document else None

    def to_html(self, path: Path | None = None, *, model: Model | None = None, overwrite: bool = True) -> str | None:
        """The HTML page of the results, self-contained; returned as text if there is no `path`.

        With `model`, the model that drew the rows, the page also shows its training and its model card.

        >>> report = tessera.evaluate(people, people, distances=False, c2st=False)
        >>> "Column shapes" in report.to_html()
        True
        """
        about = {"date": datetime.date.today().isoformat(), "program": version()}
        return page({"about": about, **self.document, **(model._card() if model else {})}, path, overwrite)

    def _headlines(self) -> list[tuple[str, float, str]]:
        found = []
        for figure in self.document.get("figures", []):
            if not figure["headline"]:
                continue
            found.append((figure["key"], figure["value"], figure["meaning"]))
            if real := figure.get("reference"):
                found.append((real["key"], real["value"], "the same of real rows"))
        return found

    def __repr__(self) -> str:
        lines = (f"{name:<18}{score:>8.4f}  {means}" for name, score, means in self._headlines())
        return "\n".join([*lines, "", self.verdict])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{score:.4f}</td><td>{html.escape(means)}</td></tr>"
            for name, score, means in self._headlines()
        )
        head = "<tr><th>score</th><th>value</th><th>meaning</th></tr>"
        verdict = html.escape(self.verdict).replace("\n", "<br>")
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table><p>{verdict}</p>"


class Comparison(Mapping[str, Report]):
    """Several synthetic tables compared with one real table: a :class:`Report` by table name.

    Examples
    --------
    >>> compared = tessera.evaluate(people, {"few": model.sample(100), "many": model.sample(400)}, distances=False)
    >>> compared["many"].scores["quality"] > 0.5, list(compared.scores["table"])
    (True, ['few', 'many'])
    """

    def __init__(self, reports: dict[str, Report], kind: _frames.Frames) -> None:
        self._reports = reports
        self._kind = kind

    def __getitem__(self, name: str) -> Report:
        return self._reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def scores(self) -> Any:
        """One row of headline figures per table, as a frame of the real table's kind."""
        return self._kind.from_records([{"table": name, **report.scores} for name, report in self.items()])

    def to_html(
        self, path: Path | None = None, *, models: Mapping[str, Model] | None = None, overwrite: bool = True
    ) -> str | None:
        """The page that compares the tables, as :meth:`Report.to_html`; `models` maps table names to models."""
        cards = {name: model._card() for name, model in (models or {}).items()}
        tables = [{"name": n, "report": {**r.document, **cards.get(n, {})}} for n, r in self.items()]
        return page({"tables": tables}, path, overwrite)

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}\n{report!r}" for name, report in self.items())

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{html.escape(name)}</h4>{report._repr_html_()}" for name, report in self.items())


# fmt: off
@overload
def evaluate(
    real: Any, synthetic: Mapping[str, Any], *, holdout: Any = ..., target: str | None = ..., seed: int = ...,
    distances: bool = ..., c2st: bool = ..., utility: bool = ..., rules: str | Iterable[str] | None = ...,
    rule: str | Iterable[str] | None = ..., where: str | None = ..., drawings: bool = ..., attacks: bool = ...,
    index: bool = ..., sequence_length: int | None = ...,
    sequence_key: str | None = ..., sequence_index: str | None = ..., stride: int | None = ...,
    static: str | Iterable[str] | None = ..., judges: int | None = ..., device: str | None = ..., threads: int = ...,
    memory_limit: int = ..., progress: ProgressOption = ...,
) -> Comparison: ...
@overload
def evaluate(
    real: Any, synthetic: Any, *, holdout: Any = ..., target: str | None = ..., seed: int = ...,
    distances: bool = ..., c2st: bool = ..., utility: bool = ..., rules: str | Iterable[str] | None = ...,
    rule: str | Iterable[str] | None = ..., where: str | None = ..., drawings: bool = ..., attacks: bool = ...,
    model: Model | None = ..., index: bool = ..., sequence_length: int | None = ...,
    sequence_key: str | None = ..., sequence_index: str | None = ..., stride: int | None = ...,
    static: str | Iterable[str] | None = ..., judges: int | None = ..., device: str | None = ..., threads: int = ...,
    memory_limit: int = ..., progress: ProgressOption = ...,
) -> Report: ...
# fmt: on
def evaluate(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    target: str | None = None,
    seed: int = 0,
    distances: bool = True,
    c2st: bool = True,
    utility: bool = True,
    rules: str | Iterable[str] | None = None,
    rule: str | Iterable[str] | None = None,
    where: str | None = None,
    drawings: bool = True,
    attacks: bool = True,
    model: Model | None = None,
    index: bool = False,
    sequence_length: int | None = None,
    sequence_key: str | None = None,
    sequence_index: str | None = None,
    stride: int | None = None,
    static: str | Iterable[str] | None = None,
    judges: int | None = None,
    device: str | None = None,
    threads: int = 0,
    memory_limit: int = 0,
    progress: ProgressOption = None,
) -> Report | Comparison:
    """Measures the fidelity, utility and privacy of synthetic rows.

    Parameters
    ----------
    real : table or path
        The rows that the model was fitted to; as in :func:`tessera.fit`.
    synthetic : table or path, or mapping
        The sampled rows; a mapping of names to tables, ``{"made": rows, "tvae": others}``, compares them.
    holdout : table or path, optional
        Rows of the same source that were not used for training. Without them there is no utility, and distances have
        no reference.
    target : str, optional
        Column to predict when measuring utility; default: the last column with few values, else the last number.
    seed : int
        Seed of folds and of subsets of large tables.
    distances, c2st, utility : bool
        Whether to compute the distances to the closest record, the classifier two-sample tests, and the classifier
        that is trained on synthetic rows and tested on real ones.
    rules, rule
        As in :func:`tessera.fit`: rules of the real table; counts the synthetic rows that break each
        (:attr:`Report.rules`).
    where : str, optional
        Compares only rows that satisfy this condition, for rows that were sampled with it.
    drawings : bool
        Whether to compute the charts of :meth:`Report.to_html`: counts in bins and cells, none of one to four real rows.
    attacks : bool
        Whether to attack the rows (:attr:`Report.attacks`); that needs a holdout.
    model : Model, optional
        The model that drew the rows; attacks then use its file too.
    index, sequence_length, sequence_key, sequence_index, stride, static
        As in :func:`tessera.fit`. To set column types of CSV files, use :func:`tessera.read`.
    judges : int, optional
        For sequences: training runs of the two judges (10).
    device, threads, memory_limit, progress
        As in :func:`tessera.fit`.

    Returns
    -------
    Report
        A :class:`Comparison` for a mapping.

    Raises
    ------
    DataError
        The columns differ, or the target cannot be predicted.

    Examples
    --------
    >>> report = tessera.evaluate(people, model.sample(300), distances=False)
    >>> 0 < report.scores["quality"] <= 1
    True
    """
    sequences = (sequence_length, sequence_key, sequence_index, stride, static)
    options = EvaluateOptions(
        seed=seed,
        without_distances=not distances,
        target=target,
        without_c2st=not c2st,
        without_utility=not utility,
        sequences=None if all(x is None for x in sequences) else sequence_options(*sequences),
        judges=_NO_JUDGES if judges == 0 else judges,
        drawings=drawings,
        where=where,
        without_attacks=not attacks if all(x is None for x in sequences) else False,
        model=None if model is None else model._handle.value,
        **rule_options(rules, rule),
    )
    context = Context(progress, device, threads, memory_limit)

    def work(handle: c.c_void_p) -> Report:
        (kind, *_), *_ = tables = [take(t, index, handle) for t in (real, synthetic, holdout) if t is not None]
        streams = [incoming(table) for table in tables] + [None] * (holdout is None)
        return Report(read_json(lib.tessera_evaluate, handle, c.byref(options), *streams), kind)

    def work_on_several(handle: c.c_void_p) -> Comparison:
        kind, *_ = taken = take(real, index, handle)
        unseen = None if holdout is None else incoming(take(holdout, index, handle))
        others = [incoming(take(table, index, handle)) for table in synthetic.values()]
        streams = (c.c_void_p * len(others))(*(stream.address for stream in others))
        names = (c.c_char_p * len(others))(*(checked("a table's name", c.c_char_p, name) for name in synthetic))
        given = (incoming(taken), streams, names, len(others), unseen)
        found = read_json(lib.tessera_evaluate_tables, handle, c.byref(options), *given)
        return Comparison({table["name"]: Report(table["report"], kind) for table in found["tables"]}, kind)

    return context.run(work_on_several) if isinstance(synthetic, Mapping) else context.run(work)


def inspect(data: Any, *, index: bool = False) -> Any:
    """The columns of a table as :func:`tessera.fit` reads them: one row per column, with the reason for its type.

    Examples
    --------
    >>> tessera.inspect(people)[["name", "type"]].head(2)
            name        type
    0  person_id  identifier
    1     gender    category
    """

    def work(handle: c.c_void_p) -> Any:
        kind, taken = take(data, index, handle)
        document = read_json(lib.tessera_inspect, handle, Incoming(taken.rows))
        return kind.from_records(_flat_records(document["columns"]))

    return Context(progress=False).run(work)


def _example(rule: Mapping[str, Any]) -> str | None:
    """
    >>> _example({"example": {"row": 3, "cells": [{"column": "age", "value": "7"}, {"column": "pay", "value": None}]}})
    'row 3: age = 7, pay is missing'
    """
    if "example" not in rule:
        return None
    cells = rule["example"]["cells"]
    said = (f"{c['column']} is missing" if c["value"] is None else f"{c['column']} = {c['value']}" for c in cells)
    return f"row {rule['example']['row']}: " + ", ".join(said)


def _flat(entry: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """
    >>> _flat({"name": "age", "shape": {"score": 0.5}})
    {'name': 'age', 'shape_score': 0.5}
    """
    flat: dict[str, Any] = {}
    for key, value in entry.items():
        flat.update(_flat(value, f"{prefix}{key}_") if isinstance(value, dict) else {prefix + key: value})
    return flat


def _flat_records(entries: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entries as records with the same keys, columns first; None for keys that an entry lacks."""
    records = [_flat(entry) for entry in entries]
    found = dict.fromkeys(name for record in records for name in record)
    names = sorted(found, key=lambda name: name not in ("name", "a", "b"))
    return [{name: record.get(name) for name in names} for record in records]
