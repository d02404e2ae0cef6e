#!/usr/bin/env python3
"""The training step of CTGAN (Xu et al. 2019) in eager PyTorch, written from the paper and from models/ctgan.cpp, as people write it: a column at a time where the
columns differ, conditions drawn on the host. What a user of PyTorch has today, on the card at hand; the yardstick of bench_device.

    torch_step.py [--device cuda] [--steps 200] [--json FILE]

Prints the time of a step: critic's update (with gradient penalty), generator's update, both optimisers. Adult's widths, batch 500 in packs of 10.
"""
import argparse
import json
import time

import numpy as np
import torch
from torch import nn

MODES, CATEGORIES = [10, 9, 10, 5, 8], [9, 16, 7, 15, 6, 5, 2, 42, 2, 16]
BATCH, PAC, NOISE, HIDDEN, ROWS = 500, 10, 128, 256, 32561


def spans():
    """(start, width, softmax, condition's start or -1) of each span of a row."""
    found, at, cond = [], 0, 0
    for modes in MODES:
        found += [(at, 1, False, -1), (at + 1, modes, True, -1)]
        at += 1 + modes
    for values in CATEGORIES:
        found.append((at, values, True, cond))
        at += values
        cond += values
    return found, at, cond


SPANS, DATA, COND = spans()


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, HIDDEN), nn.BatchNorm1d(HIDDEN)

    def forward(self, x):
        return torch.cat([torch.relu(self.norm(self.linear(x))), x], dim=1)


def generator():
    return nn.Sequential(Residual(NOISE + COND), Residual(NOISE + COND + HIDDEN), nn.Linear(NOISE + COND + 2 * HIDDEN, DATA))


def critic():
    layers, width = [], PAC * (DATA + COND)
    for _ in range(2):
        layers += [nn.Linear(width, HIDDEN), nn.LeakyReLU(0.2), nn.Dropout(0.5)]
        width = HIDDEN
    return nn.Sequential(*layers, nn.Linear(width, 1))


def activate(logits):
    return torch.cat([nn.functional.gumbel_softmax(logits[:, s:s + w], tau=0.2) if soft else torch.tanh(logits[:, s:s + w]) for s, w, soft, _ in SPANS], dim=1)


def cross_entropy(logits, value, column):
    discrete = [(s, w) for s, w, _, c in SPANS if c >= 0]
    losses = [nn.functional.cross_entropy(logits[:, s:s + w], value.clamp(max=w - 1), reduction="none") for s, w in discrete]
    return torch.stack(losses, dim=1).gather(1, column[:, None]).mean()


class Conditions:
    """Training by sampling: a discrete column, a value of it by log-frequency, a row that has it."""

    def __init__(self, device):
        rng = np.random.default_rng(0)
        self.codes = np.stack([rng.integers(0, w, ROWS) for w in CATEGORIES], axis=1)
        self.starts = np.concatenate([[0], np.cumsum(CATEGORIES)[:-1]])
        self.chance, self.rows = [], []
        for c, width in enumerate(CATEGORIES):
            count = np.bincount(self.codes[:, c], minlength=width)
            self.chance.append(np.log1p(count) / np.log1p(count).sum())
            self.rows.append([np.flatnonzero(self.codes[:, c] == v) for v in range(width)])
        self.rng, self.device = rng, device

    def draw(self):
        column = self.rng.integers(0, len(CATEGORIES), BATCH)
        value = np.array([self.rng.choice(CATEGORIES[c], p=self.chance[c]) for c in column])
        row = np.array([self.rng.choice(self.rows[c][v]) for c, v in zip(column, value)])
        one_hot = np.zeros((BATCH, COND), dtype=np.float32)
        one_hot[np.arange(BATCH), self.starts[column] + value] = 1
        return [torch.from_numpy(a).to(self.device) for a in (one_hot, value, column, row)]


def penalty(net, real, fake):
    alpha = torch.rand(real.shape[0] // PAC, 1, 1, device=real.device).expand(-1, PAC, real.shape[1]).reshape(real.shape)
    between = (alpha * real + (1 - alpha) * fake).requires_grad_()
    score = net(between.view(-1, PAC * between.shape[1]))
    slope, = torch.autograd.grad(score, between, torch.ones_like(score), create_graph=True)
    return 10 * ((slope.view(-1, PAC * slope.shape[1]).norm(dim=1) - 1) ** 2).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    device = torch.device(args.device)
    torch.manual_seed(1)
    g, d, conditions = generator().to(device), critic().to(device), Conditions(device)
    g_adam = torch.optim.Adam(g.parameters(), lr=2e-4, betas=(0.5, 0.9), weight_decay=1e-6)
    d_adam = torch.optim.Adam(d.parameters(), lr=2e-4, betas=(0.5, 0.9), weight_decay=0)
    table = torch.rand(ROWS, DATA, device=device)
    packed = lambda x: x.view(-1, PAC * x.shape[1])

    def step():
        one_hot, _, _, _ = conditions.draw()
        with torch.no_grad():
            fake = torch.cat([activate(g(torch.cat([torch.randn(BATCH, NOISE, device=device), one_hot], dim=1))), one_hot], dim=1)
        seen, _, _, row = conditions.draw()
        real = torch.cat([table[row], seen], dim=1)
        loss = d(packed(fake)).mean() - d(packed(real)).mean() + penalty(d, real, fake)
        d_adam.zero_grad(set_to_none=True)
        loss.backward()
        d_adam.step()

        one_hot, value, column, _ = conditions.draw()
        logits = g(torch.cat([torch.randn(BATCH, NOISE, device=device), one_hot], dim=1))
        fake = torch.cat([activate(logits), one_hot], dim=1)
        loss = cross_entropy(logits, value, column) - d(packed(fake)).mean()
        g_adam.zero_grad(set_to_none=True)
        loss.backward()
        g_adam.step()
        return loss

    def timed(steps):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            last = step()
        assert torch.isfinite(last)  # waits for the device
        return (time.perf_counter() - begin) / steps

    timed(min(args.steps, 10))
    seconds = min(timed(args.steps) for _ in range(3))
    g.eval()
    rows, batch = 0, 4096
    begin = time.perf_counter()
    with torch.no_grad():
        while rows < 20 * batch and time.perf_counter() - begin < 20:
            one_hot = torch.zeros(batch, COND, device=device)
            one_hot[torch.arange(batch), torch.randint(0, COND, (batch,))] = 1
            made = activate(g(torch.cat([torch.randn(batch, NOISE, device=device), one_hot], dim=1)))
            codes = torch.stack([made[:, s:s + w].argmax(dim=1) for s, w, soft, _ in SPANS if soft], dim=1).cpu()
            rows += len(codes)
    figures = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "step_seconds": seconds,
               "sampled_rows_per_second": rows / (time.perf_counter() - begin)}
    print(f"eager PyTorch {figures['torch']} on {figures['device']}: {1e3 * seconds:.3f} ms a step, {figures['sampled_rows_per_second']:.0f} rows a second sampled")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=2)


if __name__ == "__main__":
    main()
