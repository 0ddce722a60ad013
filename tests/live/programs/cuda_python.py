"""cuda_python.py ROUNDS: kernels launched from Python, through ctypes, by the driver alone.

Truth: train() calls forward(), which launches k1 of 30 us, and backward(), which launches k2 of 10 us,
ROUNDS times each, with a thread of Python's beside it whose aside() launches k3 of 5 us as often.
"""

import ctypes
import json
import sys
import threading

KERNEL = """.visible .entry %s(.param .u64 spin_ns)
{
	.reg .u64 %%start, %%now, %%spin;
	.reg .pred %%again;
	ld.param.u64 %%spin, [spin_ns];
	mov.u64 %%start, %%globaltimer;
again:
	mov.u64 %%now, %%globaltimer;
	sub.u64 %%now, %%now, %%start;
	setp.lt.u64 %%again, %%now, %%spin;
	@%%again bra again;
	ret;
}
"""
PTX = ".version 7.0\n.target sm_75\n.address_size 64\n" + "".join(
    KERNEL % name for name in ("k1", "k2", "k3")
)

cuda = ctypes.CDLL("libcuda.so.1")
handle = ctypes.c_void_p


def check(result):
    if result:
        sys.exit(77 if result == 100 else "CUDA error %d" % result)


def launch(kernel, ns):
    spin = ctypes.c_uint64(ns)
    params = (handle * 1)(ctypes.addressof(spin))
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, params, None))


def forward(kernels):
    launch(kernels["k1"], 30000)


def backward(kernels):
    launch(kernels["k2"], 10000)


def aside(kernels, context, rounds):
    check(cuda.cuCtxSetCurrent(context))
    for _ in range(rounds):
        launch(kernels["k3"], 5000)


def train(kernels, rounds):
    for _ in range(rounds):
        forward(kernels)
        backward(kernels)


def main():
    rounds = int(sys.argv[1])
    context, module, kernels = handle(), handle(), {}
    check(cuda.cuInit(0))
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX.encode()))
    for name in ("k1", "k2", "k3"):
        kernels[name] = handle()
        check(cuda.cuModuleGetFunction(ctypes.byref(kernels[name]), module, name.encode()))
    thread = threading.Thread(target=aside, args=(kernels, context, rounds))
    thread.start()
    train(kernels, rounds)
    thread.join()
    check(cuda.cuCtxSynchronize())
    print(json.dumps({"k1": rounds, "k2": rounds, "k3": rounds}))


main()
