"""CuPy: a graph of three kernels that is captured anew and updated before each of its launches."""

import cupy
from driver_graphs import update_and_launch
from sections import print_truth, section

STEPS, KERNELS = 10000, 3


def main():
    settle = cupy.cuda.Device().synchronize
    stream = cupy.cuda.Stream(non_blocking=True)
    inputs = [cupy.random.rand(1 << 14).astype(cupy.float32) for _ in range(2)]
    outputs = [cupy.empty_like(x) for x in inputs]
    two, one = cupy.float32(2), cupy.float32(1)

    def work(x, y):
        def run():
            with stream:
                cupy.multiply(x, two, out=y)
                cupy.add(y, one, out=y)
                cupy.tanh(y, out=y)

        return run

    def look():
        stream.synchronize()
        float(outputs[0][0])

    works = [work(x, y) for x, y in zip(inputs, outputs)]
    works[0]()
    settle()
    with section("CuPy, graph updates", settle, updates=STEPS, in_each=KERNELS):
        update_and_launch(stream.ptr, works, STEPS, look)
    for x, y in zip(inputs, outputs):
        assert cupy.allclose(y, cupy.tanh(x * 2 + 1), atol=1e-5)
    print_truth()


main()
