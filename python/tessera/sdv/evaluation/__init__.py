"""Evaluation by the names of SDV's functions: :mod:`tessera.sdv.evaluation.single_table`."""

from . import single_table

__all__ = ["single_table"]
