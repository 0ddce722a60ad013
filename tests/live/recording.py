"""Recording a program and reading what came of it.

record() runs `aflame record` and holds every trace to the same: the program's own exit status, not
a word on standard error, and babeltrace2 (where there is one) counting the events that `aflame
print` counts.
"""

import itertools
import json
import os
import re
import shutil
import subprocess

from machine import (
    AFLAME,
    SAMPLERS,
    WORKPLACE,
    any_sampler,
    need,
    program,
)
from tap import equal, expect, note

_numbers = itertools.count(1)

# How often to look: with perf so often that 2 points are four standard errors or more of a second's
# samples; a timer gives no more than 250 signals a second whatever is asked.
RATES = {"perf": 9973, "timer": 997, "none": 99}

# aflame's own exit statuses: it could not be done, the command line makes no sense.
FAILED, USAGE = 1, 2

KIND_SUFFIX = re.compile(r"_\[[a-zA-Z]\]$")


def new_path(name="trace"):
    """A path in the workplace where nothing is yet."""
    return os.path.join(WORKPLACE, "%s-%d" % (name, next(_numbers)))


def aflame(*words, **how):
    """Runs aflame and returns the CompletedProcess, its output as text unless text=False."""
    how.setdefault("cwd", WORKPLACE)
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("timeout", 240)
    text = how.pop("text", True)
    done = subprocess.run(
        [AFLAME, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        **how,
    )
    if text:
        done.stdout = done.stdout.decode("utf-8", "surrogateescape")
        done.stderr = done.stderr.decode("utf-8", "surrogateescape")
    return done


def must(*words, **how):
    """Output of an aflame command that has to work."""
    done = aflame(*words, **how)
    expect(
        done.returncode == 0,
        "aflame %s: status %d\n%s" % (" ".join(map(str, words)), done.returncode, done.stderr),
    )
    return done.stdout


class Trace:
    """A trace on disk."""

    def __init__(self, path):
        self.path = path
        self._events = {}

    def counts(self):
        """{kind: number of events}, with "total"."""
        rows = (line.split() for line in must("print", "--count", self.path).splitlines())
        return {kind: int(number) for kind, number in rows}

    def events(self, kind):
        """The events of one kind, as print --json gives them."""
        if kind not in self._events:
            text = must("print", "--json", "-k", kind, self.path)
            self._events[kind] = [json.loads(line) for line in text.splitlines()]
        return self._events[kind]

    def fields(self, kind):
        return [event["fields"] for event in self.events(kind)]

    def stacks(self, view="cpu", weight="time"):
        """[(frames, weight)], outermost first, from the program's name on; suffixes are kept."""
        text = must("flame", "--view", view, "--weight", weight, self.path)
        return parse_folded(text)

    def check(self):
        """Readable from end to end, by us and by babeltrace2 with the same number of events."""
        total = self.counts()["total"]
        if shutil.which("babeltrace2"):
            other = babeltrace_count(self.path)
            expect(other == total, "babeltrace2 reads %d events, aflame %d" % (other, total))
        else:
            note("no babeltrace2 here to read the trace with")

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


# What babeltrace2 always says: of the one field that CTF does not know (docs/format.md).
KNOWN_WARNING = re.compile(r'User field found in event header: ignoring: name="size"$')


def babeltrace_count(path):
    done = subprocess.run(
        ["babeltrace2", path, "-c", "sink.utils.counter"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    found = re.findall(
        r"(\d+) Event messages", done.stdout
    )  # the running count, the last is the end
    expect(done.returncode == 0 and found, "babeltrace2: %s%s" % (done.stdout, done.stderr))
    reported = [line for line in done.stderr.splitlines() if not KNOWN_WARNING.search(line)]
    expect(not reported, "babeltrace2 complains: %s" % reported)
    return int(found[-1])


def parse_folded(text):
    stacks = []
    for line in text.splitlines():
        frames, weight = line.rsplit(" ", 1)
        stacks.append((frames.split(";"), float(weight)))
    return stacks


def bare(frame):
    """The name without the suffix that says its kind."""
    return KIND_SUFFIX.sub("", frame)


class Recording(Trace):
    """A trace and the run that made it."""

    def __init__(self, path, done):
        super().__init__(path)
        self.status = done.returncode
        self.stdout, self.stderr = done.stdout, done.stderr
        self.truth = parse_truth(done.stdout)


def used_by_tree_ns(trace):
    """CPU time of the program and of all that it waited for, as wait4(2) reported it to the recorder."""
    return sum(
        e["user_ns"] + e["kernel_ns"]
        for e in trace.fields("usage")
        if e["process"] == 0 and e["whose"] == "CHILDREN"
    )


def parse_truth(output):
    truth = {}
    for line in output.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "truth":
            truth[words[1]] = float(words[2])
    return truth


def record(
    *command, sampler="none", rate=None, options=(), status=0, quiet=True, check=True, **how
):
    """Records @command and returns the Recording; fails when the status is not @status."""
    if sampler in SAMPLERS:
        need(sampler)
    path = new_path()
    done = aflame(
        "record",
        "-q",
        "-o",
        path,
        "--sample",
        sampler,
        "-F",
        rate or RATES[sampler],
        *options,
        "--",
        *command,
        text=False,
        **how,
    )
    reported = "status %d\n%s" % (done.returncode, done.stderr.decode("utf-8", "replace"))
    expect(status is None or done.returncode == status, "%s: %s" % (command[0], reported))
    if quiet:
        expect(not done.stderr, "%s, recorded, writes on standard error: %s" % (command[0], reported))
    recording = Recording(path, done)
    if check:
        recording.check()
    return recording


def read_numbers(path):
    """What a witness (programs/witness.c) wrote; {} when it wrote nothing."""
    try:
        with open(path, encoding="utf-8") as file:
            return {key: int(value) for key, value in (line.split() for line in file if " " in line)}
    except (OSError, ValueError):
        return {}


def witnessed(*command, **how):
    """record() of @command below a witness, whose numbers are beside the program's own truth."""
    used = new_path("used")
    recording = record(program("witness"), used, *command, **how)
    recording.truth.update(read_numbers(used))
    return recording


def as_stranger(other, *command, sampler="perf", status=0):
    """witnessed(), recorded by @other, a Stranger, who may do nothing: (trace, what was used)."""
    need(sampler)
    path = other.path("trace")
    recorder = (other.install(), "record", "-q", "-o", path, "--sample", sampler, "-F", "499", "--")
    done = other.run((*recorder, other.program("witness"), path + ".used", *command))
    equal((done.returncode, done.stderr), (status, b""), "(status, standard error)")
    trace = Trace(path)
    trace.check()
    return trace, read_numbers(path + ".used")


def sampled(scale="0.1"):
    """A recording with samples, by whichever sampler works."""
    return record(program("shares"), scale, sampler=any_sampler())


def refused(status, pattern, *words, **how):
    """aflame @words exits with @status and one line that matches."""
    done = aflame(*words, **how)
    reported = "status %d: %s" % (done.returncode, done.stderr)
    expect(done.returncode == status, reported)
    expect(re.search(pattern, done.stderr), "%r is not in %s" % (pattern, reported))
    expect(done.stderr.startswith("aflame"), reported)
    expect(done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), "not one line: %s" % reported)
    expect(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.stderr), "control characters: %r" % reported)
    return done
