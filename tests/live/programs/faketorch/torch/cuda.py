import torch

_started = [False]


def init():
    torch._engine.torch_start()
    _started[0] = True


def is_initialized():
    return _started[0]


def synchronize():
    torch._engine.torch_wait()
