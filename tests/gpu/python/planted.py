"""A training of a real model that is slow for one known reason, or for none.

    planted.py REASON [SECONDS]

REASON: input, launches, copies, synchronisation, faults, lock, gil, churn, kernel, compile, nothing.
A step takes an H100 some 65 ms and a thread that only launches it less than half of that; a reason
on the host takes longer than both. Prints "truth" with steps and ms a step."""

import json
import mmap
import sys
import threading
import time

import numpy
import torch
import torchvision

REASON = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 6
STEPS_LEAST = 30
BATCH = 1 if REASON == "launches" else 192
HOST_S = 0.12  # a step, of a reason on the host
DEVICE = "cuda"

torch.manual_seed(0)
torch.backends.cudnn.benchmark = False
model = torchvision.models.resnet50().to(DEVICE, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=REASON != "launches")
images = torch.randn(BATCH, 3, 224, 224, device=DEVICE).to(memory_format=torch.channels_last)
labels = torch.randint(0, 1000, (BATCH,), device=DEVICE)
generator = numpy.random.default_rng(1)
lock = threading.Lock()
held = mmap.mmap(-1, 16 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_NOHUGEPAGE)
taken = 0
losses = []


def for_a_while(what):
    ended = time.perf_counter() + HOST_S
    while time.perf_counter() < ended:
        what()


def read_batch():
    """Decoding that no worker does ahead."""
    for_a_while(lambda: numpy.sort(generator.random(100_000)))


def copy_back():
    """600 MB from memory that is not pinned, and back."""
    there = host_data.to(DEVICE)
    host_data.copy_(there)


def wait_often():
    """Each value is looked at as soon as it is launched."""
    for value in small:
        value.add_(1).item()


def touch_memory():
    """Memory that nobody has used yet: one write a page, and nothing is given back."""
    for_a_while(touch_next)


def touch_next():
    global taken
    size = 4 << 20
    view = numpy.frombuffer(held, numpy.uint8, size, taken)
    view[:: mmap.PAGESIZE] = 1
    taken = (taken + size) % len(held)


def wait_for_lock():
    with lock:
        pass


def hold_lock():
    while True:
        with lock:
            time.sleep(HOST_S)  # as one who writes a file under it
        time.sleep(0.001)


def count_in_python():
    n = 0
    while True:
        n += 1


def churn_memory():
    """Arrays that are made, used once and thrown away."""
    for_a_while(lambda: numpy.ones(48 << 20, dtype=numpy.uint8))


SLOW = r"""
extern "C" __global__ void one_thread(float *x, int n)
{
	float sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i];
	x[0] = sum * 0 + 1;
}
"""


def run_slow_kernel():
    """A sum that one thread does."""
    with torch_stream:
        slow_kernel((1,), (1,), (slow_data, len(slow_data)))


if REASON == "copies":
    host_data = torch.ones(150_000_000)
if REASON == "synchronisation":
    small = [torch.zeros(1, device=DEVICE) for _ in range(4000)]
if REASON == "lock":
    threading.Thread(target=hold_lock, daemon=True).start()
if REASON == "gil":
    sys.setswitchinterval(0.0005)
    threading.Thread(target=count_in_python, daemon=True).start()
if REASON == "kernel":
    import cupy

    slow_kernel = cupy.RawKernel(SLOW, "one_thread")
    slow_data = cupy.ones(4_000_000, dtype=cupy.float32)
    torch_stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
if REASON == "compile":
    model = torch.compile(model)

PLANTED = {
    "input": read_batch,
    "copies": copy_back,
    "synchronisation": wait_often,
    "faults": touch_memory,
    "lock": wait_for_lock,
    "churn": churn_memory,
    "kernel": run_slow_kernel,
}.get(REASON)


def step():
    if PLANTED:
        PLANTED()
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    if len(losses) == 20:
        torch.stack(losses).mean().item()  # for a line in a log
        losses.clear()


def main():
    steps = 0
    step()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    while time.perf_counter() - begun < SECONDS or steps < STEPS_LEAST:
        step()
        steps += 1
    torch.cuda.synchronize()
    took = time.perf_counter() - begun
    print("truth " + json.dumps({"steps": steps, "step_ms": 1e3 * took / steps}), flush=True)


main()
