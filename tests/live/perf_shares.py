"""What perf says of a program: each function's share of the samples, to be held against ours.

Most of Debian's programs are stripped: perf then knows addresses only. They are put together by
function as readelf has them from .eh_frame, and named as aflame names such a function: MODULE!fn_START."""

import bisect
import functools
import os
import re
import subprocess

from debian_programs import PATH
from witnessed import LIMIT_S, run


def perf_text(place, *words):
    done = subprocess.run(place.as_user(["perf", *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=place.work, timeout=LIMIT_S, check=False,
                          env={"PATH": PATH, "HOME": place.work})
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


@functools.lru_cache(maxsize=None)
def function_starts(path):
    """([first address], [end]) of every function that .eh_frame describes, by readelf."""
    text = subprocess.run(["readelf", "--debug-dump=frames", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")
    pairs = sorted({(int(a, 16), int(b, 16)) for a, b in re.findall(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)})
    return [a for a, _ in pairs], [b for _, b in pairs]


def function_at(path, address):
    starts, ends = function_starts(path)
    at = bisect.bisect_right(starts, address) - 1
    return starts[at] if at >= 0 and address < ends[at] else None


def key_of(module, start):
    """The module without its version: a library's file and its soname differ there."""
    return "%s!fn_%x" % (re.sub(r"(\.so)[.0-9]*$", r"\1", module), start)


# Where the kernel lets interrupts in again: a clock that ran out before is seen there, whatever ran. That is what two
# samplers do not share, as each does its work at a switch with interrupts off and sees the other's.
INTERRUPTS_ON = re.compile(r"finish_task_switch|_raw_(spin|read|write)_unlock_irq")


class Shares:
    """of[name] is (how many of all samples, how many of those in user mode)."""

    def __init__(self, rows, paths, rate, used_s):
        self.of = {}
        self.nr = [0, 0]
        for count, module, where, name in rows:
            both = [count, count * (where != "k")]
            self.nr = [a + b for a, b in zip(self.nr, both)]
            name = self.name(module, name, paths)
            if name:
                self.of[name] = [a + b for a, b in zip(self.of.get(name, (0, 0)), both)]
        self.covered = min(1, self.nr[0] / max(1, rate * used_s))

    @staticmethod
    def name(module, name, paths):
        if not re.match(r"0x[0-9a-f]+$", name):
            return bare_symbol(name)
        start = function_at(paths[module], int(name, 16)) if module in paths else None
        return None if start is None else key_of(module, start)

    def share(self, name, with_kernel):
        """Of the samples, or of those in user mode unless @with_kernel."""
        at = 0 if with_kernel else 1
        return self.of[name][at] / max(1, self.nr[at])

    def hottest(self, with_kernel):
        names = [name for name in self.of if not INTERRUPTS_ON.match(name)]
        return max(names, key=lambda name: self.share(name, with_kernel), default=None)


def bare_symbol(name):
    """Without a version, and without what the compiler adds to a copy of its own: aflame shows neither."""
    return re.sub(r"@@?(?!plt$)[A-Za-z_]+[\d.]*$|(\.(constprop|isra|part|cold)(\.\d+)?)+$", "", name)


class Beside:
    """perf on every CPU while something runs: `with Beside(place) as beside: …`, then beside.shares(run).

    The same run, so what differs is chance alone: two runs of one program spend their time differently (caches,
    the layout of memory, what the kernel does), by more than the bar at times. Every CPU, because perf's events
    of threads see nothing of a thread that ends within a period: of http.server's time they had an eighth."""

    # A prime, and not ours: two clocks in step would show perf the same moment of our own work again and again.
    RATE = 1511

    def __init__(self, place):
        self.place, self.data, self.reported = place, os.path.join(place.work, "perf.data"), ""

    def __enter__(self):
        # perf begins before the words that it runs do. It asks for build-ids with mappings because aflame's bpf does: the
        # kernel then marks such a record as having one for everybody, and perf 6.1 aborts where there is none.
        self.perf = subprocess.Popen(
            ["perf", "record", "-a", "-q", "--buildid-mmap", "-N", "-m", "1024", "-o", self.data, "-F", str(self.RATE), "-e", "cpu-clock", "--",
             "sh", "-c", "echo; exec cat >/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.perf.stdout.readline()
        return self

    def __exit__(self, *_):
        self.reported = self.perf.communicate()[1].decode(errors="replace")

    def shares(self, done):
        try:
            return read_shares(self.place, self.data, done, self.RATE, self.reported)
        finally:
            if os.path.exists(self.data):
                os.unlink(self.data)


def perf_alone(entry, place, rate):
    """Shares of a run of its own, as a user who may sample no CPU has them, or the reason why perf says nothing."""
    data = os.path.join(place.work, "perf.data")
    done = run(entry, place, ["perf", "record", "-q", "-B", "-N", "-o", data, "-F", str(rate), "-e", "task-clock:u", "--"])
    if not done.witnessed:
        return "perf record: %s" % done.err.decode(errors="replace").strip()[-100:]
    try:
        return read_shares(place, data, done, rate, done.err.decode(errors="replace"))
    finally:
        if os.path.exists(data):
            os.unlink(data)


def read_shares(place, data, done, rate, reported):
    """Shares of the program of @done and all that it started, or why there are none."""
    if not os.path.exists(data):
        return "perf record: %s" % reported.strip()[-100:]
    events, _ = perf_text(place, "script", "-i", data, "--show-mmap-events", "--show-task-events", "-F", "comm,pid,time")
    family = family_of(done.pid, events)
    text, reported = perf_text(place, "report", "-i", data, "--no-children", "--sort", "dso,symbol", "--stdio", "-q", "-n", "-t", "|",
                           "--pid", ",".join(map(str, sorted(family))))
    rows = [read_row(line) for line in text.splitlines() if line.strip()]
    paths = {os.path.basename(path): path for pid, path in re.findall(r"MMAP2? (\d+)/.*x[p-] (/\S+)$", events, re.M) if int(pid) in family}
    used_s = done.user_s + done.system_s * (not place.user and not os.geteuid())
    return Shares(rows, paths, rate, used_s) if rows else "perf report: %s" % " ".join(reported.split())[-100:]


def family_of(pid, events):
    """@pid and the processes that came from it."""
    family = {pid}
    for child, parent in re.findall(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)", events):
        if int(parent) in family:
            family.add(int(child))
    return family


def read_row(line):
    """(samples, module, k or another letter, function). A module may be of several words: [JIT] tid 4711. A line that
    is none of these ends the test: rows left out would make the shares of the others greater."""
    found = re.match(r" *[\d.]+% *\| *(\d+) *\|([^|]*)\|\[(.)\] ([^|]*)", line)
    if not found:
        raise ValueError("perf report wrote a line that is no row: %s" % line)
    return int(found.group(1)), found.group(2).strip(), found.group(3), found.group(4).strip()
