"""A worker that measures PyTorch training steps: reads lines `WHAT N [PROFILE]`, answers each by
{"ms": a step, "user": CPU ms a step, "system": the same}, until its input ends.

WHAT: small (6-layer encoder, d=512, batch 8x128, AdamW: bound by launches) or large (12 layers,
d=2048, batch 16x512, bf16: bound by the GPU). PROFILE: PyTorch's own profiler,
cuda, cpu+cuda or stack."""

import json
import resource
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)


class Training:
    def __init__(self, layers, width, rows, columns, dtype):
        layer = torch.nn.TransformerEncoderLayer(
            width,
            width // 64,
            4 * width,
            batch_first=True,
            dropout=0.0,
            device="cuda",
            dtype=dtype,
        )
        self.model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.batch = torch.randn(rows, columns, width, device="cuda", dtype=dtype)

    def step(self):
        self.optimizer.zero_grad()
        y = self.model(self.batch)
        (y * y).mean().backward()
        self.optimizer.step()


def timed(training, n):
    torch.cuda.synchronize()
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for _ in range(n):
        training.step()
    torch.cuda.synchronize()
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "ms": took / n * 1e3,
        "user": (after.ru_utime - before.ru_utime) / n * 1e3,
        "system": (after.ru_stime - before.ru_stime) / n * 1e3,
    }


def profiled(training, n, how):
    activities = [ProfilerActivity.CUDA]
    if how != "cuda":
        activities.append(ProfilerActivity.CPU)
    with profile(activities=activities, with_stack=how == "stack"):
        training.step()
        return timed(training, n)


def main():
    trainings = {"small": Training(6, 512, 8, 128, torch.float32)}
    if "large" in sys.argv:
        trainings["large"] = Training(12, 2048, 16, 512, torch.bfloat16)
    for training in trainings.values():
        for _ in range(5):
            training.step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        what, n, *how = line.split()
        if how:
            answer = profiled(trainings[what], int(n), how[0])
        else:
            answer = timed(trainings[what], int(n))
        print(json.dumps(answer), flush=True)


main()
