"""How near rows of one table are to the real ones, by the names of SDV's functions, over :func:`tessera.evaluate`."""

from __future__ import annotations

from typing import Any

import pandas
from tessera import Report, UnsupportedError, UsageError, evaluate

_PROPERTIES = {"Column Shapes": "column_shapes", "Column Pair Trends": "pair_trends"}


class QualityReport:
    """Scores of :func:`evaluate_quality`. `report` is the whole :class:`tessera.Report`."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def get_score(self) -> float:
        """The mean of the properties, 0 to 1."""
        return self.report.scores["quality"]

    def get_properties(self) -> Any:
        """A row for each property."""
        scores = [self.report.scores[name] for name in _PROPERTIES.values()]
        return pandas.DataFrame({"Property": list(_PROPERTIES), "Score": scores})

    def get_details(self, property_name: str) -> Any:
        """A row for each column, or each pair of columns."""
        if property_name not in _PROPERTIES:
            raise UsageError(f"There is no property {property_name!r}. There are {', '.join(_PROPERTIES)}.")
        return self.report.columns if property_name == "Column Shapes" else self.report.pairs


def evaluate_quality(
    real_data: Any, synthetic_data: Any, metadata: Any = None, verbose: bool = True
) -> QualityReport:
    """Shapes of columns and trends of pairs.

    >>> from tessera_sdv.evaluation.single_table import evaluate_quality
    >>> evaluate_quality(people, people, verbose=False).get_score()
    1.0
    """
    report = QualityReport(evaluate(real_data, synthetic_data, distances=False, c2st=False))
    if verbose:
        print(f"Overall Score (Average): {report.get_score():.1%}")
    return report


_MISSING = {
    "run_diagnostic": "tessera.evaluate(real, synthetic, rule=...).rules lists what is broken.",
    "get_column_plot": "tessera.evaluate(real, synthetic).to_html('page.html') draws every column.",
    "get_column_pair_plot": "tessera.evaluate(real, synthetic).to_html('page.html') draws the pairs.",
}


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise UnsupportedError(f"{name}: {_MISSING[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
