"""PyTorch with regions of aflame's: 20 steps, each with a region that launches 5 products of matrices and one
around 3 sums. Its own clock says how long each step took."""

import time

import aflame
import torch
from sections import print_truth, section

STEPS, PRODUCTS, SUMS = 20, 5, 3
a = torch.randn(512, 512, device="cuda")
torch.mm(a, a).sum().item()
steps = []

with section("regions", torch.cuda.synchronize):
    for _ in range(STEPS):
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        with aflame.region("step"):
            with aflame.region("products"):
                for _ in range(PRODUCTS):
                    torch.mm(a, a)
            with aflame.region("sums"):
                for _ in range(SUMS):
                    a.add(1.0)
            torch.cuda.synchronize()
        steps.append([begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC)])

print_truth(steps=steps, products=STEPS * PRODUCTS, sums=STEPS * SUMS)
