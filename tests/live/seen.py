"""Of the CPU time that a recorded program used, as its witness has it (programs/witness.c): how much was
sampled. Runs are noted while a fault goes on, and judged at its end."""

from recording import aflame, read_numbers
from tap import expect
from witnessed import Sampled

RUNS = []

# Nine tenths, but for what a few ticks of the sampler make of short runs.
BAR, SLACK_S = 0.90, 0.02
# Above it, and what a host that takes the CPU makes of perf's timers, time was sampled twice.
MOST = 1.25
# Less than this is not worth a judgement: the program did nothing but come and go.
LEAST_S = 0.05


class Seen:
    def __init__(self, sampler, used_s, sampled_s, all_s):
        self.sampler, self.used_s, self.sampled_s, self.all_s = sampler, used_s, sampled_s, all_s

    def share(self):
        return self.sampled_s / self.used_s

    def enough(self):
        return self.sampled_s >= BAR * self.used_s - SLACK_S

    def twice(self):
        # Not held against the user part alone: the kernel divides by ticks, and on a CPU that others use
        # as well (2000 threads of 0.5 ms) it gave the system too much. 127 % of that part were sampled.
        return self.sampled_s > MOST * self.all_s + SLACK_S


def add(path, sampler, witnessed=None):
    """Notes the run whose trace is @path and whose witness wrote @witnessed (@path.used)."""
    numbers = read_numbers(witnessed or path + ".used")
    if "status" not in numbers:
        return
    sampled = Sampled(aflame("flame", "--view", "cpu", path).stdout)
    in_kernel = sampler == "bpf"
    used, all_us = numbers["user_us"] + numbers["system_us"] * in_kernel, numbers["user_us"] + numbers["system_us"]
    RUNS.append(Seen(sampler, used / 1e6, sampled.program_s - sampled.kernel_s * (not in_kernel), all_us / 1e6))


def judge(limit):
    """What a fault says of its runs; fails where too little was seen for no known reason."""
    worth = [r for r in RUNS if r.used_s >= LEAST_S]
    shares = ", ".join("%.0f %% by %s" % (100 * r.share(), r.sampler) for r in worth)
    short = [r for r in worth if not r.enough()]
    twice = [r for r in worth if r.twice()]
    expect(not twice, "more was sampled than used: %s" % shares)
    reported = "seen: %s" % (shares or "not measured")
    expect(limit or worth, "nothing says what was seen of it")
    expect(limit or not short, "of %s s only %s s were sampled (%s)" % (
        ["%.2f" % r.used_s for r in short], ["%.2f" % r.sampled_s for r in short], shares))
    return reported + (" (limit: %s)" % limit if limit and (short or not worth) else "")
