"""Runs a suite plain and under each sampler, and compares test by test; tests/live/suites says what counts."""

import json
import os
import shutil
import stat
import subprocess
import time

from machine import AFLAME, probes
from packages import Archive, install
from suites_known import SUITES, prepared
from witnessed import PATH, Place, listen_to_sigint

SEEN = 0.90
HOW = {"perf": ["--sample", "perf"], "timer": ["--sample", "timer"], "bpf": ["--sample", "bpf"],
       "off-cpu": ["--sample", "bpf", "--off-cpu"]}
WITH_KERNEL = ("bpf", "off-cpu")


class Ground(Place):
    """Where one suite runs, as whom, and how many files at a time."""

    def __init__(self, suite, how):  # not Place's: the folder is the user's own choice
        self.suite, self.user, self.jobs, self.rate = suite, how.user, how.jobs, how.rate
        self.work = os.path.join(how.scratch, suite.name + "-run")
        self.trace = self.work + "/trace"

    def lay(self, files):
        """An empty folder: of the same name for every run, as paths show in results."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work + "/of")
        with open(self.work + "/files", "w", encoding="utf-8") as file:
            file.write("\n".join(files) + "\n")
        with open(self.work + "/one", "w", encoding="utf-8") as file:
            file.write("OUT=$OF/$1\n" + self.suite.command())
        if self.user:
            subprocess.run(["chown", "-R", self.user + ":", self.work, self.suite.folder], check=True)

    def run(self, files, recorder=()):
        """({file: results}, status, what was written on standard error, seconds) of one run of @files."""
        self.lay(files)
        # As much as a login has: the suites look for what they need there.
        env = {"PATH": PATH, "HOME": self.work, "LANG": "C.UTF-8", "OF": self.work + "/of", "SUITE": self.suite.folder}
        words = [*recorder, "xargs", "-a", self.work + "/files", "-P", str(self.jobs), "-n", "1", "sh", self.work + "/one"]
        start = time.monotonic()
        done = subprocess.run(self.as_user(words), env=env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, preexec_fn=listen_to_sigint, check=False)
        found = {name: self.suite.results(os.path.join(self.work, "of", name)) for name in files}
        return found, done.returncode, done.stderr.decode(errors="replace").strip(), time.monotonic() - start

    def record(self, files, sampler):
        words = [AFLAME, "record", "-q", "-f", "-o", self.trace, *HOW[sampler], "-F", str(self.rate), "--"]
        return self.run(files, words)

    def seen(self, sampler):
        """(CPU seconds used, sampled, where most is missing) of the whole trace."""
        done = subprocess.run(self.as_user([AFLAME, "report", "coverage", "--json", "--limit", "0", self.trace]), check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": PATH, "HOME": self.work})
        if done.returncode:
            return 0.0, 0.0, []
        table = json.loads(done.stdout)["tables"][0]
        rows = table["rows"]
        kinds = ("user", "system") if sampler in WITH_KERNEL else ("user",)
        for row in rows:  # None where what was used is not known
            row["used_s"], row["sampled_s"] = (sum(row["%s_%s_ns" % (what, kind)] or 0 for kind in kinds) / 1e9 for what in ("used", "sampled"))
        worst = sorted(rows, key=lambda row: row["sampled_s"] - row["used_s"])[:3]
        return (sum(row["used_s"] for row in rows), sum(row["sampled_s"] for row in rows),
                ["%s: %.3f s of %.3f s, %s" % (row["label"], row["sampled_s"], row["used_s"], row["cause"] or row["measured"]) for row in worst])


def flat(found):
    return {(name, test): result for name, tests in found.items() for test, result in tests.items()}


def unlike(one, other, varying=()):
    """The tests whose results differ; those that only one of the two has, too, but for files of @varying."""
    return {key for key in one.keys() | other.keys()
            if one.get(key) != other.get(key) and (key[0] not in varying or (key in one and key in other))}


class Baseline:
    """What a suite gives plain: @results of the tests on which every plain run agreed so far, @flaky all others. Which tests
    there are differs by chance in files that repeat until something happens: @varying."""

    def __init__(self, ground, files):
        self.ground, self.files, self.flaky, self.varying = ground, files, set(), set()
        self.results = {}
        (first, self.status, _, self.seconds), second = ground.run(files), ground.run(files)
        self.results = flat(first)
        self.status = self.status if self.status == second[1] else None
        self.learn(flat(second[0]), files)

    def learn(self, again, files):
        here = {key: result for key, result in self.results.items() if key[0] in files}
        self.varying |= {key[0] for key in (here.keys() ^ again.keys()) - self.flaky}
        self.flaky |= unlike(here, again)
        self.drop()

    def drop(self):
        self.results = {key: result for key, result in self.results.items() if key not in self.flaky}

    def differs(self, found, files):
        """What was plainly another way, in @files."""
        here = {key: result for key, result in self.results.items() if key[0] in files}
        return unlike(here, flat(found), self.varying) - self.flaky


def row_of(base, ground, sampler):
    found, status, reported, seconds = ground.record(base.files, sampler)
    used, sampled, worst = ground.seen(sampler)
    first, different = base.differs(found, base.files), set()
    results = flat(found)
    if first:
        again = sorted({name for name, _ in first})
        base.learn(flat(ground.run(again)[0]), again)
        second = ground.record(again, sampler)[0]
        different = base.differs(second, again) & first
    tests = len(base.results)
    return {"suite": ground.suite.name, "sampler": sampler, "files": len(base.files), "tests": tests,
            "identical": tests - len(different) - len((first - different - base.flaky) & base.results.keys()),
            "different": named(different, base.results, results), "once": named(first - different - base.flaky, base.results, results),
            "used_s": used, "sampled_s": sampled, "worst": worst, "seconds": seconds, "reported": reported,
            "status": None if base.status in (None, status) else "status %d, plain %d" % (status, base.status)}


def named(keys, plain, recorded):
    return ["%s %s: %s, plain %s" % (*key, recorded.get(key, "did not run"), plain.get(key, "did not run")) for key in sorted(keys)]


def seen_share(row):
    return row["sampled_s"] / row["used_s"] if row["used_s"] else 0.0


def is_short(row):
    return bool(row["different"] or row["status"] or row["reported"] or seen_share(row) < SEEN)


HEAD = "%-8s %-8s %6s %7s %10s %10s %6s %8s %7s %7s"
LINE = "%-8s %-8s %6d %7d %10d %10d %6d %6.1f s %5.1f %% %5.0f s"


def show(row):
    print(LINE % (row["suite"], row["sampler"], row["files"], row["tests"], row["identical"], len(row["different"]), len(row["once"]),
                  row["used_s"], 100 * seen_share(row), row["seconds"]))
    for what in ("different", "once"):
        for one in row[what]:
            print("         %s: %s" % (what, one))
    if seen_share(row) < SEEN:
        print("         seen too little of: %s" % "; ".join(row["worst"]))
    for what in ("status", "reported"):
        if row[what]:
            print("         %s: %s" % (what, row[what][-600:]))


def rows_of(suite, how):
    ground = Ground(suite, how)
    wanted = how.files.split(",") if how.files else []
    files = [f for f in suite.files(how.all or wanted) if not wanted or f in wanted]
    if not files:
        return
    base = Baseline(ground, files)
    print("%-8s %-8s %6d %7d %52.0f s" % (suite.name, "plain", len(files), len(base.results), base.seconds), flush=True)
    for sampler in [s for s in how.samplers.split(",") if s != "plain"]:
        why = probes().get("bpf" if sampler in WITH_KERNEL else sampler)
        if why:
            print("%-8s %-8s left out: %s" % (suite.name, sampler, why))
            continue
        row = row_of(base, ground, sampler)
        show(row)
        yield row
    if base.flaky:
        print("         flaky, left out: %d: %s" % (len(base.flaky), in_words(base.flaky)), flush=True)


def in_words(tests):
    """Their names, file by file; of a file that has many, how many."""
    of = {}
    for name, test in sorted(tests):
        of.setdefault(name, []).append(test)
    return "; ".join("%s %s" % (name, ", ".join(of[name]) if len(of[name]) <= 5 else "(%d tests)" % len(of[name])) for name in of)


def own_folder(path):
    """@path, made unless it is there: ours alone, as we build and run what lies in it."""
    os.makedirs(path, mode=0o755, exist_ok=True)
    there = os.lstat(path)
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid() or there.st_mode & 0o022:
        raise SystemExit("%s: not a folder that only you can write to; name another with --scratch" % path)
    return path


def main(how):
    chosen = how.only.split(",")
    unknown = set(chosen) - set(SUITES) or set(how.samplers.split(",")) - set(HOW) - {"plain"}
    if unknown:
        raise SystemExit("no such suite or sampler: %s" % ", ".join(sorted(unknown)))
    if how.install:
        install({p for name in chosen for p in SUITES[name].packages})
    how.scratch = own_folder(os.path.abspath(how.scratch) + ("-" + how.user if how.user else ""))
    archive = Archive(os.path.join(how.scratch, "archive"))
    print(HEAD % ("suite", "sampler", "files", "tests", "identical", "different", "once", "CPU", "seen", "took"))
    rows = []
    for name in chosen:
        rows += rows_of(prepared(name, how.scratch, archive), how)
    if how.json:
        with open(how.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    short = sum(is_short(row) for row in rows)
    print("%d rows, %d with a difference or short of the bar" % (len(rows), short))
    return bool(short)
