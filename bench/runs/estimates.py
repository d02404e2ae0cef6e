#!/usr/bin/env python3
"""What `tessera estimate` says of fits, beside the peaks that they reach by the kernel's own count (VmHWM of the process).

    estimates.py TESSERA TABLE SERIES [--threads 2]

TABLE is fitted by made, tvae and ctgan, SERIES by timegan, in several precisions, with recomputation, micro-batches and calibration. Peaks do
not depend on epochs, but for tvae's prior, which has the dimensions that the encoder uses by then: it trains for 20, the others for one. A
line for each: peak and estimate in MB, their ratio.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROWS = {
    "made": ["--batch-size 2000", "--precision bf16", "--micro-batch 128", "--recompute all", "--any-order on", "--hidden-dim 512"],
    "tvae": ["--preset paper", "--calibrate off", "--calibrate off --precision bf16", "--calibrate off --batch-size 4000",
             "--calibrate off --batch-size 4000 --micro-batch 500", "--calibrate off --numbers modes", "--calibrate marginals"],
    "ctgan": ["--preset paper", "--calibrate off", "--calibrate off --precision bf16", "--calibrate off --batch-size 4000",
              "--calibrate off --recompute all", "--calibrate off --precision fp16"],
}
SERIES = ["--batch-size 128", "--batch-size 512", "--batch-size 128 --precision bf16", "--sequence-length 100 --hidden-dim 48",
          "--sequence-length 100 --hidden-dim 48 --recompute all", "--sequence-length 200 --hidden-dim 48 --recompute all --precision bf16"]


def peak_of(command):
    """Bytes: the largest resident set of the process itself."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}\n{said}")
    return usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tessera")
    parser.add_argument("table")
    parser.add_argument("series")
    parser.add_argument("--threads", default="2")
    a = parser.parse_args()
    fits = [(m, a.table, o.split()) for m, list_of in ROWS.items() for o in [""] + list_of]
    for o in SERIES:
        options = o.split()
        fits.append(("timegan", a.series, options if "--sequence-length" in options else ["--sequence-length", "24"] + options))
    print("| fit | peak, MB | estimate, MB | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for method, data, options in fits:
            known = [data, "--method", method, "--threads", a.threads] + options
            said = subprocess.run([a.tessera, "estimate"] + known + ["--json", "--quiet"], capture_output=True, text=True)
            if said.returncode != 0:
                raise SystemExit(said.stderr)
            estimate = json.loads(said.stdout)["peak_bytes"]
            short = ["--iterations", "1"] if method == "timegan" else ["--epochs", "20" if method == "tvae" else "1"]
            peak = peak_of([a.tessera, "fit"] + known + short + ["--quiet", "--force", "--model", os.path.join(folder, "m")])
            print(f"| {method} {' '.join(options)} | {peak / 1e6:.1f} | {estimate / 1e6:.1f} | {estimate / peak:.2f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
