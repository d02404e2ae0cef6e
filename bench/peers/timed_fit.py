"""Times a pip `ctgan` model through its public interface: fit() with few epochs, watched by torch's optimizer hook, then sample().

Nothing of the package is changed or replaced. What is read off:
  prepare_s      fit() until the first training step ends, less one median step
  step_ms        wall time of a training step in blocks of BLOCK steps: minimum and median over the blocks; step_cpu_ms: processor time, all threads
  sample_rows_s  rows a second of sample(), to a data frame: best and median of ROUNDS
  peak_rss_mb    of this process (preparation also starts joblib workers, which are not counted)
"""

import argparse
import json
import os
import platform
import resource
import sys
import time
from importlib.metadata import version
from statistics import median

BLOCK = 25
ROUNDS = 3


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", help="CSV; its columns of text are the discrete ones")
    parser.add_argument("--threads", type=int, default=1, help="of torch, OpenMP and the BLAS")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000, help="rows each sample() makes; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Clock:
    """Wall and processor time at the end of every training step; `updates` optimizer steps make one."""

    def __init__(self, updates):
        self.updates, self.calls, self.wall, self.cpu = updates, 0, [], []

    def __call__(self, optimizer, args, kwargs):
        self.calls += 1
        if self.calls % self.updates == 0:
            self.wall.append(time.perf_counter())
            self.cpu.append(time.process_time())

    def blocks(self, times):
        """Milliseconds a step, one figure for each whole block after the first step."""
        return [1e3 * (times[i + BLOCK] - times[i]) / BLOCK for i in range(0, len(times) - BLOCK, BLOCK)]


def run(model_name, updates, description):
    """Prints one JSON object. `updates`: optimizer steps in one training step of this model."""
    options = arguments(description)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # read when torch is loaded, hence the imports here
        os.environ[name] = str(options.threads)
    import ctgan
    import pandas
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    table = pandas.read_csv(options.data, skipinitialspace=True, keep_default_na=False)
    discrete = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
    model = getattr(ctgan, model_name)(epochs=options.epochs, enable_gpu=False)
    clock = Clock(updates)
    hook = register_optimizer_step_post_hook(clock)
    started = time.perf_counter()
    model.fit(table, discrete)
    fitted = time.perf_counter() - started
    hook.remove()
    wall, cpu = clock.blocks(clock.wall), clock.blocks(clock.cpu)
    if not wall:
        sys.exit(f"{options.data}: {len(clock.wall)} training steps in {options.epochs} epochs; a block needs {BLOCK + 1}. Ask for more --epochs.")
    result = {
        "model": model_name,
        "threads": options.threads,
        "versions": {name: version(name) for name in ("ctgan", "rdt", "torch", "scikit-learn")},
        "machine": machine(),
        "rows": len(table),
        "columns": len(table.columns),
        "discrete": len(discrete),
        "steps": len(clock.wall),
        "fit_s": fitted,
        "prepare_s": clock.wall[0] - started - median(wall) / 1e3,
        "step_ms": {"min": min(wall), "median": median(wall)},
        "step_cpu_ms": {"min": min(cpu), "median": median(cpu)},
    }
    if options.rows:
        rates = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            model.sample(options.rows)
            rates.append(options.rows / (time.perf_counter() - started))
        result["sample_rows_s"] = {"best": max(rates), "median": median(rates)}
    result["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result, indent=2))


def machine():
    """Processor, count and load: a step timed beside other work is no figure."""
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            model = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"cpu": model, "processors": os.cpu_count(), "load": list(os.getloadavg())}
