"""PyTorch in one process: torch_all.py [quick]. Eager training, CUDA graphs, a serving loop that
replays a graph for each batch size, Triton; unless quick, torch.compile without and with graphs."""

import sys

import torch
from sections import print_truth, section, skipped

QUICK = "quick" in sys.argv
settle = torch.cuda.synchronize


def make_model(width=128):
    layer = torch.nn.TransformerEncoderLayer(
        width, 4, 4 * width, batch_first=True, dropout=0.0, device="cuda"
    )
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


model = make_model()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(4, 32, 128, device="cuda")


def eager_step():
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()


def capture_step(static):
    return model(static)


def replay(graph, times):
    for _ in range(times):
        graph.replay()


def run_graph():
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        capture_step(batch)
    replay(graph, 50)


def serve():
    """As vLLM does: a graph for each batch size, one memory pool, inputs copied into place."""
    graphs, pool = {}, torch.cuda.graph_pool_handle()
    with torch.no_grad():
        for size in (8, 4, 2, 1):
            static = torch.zeros(size, 32, 128, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                capture_step(static)
            graphs[size] = graph, static
        for i in range(100):
            size = (1, 2, 4, 8)[i % 4]
            graph, static = graphs[size]
            static.copy_(torch.randn(size, 32, 128, device="cuda"))
            graph.replay()


def run_triton():
    import triton_kernel

    triton_kernel.launch(20)


def compiled(**how):
    compiled_model = torch.compile(make_model(), **how)

    def step():
        if "mode" in how:
            torch.compiler.cudagraph_mark_step_begin()
        compiled_model.zero_grad()  # gradients lie in the graph's own memory
        compiled_model(batch).square().mean().backward()

    for _ in range(6):
        step()


def main():
    eager_step()
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for size in (8, 4, 2, 1):
                model(torch.zeros(size, 32, 128, device="cuda"))
    with section("eager", settle):
        for _ in range(5):
            eager_step()
    with section("CUDA graph", settle, graph="capture_step"):
        run_graph()
    with section("replay loop", settle, graph="capture_step"):
        serve()
    with section("Triton", settle, kernels={"add_kernel": 20}):
        run_triton()
    if QUICK:
        skipped("torch.compile", "--quick")
    else:
        with section("torch.compile", settle):
            compiled()
        with section("torch.compile, reduce-overhead", settle, graph=""):
            compiled(mode="reduce-overhead")
    functions = [eager_step, capture_step, replay, run_graph, serve, run_triton]
    print_truth(functions=[f.__name__ for f in functions])


if __name__ == "__main__":  # compilers' workers import this file
    main()
