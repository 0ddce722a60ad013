"""Code that comes and goes: triton_churn.py SECONDS. Triton compiles and times variants of a kernel
for ever new problems; each variant's cubin is also loaded, launched and unloaded by hand, as Triton
itself never unloads. Prints {"loads", "launches", "tunings", "rss_mb": [at first, at last]}."""

import ctypes
import json
import sys
import time

import torch
import triton
import triton.language as tl

DRIVER = ctypes.CDLL("libcuda.so.1")
THREADS, LAUNCHES, WARM_SECONDS = 128, 20, 5


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block in (128, 256, 512, 1024)
        for warps in (1, 4)
    ],
    key=["n", "salt"],
)
@triton.jit
def churned(x, out, n, salt: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for i in range(32):
        value = value * salt + i
    tl.store(out + at, value, mask=at < n)


def check(rc, what):
    if rc:
        raise RuntimeError("%s: CUDA error %d" % (what, rc))


def rss_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry comes_and_goes(.param .u64 rounds)
{
	.reg .u64 %n; .reg .f32 %a; .reg .pred %p;
	ld.param.u64 %n, [rounds];
	mov.f32 %a, 0f3F800000;
again:
	fma.rn.f32 %a, %a, %a, %a;
	sub.u64 %n, %n, 1;
	setp.ne.u64 %p, %n, 0;
	@%p bra again;
	ret;
}
"""


def load_launch_unload():
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    check(DRIVER.cuModuleLoadData(ctypes.byref(module), PTX), "cuModuleLoadData")
    name = b"comes_and_goes"
    check(DRIVER.cuModuleGetFunction(ctypes.byref(kernel), module, name), "cuModuleGetFunction")
    rounds = ctypes.c_uint64(20000)
    params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(rounds), ctypes.c_void_p))
    for _ in range(LAUNCHES):
        size = (132, 1, 1, THREADS, 1, 1, 0)
        check(DRIVER.cuLaunchKernel(kernel, *size, None, params, None), "cuLaunchKernel")
    check(DRIVER.cuCtxSynchronize(), "cuCtxSynchronize")
    check(DRIVER.cuModuleUnload(module), "cuModuleUnload")


def main(seconds):
    x = torch.ones(1 << 20, device="cuda")
    out = torch.empty_like(x)
    begin, loads, tunings, first = time.monotonic(), 0, 0, None
    while time.monotonic() - begin < seconds:
        n = (1 << 20) - tunings
        churned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, 1 + tunings % 50)
        tunings += 1
        for _ in range(10):
            load_launch_unload()
            loads += 1
        if first is None and time.monotonic() - begin > min(WARM_SECONDS, seconds / 2):
            first = rss_mb()
    torch.cuda.synchronize()
    rss = [round(first or rss_mb(), 1), round(rss_mb(), 1)]
    reported = {"loads": loads, "launches": LAUNCHES * loads, "tunings": tunings, "rss_mb": rss}
    print(json.dumps(reported), flush=True)


main(float(sys.argv[1]))
