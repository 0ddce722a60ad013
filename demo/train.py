#!/usr/bin/env python3
"""The demo as a Python program: a small model trained from a script.

Text is tokenised in Python, goes through transformer blocks that libdemoblock.so runs on an OpenCL
device, and a linear readout on top learns, in Python, which tokens end a word. A profile shows what
a training script's shows: Python frames, C frames below them, device kernels below those.

Needs nothing but the standard library (Python 3.8 or later). Exit status: 0 right, 1 wrong result,
2 could not run.
"""

import argparse
import ctypes
import glob
import json
import math
import os
import random
import sys
import time

TOLERANCE = 2e-3  # float32 sums in another order; a wrong index gives errors near 1


class BlockConfig(ctypes.Structure):
    """struct block_config of block.h."""

    _fields_ = [
        ("seq", ctypes.c_int),
        ("dim", ctypes.c_int),
        ("heads", ctypes.c_int),
        ("ffn", ctypes.c_int),
        ("seed", ctypes.c_uint),
        ("device", ctypes.c_int),
        ("leak_events", ctypes.c_int),
        ("kernels_path", ctypes.c_char_p),
        ("build_options", ctypes.c_char_p),
    ]


class BlockError(Exception):
    pass


def find_library():
    here = os.path.dirname(os.path.abspath(__file__))
    tries = [os.environ.get("DEMO_LIBRARY", ""), os.path.join(here, "libdemoblock.so")]
    tries += sorted(glob.glob(os.path.join(here, "..", "build*", "demo", "libdemoblock.so")))
    for path in tries:
        if path and os.path.exists(path):
            return path
    raise BlockError("libdemoblock.so not found: build the project, or name it with --library")


def load_library(path):
    lib = ctypes.CDLL(path)
    block, floats = ctypes.c_void_p, ctypes.POINTER(ctypes.c_float)
    lib.block_error.restype = ctypes.c_char_p
    lib.block_device_name.restype = ctypes.c_char_p
    lib.block_device_name.argtypes = [block]
    lib.block_open.argtypes = [ctypes.POINTER(block), ctypes.POINTER(BlockConfig)]
    lib.block_norm.argtypes = [block, ctypes.c_int]
    for name in ("block_attention", "block_feed_forward"):
        getattr(lib, name).argtypes = [block]
    for name in ("block_upload", "block_download"):
        getattr(lib, name).argtypes = [block, floats]
    lib.block_reference.argtypes = [block, floats, floats]
    lib.block_close.argtypes = [block]
    lib.block_close.restype = None
    return lib


class Block:
    """One transformer block on the device."""

    def __init__(self, lib, config):
        self.lib = lib
        self.handle = ctypes.c_void_p()
        self.row_type = ctypes.c_float * (config.seq * config.dim)
        self.call(lib.block_open(ctypes.byref(self.handle), ctypes.byref(config)))

    def call(self, rc):
        if rc:
            raise BlockError(self.lib.block_error().decode())

    def device_name(self):
        return self.lib.block_device_name(self.handle).decode()

    def norm(self, which):
        self.call(self.lib.block_norm(self.handle, which))

    def attention(self):
        self.norm(0)
        self.call(self.lib.block_attention(self.handle))

    def feed_forward(self):
        self.norm(1)
        self.call(self.lib.block_feed_forward(self.handle))

    def forward(self, x):
        y = self.row_type()
        self.call(self.lib.block_upload(self.handle, x))
        self.attention()
        self.feed_forward()
        self.call(self.lib.block_download(self.handle, y))
        return y

    def max_error(self, x, y):
        """The greatest difference between y and what the block should make of x."""
        expected = self.row_type()
        self.call(self.lib.block_reference(self.handle, x, expected))
        return max(abs(a - b) if a == a else math.inf for a, b in zip(y, expected))

    def close(self):
        self.lib.block_close(self.handle)
        self.handle = ctypes.c_void_p()


class Tokenizer:
    """Byte pairs, learnt from the text they are used on."""

    def __init__(self, text, nr_merges):
        self.names = [chr(i) for i in range(256)]
        self.merges = {}
        ids = list(text)
        for _ in range(nr_merges):
            pair = self.commonest_pair(ids)
            if pair is None:
                break
            token = len(self.names)
            self.merges[pair] = token
            self.names.append(self.names[pair[0]] + self.names[pair[1]])
            ids = self.merge(ids, pair, token)

    @staticmethod
    def commonest_pair(ids):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=lambda pair: (counts[pair], pair), default=None)
        return best if best and counts[best] > 1 else None

    @staticmethod
    def merge(ids, pair, token):
        out = []
        i = 0
        while i < len(ids):
            if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
                out.append(token)
                i += 2
            else:
                out.append(ids[i])
                i += 1
        return out

    def encode(self, text):
        ids = list(text)
        for pair, token in self.merges.items():
            ids = self.merge(ids, pair, token)
        return ids

    def ends_word(self, token):
        return not self.names[token][-1].isalnum()


