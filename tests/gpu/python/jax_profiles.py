"""A program that uses JAX's profiler, which looks CUPTI's functions up by dlsym: how many kernels it
saw of 20 calls of a jitted function."""

import collections
import glob
import gzip
import json
import os
import tempfile

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from sections import print_truth, section


@jax.jit
def function(x):
    return jnp.tanh(x @ x) * 1.5


def profiled(folder):
    """{name: how many} on the device's rows of the profile."""
    found = collections.Counter()
    for path in glob.glob(folder + "/**/*.trace.json.gz", recursive=True):
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        names = [e for e in events if e.get("ph") == "M" and e.get("name") == "process_name"]
        devices = {e["pid"] for e in names if "GPU" in e["args"]["name"]}
        found.update(e["name"] for e in events if e.get("ph") == "X" and e["pid"] in devices)
    return found


def main():
    x = function(jnp.ones((256, 256)))
    jax.block_until_ready(x)
    seen = []
    for i in range(2):
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                with section("profiled %d" % i, lambda: jax.block_until_ready(x), own_threads=True):
                    for _ in range(20):
                        x = function(x)
                    jax.block_until_ready(x)
            seen.append({"kernels": sum(profiled(folder).values())})
    print_truth(profiles=seen, profiles_want=40)


main()
