"""Several processes with CUDA: one forked before CUDA starts, DataLoader's workers (forked, without
CUDA), and two that multiprocessing spawns. Each that computes is in the truth's `pids`."""

import multiprocessing
import os

import torch
from sections import print_truth, section


def compute():
    x = torch.ones(64, 64, device="cuda")
    for _ in range(20):
        x = torch.tanh(x @ x)
    torch.cuda.synchronize()


def spawned(pids):
    compute()
    pids.put(os.getpid())


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((32,), float(i))


def load():
    total = torch.zeros((), device="cuda")
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True)
    for numbers in loader:
        total += numbers.cuda(non_blocking=True).sum()
    assert float(total) == 32 * sum(range(64))


def main():
    child = os.fork()
    if child == 0:
        compute()
        # As multiprocessing ends its children.
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    compute()
    settle = torch.cuda.synchronize
    with section("DataLoader", settle):
        load()
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    children = [context.Process(target=spawned, args=(queue,)) for _ in range(2)]
    for process in children:
        process.start()
    pids = [queue.get() for _ in children]
    for process in children:
        process.join()
    print_truth(
        pids={
            "the parent": os.getpid(),
            "forked": child,
            "spawned": pids[0],
            "spawned too": pids[1],
        }
    )


if __name__ == "__main__":
    main()
