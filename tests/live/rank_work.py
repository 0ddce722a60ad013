"""Ranks as launchers start them: a clean environment for them, and the options that launchers need."""

import os
import re

from machine import AFLAME
from recording import new_path

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RECORD = [AFLAME, "record", "-q", "--sample", "none"]


def bare_environment(**more):
    """Without what a launcher, which may have started this test, says of it."""
    of_launchers = re.compile(
        r"RANK$|^(OMPI|PMI|PMIX|SLURM|FLUX|PALS|TORCHELASTIC|MASTER|HYD|LOCAL|WORLD)_?"
    )
    kept = {k: v for k, v in os.environ.items() if not of_launchers.search(k)}
    return {**kept, **AS_ROOT, **more}


def new_folder():
    path = new_path("job")
    os.mkdir(path)
    return path
