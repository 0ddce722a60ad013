#!/usr/bin/env python3
"""The short ones of the hard fault_injection (fault_injection.py); tests/bench/stress has all."""

from fault_injection import FAULTS
from tap import case, note, run_cases


def add(sentence, function):
    @case(sentence)
    def _():
        note("lost: %s" % function(False))


for sentence, function, quick in FAULTS:
    if quick:
        add(sentence, function)

run_cases()
