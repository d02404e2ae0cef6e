#!/usr/bin/env python3
"""Training step and sampling rate of pip ctgan's CTGAN, default hyper-parameters, on the CPU: ctgan_step.py DATA.csv --threads 1 > FILE.json"""

from timed_fit import run

if __name__ == "__main__":
    run("CTGAN", 2, __doc__)  # the critic's update, then the generator's
