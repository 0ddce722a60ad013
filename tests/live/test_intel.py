#!/usr/bin/env python3
"""Intel GPUs from end to end, without one (intel_whole.py): rows by a stand-in for the kernel's driver in the recorder
(programs/xe_stand_in.c).

    INTEL_PICTURE=FILE.svg tests/live/test_intel.py build    also draws what was recorded
"""

import os

from intel_driver import NO_HARDWARE, clean
from intel_whole import Whole, check_tree, check_views
from recording import must, record
from tap import case, run_cases
from xe_card import Machine

TITLE = "A Level Zero kernel on Ponte Vecchio: Intel's driver, and samples by a stand-in"


def recorded(it, early):
    """The rows come once the program has launched; @early: before anybody knows what lies there."""
    machine = Machine()
    card = machine.card(layout="pvc", device="0bd5")
    if not early:
        card.step("wait 0 launched")
    card.give(0, it.content)
    knobs = {"ZE_WORKS_LAUNCHED": os.path.join(machine.folder, "launched")}
    env = dict(machine.env(), **clean(**NO_HARDWARE, **knobs))
    return record(*it.words, env=env, options=("--gpu-samples",))


@case("the whole of it: stack, launch, kernel, inlined call, line, instruction, reason")
def _():
    it = Whole()
    run = recorded(it, early=False)
    check_tree(it, run)
    check_views(it, run)
    if os.environ.get("INTEL_PICTURE"):
        must("flame", "--view", "gpu", "--weight", "samples", "--depth", "stall", "--title", TITLE, "-o", os.environ["INTEL_PICTURE"], run.path)


@case("the same of samples that came before anybody knew what lies there")
def _():
    it = Whole()
    check_tree(it, recorded(it, early=True))


run_cases()
