#!/usr/bin/env python3
"""What a recorder that may more than others does for them: nothing. Attacks by a second user, who
owns the programs that are recorded or may run the recorder, and by who cuts files under it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from machine import AFLAME, BUILD, any_sampler, need, need_tool, program
from recording import Trace, must, new_path, record
from shares import having, weight_of
from stranger import BPF, DAC_OVERRIDE, DAC_READ_SEARCH, PERFMON, SYS_PTRACE, SYSLOG, Stranger, free_id
from tap import Skip, case, equal, expect, note, run_cases


@case("a program that is replaced while its unwind tables are read ends nothing")
def _():
    need("bpf")
    folder = new_path("replaced")
    os.mkdir(folder)
    # What ran for 0.2 s is looked at when it is over, and replaced; the tables are those of the first run.
    run = record(
        "sh",
        "-c",
        'cp "$1" prog; ./prog 0.5; for i in 1 2 3; do cp "$1" prog; ./prog 0.1; cp short prog; sleep 0.4; done;'
        ' cp "$1" prog; ./prog 1',
        "sh",
        program("static_states"),
        sampler="bpf",
        rate=4999,
        quiet=False,
        cwd=make_short(folder),
    )
    stacks = run.stacks()
    seen = weight_of(stacks, having("main", "user_part")) / 1e9
    note("%.2f s of the program seen" % seen)
    # The last is 0.47 s; a recorder that is late may find no callers for those that were replaced.
    expect(seen > 0.4, "the program was not seen after it was replaced: %.2f s" % seen)


def make_short(folder):
    with open(os.path.join(folder, "short"), "w", encoding="ascii") as file:
        file.write("#!/bin/true\n")
    os.chmod(os.path.join(folder, "short"), 0o755)
    return folder


def terminal_of(pid):
    """Number of the controlling terminal, 0: none (field 7 of proc(5)'s stat)."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[4])


@case("a terminal in the place of a mapped file does not become the recorder's")
def _():
    need("bpf")
    with Stranger() as other:
        target = other.start(
            [other.program("names_terminal"), other.path("code")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        note(target.stdout.readline().decode().strip())
        path = new_path()
        recorder = subprocess.Popen(
            [AFLAME, "record", "-q", "-o", path, "-F", "997", "-p", str(target.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(1)
        target.stdin.write(b"\n")
        target.stdin.close()
        got = set()
        while target.poll() is None and recorder.poll() is None:
            got.add(terminal_of(recorder.pid))
            time.sleep(0.02)
        equal(target.wait(timeout=30), 0, "status of the program")
        equal(recorder.wait(timeout=60), 0, "status of the recorder")
        trace = Trace(path)
        trace.check()
        paths = [f["path"] for f in trace.fields("mapping")]
        expect(any(p.startswith(other.home) for p in paths), "the file was not seen: %s" % paths)
        expect(sum(w for _, w in trace.stacks()) > 2e8, "the program was not seen")
        equal(got, {0}, "controlling terminals of the recorder")



SECRET = "the_secret_of_root"

# What `docs/kernel.md` reported people to give, and more.
OLD_RIGHTS = (DAC_OVERRIDE, DAC_READ_SEARCH, SYS_PTRACE, SYSLOG, PERFMON, BPF)


class Safe:
    """with Safe() as safe: a folder that root alone may read, with a text and a trace in it."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="aflame-safe-")
        self.text = self.write("text.folded", SECRET + ";leaf 7\n")
        self.source = self.write("source.c", "int %s;\n" % SECRET)
        self.trace = os.path.join(self.folder, "trace")
        must("import", self.text, "-o", self.trace)
        os.chmod(self.folder, 0o700)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path


def with_rights(other, tool):
    """Skips where files that have capabilities give none (a mount with nosuid)."""
    probe = other.start([tool, "doctor"], stdout=subprocess.DEVNULL)
    status = rights_of(probe.pid)
    probe.wait(timeout=60)
    if not status["CapPrm"]:
        raise Skip("capabilities of files are ignored in %s" % other.home)
    return tool


def rights_of(pid):
    """{CapPrm: …, CapEff: …} of a process that has begun to run."""
    for _ in range(500):
        with open("/proc/%d/status" % pid, encoding="utf-8") as file:
            text = file.read()
        if text.startswith("Name:\taflame\n"):
            break
        time.sleep(0.002)
    return {k: int(v, 16) for k, v in re.findall(r"^(Cap\w+):\t(\w+)$", text, re.M)}


def leaks(other, done, what):
    reported = done.stdout + done.stderr
    expect(SECRET.encode() not in reported, "%s shows it: %s" % (what, reported[:400]))
    found = subprocess.run(
        ["grep", "-rlF", SECRET, other.home], stdout=subprocess.PIPE, check=False
    ).stdout.decode()
    expect(not found, "%s wrote it to %s" % (what, found))


def options_of(tool, other, command):
    """Options of a command that take the name of a file or a directory: [(option, is output)]."""
    text = other.run([tool, command, "--help"]).stdout.decode()
    return re.findall(r"(--[a-z-]+)[ =](?:FILE|DIR|FIFO|PROGRAM|FOLDER)", text)


@case("who may run a recorder with capabilities reads no file by it that is not his to read")
def _():
    with Stranger() as other, Safe() as safe:
        tool = with_rights(other, other.install(OLD_RIGHTS, effective=True))
        own = other.write("own.folded", "main;leaf 7\n")
        trace = other.path("own")
        equal(other.run([tool, "import", own, "-o", trace]).returncode, 0, "status of import")
        tried = 0
        commands = "flame report annotate diff tally timeline flamescope print import export tui".split()
        for command in commands:
            names = [safe.text, safe.source, safe.trace, safe.folder]
            lines = [[n] for n in names] + [[trace, n] for n in names]
            for option in options_of(tool, other, command):
                lines += [[option, n, trace] for n in names] + [[option + "=" + n] for n in names]
            lines += [["-o", other.path("out"), n] for n in names]
            for line in lines:
                done = other.run([tool, command, *line])
                leaks(other, done, " ".join([command, *line]))
                tried += 1
        note("%d command lines" % tried)
        expect(tried > 150, "so few command lines")
        denied = other.run([tool, "flame", "--folded", safe.text])
        expect(b"Permission denied" in denied.stderr, denied.stderr.decode())


@case("nor by recording, nor are its rights the program's, and nothing is made where he may not", tries=2)
def _():
    with Stranger() as other, Safe() as safe:
        tool = with_rights(other, other.install(OLD_RIGHTS, effective=True))
        before = sorted(os.listdir(safe.folder))
        cat = ["cat", safe.text]
        for line in (
            ["record", "-o", other.path("t1"), "--", *cat],
            ["run", "-o", other.path("t2"), "--", *cat],
            ["record", "-o", safe.folder + "/new", "--", "true"],
            ["record", "-o", safe.trace, "--", "true"],
            ["record", "--ctl", safe.folder + "/ctl", "-o", other.path("t3"), "--", "true"],
            ["record", "--ctl", safe.text, "-o", other.path("t4"), "--", "true"],
            ["run", "-o", other.path("t5"), "--report", safe.folder + "/page", "--", "true"],
            ["doctor", safe.trace],
        ):
            leaks(other, other.run([tool, *line], env={"DEBUGINFOD_URLS": ""}), " ".join(line))
            equal(sorted(os.listdir(safe.folder)), before, "files of root's after %s" % line)
        with open(safe.text, encoding="ascii") as file:
            equal(file.read(), SECRET + ";leaf 7\n", "the file of root's")


@case("what a recorder may is in effect for moments, and every other command gives it up")
def _():
    with Stranger() as other:
        tool = with_rights(other, other.install(OLD_RIGHTS, effective=True))
        for words in (["import", "-"], ["flame", "--folded", "-"], ["report", "-"], ["stacks"]):
            waits = other.start(
                [tool, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(0.2)
            if waits.poll() is None:
                rights = rights_of(waits.pid)
                equal((rights["CapPrm"], rights["CapEff"]), (0, 0), "rights of %s" % words)
            waits.stdin.close()
            waits.wait(timeout=30)
        recorder = other.start(
            [tool, "record", "-q", "-F", "997", "-o", other.path("t"), "--", other.program("shares"), "1"],
            stdout=subprocess.DEVNULL,
        )
        seen = []
        while recorder.poll() is None:
            try:
                seen.append(rights_of(recorder.pid)["CapEff"])
            except (KeyError, OSError):
                pass
            time.sleep(0.005)
        equal(recorder.returncode, 0, "status of the recorder")
        files = 1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH
        seen = seen[seen.index(0) :]  # the loader runs before the program can give anything up
        quiet = sum(not s for s in seen)
        note("nothing in effect at %d of %d looks" % (quiet, len(seen)))
        expect(len(seen) > 50 and quiet > len(seen) / 2, "in effect: %s" % sorted(set(seen)))
        expect(not any(s & files for s in seen), "rights to files were in effect")


@case("cap_bpf and cap_perfmon, permitted alone, are enough for the kernel's part")
def _():
    need("bpf")
    with Stranger() as other:
        tool = with_rights(other, other.install((BPF, PERFMON)))
        reported = json.loads(other.run([tool, "doctor", "--json"]).stdout)
        works = {c["name"]: c for c in reported["collectors"]}["bpf"]
        expect(works["works"], works["says"])
        done = other.run(
            [tool, "record", "-q", "-o", other.path("t"), "--sample", "bpf", "-F", "997", "--", other.program("static_states"), "0.5"]
        )
        equal((done.returncode, done.stderr), (0, b""), "status and words")
        trace = Trace(other.path("t"))
        expect(weight_of(trace.stacks(), having("main", "user_part")) > 1e8, "the program was not seen")



# Goes on when the recording is over, and starts a program five times a second.
DAEMON = """
echo "$AFLAME_SESSION" >session; "$1" 0.3 >truth
( exec >/dev/null 2>&1 </dev/null
  while [ -e go ]; do "$2"; echo $? >>statuses; "$3" >>environment; sleep 0.2; done ) &
"""


def statuses(folder):
    """Exit statuses of what the daemon started until now."""
    try:
        with open(os.path.join(folder, "statuses"), encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.05)


class Daemon:
    """A recording of root's that is over, and a program of it that goes on."""

    def __init__(self, sampler):
        self.folder = new_path("daemon")
        os.mkdir(self.folder)
        with open(os.path.join(self.folder, "go"), "w", encoding="ascii"):
            pass
        self.trace = new_path()
        words = ["record", "-q", "-o", self.trace, "--sample", sampler, "-F", "997", "--"]
        words += ["sh", "-c", DAEMON, "sh", program("shares"), program("short"), shutil.which("env")]
        self.recorder = subprocess.Popen(
            [AFLAME, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(lambda: self.read("session"), "no session")
        self.session = self.read("session").split(":")[0]
        self.files = {}
        while self.recorder.poll() is None:
            for name in ("control", "counts"):
                try:
                    with open(os.path.join(self.session, name), "rb") as file:
                        self.files.setdefault(name, file.read())
                except OSError:
                    pass
            time.sleep(0.01)
        expect(not os.path.exists(self.session), "the session's directory is still there")
        expect(self.files, "no file of the session was seen")
        expect(Trace(self.trace).counts().get("sample", 0) > 100, "the program was not seen")

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return ""

    def starts(self, number):
        """@number more programs were started; none of them came to harm."""
        begun = len(statuses(self.folder))
        until(lambda: len(statuses(self.folder)) >= begun + number, "the daemon is stuck")
        equal(set(statuses(self.folder)), {"0"}, "statuses of what the daemon starts")

    def end(self):
        os.unlink(os.path.join(self.folder, "go"))
        shutil.rmtree(self.session, ignore_errors=True)


@case("a directory that a neighbour makes under the name of a recording's is not believed")
def _():
    need("perf")
    with Stranger() as other:
        daemon = Daemon("perf")
        try:
            # A file with nothing to map ended each program that was started.
            other.call(make_session, daemon.session, {"control": b"", "counts": b""}, 0.8)
            daemon.starts(2)
            shutil.rmtree(daemon.session)
            # A whole one got the descriptors of their perf events, and their samples.
            got = other.call(make_session, daemon.session, daemon.files, 1.5)
            daemon.starts(2)
            equal(got, [0, 0], "[messages, descriptors] that the neighbour got")
            rings = [n for n in os.listdir(daemon.session) if n not in (*daemon.files, "socket")]
            equal(rings, [], "files of root's in the neighbour's directory")
        finally:
            daemon.end()


@case("what goes on when the recording is over starts programs that know nothing of it")
def _():
    daemon = Daemon(any_sampler())
    try:
        daemon.starts(3)
        last = daemon.read("environment").splitlines()[-40:]
        expect(last and not any(line.startswith("LD_PRELOAD=") for line in last), "%s" % last)
    finally:
        daemon.end()


def make_session(path, files, seconds):
    """As the neighbour: make it, wait, and say [messages, descriptors] that came to its socket."""
    os.mkdir(path)
    os.chmod(path, 0o777)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    control.bind(os.path.join(path, "socket"))
    os.chmod(os.path.join(path, "socket"), 0o777)
    for name, content in files.items():
        with open(os.path.join(path, name), "wb") as file:
            file.write(content)
        os.chmod(os.path.join(path, name), 0o666)
    got, end = [0, 0], time.monotonic() + seconds
    while time.monotonic() < end:
        control.settimeout(0.05)
        try:
            _, sent, _, _ = socket.recv_fds(control, 4096, 4)
        except OSError:
            continue
        got = [got[0] + 1, got[1] + len(sent)]
    return got


def meddled(how, status=0):
    """(recording, what was written to) of a program of 1.5 s, while another meddles with it."""
    script = '"$1" 1.5 & "$2" %s >wrote; wait' % how
    folder = new_path("meddled")
    os.mkdir(folder)
    run = record(
        "sh", "-c", script, "sh", program("shares"), program("meddles"),
        sampler=any_sampler(), options=["--api", "none"], quiet=False, check=False, cwd=folder, status=status,
    )
    with open(os.path.join(folder, "wrote"), encoding="ascii") as file:
        return run, set(file.read().split()[1::2])


def share_sampled(run):
    return sum(w for _, w in run.stacks()) / 1e6 / run.truth["cpu_ms"]


@case("a process that became another user cannot write what the recorder says", tries=2)
def _():
    if os.geteuid():
        raise Skip("needs root to become another user")
    run, wrote = meddled("page %d" % free_id())
    expect("control" not in wrote and wrote, "it wrote to %s" % (wrote or "nothing, nor could it try"))
    expect(share_sampled(run) > 0.9, "%.3f of the other program was sampled" % share_sampled(run))


@case("who ends the recording of another by its file is found out, and it goes on", tries=2)
def _():
    run, wrote = meddled("file")
    equal(wrote, {"control"}, "what was written to")
    lost = {f["reason"]: f["count"] for f in run.fields("lost")}
    expect(lost.get("MEDDLED"), "nothing of that in the trace: %s" % lost)
    expect(b"wrote over" in run.stderr, "nor was it reported: %s" % run.stderr)
    expect(share_sampled(run) > 0.8, "%.3f of the other program was sampled" % share_sampled(run))


@case("who cuts the streams of others ends no recorder, and it is reported")
def _():
    run, wrote = meddled("rings", status=None)
    expect(wrote, "nothing was cut")
    # The shell may end by SIGBUS, and the recorder as it did; one that was killed leaves a trace unfinished.
    expect(not os.path.exists(run.path + "/.session"), "the recorder ended by signal %d" % -run.status)
    lost = {f["reason"]: f["count"] for f in run.fields("lost")}
    expect(lost.get("MEDDLED"), "nothing of that in the trace: %s" % lost)



def shared_directories():
    return {n for n in os.listdir("/dev/shm") if re.fullmatch(r"aflame\.\w{6}", n)}


def killed(path):
    """A recorder that is killed while it records into @path; the name of its shared directory."""
    before = shared_directories()
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "--sample", "none", "-o", path, "--", "sleep", "60"], process_group=0
    )
    until(lambda: os.path.exists(path + "/.session") and shared_directories() - before, "no recording")
    with open(path + "/.session", encoding="utf-8") as file:
        name = os.path.basename(file.readline().strip())
    time.sleep(0.3)
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.wait()
    expect(name in shared_directories(), "nothing is left of a recorder that was killed")
    return name


@case("what a killed recorder left in shared memory goes when its trace was deleted, and not before")
def _():
    folder = new_path("kept")
    os.mkdir(folder)
    kept, moved, deleted = (os.path.join(folder, n) for n in ("kept", "moved", "deleted"))
    names = [killed(path) for path in (kept, moved, deleted)]
    os.rename(moved, moved + "-on")
    must("version")
    expect(set(names) <= shared_directories(), "the shared memory of a trace that is there is gone")
    shutil.rmtree(deleted)
    if not os.geteuid():
        with Stranger() as other:
            equal(other.run([other.install(), "version"]).returncode, 0, "status")
        expect(names[2] in shared_directories(), "another user's command removed it")
    must("version")
    left = shared_directories()
    expect(names[2] not in left, "it is still there")
    expect(set(names[:2]) <= left, "so went that of traces that are there")
    must("print", "--count", kept)
    must("print", "--count", moved + "-on")
    expect(not set(names) & shared_directories(), "finished traces leave something")


@case("names that a full disk had no room for are written by the next command")
def _():
    need_tool("unshare")
    folder = new_path("full")
    os.mkdir(folder)
    script = (
        'mount -t tmpfs -o size=4m none "$1" || exit 99; cd "$1"; shift;'
        '"$1" record -q -F 997 --sample "$3" -o t --'
        ' sh -c \'"$1" 0.5; sleep 1; dd if=/dev/zero of=fill bs=4k 2>/dev/null; exit 0\' sh "$2" >/dev/null;'
        'ls -a t; echo ====; "$1" flame t; echo ====; rm fill; "$1" flame t; echo ====; ls -a t; "$1" flame t >/dev/null'
    )
    done = subprocess.run(
        ["unshare", "-m", *([] if not os.geteuid() else ["-r"]), "sh", "-c", script, "sh", folder, AFLAME]
        + [program("shares"), any_sampler()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        raise Skip("nothing can be mounted here: %s" % done.stderr.strip())
    at_first, full, freed, after = done.stdout.split("====\n")
    expect("symbols" not in at_first.split(), "there was room for the names")
    expect("main" not in full and len(full) > 100, "no samples, or names on a full disk: %s" % full[:300])
    expect(";main;" in freed, "no names when there was room: %s" % freed[:300])
    expect("has no names yet" in done.stderr, done.stderr)
    expect("symbols" in after.split() and ".unnamed" not in after.split(), after)



@case("many processes that map a driver do not keep the recorder from its work")
def _():
    need("bpf")
    with Stranger() as other:
        driver = other.path("libcuda.so.1")
        shutil.copy(os.path.join(BUILD, "tests/mock_cuda/driver/libcuda.so.1"), driver)
        target = other.start(
            [other.program("maps_drivers"), driver, "1500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        path = new_path()
        recorder = subprocess.Popen(
            [AFLAME, "record", "-q", "-o", path, "-F", "4999", "-p", str(target.pid)], stdin=subprocess.DEVNULL
        )
        time.sleep(1)
        truth = target.communicate("\n", timeout=120)[0].split()
        equal(target.returncode, 0, "status of the program")
        equal(recorder.wait(timeout=120), 0, "status of the recorder")
        trace = Trace(path)
        lost = {f["reason"]: f["count"] for f in trace.fields("lost")}
        expect("KERNEL_RING" not in lost, "lost: %s" % lost)
        sampled = weight_of(trace.stacks(), having("main", "spin")) / 1e6 / float(truth[-1])
        expect(sampled > 0.7, "%.3f of the program was sampled" % sampled)
        reported = [f["value"] for f in trace.fields("note") if f["key"] == "cuda.seen"]
        probed, gone = (sum(w in s for s in reported) for w in ("are seen from outside", "cannot be read"))
        missed = sum(int(n) for s in reported for n in re.findall(r"of (\d+) processes are not seen", s))
        note("%.3f sampled; %d processes were probed, %d too late, %d not" % (sampled, probed, gone, missed))
        expect(probed, "no process was probed")
        expect(probed + gone + missed > 1400, "of the others nothing is reported: %s" % reported[-1:])
        # It looks around each second; to probe all at once took it 10 to 20.
        looks = [e["time_ns"] for e in trace.events("clock")]
        longest = max(b - a for a, b in zip(looks, looks[1:])) / 1e9
        expect(longest < 6, "the recorder was away for %.1f s" % longest)


run_cases()
