#!/usr/bin/env python3
"""Training steps of CTGAN and TVAE (Xu et al. 2019) in PyTorch, at Adult's widths: what a user of PyTorch can have.

    torch_step.py [--method ctgan|tvae] [--mode eager|graph|compiled] [--tf32] [--device cuda] [--steps 200] [--json FILE]

eager     as one writes it: autograd for the slope of the gradient penalty, one optimizer step after the other
graph     the same step, captured in a CUDA graph and replayed
compiled  losses through torch.compile, the slope of the critic written out (torch.compile has no second derivatives),
          fused Adam; captured in a CUDA graph where there is one
In all of them conditions are drawn on the device and softmaxes of all columns are one kernel: nothing is slower than it
has to be. CTGAN: critic (with gradient penalty) and generator, batch 500, packs of 10. TVAE: batch 500. Prints the time
of a step, minimum of three rounds, and the rate at which rows are sampled.
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

from adult_step import BATCH, CATEGORIES, COND, DATA, HIDDEN, NOISE, PAC, ROWS, SOFT, Sampling, padded


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, HIDDEN), nn.BatchNorm1d(HIDDEN)

    def forward(self, x):
        return torch.cat([torch.relu(self.norm(self.linear(x))), x], dim=1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(PAC * (DATA + COND), HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)])

    def forward(self, x):
        return self.with_slope(x)[0]

    def with_slope(self, x):
        """The score, and a function that gives its slope in x by the chain rule."""
        through = []
        for layer in self.layers[:-1]:
            x = layer(x)
            kept = (torch.rand_like(x) < 0.5).to(x.dtype) * 2  # dropout of one half
            through.append(torch.where(x > 0, 1.0, 0.2).to(x.dtype) * kept)
            x = x * through[-1]

        def slope():
            d = self.layers[-1].weight * through[-1]
            d = (d @ self.layers[1].weight) * through[0]
            return d @ self.layers[0].weight
        return self.layers[-1](x), slope


class Rows:
    """Activations of a row of logits, all columns at a time."""

    def __init__(self, device):
        self.into, self.back, self.soft = (torch.from_numpy(a).to(device) for a in padded())
        self.nothing = torch.full((1, 1), float("-inf"), device=device)

    def spans(self, logits):  # [B, spans, WIDEST], -inf where a span has ended
        more = self.nothing.expand(len(logits), 1)
        return torch.cat([logits, more], dim=1)[:, self.into.flatten()].view(len(logits), *self.into.shape)

    def activate(self, logits):
        noise = -torch.empty(len(logits), *self.into.shape, device=logits.device).exponential_().log()
        soft = torch.softmax((self.spans(logits) + noise) / 0.2, dim=2).flatten(1)
        return torch.where(self.soft, soft[:, self.back], torch.tanh(logits))


def adam(parameters, device, mode, **options):
    cuda = device.type == "cuda"
    return torch.optim.Adam(parameters, capturable=cuda and mode != "eager", fused=True if mode == "compiled" else None, **options)


class Ctgan:
    def __init__(self, device, mode):
        compiled = torch.compile if mode == "compiled" else lambda f: f
        self.device, self.by_hand, self.rows_of = device, mode == "compiled", Rows(device)
        self.g = nn.Sequential(Residual(NOISE + COND), Residual(NOISE + COND + HIDDEN),
                               nn.Linear(NOISE + COND + 2 * HIDDEN, DATA)).to(device)
        self.d = Critic().to(device)
        self.g_adam = adam(self.g.parameters(), device, mode, lr=2e-4, betas=(0.5, 0.9), weight_decay=1e-6)
        self.d_adam = adam(self.d.parameters(), device, mode, lr=2e-4, betas=(0.5, 0.9))
        self.table = torch.rand(ROWS, DATA, device=device)
        tables = Sampling()
        self.below, self.first, self.count, self.order, self.start = (
            torch.from_numpy(a).to(device) for a in (tables.below, tables.first, tables.count, tables.order, tables.start))
        self.discrete = torch.tensor([i for i, (_, _, c) in enumerate(SOFT) if c >= 0], device=device)
        self.critic_loss, self.generator_loss = compiled(self._critic_loss), compiled(self._generator_loss)

    def draw(self):
        """A condition [B, COND], its column and value, and a row of the table that has it."""
        column = torch.randint(0, len(CATEGORIES), (BATCH,), device=self.device)
        value = (self.below[column] < torch.rand(BATCH, 1, device=self.device)).sum(1)
        at = self.first[column, value] + (torch.rand(BATCH, device=self.device) * self.count[column, value]).long()
        one_hot = torch.zeros(BATCH, COND, device=self.device).scatter(1, (self.start[column] + value)[:, None], 1.0)
        return one_hot, column, value, self.order[column, at.clamp(max=ROWS - 1)]

    def logits(self, one_hot):
        return self.g(torch.cat([torch.randn(len(one_hot), NOISE, device=self.device), one_hot], dim=1))

    def score(self, rows):
        return self.d(rows.view(-1, PAC * rows.shape[1])).mean()

    def penalty(self, real, fake):
        alpha = torch.rand(BATCH // PAC, 1, 1, device=self.device).expand(-1, PAC, real.shape[1]).reshape(real.shape)
        between = (alpha * real + (1 - alpha) * fake).view(-1, PAC * real.shape[1])
        if self.by_hand:
            slope = self.d.with_slope(between)[1]()
        else:
            between.requires_grad_()
            score = self.d(between)
            slope, = torch.autograd.grad(score, between, torch.ones_like(score), create_graph=True)
        return 10 * ((slope.norm(dim=1) - 1) ** 2).mean()

    def _critic_loss(self):
        one_hot, _, _, _ = self.draw()
        with torch.no_grad():
            fake = torch.cat([self.rows_of.activate(self.logits(one_hot)), one_hot], dim=1)
        seen, _, _, row = self.draw()
        real = torch.cat([self.table[row], seen], dim=1)
        return self.score(fake) - self.score(real) + self.penalty(real, fake)

    def _generator_loss(self):
        one_hot, column, value, _ = self.draw()
        logits = self.logits(one_hot)
        chances = torch.log_softmax(self.rows_of.spans(logits), dim=2)
        cross_entropy = -chances[torch.arange(BATCH, device=self.device), self.discrete[column], value].mean()
        return cross_entropy - self.score(torch.cat([self.rows_of.activate(logits), one_hot], dim=1))

    def step(self):
        for loss_of, optimizer in ((self.critic_loss, self.d_adam), (self.generator_loss, self.g_adam)):
            loss = loss_of()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        return loss

    def rows(self, batch):
        self.g.eval()
        one_hot = torch.zeros(batch, COND, device=self.device)
        one_hot[torch.arange(batch), torch.randint(0, COND, (batch,))] = 1
        return self.rows_of.activate(self.logits(one_hot))


class Tvae:
    def __init__(self, device, mode):
        width = 128
        layers = lambda start: nn.Sequential(nn.Linear(start, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.body, self.mean, self.log_variance = layers(DATA), nn.Linear(width, NOISE), nn.Linear(width, NOISE)
        self.decoder = nn.Sequential(*layers(NOISE), nn.Linear(width, DATA))
        self.nets = nn.ModuleList([self.body, self.mean, self.log_variance, self.decoder]).to(device)
        self.sigma = nn.Parameter(0.1 * torch.ones(DATA, device=device))
        self.adam = adam([*self.nets.parameters(), self.sigma], device, mode, weight_decay=1e-5)
        self.table, self.device, self.rows_of = torch.rand(ROWS, DATA, device=device), device, Rows(device)
        self.loss = torch.compile(self._loss) if mode == "compiled" else self._loss

    def _loss(self):
        x = self.table[torch.randint(0, ROWS, (BATCH,), device=self.device)]
        h = self.body(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        logits = self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance))
        divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
        chances = torch.log_softmax(self.rows_of.spans(logits), dim=2)
        entropy = -chances.gather(2, self.rows_of.spans(x).argmax(dim=2, keepdim=True)).sum()
        scalar = ~self.rows_of.soft
        squares = ((x - torch.tanh(logits)) ** 2 / (2 * self.sigma**2) + torch.log(self.sigma)) * scalar
        return (divergence + 2 * (entropy + squares.sum())) / BATCH

    def step(self):
        loss = self.loss()
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            self.sigma.clamp_(0.01, 1.0)
        return loss

    def rows(self, batch):
        return self.rows_of.activate(self.decoder(torch.randn(batch, NOISE, device=self.device)))


def captured(step):
    """The step as a CUDA graph: replays it, and returns its loss."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss
    return replay


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=["ctgan", "tvae"], default="ctgan")
    parser.add_argument("--mode", choices=["eager", "graph", "compiled"], default="eager")
    parser.add_argument("--tf32", action="store_true", help="products in tf32; otherwise fp32")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    device = torch.device(args.device)
    if args.mode == "graph" and device.type != "cuda":
        parser.error("--mode graph needs a GPU")
    torch.backends.cuda.matmul.allow_tf32 = args.tf32
    torch.manual_seed(1)
    model = {"ctgan": Ctgan, "tvae": Tvae}[args.method](device, args.mode)
    step = model.step
    for _ in range(min(args.steps, 3)):
        step()  # compiles
    if args.mode != "eager" and device.type == "cuda":
        step = captured(step)

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
    rows, batch = 0, 4096
    begin = time.perf_counter()
    with torch.no_grad():
        while rows < 20 * batch and time.perf_counter() - begin < 20:
            rows += len(model.rows_of.spans(model.rows(batch)).argmax(dim=2).cpu())
    figures = {"torch": torch.__version__, "mode": args.mode, "tf32": args.tf32,
               "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "step_seconds": seconds,
               "sampled_rows_per_second": rows / (time.perf_counter() - begin)}
    print(f"{args.method}, PyTorch {figures['torch']} {args.mode} on {figures['device']}: {1e6 * seconds:.0f} us a step, "
          f"{figures['sampled_rows_per_second']:.0f} rows a second sampled")
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=2)


if __name__ == "__main__":
    main()
