"""A program that uses PyTorch's profiler: 100 kernels while it is on, 60 while it is off, three times
each, and what the profiler says that it saw."""

import time

import torch
from sections import print_truth, section
from torch.profiler import ProfilerActivity, profile


def work(times):
    x = torch.ones(256, 256, device="cuda")
    for _ in range(times):
        x = torch.tanh(x * 1.0001)
    torch.cuda.synchronize()


def main():
    work(1)
    seen = []
    for i in range(3):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            with section("profiled %d" % i, torch.cuda.synchronize, count=101):
                work(50)
        on_device = torch.autograd.DeviceType.CUDA
        events = [e for e in profiler.events() if e.device_type == on_device]
        seen.append({"kernels": len(events)})
        time.sleep(0.6)  # longer than a flush
        with section("not profiled %d" % i, torch.cuda.synchronize, count=61):
            work(30)
    print_truth(profiles=seen, profiles_want=101)


main()
