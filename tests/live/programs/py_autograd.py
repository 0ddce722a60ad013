"""py_autograd.py [SECONDS]: two layers and their backward pass, by a torch that is a fake.

Truth: in each of 3 steps layer_a and layer_b launch k1 once, and the engine's thread launches k2
once for each. Waits at most SECONDS (0) for emit_nvtx() to be entered. Prints "done".
"""

import sys
import time

import torch


def layer_a():
    return torch.addmm()


def layer_b():
    return torch.addmm()


def step():
    made = [layer_a(), layer_b()]
    torch.backward(made[::-1])


def main(seconds):
    torch.cuda.init()
    until = time.time() + seconds
    while not torch.autograd.profiler.entered and time.time() < until:
        time.sleep(0.001)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    print("done")


main(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
