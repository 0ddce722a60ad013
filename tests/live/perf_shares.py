"""What perf says of a program: each function's share of the samples, to be held against ours.

Most of Debian's programs are stripped: perf then knows addresses only. They are put together by
function as readelf has them from .eh_frame, and named as aflame names such a function: MODULE!fn_START."""

import bisect
import functools
import os
import re
import shutil
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


class Shares:
    """of[name] is (share of all samples, share of those in user mode)."""

    def __init__(self, rows, paths, nr_samples):
        user = sum(share for share, _, where, _ in rows if where != "k") or 1
        self.of = {}
        self.nr_samples = nr_samples
        for share, module, where, name in rows:
            name = self.name(module, name, paths)
            if name:
                both, of_user = self.of.get(name, (0, 0))
                self.of[name] = (both + share / 100, of_user + (where != "k") * share / user)

    @staticmethod
    def name(module, name, paths):
        if not re.match(r"0x[0-9a-f]+$", name):
            return name
        start = function_at(paths[module], int(name, 16)) if module in paths else None
        return None if start is None else key_of(module, start)

    def hottest(self, with_kernel):
        at = 0 if with_kernel else 1
        return max(((name, s[at]) for name, s in self.of.items()), key=lambda row: row[1], default=(None, 0))


def perf_shares(entry, place, rate):
    """Shares, or the reason why perf says nothing; twice, as perf 6.1 at times fails to read what it wrote."""
    first = ask_perf(entry, place, rate)
    return ask_perf(entry, place, rate) if isinstance(first, str) and "failed to process" in first else first


def ask_perf(entry, place, rate):
    if not shutil.which("perf", path=PATH):
        return "no perf here"
    data = os.path.join(place.work, "perf.data")
    event = "task-clock:u" if place.user or os.geteuid() else "task-clock"
    done = run(entry, place, ["perf", "record", "-q", "-N", "-o", data, "-F", str(rate), "-e", event, "--"])
    if not os.path.exists(data) or not done.witnessed:
        return "perf record: %s" % done.err.decode(errors="replace").strip()[-100:]
    text, said = perf_text(place, "report", "-i", data, "--no-children", "--sort", "dso,symbol", "--stdio", "-q", "-t", "|")
    maps, _ = perf_text(place, "script", "-i", data, "--show-mmap-events", "-F", "comm,pid,time")
    os.unlink(data)
    rows = re.findall(r"^ *([\d.]+)% *\|(\S+) *\|\[(.)\] (\S.*?) *\|", text, re.M)
    paths = {os.path.basename(path): path for path in re.findall(r"MMAP.*x[p-] (/\S+)$", maps, re.M)}
    return Shares([(float(s), m, w, n) for s, m, w, n in rows], paths, (done.user_s + done.system_s) * rate) if rows else "perf report: %s" % " ".join(said.split())[-100:]
