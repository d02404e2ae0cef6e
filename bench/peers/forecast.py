#!/usr/bin/env python3
"""Forecasts by `model.forecast` beside a seasonal naive and an autoregressive model, by CRPS.

  forecast.py TABLE.csv|meters --season 144 [--columns x0,x1] [--origins 40] [--horizon 24] [--draws 50] [--seed 1]

The model is fitted on the first four fifths of TABLE (windows of --length rows); origins are spread over the rest. Naive:
the value of a season ago plus a seasonal difference of the training rows, drawn at random. AR: least squares on the last
24 values and that of a season ago, with residuals drawn at random. CRPS by sample (mean |x - y| - mean |x - x'| / 2), over
the standard deviation of the column, averaged over origins, steps and columns. `meters`: four years of six meters, hourly
(daily and weekly seasons, persistent noise, quiet days). Needs pandas and pyarrow."""
import argparse
import time

import numpy as np
import pandas as pd

import tessera


def meters(rows=24 * 365, seed=3):
    rng = np.random.default_rng(seed)
    hour = np.arange(rows)
    quiet = np.repeat(rng.random(rows // 24 + 1) < 0.08, 24)[:rows]
    out = {"hour": hour % 24, "day": hour // 24 % 7}
    for k in range(4):
        daily = 5 + 2 * np.sin(2 * np.pi * (hour % 24) / 24 + k) + (hour // 24 % 7 < 5) * (1 + k / 4)
        noise = np.zeros(rows)
        for t in range(1, rows):
            noise[t] = 0.8 * noise[t - 1] + 0.3 * rng.normal()
        out[f"load_{k}"] = np.round(np.where(quiet, 0.5, 1) * daily + noise, 2)
    return pd.DataFrame(out)


def crps(draws, truth):
    """Of draws [n, ...] of truth [...]."""
    ordered = np.sort(draws, axis=0)
    n = len(draws)
    weights = (2 * np.arange(1, n + 1) - n - 1).reshape(-1, *[1] * truth.ndim)
    return np.abs(draws - truth).mean(0) - (weights * ordered).sum(0) / n**2


def autoregressive(x, split, origin, steps, draws, season, rng, lags=24):
    at = np.arange(season, split)
    features = np.stack([x[at - k] for k in range(1, lags + 1)] + [x[at - season], np.ones(len(at))], 1)
    weights = np.linalg.lstsq(features, x[at], rcond=None)[0]
    residuals = x[at] - features @ weights
    paths = np.tile(x[:origin], (draws, 1))
    for _ in range(steps):
        now = paths.shape[1]
        f = np.concatenate([paths[:, now - 1:now - lags - 1:-1], paths[:, [now - season]], np.ones((draws, 1))], 1)
        paths = np.concatenate([paths, (f @ weights + rng.choice(residuals, draws))[:, None]], 1)
    return paths[:, origin:]


def naive(x, split, origin, steps, draws, season, rng):
    differences = x[season:split] - x[:split - season]
    at = rng.integers(0, len(differences) - steps, draws)
    last = x[origin - season:origin][np.arange(steps) % season]
    return np.stack([last + differences[a:a + steps] for a in at])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("table")
    p.add_argument("--season", type=int, required=True)
    p.add_argument("--columns")
    for name, value in (("origins", 40), ("horizon", 24), ("draws", 50), ("seed", 1), ("length", 26), ("rows", 0)):
        p.add_argument(f"--{name}", type=int, default=value)
    o = p.parse_args()
    table = meters() if o.table == "meters" else pd.read_csv(o.table)
    table = table.tail(o.rows).reset_index(drop=True) if o.rows else table
    if o.columns:
        table = table[o.columns.split(",")]
    split = len(table) * 4 // 5
    began = time.process_time()
    model = tessera.fit(table[:split], sequence_length=o.length, seed=o.seed, threads=1)
    fitted = time.process_time() - began
    origins = np.linspace(max(split, o.season + 1), len(table) - o.horizon, o.origins).astype(int)
    history = pd.concat([table[i - o.length:i].assign(sequence=k + 1) for k, i in enumerate(origins)])
    began = time.process_time()
    drawn = model.forecast(history, o.horizon, n=o.draws, quantiles=None, seed=o.seed, threads=1)
    took = time.process_time() - began
    rng = np.random.default_rng(o.seed)
    scores = {"made": [], "seasonal naive": [], "AR": []}
    for name in table.columns:
        x = table[name].to_numpy(float)
        if x[:split].std() == 0 or name in ("hour", "day"):
            continue
        truth = np.stack([x[i:i + o.horizon] for i in origins])
        ours = drawn[name].to_numpy(float).reshape(len(origins), o.draws, o.horizon).swapaxes(0, 1)
        each = {"made": ours}
        for other, of in (("seasonal naive", naive), ("AR", autoregressive)):
            paths = [of(x[:i], split, i, o.horizon, o.draws, o.season, rng) for i in origins]
            each[other] = np.stack(paths, 1)
        for method, draws in each.items():
            scores[method].append(crps(draws, truth).mean() / x[:split].std())
    print(f"{o.table}: fit {fitted:.1f}, forecasts {took:.1f} CPU seconds")
    for method, values in scores.items():
        wins = np.mean(np.array(scores["made"]) <= np.array(values))
        print(f"{method:15} CRPS / sd {np.mean(values):.4f}  (made at most that in {wins:.0%} of columns)")


if __name__ == "__main__":
    main()
