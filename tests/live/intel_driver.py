"""Intel's own Level Zero driver in its mode without hardware, and modules for it."""

import os
import shutil
import subprocess

from machine import SCRIPTS, WORKPLACE
from recording import new_path
from tap import Skip

# Commands go into a capture instead of a GPU: a Ponte Vecchio of two subslices.
NO_HARDWARE = {
    "NEOReadDebugKeys": "1",
    "SetCommandStreamReceiver": "1",
    "ProductFamilyOverride": "pvc",
    "HardwareInfoOverride": "1x2x8",
    "AUBDumpCaptureFileName": "/dev/null",
}


def clean(**more):
    """The environment without another driver's variables."""
    left = {k: v for k, v in os.environ.items() if k not in NO_HARDWARE and not k.startswith("ZE")}
    return dict(left, **{k: str(v) for k, v in more.items()})


def vendors(library):
    """A folder of OpenCL's loader with one driver."""
    folder = new_path("vendors")
    os.mkdir(folder)
    with open(os.path.join(folder, "one.icd"), "w", encoding="utf-8") as file:
        file.write(library + "\n")
    return folder


def compiled(device, suffix, *words):
    """A file that Intel's offline compiler makes for @device of a source and options."""
    if not shutil.which("ocloc"):
        raise Skip("no ocloc (intel-opencl-icd)")
    out = new_path("ocloc")
    subprocess.run(
        ["ocloc", "compile", "-device", device, "-output", "made", "-out_dir", out, *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=WORKPLACE,
    )  # fmt: skip
    found = [f for f in os.listdir(out) if f.endswith(suffix)] if os.path.isdir(out) else []
    if not found:
        raise Skip("ocloc does not compile for %s here" % device)
    return os.path.join(out, found[0])


def spirv(name):
    """A module of one kernel (several would lose their lines)."""
    source = os.path.join(SCRIPTS, "ze_kernels.cl")
    return compiled("pvc", ".spv", "-file", source, "-options", "-g -DKERNEL=" + name)
