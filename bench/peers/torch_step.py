#!/usr/bin/env python3
"""The training steps of CTGAN and TVAE (Xu et al. 2019) in eager PyTorch, written from the paper and from models/ctgan/network.cpp and tvae.cpp, as people write them: a column at a
time where the columns differ, conditions drawn on the host. What a user of PyTorch has today, on the card at hand; the yardstick of bench_device.

    torch_step.py [--method ctgan|tvae] [--device cuda] [--steps 200] [--json FILE]

Prints the time of a step. CTGAN: critic's update (with gradient penalty), generator's update, both optimisers, batch 500 in packs of 10. TVAE: encoder, decoder and their
optimiser, batch 500. Adult's widths.
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


class Ctgan:
    def __init__(self, device):
        self.g, self.d, self.conditions, self.device = generator().to(device), critic().to(device), Conditions(device), device
        self.g_adam = torch.optim.Adam(self.g.parameters(), lr=2e-4, betas=(0.5, 0.9), weight_decay=1e-6)
        self.d_adam = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.5, 0.9), weight_decay=0)
        self.table = torch.rand(ROWS, DATA, device=device)

    def logits(self, one_hot):
        return self.g(torch.cat([torch.randn(len(one_hot), NOISE, device=self.device), one_hot], dim=1))

    def score(self, rows):
        return self.d(rows.view(-1, PAC * rows.shape[1])).mean()

    def step(self):
        one_hot, _, _, _ = self.conditions.draw()
        with torch.no_grad():
            fake = torch.cat([activate(self.logits(one_hot)), one_hot], dim=1)
        seen, _, _, row = self.conditions.draw()
        real = torch.cat([self.table[row], seen], dim=1)
        loss = self.score(fake) - self.score(real) + penalty(self.d, real, fake)
        self.d_adam.zero_grad(set_to_none=True)
        loss.backward()
        self.d_adam.step()

        one_hot, value, column, _ = self.conditions.draw()
        logits = self.logits(one_hot)
        loss = cross_entropy(logits, value, column) - self.score(torch.cat([activate(logits), one_hot], dim=1))
        self.g_adam.zero_grad(set_to_none=True)
        loss.backward()
        self.g_adam.step()
        return loss

    def rows(self, batch):
        self.g.eval()
        one_hot = torch.zeros(batch, COND, device=self.device)
        one_hot[torch.arange(batch), torch.randint(0, COND, (batch,))] = 1
        return activate(self.logits(one_hot))


class Tvae:
    def __init__(self, device):
        width = 128
        layers = lambda start: nn.Sequential(nn.Linear(start, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.body, self.mean, self.log_variance = layers(DATA), nn.Linear(width, NOISE), nn.Linear(width, NOISE)
        self.decoder = nn.Sequential(*layers(NOISE), nn.Linear(width, DATA))
        self.nets = nn.ModuleList([self.body, self.mean, self.log_variance, self.decoder]).to(device)
        self.sigma = nn.Parameter(0.1 * torch.ones(DATA, device=device))
        self.adam = torch.optim.Adam([*self.nets.parameters(), self.sigma], weight_decay=1e-5)
        self.table, self.device = torch.rand(ROWS, DATA, device=device), device

    def step(self):
        x = self.table[torch.randint(0, ROWS, (BATCH,), device=self.device)]
        h = self.body(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        logits = self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance))
        loss = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp()) / BATCH
        for s, w, soft, _ in SPANS:
            if soft:
                part = nn.functional.cross_entropy(logits[:, s:s + w], x[:, s:s + w].argmax(dim=1), reduction="sum")
            else:
                part = ((x[:, s] - torch.tanh(logits[:, s])) ** 2 / (2 * self.sigma[s] ** 2)).sum() + BATCH * torch.log(self.sigma[s])
            loss = loss + 2 * part / BATCH
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            self.sigma.clamp_(0.01, 1.0)
        return loss

    def rows(self, batch):
        return activate(self.decoder(torch.randn(batch, NOISE, device=self.device)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=["ctgan", "tvae"], default="ctgan")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    device = torch.device(args.device)
    torch.manual_seed(1)
    model = {"ctgan": Ctgan, "tvae": Tvae}[args.method](device)

    def timed(steps):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            last = model.step()
        assert torch.isfinite(last)  # waits for the device
        return (time.perf_counter() - begin) / steps

    timed(min(args.steps, 10))
    seconds = min(timed(args.steps) for _ in range(3))
    rows, batch = 0, 4096
    begin = time.perf_counter()
    with torch.no_grad():
        while rows < 20 * batch and time.perf_counter() - begin < 20:
            made = model.rows(batch)
            rows += len(torch.stack([made[:, s:s + w].argmax(dim=1) for s, w, soft, _ in SPANS if soft], dim=1).cpu())
    figures = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "step_seconds": seconds,
               "sampled_rows_per_second": rows / (time.perf_counter() - begin)}
    print(f"{args.method}, eager PyTorch {figures['torch']} on {figures['device']}: {1e3 * seconds:.3f} ms a step, {figures['sampled_rows_per_second']:.0f} rows a second sampled")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=2)


if __name__ == "__main__":
    main()
