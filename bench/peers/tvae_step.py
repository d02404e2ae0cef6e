#!/usr/bin/env python3
"""Training step and sampling rate of pip ctgan's TVAE, default hyper-parameters, on the CPU: tvae_step.py DATA.csv --threads 1 > FILE.json"""

from timed_fit import run

if __name__ == "__main__":
    run("TVAE", 1, __doc__)
