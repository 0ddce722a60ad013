import os

import torch

entered = []


class emit_nvtx:
    def __enter__(self):
        entered.append(self)
        if "TORCH_EMIT_FAILS" in os.environ:
            raise RuntimeError("Profiler is already enabled on this thread")
        torch.cuda.synchronize()
        torch._engine.torch_emit()
        return self

    def __exit__(self, *_):
        return False
