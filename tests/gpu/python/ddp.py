"""Data-parallel training on all GPUs, started by torchrun: ddp.py STEPS. Each rank prints its truth:
its steps' lengths, and how many kernels of a known name it launched."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

LAYERS, WIDTH, ROWS, COLUMNS = 6, 1024, 16, 256
WARM = 10


def main(steps):
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    torch.manual_seed(rank)
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, WIDTH // 64, 4 * WIDTH, batch_first=True, dropout=0.0, device="cuda"
    )
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local])
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(ROWS, COLUMNS, WIDTH, device="cuda")
    lengths = []
    for _ in range(WARM + steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        y = model(batch)
        (y * y).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        lengths.append(1000 * (time.perf_counter() - start))
    dist.barrier()
    dist.destroy_process_group()
    truth = {"rank": rank, "pid": os.getpid(), "world": int(os.environ["WORLD_SIZE"]), "ms": lengths[WARM:]}
    # One write: ranks share the output.
    os.write(1, ("truth " + json.dumps(truth) + "\n").encode())


main(int(sys.argv[1]))
