#!/usr/bin/env python3
"""The scores of Yoon et al. 2019 for sequences of one length, by PyTorch, and what a user sees of stocks.

  judge_sequences.py REAL SYNTHETIC|- --length 24 [--key COLUMN] [--seeds 3] [--no-predict] [--stocks]

REAL is cut into windows (stride 1), or into the sequences of --key; SYNTHETIC has a column "sequence", or --key. "-"
judges one half of the real sequences against the other: the floor. Discriminative: a GRU of one layer with half as many
units as features, 2,000 steps of 128 + 128, |accuracy - 0.5| on a held-out fifth. Predictive: the same layer, 5,000 steps,
mean absolute error of the last feature of the next step, learned from synthetic and tested on real sequences. Features
are scaled by the minimum and maximum of the real ones. Needs torch."""
import argparse
import csv
import json

import numpy as np
import torch


def sequences(path, key, length, columns=None):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    names = columns or [c for c in rows[0] if c not in (key, "sequence", "step")]
    values = np.array([[float(r[c]) if r[c] else np.nan for c in names] for r in rows])
    if key is None and "sequence" in rows[0]:
        key = "sequence"
    if key is None:
        return np.stack([values[i:i + length] for i in range(len(values) - length + 1)]), names
    at = [r[key] for r in rows]
    starts = [i for i in range(len(at)) if i == 0 or at[i] != at[i - 1]] + [len(at)]
    return np.stack([values[a:a + length] for a, b in zip(starts, starts[1:]) if b - a >= length]), names


class Layer(torch.nn.Module):
    def __init__(self, features, units):
        super().__init__()
        self.gru = torch.nn.GRU(features, units, batch_first=True)
        self.out = torch.nn.Linear(units, 1)

    def forward(self, x, every=False):
        y, _ = self.gru(x)
        return self.out(y if every else y[:, -1]).squeeze(-1)


def discriminative(real, made, seed, steps=2000):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    sides = []
    for x in (real, made):
        order = rng.permutation(len(x))
        cut = int(0.8 * len(x))
        sides.append((torch.tensor(x[order[:cut]]), torch.tensor(x[order[cut:]])))
    net = Layer(real.shape[2], max(real.shape[2] // 2, 1))
    adam = torch.optim.Adam(net.parameters())
    loss_of = torch.nn.BCEWithLogitsLoss()
    for _ in range(steps):
        batch = [s[0][torch.from_numpy(rng.integers(len(s[0]), size=128))] for s in sides]
        loss = loss_of(net(batch[0]), torch.ones(128)) + loss_of(net(batch[1]), torch.zeros(128))
        adam.zero_grad(), loss.backward(), adam.step()
    with torch.no_grad():
        n = min(len(s[1]) for s in sides)
        right = (net(sides[0][1][:n]) > 0).float().mean() + (net(sides[1][1][:n]) <= 0).float().mean()
    return abs(0.5 - float(right) / 2)


def predictive(real, made, seed, steps=5000):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    net = Layer(real.shape[2] - 1, max(real.shape[2] // 2, 1))
    adam = torch.optim.Adam(net.parameters())
    made, real = torch.tensor(made), torch.tensor(real)
    error = lambda x: (torch.sigmoid(net(x[:, :-1, :-1], True)) - x[:, 1:, -1]).abs().mean()
    for _ in range(steps):
        loss = error(made[torch.from_numpy(rng.integers(len(made), size=128))])
        adam.zero_grad(), loss.backward(), adam.step()
    with torch.no_grad():
        return float(error(real))


def correlations(x):
    """Of each feature from step to step, and sd of one step and of the whole span, relative to its own sd."""
    a, b = x[:, :-1].reshape(-1, x.shape[2]), x[:, 1:].reshape(-1, x.shape[2])
    each = [np.corrcoef(a[:, k], b[:, k])[0, 1] if a[:, k].std() > 0 else 1.0 for k in range(x.shape[2])]
    step, span = (b - a).std(0), (x[:, -1] - x[:, 0]).std(0)
    return np.array(each), step, span


def of_stocks(x, names):
    at = {n: k for k, n in enumerate(names)}
    open_, high, low, close, adj, volume = (x[..., at[c]] for c in ("Open", "High", "Low", "Close", "Adj_Close", "Volume"))
    moves = np.diff(np.log(close), axis=1)
    size = np.abs(moves)
    return {"adj_close = close": float((adj == close).mean()), "high >= open, close": float(((high >= open_) & (high >= close)).mean()),
            "low <= open, close": float(((low <= open_) & (low <= close)).mean()),
            "(high - low) / close": float(((high - low) / close).mean()),
            "sd of ln(end / start)": float(np.log(close[:, -1] / close[:, 0]).std()), "sd of moves": float(moves.std()),
            "autocorrelation of |moves|": float(np.corrcoef(size[:, :-1].ravel(), size[:, 1:].ravel())[0, 1]),
            "volume, first and last": [float(volume[:, 0].mean()), float(volume[:, -1].mean())]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("real"), p.add_argument("synthetic")
    p.add_argument("--length", type=int, default=24), p.add_argument("--key"), p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--no-predict", action="store_true"), p.add_argument("--stocks", action="store_true")
    p.add_argument("--sequences", type=int, default=10000)
    a = p.parse_args()
    torch.set_num_threads(1)
    real, names = sequences(a.real, a.key, a.length)
    rng = np.random.default_rng(1)
    if a.synthetic == "-":
        order = rng.permutation(len(real))
        made, real_side = real[order[: len(real) // 2]], real[order[len(real) // 2:]]
    else:
        made, real_side = sequences(a.synthetic, a.key, a.length, names)[0], real
    made = made[: a.sequences]
    low, high = np.nanmin(real, (0, 1)), np.nanmax(real, (0, 1))
    scale = lambda x: np.nan_to_num((x - low) / np.where(high > low, high - low, 1)).astype(np.float32)
    d = [discriminative(scale(real_side), scale(made), s) for s in range(a.seeds)]
    out = {"sequences": [len(real_side), len(made)], "discriminative": round(float(np.mean(d)), 4), "each": [round(x, 4) for x in d]}
    if not a.no_predict:
        out["predictive"] = [round(predictive(scale(real), scale(made), s), 4) for s in range(min(a.seeds, 2))]
    (rc, rs, rp), (mc, ms, mp) = correlations(scale(real_side)), correlations(scale(made))
    out["step-to-step correlation, mean error"] = round(float(np.abs(rc - mc).mean()), 4)
    out["sd of a step, made / real (median, worst)"] = [round(float(f(ms / np.maximum(rs, 1e-9))), 3) for f in (np.median, lambda r: r[np.argmax(np.abs(np.log(np.maximum(r, 1e-9))))])]
    out["sd of the span, made / real (median, worst)"] = [round(float(f(mp / np.maximum(rp, 1e-9))), 3) for f in (np.median, lambda r: r[np.argmax(np.abs(np.log(np.maximum(r, 1e-9))))])]
    if a.stocks:
        out["real"], out["made"] = of_stocks(real_side, names), of_stocks(made, names)
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
