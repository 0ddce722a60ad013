"""A program under a recorder and, inside, a witness that the recorder has no part in (programs/witness.c):
the CPU time that the kernel says was used, beside the CPU time that was sampled."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from debian_programs import PATH, find, make_data
from machine import AFLAME, program
from recording import read_numbers

LIMIT_S = 120

# Frames that are not the program's: what is reported of the stack, and the kernel's own frames.
REPORTED = re.compile(r"^\[(?!.*(: no symbol|: file gone|: file replaced)\]$)(?!unknown)[^]]*\]$")
KERNEL = re.compile(r"_\[k\]$")
KERNEL_ONLY = "[kernel]_[k]"
INLINED = re.compile(r"_\[i\]$")
KIND = re.compile(r"_\[[a-z]\]$")
PYTHON = re.compile(r" \(.*:\d+\)(_\[.\])?$")
# An address is all that is known; then, a function that is told apart by its bounds only.
UNNAMED = re.compile(r"^\[.*\]$|^0x[0-9a-f]+$")
BY_BOUNDS = re.compile(r"!fn_[0-9a-f]+$")
# A thread or a process that ended before a sample: where its time went is not known.
UNPLACED = "[ended before a sample]"
CUT = re.compile(r"^\[(truncated|frame pointers only|stack cut)")


class Place:
    """A folder that the user who runs the programs may write to, and as whom to run them."""

    def __init__(self, user=None):
        self.user = user
        self.work = tempfile.mkdtemp(prefix="aflame-debian-")
        os.chmod(self.work, 0o755)
        self.made = set()
        self.own()

    def own(self):
        if self.user:
            must = ["chown", "-R", "%s:" % self.user, self.work]
            subprocess.run(must, check=True)

    def as_user(self, words):
        if not self.user:
            return words
        return ["setpriv", "--reuid", self.user, "--regid", str(group_of(self.user)), "--clear-groups", "--", *words]

    def prepare(self, entry):
        for make in (make_data, entry.prepare):
            if make and make not in self.made:
                if self.user:
                    in_child(self.user, make, self.work)
                else:
                    make(self.work)
                self.made.add(make)

    def remove(self):
        shutil.rmtree(self.work, ignore_errors=True)


def group_of(user):
    import pwd

    return pwd.getpwnam(user).pw_gid


def in_child(user, make, work):
    """make(work) as @user."""
    import pwd

    entry = pwd.getpwnam(user)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            make(work)
            status = 0
        except Exception as failure:  # reported, and the parent fails
            print(failure)
        finally:
            os._exit(status)
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("could not be prepared as %s" % user)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Run:
    """One run: what was used (the witness), the recorder's own CPU seconds, status and output; and the
    part of its CPUs' busy time that the host of this virtual machine took."""

    def __init__(self, numbers, recorder_s, stolen, status, out, err):
        self.stolen = stolen
        self.user_s = numbers.get("user_us", 0) / 1e6
        self.system_s = numbers.get("system_us", 0) / 1e6
        self.recorder_s = max(0.0, recorder_s - self.user_s - self.system_s - numbers.get("own_us", 0) / 1e6)
        self.witnessed = "status" in numbers
        self.pid = numbers.get("pid")
        self.status, self.out, self.err = status, out, err


def environment(entry, place):
    env = {"PATH": PATH + ":" + os.path.dirname(find(entry.tool()) or "/bin/sh"), "HOME": place.work, "LANG": "C.UTF-8",
           "TMPDIR": place.work, "XDG_CACHE_HOME": place.work + "/cache"}
    env.update(entry.env(place.work) if callable(entry.env) else entry.env)
    return env


