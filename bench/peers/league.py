#!/usr/bin/env python3
"""Runs SDGym's benchmark of single tables with Tessera beside its own synthesizers: quality by SDMetrics, seconds by SDGym's clock.

    league.py LIBTESSERA TABLE.csv... [--peers GaussianCopulaSynthesizer] [--output results.csv]

Columns are typed as SDV detects them. Each table is what the synthesizers are fitted to and what they are compared with, as in the published league.
"""

import argparse
import os
import pathlib
import tempfile
import zipfile

os.environ.setdefault("OMP_NUM_THREADS", "2")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library", help="libtessera.so")
    parser.add_argument("tables", nargs="+", help="CSV files")
    parser.add_argument("--peers", nargs="*", default=["GaussianCopulaSynthesizer"], help="SDGym's names of synthesizers to run as well")
    parser.add_argument("--output", help="CSV file of all that SDGym reports")
    return parser.parse_args()


def write_dataset(table, folder):
    """A table in the layout that SDGym reads: single_table/<name>/metadata.json and data.zip."""
    import pandas as pd
    from sdv.metadata import Metadata

    name = pathlib.Path(table).stem
    place = pathlib.Path(folder) / "single_table" / name
    place.mkdir(parents=True)
    Metadata.detect_from_dataframe(pd.read_csv(table), table_name=name).save_to_json(place / "metadata.json")
    with zipfile.ZipFile(place / "data.zip", "w") as data:
        data.write(table, f"{name}.csv")


def fitted(data, metadata):
    import tessera

    return tessera.fit(data, seed=1)


def sampled(model, rows):
    return model.sample(rows)


def main():
    options = arguments()
    options.output = options.output and os.path.abspath(options.output)
    os.environ["TESSERA_LIBRARY"] = str(pathlib.Path(options.library).resolve())
    import sdgym

    with tempfile.TemporaryDirectory() as folder:
        for table in options.tables:
            write_dataset(table, folder)
        os.chdir(pathlib.Path(folder) / "single_table")  # SDGym 0.15.1 looks for a local dataset where it runs
        results = sdgym.benchmark_single_table(
            synthesizers=options.peers, custom_synthesizers=[sdgym.create_single_table_synthesizer("tessera", fitted, sampled)], sdv_datasets=None,
            additional_datasets_folder=folder, compute_privacy_score=False)
    if options.output:
        results.to_csv(options.output, index=False)
    print(results[["Dataset", "Synthesizer", "Quality_Score", "Diagnostic_Score", "Train_Time", "Sample_Time"]].to_string(index=False))


if __name__ == "__main__":
    main()
