"""A training loop of a known number of steps: train.py STEPS. The same work each time it is run."""

import sys

import torch

torch.manual_seed(0)
LAYERS, WIDTH, ROWS, COLUMNS = 4, 1024, 8, 256


def forward(model, batch):
    return model(batch)


def loss_of(y):
    return (y * y).mean()


def main(steps):
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, WIDTH // 64, 4 * WIDTH, batch_first=True, dropout=0.0, device="cuda"
    )
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(ROWS, COLUMNS, WIDTH, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(forward(model, batch)).backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("done", flush=True)


main(int(sys.argv[1]))
