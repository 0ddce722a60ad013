"""PyTorch: a graph of three kernels that is captured anew and updated before each of its launches."""

import torch
from driver_graphs import update_and_launch
from sections import print_truth, section

STEPS, KERNELS = 10000, 3


def main():
    stream = torch.cuda.Stream()
    inputs = [torch.randn(1 << 14, device="cuda") for _ in range(2)]
    outputs = [torch.empty_like(x) for x in inputs]

    def work(x, y):
        def run():
            with torch.cuda.stream(stream):
                torch.mul(x, 2, out=y)
                torch.add(y, 1, out=y)
                torch.tanh(y, out=y)

        return run

    def look():
        stream.synchronize()
        float(outputs[0][0])

    works = [work(x, y) for x, y in zip(inputs, outputs)]
    works[0]()
    torch.cuda.synchronize()
    with section("PyTorch, graph updates", torch.cuda.synchronize, updates=STEPS, in_each=KERNELS):
        update_and_launch(stream.cuda_stream, works, STEPS, look)
    for x, y in zip(inputs, outputs):
        assert torch.allclose(y, torch.tanh(x * 2 + 1))
    print_truth()


main()
