#!/usr/bin/env python3
"""Training steps of CTGAN and TVAE (Xu et al. 2019) in JAX, jitted, at Adult's widths: what a user of JAX can have.

    jax_step.py [--method ctgan|tvae] [--steps 200] [--json FILE]          on JAX's default device

All steps of a round are one jitted loop, so that nothing waits for the host. Conditions are drawn on the device; the
slope of the gradient penalty is jax.grad. Products in fp32 (jax_default_matmul_precision=highest). Prints the time of a
step, minimum of three rounds.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp

from adult_step import BATCH, CATEGORIES, COND, DATA, HIDDEN, NOISE, PAC, ROWS, SOFT, Sampling, padded

jax.config.update("jax_default_matmul_precision", "highest")
INTO, BACK, IS_SOFT = (jnp.asarray(a) for a in padded())
TABLES = Sampling()
BELOW, FIRST, COUNT, ORDER, START = (jnp.asarray(a) for a in (TABLES.below, TABLES.first, TABLES.count, TABLES.order, TABLES.start))
DISCRETE = jnp.array([i for i, (_, _, c) in enumerate(SOFT) if c >= 0])


def linear(key, inputs, outputs):
    bound = inputs**-0.5
    w, b = jax.random.split(key)
    return {"w": jax.random.uniform(w, (inputs, outputs), minval=-bound, maxval=bound),
            "b": jax.random.uniform(b, (outputs,), minval=-bound, maxval=bound)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def spans(logits):
    more = jnp.full((len(logits), 1), -jnp.inf)
    return jnp.concatenate([logits, more], axis=1)[:, INTO]


def activate(key, logits):
    noise = jax.random.gumbel(key, (len(logits), *INTO.shape))
    soft = jax.nn.softmax((spans(logits) + noise) / 0.2, axis=2).reshape(len(logits), -1)
    return jnp.where(IS_SOFT, soft[:, BACK], jnp.tanh(logits))


def adam(state, gradients, rate, betas=(0.9, 0.999), decay=0.0):
    parameters, m, v, t = state
    t += 1
    gradients = jax.tree.map(lambda g, p: g + decay * p, gradients, parameters)
    m = jax.tree.map(lambda m, g: betas[0] * m + (1 - betas[0]) * g, m, gradients)
    v = jax.tree.map(lambda v, g: betas[1] * v + (1 - betas[1]) * g * g, v, gradients)
    scale = rate * jnp.sqrt(1 - betas[1]**t) / (1 - betas[0]**t)
    return jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), parameters, m, v), m, v, t


def fresh(parameters):
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return parameters, zeros, zeros, 0.0


# ---- CTGAN ----
def generator(p, key, one_hot):
    x = jnp.concatenate([jax.random.normal(key, (BATCH, NOISE)), one_hot], axis=1)
    for layer in p["residual"]:
        h = apply(layer["linear"], x)
        h = (h - h.mean(0)) * jax.lax.rsqrt(h.var(0) + 1e-5) * layer["gamma"] + layer["beta"]
        x = jnp.concatenate([jax.nn.relu(h), x], axis=1)
    return apply(p["last"], x)


def critic(p, key, rows):
    x = rows.reshape(-1, PAC * rows.shape[-1])
    for layer, k in zip(p[:-1], jax.random.split(key)):
        x = jax.nn.leaky_relu(apply(layer, x), 0.2)
        x = jnp.where(jax.random.bernoulli(k, 0.5, x.shape), 2 * x, 0)
    return apply(p[-1], x)


def draw(key):
    a, b, c = jax.random.split(key, 3)
    column = jax.random.randint(a, (BATCH,), 0, len(CATEGORIES))
    value = (BELOW[column] < jax.random.uniform(b, (BATCH, 1))).sum(1)
    at = FIRST[column, value] + (jax.random.uniform(c, (BATCH,)) * COUNT[column, value]).astype(int)
    return jax.nn.one_hot(START[column] + value, COND), column, value, ORDER[column, jnp.minimum(at, ROWS - 1)]


def critic_loss(d, g, key, table):
    k = jax.random.split(key, 9)
    one_hot, _, _, _ = draw(k[0])
    fake = jnp.concatenate([activate(k[1], generator(g, k[2], one_hot)), one_hot], axis=1)
    seen, _, _, row = draw(k[3])
    real = jnp.concatenate([table[row], seen], axis=1)
    alpha = jnp.repeat(jax.random.uniform(k[4], (BATCH // PAC, 1)), PAC, axis=0)
    slope = jax.grad(lambda x: critic(d, k[5], x).sum())(alpha * real + (1 - alpha) * fake).reshape(BATCH // PAC, -1)
    penalty = 10 * ((jnp.sqrt((slope**2).sum(1) + 1e-12) - 1) ** 2).mean()
    return critic(d, k[6], fake).mean() - critic(d, k[7], real).mean() + penalty


def generator_loss(g, d, key):
    k = jax.random.split(key, 4)
    one_hot, column, value, _ = draw(k[0])
    logits = generator(g, k[1], one_hot)
    chances = jax.nn.log_softmax(spans(logits), axis=2)
    cross_entropy = -chances[jnp.arange(BATCH), DISCRETE[column], value].mean()
    return cross_entropy - critic(d, k[2], jnp.concatenate([activate(k[3], logits), one_hot], axis=1)).mean()


def ctgan_state(key):
    k = jax.random.split(key, 6)
    widths = [NOISE + COND, NOISE + COND + HIDDEN]
    g = {"residual": [{"linear": linear(k[i], w, HIDDEN), "gamma": jnp.ones(HIDDEN), "beta": jnp.zeros(HIDDEN)}
                      for i, w in enumerate(widths)], "last": linear(k[2], NOISE + COND + 2 * HIDDEN, DATA)}
    d = [linear(k[3], PAC * (DATA + COND), HIDDEN), linear(k[4], HIDDEN, HIDDEN), linear(k[5], HIDDEN, 1)]
    return fresh(g), fresh(d)


def ctgan_step(state, key, table):
    g, d = state
    a, b = jax.random.split(key)
    _, slopes = jax.value_and_grad(critic_loss)(d[0], g[0], a, table)
    d = adam(d, slopes, 2e-4, (0.5, 0.9))
    loss, slopes = jax.value_and_grad(generator_loss)(g[0], d[0], b)
    return (adam(g, slopes, 2e-4, (0.5, 0.9), 1e-6), d), loss


# ---- TVAE ----
def tvae_state(key):
    k = jax.random.split(key, 7)
    return fresh({"encoder": [linear(k[0], DATA, 128), linear(k[1], 128, 128)], "mean": linear(k[2], 128, NOISE),
                  "log_variance": linear(k[3], 128, NOISE), "sigma": jnp.full(DATA, 0.1),
                  "decoder": [linear(k[4], NOISE, 128), linear(k[5], 128, 128)], "last": linear(k[6], 128, DATA)})


def tvae_loss(p, key, table):
    a, b = jax.random.split(key)
    x = h = table[jax.random.randint(a, (BATCH,), 0, ROWS)]
    for layer in p["encoder"]:
        h = jax.nn.relu(apply(layer, h))
    mean, log_variance = apply(p["mean"], h), apply(p["log_variance"], h)
    h = mean + jax.random.normal(b, mean.shape) * jnp.exp(0.5 * log_variance)
    for layer in p["decoder"]:
        h = jax.nn.relu(apply(layer, h))
    logits = apply(p["last"], h)
    chances = jax.nn.log_softmax(spans(logits), axis=2)
    entropy = -jnp.take_along_axis(chances, spans(x).argmax(2)[:, :, None], axis=2).sum()
    squares = jnp.where(IS_SOFT, 0, (x - jnp.tanh(logits)) ** 2 / (2 * p["sigma"] ** 2) + jnp.log(p["sigma"])).sum()
    divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance))
    return (divergence + 2 * (entropy + squares)) / BATCH


def tvae_step(state, key, table):
    loss, slopes = jax.value_and_grad(tvae_loss)(state[0], key, table)
    parameters, m, v, t = adam(state, slopes, 1e-3, decay=1e-5)
    return ({**parameters, "sigma": jnp.clip(parameters["sigma"], 0.01, 1.0)}, m, v, t), loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=["ctgan", "tvae"], default="ctgan")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    make, step = {"ctgan": (ctgan_state, ctgan_step), "tvae": (tvae_state, tvae_step)}[args.method]
    table = jax.random.uniform(jax.random.key(2), (ROWS, DATA))

    @jax.jit
    def run(state, key, table):
        def one(carry, key):
            state, _ = carry
            return step(state, key, table), None
        return jax.lax.scan(one, (state, jnp.float32(0)), jax.random.split(key, args.steps))[0]

    state = jax.tree.map(jnp.asarray, make(jax.random.key(1)))
    seconds = []
    for i in range(4):  # the first compiles
        begin = time.perf_counter()
        state, loss = run(state, jax.random.key(i), table)
        assert jnp.isfinite(loss)
        seconds.append((time.perf_counter() - begin) / args.steps)
    device = jax.devices()[0].device_kind
    print(f"{args.method}, JAX {jax.__version__} jit on {device}: {1e6 * min(seconds[1:]):.0f} us a step")
    if args.json:
        with open(args.json, "w") as out:
            json.dump({"jax": jax.__version__, "device": device, "step_seconds": min(seconds[1:])}, out, indent=2)


if __name__ == "__main__":
    main()
