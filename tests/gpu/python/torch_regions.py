"""PyTorch with regions of aflame's: 40 steps, each with a region that launches 5 products, element by element,
and one around 3 sums: each is one kernel. Its own clock says how long each step took."""

import time

import aflame
import torch
from sections import print_truth, section

STEPS, PRODUCTS, SUMS = 40, 5, 3
a = torch.randn(512, 512, device="cuda")
a.mul(2.0).add(1.0).sum().item()
steps = []

with section("regions", torch.cuda.synchronize):
    for _ in range(STEPS):
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        with aflame.region("step"):
            with aflame.region("products"):
                for _ in range(PRODUCTS):
                    a.mul(2.0)
            with aflame.region("sums"):
                for _ in range(SUMS):
                    a.add(1.0)
            torch.cuda.synchronize()
            time.sleep(0.05)  # a report takes for steps what is a twentieth of the run at least
        steps.append([begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC)])

print_truth(steps=steps, products=STEPS * PRODUCTS, sums=STEPS * SUMS)
