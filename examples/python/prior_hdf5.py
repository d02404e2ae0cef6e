#!/usr/bin/env python3
"""Random tables as one HDF5 file in the layout of nanoTabPFN's prior dumps (needs h5py and numpy).

python prior_hdf5.py OUT.h5 [TABLES [ROWS [FEATURES [CLASSES [SEED]]]]]
"""

import sys

import h5py
import tessera

path, numbers = sys.argv[1], [int(word) for word in sys.argv[2:]]
tables, rows, features, classes, seed = numbers + [1000, 150, 5, 2, 0][len(numbers) :]

with h5py.File(path, "w") as file:
    x = file.create_dataset("X", (tables, rows, features), "f4", chunks=(1, rows, features), compression="lzf")
    y = file.create_dataset("y", (tables, rows), "f4", chunks=(1, rows), compression="lzf")
    sizes = {name: file.create_dataset(name, (tables,), "i4") for name in ("num_features", "num_datapoints", "single_eval_pos")}
    drawn = tessera.prior(tables, rows=rows, features=(min(2, features), features), classes=(2, classes), seed=seed)
    for i, table in enumerate(drawn):
        x[i, :, : table.x.shape[1]], y[i] = table.x, table.y
        values = (table.x.shape[1], rows, table.train_rows)
        for name, value in zip(("num_features", "num_datapoints", "single_eval_pos"), values):
            sizes[name][i] = value
    file["max_num_classes"], file["problem_type"] = [classes], "classification"
