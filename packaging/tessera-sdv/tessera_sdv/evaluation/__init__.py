"""Evaluation by the names of SDV's functions: :mod:`tessera_sdv.evaluation.single_table`."""