def has_ended(process):
    """Whether it did; its numbers are left for wait()."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def give_load(entry, port, numbers, process):
    """Waits for a server to answer, loads it, and ends it."""
    deadline = time.monotonic() + 30
    while not answers(port):
        if time.monotonic() > deadline or has_ended(process):
            break
        time.sleep(0.05)
    try:
        subprocess.run(entry.load(port), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={"PATH": PATH, "HOME": "/tmp"}, cwd="/", timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pass
    pid = read_numbers(numbers).get("pid")
    if pid and not has_ended(process):
        os.kill(pid, signal.SIGTERM if "http.server" not in entry.name else signal.SIGINT)


def busy_ticks():
    """(ticks that the host took from this machine's CPUs, those that they were busy, with these): proc(5)"""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return steal, user + nice + system + irq + softirq + steal


def run(entry, place, recorder=()):
    """Runs @entry, by way of the words of @recorder if any."""
    port = free_port()
    numbers = os.path.join(place.work, "witness")
    if os.path.exists(numbers):
        os.unlink(numbers)
    entry.write_files(place.work, port)
    words = [program("witness"), numbers, *entry.command(place.work, port)]
    if entry.name == "postgres" and not place.user and os.geteuid() == 0:
        words[2:2] = ["runuser", "-u", "nobody", "--"]
    before = busy_ticks()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(place.as_user([*recorder, *words]), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env=environment(entry, place), cwd=place.work, preexec_fn=listen_to_sigint)
        try:
            if entry.load:
                give_load(entry, port, numbers, process)
            status, used = wait(process, " ".join(recorder[:2]) or "alone")
        finally:
            if process.returncode is None:
                kill(process, numbers)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    took, busy = (after - start for after, start in zip(busy_ticks(), before))
    return Run(read_numbers(numbers), used.ru_utime + used.ru_stime, took / max(1, busy), status, *texts)


def listen_to_sigint():
    """Where we were started in the background of a script SIGINT is ignored, and programs inherit that: a server
    that SIGINT is to end would never end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait(process, how):
    """(status, rusage) of a child that is given LIMIT_S to end; @how it runs."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used
        time.sleep(0.02)
    raise TimeoutError("%s: did not end within %d s" % (how, LIMIT_S))


def kill(process, numbers):
    pid = read_numbers(numbers).get("pid")
    for one in (pid, process.pid):
        try:
            if one:
                os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


# --- what was sampled


class Sampled:
    """The weights of a trace's CPU stacks, of the program only: in seconds, or how many samples with a @unit of 1."""

    def __init__(self, folded, unit=1e9):
        self.all_s = self.program_s = self.kernel_s = self.named_s = self.bounds_s = self.cut_s = 0.0
        self.unplaced = [0.0, 0.0]
        self.leaves, self.unnamed = {}, {}
        for line in folded.splitlines():
            frames, weight = line.rsplit(" ", 1)
            self.add(split_frames(frames), float(weight) / unit)

    def add(self, frames, weight):
        if frames[0] == "witness":
            return
        self.all_s += weight
        own = [f for f in frames[1:] if not REPORTED.match(f)]
        if not any(not KERNEL.search(f) for f in own):
            return
        self.program_s += weight
        self.kernel_s += weight * bool(KERNEL.search(own[-1]))
        self.cut_s += weight * any(CUT.match(f) for f in frames[1:])
        # The timer sees that time was in the kernel, and no more: the system call's caller counts.
        leaf = own[-2] if own[-1] == KERNEL_ONLY and len(own) > 1 else own[-1]
        if UNNAMED.match(leaf):
            self.unnamed[leaf] = self.unnamed.get(leaf, 0) + weight
        elif BY_BOUNDS.search(leaf):
            self.bounds_s += weight
        else:
            self.named_s += weight
        if UNPLACED in frames:
            self.unplaced[0] += weight
            self.unplaced[1] += weight * (not KERNEL.search(own[-1]))
            return
        function = compiled(own)
        self.leaves[function] = self.leaves.get(function, 0) + weight


def split_frames(text):
    return text.split(";")


def compiled(frames):
    """The function whose code a stack ends in: inlined ones are in the code of another, and Python's
    frames are the interpreter's loop."""
    for frame in reversed(frames):
        if PYTHON.search(frame):
            return "_PyEval_EvalFrameDefault"
        if not INLINED.search(frame):
            return KIND.sub("", frame)
    return frames[-1]


def record(entry, place, sampler, rate):
    """(Run, Sampled, words of the sampler that was chosen, findings as dicts, Sampled of counts) of @entry under aflame."""
    trace = os.path.join(place.work, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    done = run(entry, place, [AFLAME, "record", "-q", "-f", "-o", trace, "--sample", sampler, "-F", str(rate), "--"])
    folded = aflame_text(place, "flame", "--view", "cpu", trace)
    counts = aflame_text(place, "flame", "--view", "cpu", "--weight", "samples", trace)
    chosen = re.search(r"CPU samples +(\w+)", aflame_text(place, "report", "summary", trace))
    findings = findings_of(aflame_text(place, "report", "findings", "--json", trace))
    shutil.rmtree(trace, ignore_errors=True)
    return done, Sampled(folded), chosen.group(1) if chosen else "none", findings, Sampled(counts, 1)


def findings_of(text):
    tables = json.loads(text)["tables"] if text else []
    return [row for t in tables if t["name"] == "findings" for row in t["rows"]]


def aflame_text(place, *words):
    done = subprocess.run(place.as_user([AFLAME, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=place.work, timeout=LIMIT_S, check=False,
                          env={"PATH": PATH, "HOME": place.work})
    return done.stdout.decode("utf-8", "replace")
