"""power.py [SECONDS]: a load whose energy the driver counts: a second of matrix products, half a second of nothing,
over and over. Prints, as truth, the joules that the device took by its own counter, read by this program from NVML
around the load, and when."""

import ctypes
import json
import sys
import time

import torch

nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
device = ctypes.c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))


def millijoule():
    """The counter, and the time, right after it moved."""
    value, before = ctypes.c_ulonglong(), None
    while True:
        nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
        if before is not None and value.value != before:
            return value.value, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        before = value.value


seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 9
a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
b = a @ a
torch.cuda.synchronize()
begin_mj, begin_ns = millijoule()
end = time.monotonic() + seconds
while time.monotonic() < end:
    until = time.monotonic() + 1
    while time.monotonic() < until:
        for _ in range(8):
            b = a @ a
        torch.cuda.synchronize()
    time.sleep(0.5)
end_mj, end_ns = millijoule()
print("truth " + json.dumps({"mj": end_mj - begin_mj, "begin_ns": begin_ns, "end_ns": end_ns}))
