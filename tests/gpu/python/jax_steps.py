"""JAX: a jitted training step."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from sections import print_truth, section


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x * x).mean()


@jax.jit
def train_step(weights, x):
    return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights, x))]


def main():
    x = jax.random.normal(jax.random.PRNGKey(0), (64, 256))
    state = [jnp.eye(256) for _ in range(4)]

    def settle():
        jax.block_until_ready(state)

    for _ in range(3):
        state = train_step(state, x)
    with section("JAX jit", settle, own_threads=True):
        for _ in range(20):
            state = train_step(state, x)
    print_truth()


main()
