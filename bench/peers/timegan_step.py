#!/usr/bin/env python3
"""One joint iteration of TimeGAN in eager PyTorch, at the size of bench_sequences: 2 x (generator's step, embedder's step on the same batch), then the discriminator's,
if its loss is above 0.15. Written from the paper's published algorithm with torch's own layers (nn.GRU) and optimisers, the way its ports do.

    timegan_step.py --threads 2 --features 6            milliseconds of an iteration, best and median, as JSON
    timegan_step.py --device cuda [--json FILE]         on the card at hand
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, STEPS, HIDDEN, LAYERS = 128, 24, 24, 3


class Network(nn.Module):
    """Recurrent layers over time, a linear layer at each step, a sigmoid unless `logits`."""

    def __init__(self, width, out, layers=LAYERS, logits=False):
        super().__init__()
        self.rnn = nn.GRU(width, HIDDEN, layers, batch_first=True)
        self.output = nn.Linear(HIDDEN, out)
        self.logits = logits

    def forward(self, x):
        y = self.output(self.rnn(x)[0])
        return y if self.logits else torch.sigmoid(y)


class Timegan:
    def __init__(self, features, device):
        self.features, self.device = features, device
        self.data = torch.rand(1024, STEPS, features, device=device)
        self.embedder = Network(features, HIDDEN)
        self.recovery = Network(HIDDEN, features)
        self.generator = Network(features, HIDDEN)
        self.supervisor = Network(HIDDEN, HIDDEN, LAYERS - 1)
        self.discriminator = Network(HIDDEN, 1, logits=True)
        for net in (self.embedder, self.recovery, self.generator, self.supervisor, self.discriminator):
            net.to(device)
        adam = lambda *nets: torch.optim.Adam([p for net in nets for p in net.parameters()], lr=1e-3)
        self.of_generator = adam(self.generator, self.supervisor)
        self.of_embedder = adam(self.embedder, self.recovery)
        self.of_discriminator = adam(self.discriminator)

    def batch(self):
        return self.data[torch.randint(len(self.data), (BATCH,), device=self.device)], torch.rand(BATCH, STEPS, self.features, device=self.device)

    def supervised(self, hidden):
        return F.mse_loss(hidden[:, 1:], self.supervisor(hidden)[:, :-1])

    def generator_step(self, x, z):
        with torch.no_grad():
            hidden = self.embedder(x)
        early = self.generator(z)
        late = self.supervisor(early)
        made = self.recovery(late)
        verdict = lambda y: F.binary_cross_entropy_with_logits(y, torch.ones_like(y))
        adversarial = verdict(self.discriminator(late)) + verdict(self.discriminator(early))
        deviations = torch.sqrt(made.var(0, unbiased=False) + 1e-6) - torch.sqrt(x.var(0, unbiased=False) + 1e-6)
        moments = deviations.abs().mean() + (made.mean(0) - x.mean(0)).abs().mean()
        loss = adversarial + 100 * torch.sqrt(self.supervised(hidden) + 1e-8) + 100 * moments
        self.step(self.of_generator, loss)

    def embedder_step(self, x):
        hidden = self.embedder(x)
        loss = 10 * torch.sqrt(F.mse_loss(self.recovery(hidden), x) + 1e-8) + 0.1 * self.supervised(hidden)
        self.step(self.of_embedder, loss)

    def discriminator_step(self, x, z):
        with torch.no_grad():
            hidden, early = self.embedder(x), self.generator(z)
            late = self.supervisor(early)
        real, made, made_early = self.discriminator(hidden), self.discriminator(late), self.discriminator(early)
        cross = F.binary_cross_entropy_with_logits
        loss = cross(real, torch.ones_like(real)) + cross(made, torch.zeros_like(made)) + cross(made_early, torch.zeros_like(made_early))
        if loss.item() > 0.15:
            self.step(self.of_discriminator, loss)

    @staticmethod
    def step(optimiser, loss):
        optimiser.zero_grad(set_to_none=True)
        # Only the optimiser's own parameters: gradients of the networks that a loss passes through are not wanted.
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = g
        optimiser.step()

    def iteration(self):
        for _ in range(2):
            x, z = self.batch()
            self.generator_step(x, z)
            self.embedder_step(x)
        self.discriminator_step(*self.batch())
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--features", type=int, default=6)
    arguments.add_argument("--iterations", type=int, default=20)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--json", help="write the figures here too")
    a = arguments.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model = Timegan(a.features, torch.device(a.device))
    for _ in range(2):
        model.iteration()
    times = []
    for _ in range(a.iterations):
        start = time.perf_counter()
        model.iteration()
        times.append(1e3 * (time.perf_counter() - start))
    figures = {"torch": torch.__version__, "device": a.device, "threads": a.threads, "features": a.features, "best_ms": min(times), "median_ms": statistics.median(times), "step_seconds": 1e-3 * min(times)}
    print(json.dumps(figures))
    if a.json:
        with open(a.json, "w") as out:
            json.dump(figures, out)


if __name__ == "__main__":
    main()
