"""py_training.py STEPS: a start of 0.3 s, then STEPS steps of 30 ms of CPU time, 20 ms of them in
a region "forward"."""

import sys
import time

import aflame


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@aflame.region("forward")
def forward():
    burn(0.02)


def backward():
    burn(0.01)


burn(0.3)
for _ in range(int(sys.argv[1])):
    with aflame.region("step"):
        forward()
        backward()
print("trained")