class Model:
    """Embedding, blocks, and a linear readout; only the readout learns."""

    def __init__(self, lib, config, nr_blocks, vocabulary):
        self.seq, self.dim = config.seq, config.dim
        self.rng = random.Random(config.seed)
        self.table = [self.random_row() for _ in range(vocabulary)]
        self.positions = [self.position_row(i) for i in range(self.seq)]
        self.weights = [0.0] * self.dim
        self.bias = 0.0
        self.blocks = []
        self.max_error = 0.0
        for i in range(nr_blocks):
            config.seed += i
            self.blocks.append(Block(lib, config))

    def random_row(self):
        return [self.rng.uniform(-1, 1) for _ in range(self.dim)]

    def position_row(self, position):
        row = []
        for i in range(self.dim):
            angle = position / 10000 ** (i // 2 * 2 / self.dim)
            row.append(math.cos(angle) if i % 2 else math.sin(angle))
        return row

    def embed(self, tokens):
        x = (ctypes.c_float * (self.seq * self.dim))()
        for row, token in enumerate(tokens):
            for i, (a, b) in enumerate(zip(self.table[token], self.positions[row])):
                x[row * self.dim + i] = a + b
        return x

    def forward(self, tokens, check):
        x = self.embed(tokens)
        for block in self.blocks:
            y = block.forward(x)
            if check:
                self.max_error = max(self.max_error, block.max_error(x, y))
            x = y
        return x

    def rows(self, y):
        return [y[i * self.dim : (i + 1) * self.dim] for i in range(self.seq)]

    def predict(self, row):
        return self.bias + sum(map(float.__mul__, row, self.weights))

    def learn(self, row, error, rate):
        """One step of normalised least mean squares."""
        step = rate * error / (1 + sum(map(float.__mul__, row, row)))
        self.weights = [w - step * v for w, v in zip(self.weights, row)]
        self.bias -= step

    def train_step(self, tokens, targets, rate, check):
        """Returns the mean square error, each row's taken before the row is learnt from."""
        total = 0.0
        for row, target in zip(self.rows(self.forward(tokens, check)), targets):
            error = self.predict(row) - target
            self.learn(row, error, rate)
            total += error * error
        return total / len(targets)

    def close(self):
        for block in self.blocks:
            block.close()


class Trainer:
    def __init__(self, model, tokenizer, text, options):
        self.model, self.tokenizer, self.text, self.options = model, tokenizer, text, options
        self.rng = random.Random(options.seed)
        self.losses = []

    def next_batch(self):
        """Tokens of a window of the text, and +1 or -1 for each: does it end a word?"""
        # A byte pair token is one byte at least, so a few bytes a token are enough; wrap if not.
        size = min(len(self.text), 8 * self.model.seq)
        at = self.rng.randrange(len(self.text) - size + 1)
        ids = self.tokenizer.encode(self.text[at : at + size])
        tokens = [ids[i % len(ids)] for i in range(self.model.seq)]
        return tokens, [1.0 if self.tokenizer.ends_word(t) else -1.0 for t in tokens]

    def step(self, nr):
        start = time.monotonic()
        tokens, targets = self.next_batch()
        check = self.options.check or nr == 0
        loss = self.model.train_step(tokens, targets, self.options.rate, check)
        self.losses.append(loss)
        if not self.options.json:
            ms = (time.monotonic() - start) * 1e3
            print("step %3d  loss %.4f  %7.2f ms" % (nr, loss, ms), flush=True)

    def run(self):
        for nr in range(self.options.steps):
            self.step(nr)


def parse_options():
    parser = argparse.ArgumentParser(description="Train a small model on an OpenCL device.")
    for name, default in (
        ("steps", 160), ("blocks", 2), ("seq", 64), ("dim", 128), ("heads", 4), ("ffn", 512),
        ("seed", 1), ("device", 0), ("merges", 60),
    ):
        parser.add_argument("--" + name, type=int, default=default, metavar="N")
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--library", help="path of libdemoblock.so")
    parser.add_argument("--check", action="store_true", help="check every step, not only the first")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--leak-events", action="store_true")
    return parser.parse_args()


def report(trainer, device, seconds):
    """Prints the summary; returns whether the results are right."""
    model, losses = trainer.model, trainer.losses
    quarter = max(1, len(losses) // 4)
    first, last = sum(losses[:quarter]) / quarter, sum(losses[-quarter:]) / quarter
    learnt = last < first or len(losses) < 20
    right = model.max_error <= TOLERANCE and learnt
    if trainer.options.json:
        print(json.dumps({
            "device": device, "steps": len(losses), "seconds": round(seconds, 3),
            "first_loss": first, "last_loss": last, "max_error": model.max_error, "right": right,
        }))
    else:
        print("%d steps on %s in %.2f s, loss %.4f to %.4f, max error %.3g, %s" % (
            len(losses), device, seconds, first, last, model.max_error,
            "right" if right else "WRONG"))
    return right


def main():
    options = parse_options()
    with open(os.path.abspath(__file__), "rb") as file:
        text = file.read()
    start = time.monotonic()
    try:
        lib = load_library(options.library or find_library())
        tokenizer = Tokenizer(text[:3000], options.merges)
        config = BlockConfig(options.seq, options.dim, options.heads, options.ffn, options.seed,
                             options.device, options.leak_events, None, None)
        model = Model(lib, config, options.blocks, len(tokenizer.names))
        trainer = Trainer(model, tokenizer, text, options)
        trainer.run()
        device = model.blocks[0].device_name() if model.blocks else "no device"
        right = report(trainer, device, time.monotonic() - start)
        model.close()
    except (BlockError, OSError) as error:
        print("train.py: %s" % error, file=sys.stderr)
        return 2
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
