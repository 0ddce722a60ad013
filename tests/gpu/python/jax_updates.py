"""JAX: a jitted training step whose graph XLA updates before each of its launches, as its parameters
have moved; between the steps kernels of their own, which are compiled while the device is busy, and
copies to the host."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from sections import print_truth, section

SIZES, STEPS = [784, 512, 512, 10], 3000


def loss(parameters, x, y):
    for w, b in parameters[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = parameters[-1]
    return -(jax.nn.log_softmax(x @ w + b) * y).sum(1).mean()


@jax.jit
def train_step(parameters, x, y):
    value, slopes = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, s: p - 0.01 * s, parameters, slopes), value


def main():
    numbers = np.random.default_rng(0)
    state = [
        (jnp.asarray(numbers.normal(0, 0.05, (a, b)), jnp.float32), jnp.zeros(b))
        for a, b in zip(SIZES, SIZES[1:])
    ]
    xs = jnp.asarray(numbers.normal(size=(64, 128, SIZES[0])).astype(np.float32))
    ys = jnp.asarray(np.eye(10, dtype=np.float32)[numbers.integers(0, 10, (64, 128))])

    def settle():
        jax.block_until_ready(state)

    with section("JAX, graph updates", settle, updates=STEPS, own_threads=True):
        for i in range(STEPS):
            state, value = train_step(state, xs[i % 64] * 1.0 + 0.1, ys[i % 64])
            mean = (value * 2 + 1) / 3
            if i % 10 == 0:
                float(mean)
    print_truth()


main()
