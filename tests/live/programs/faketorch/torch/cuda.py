import torch

_started = [False]
_captures = []


def init():
    torch._engine.torch_start()
    _started[0] = True


def is_initialized():
    return _started[0]


def is_current_stream_capturing():
    """As after a capture that has just ended: the first to ask is reported that one is under way."""
    _captures.append(True)
    return len(_captures) == 1


def synchronize():
    torch._engine.torch_wait()
