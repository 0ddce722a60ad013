"""CuPy: element-wise kernels, a raw one compiled at run time, a matrix product."""

import cupy
from sections import print_truth, section

RAW = r"""
extern "C" __global__ void raw_twice(float *x, int n)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	if (i < n)
		x[i] *= 2;
}
"""


def launch_raw(kernel, x):
    for _ in range(20):
        kernel((16,), (256,), (x, cupy.int32(4096)))


def main():
    settle = cupy.cuda.Device().synchronize
    x = cupy.ones(4096, dtype=cupy.float32)
    kernel = cupy.RawKernel(RAW, "raw_twice")
    with section("CuPy raw kernel", settle, kernels={"raw_twice": 20}):
        launch_raw(kernel, x)
    with section("CuPy arrays", settle):
        y = cupy.ones((256, 256), dtype=cupy.float32)
        for _ in range(20):
            y = cupy.tanh(y @ y + 1)
        float(y.sum())
    print_truth(functions=["launch_raw"])


main()
