"""Not PyTorch: as much of its interface as `aflame record --autograd` and py_autograd.py use, over
torch_engine.c. TORCH_ENGINE names that library; TORCH_EMIT_FAILS makes emit_nvtx() raise."""

import ctypes
import os

__version__ = "0.0 (a fake)"

_engine = ctypes.PyDLL(os.environ["TORCH_ENGINE"])
_next = [0]

from . import cuda  # noqa: E402
from . import autograd  # noqa: E402


def addmm():
    """Launches a kernel; returns what backward() takes."""
    _next[0] += 1
    _engine.torch_forward(b"aten::addmm", ctypes.c_long(_next[0]))
    return _next[0]


def backward(made):
    numbers = (ctypes.c_long * len(made))(*made)
    _engine.torch_backward(b"AddmmBackward0", numbers, ctypes.c_long(len(made)))
