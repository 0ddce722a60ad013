#!/usr/bin/env python3
"""Other people's files and folders: what a stranger on the machine, or the sender of a trace, puts
in the way is neither followed, nor read, nor removed."""

import atexit
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import zlib

from machine import AFLAME, BUILD, SOURCE, any_sampler, need, program
from recording import Trace, aflame, must, new_path, record
from shares import having, weight_of
from stranger import Stranger
from tap import case, equal, expect, near, note, run_cases

PRECIOUS = "what the user has and nobody else may touch\n"


def precious(name="precious", text=PRECIOUS):
    """A private file of the user's."""
    path = new_path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o600)
    return path


def content(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def folded():
    path = new_path("stacks") + ".folded"
    with open(path, "w", encoding="utf-8") as file:
        file.write("main;here 3\nmain;there 4\n")
    return path


# --- outputs


@case("an output in another user's folder goes through no link that he put there")
def _():
    kept, stacks = precious(), folded()
    with Stranger() as other:
        out = other.path("out.svg")
        for name in (out + ".part", out):
            other.act(os.symlink, kept, name)
        must("flame", "-o", out, "--folded", stacks)
        equal(content(kept), PRECIOUS, "the user's file")
        expect(stat.S_ISREG(os.lstat(out).st_mode), "the output is a link")
        expect("here" in content(out), "the output is not the picture")
        equal(sorted(os.listdir(other.home)), ["out.svg", "out.svg.part"], "what is in the folder")


@case("an output is not written into a pipe that another user put in its place")
def _():
    stacks = folded()
    with Stranger() as other:
        out = other.path("out.svg")
        other.act(os.mkfifo, out)
        os.chmod(out, 0o666)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
        done = aflame("flame", "-o", out, "--folded", stacks)
        equal(os.read(reader, 100), b"", "what the stranger read")
        os.close(reader)
    equal(done.returncode, 1, "status")
    expect("%s is a pipe of another user" % out in done.stderr, done.stderr)


@case("standard output by its name is standard output, and the link of that name stays")
def _():
    # As /dev/stdout is, which is too good to be tried with.
    link, stacks, to = new_path("stdout"), folded(), new_path("redirected")
    os.symlink("/proc/self/fd/1", link)
    with open(to, "wb") as file:
        subprocess.run([AFLAME, "flame", "-o", link, "--format", "folded", "--folded", stacks],
                       stdout=file, check=True)
    equal(os.readlink(link), "/proc/self/fd/1", "the link")
    expect("main;here" in content(to), "standard output has %r" % content(to))


def writers(trace, stacks):
    """(what writes, its words up to the file's name, how that ends)"""
    return (
        ("flame", ["flame", trace, "-o"], ".html"),
        ("flame", ["flame", "--folded", stacks, "-o"], ".svg"),
        ("export", ["export", trace, "--format", "speedscope", "-o"], ".json"),
        ("export", ["export", trace, "--format", "gpuperf-cpu", "-o"], ".txt"),
        ("timeline", ["timeline", trace, "-o"], ".json"),
        ("print", ["print", trace, "-o"], ".txt"),
        ("diff", ["diff", stacks, stacks, "-o"], ".svg"),
        ("flamescope", ["flamescope", trace, "-o"], ".svg"),
    )


@case("what is written into files only the user can read, unless --public is given")
def _():
    stacks, trace = folded(), record(program("shares"), "0.05", sampler=any_sampler()).path
    before = os.umask(0o022)
    try:
        for name, words, end in writers(trace, stacks):
            out = new_path("out") + end
            must(*words, out)
            equal(mode(out), 0o600, "mode of what %s wrote" % name)
            expect(os.path.getsize(out) > 0, "%s wrote nothing" % name)
            os.chmod(out, 0o640)
            must(*words, out)
            equal(mode(out), 0o640, "mode that the user gave what %s wrote" % name)
            os.unlink(out)
            must(*words, out, "--public")
            equal(mode(out), 0o644, "mode of what %s --public wrote" % name)
        for words, want in (([], 0o600), (["--public"], 0o644)):
            out = new_path("report") + ".html"
            done = aflame("run", "-q", "-o", new_path(), "--report", out, *words, "--", "true")
            equal(done.returncode, 0, "status of run: %s" % done.stderr)
            equal(mode(out), want, "mode of the report of run %s" % words)
    finally:
        os.umask(before)


@case("a file of another user in an output's place is replaced, with none of his rights on it")
def _():
    stacks = folded()
    with Stranger() as other:
        out = other.write("out.svg", "", 0o666)
        must("flame", "-o", out, "--folded", stacks)
        equal((mode(out), os.lstat(out).st_uid), (0o600, os.geteuid()), "mode and owner")
        expect("here" in content(out), "the output is not the picture")


# --- traces that somebody sent

GOLDEN = os.path.join(SOURCE, "tests/golden/annotate")
MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")
SECRET = "the key to everything;"


def sent(folder, name, *lines):
    """A trace with samples of a kernel whose code says that it was compiled of FOLDER/NAME, which have
    21 letters together, and more @lines of events."""
    with open(os.path.join(GOLDEN, "walk.cubin"), "rb") as file:
        code = file.read()
    was, now = b"/build/kernels\0\0walk.cu\0", b"%s\0\0%s\0" % (folder.encode(), name.encode())
    expect(was in code and len(was) == len(now), "the code does not have these names")
    code = code.replace(was, now)
    sha = hashlib.sha256(code).hexdigest()
    events = re.sub(r'object="[0-9a-f]{64}"', 'object="%s"' % sha, content(os.path.join(GOLDEN, "walk.trace")))
    at = events.index("   0.000000036 s1   p1  101/101       kernel ")
    text, trace = new_path("events"), new_path("trace")
    with open(text, "w", encoding="utf-8") as file:
        file.write(events[:at] + "".join(lines) + events[at:])
    subprocess.run([MKTRACE, text, trace], check=True)
    os.mkdir(os.path.join(trace, "objects"))
    with open(os.path.join(trace, "objects", sha), "wb") as file:
        file.write(code)
    return trace


# Those of seven bits that stand in a page as a character of U+0100 and on, with the seven after.
ESCAPED = [0, 5, 7, 8, 11, 12, 13, 14, 15, 24, 26, 27, 60, 127]


def unpacked(text):
    """What viewer/payload.js makes of a blob in a page."""
    out, bits, have = bytearray(), 0, 0
    for letter in text[1:]:
        code, wide = ord(letter), 7
        if code > 127:
            code, wide = ESCAPED[(code >> 7) - 2] << 7 | code & 127, 14
        bits, have = (bits & 127) << wide | code, have + wide
        while have > 7:
            have -= 8
            out.append(bits >> have & 255)
    return zlib.decompress(bytes(out[:len(out) - int(text[0])]), -15).decode("utf-8", "replace")


def shown(trace, *words):
    """What annotate, its JSON, and the page say of the kernel "walk"."""
    page = new_path("page") + ".html"
    must("flame", "-o", page, *words, trace)
    blobs = re.findall(r'<script [^>]*id="af-(?:facts|annotated-\d+)">([^<]*)</script>', content(page))
    return {
        "annotate": must("annotate", "walk", *words, trace),
        "annotate --json": must("annotate", "--json", "walk", *words, trace),
        "report annotate": must("report", "annotate", *words, trace),
        "report.html": "".join(map(unpacked, blobs)),
    }


def private_source():
    """A folder of the user's, of 14 letters, and a source file of his there: walk.cu."""
    folder = tempfile.mkdtemp(prefix="a", dir="/tmp")
    expect(len(folder) == 14, "the folder is %s" % folder)
    atexit.register(shutil.rmtree, folder, True)
    with open(os.path.join(folder, "walk.cu"), "w", encoding="utf-8") as file:
        file.write((SECRET + "\n") * 200)
    return folder


def expect_text(trace, there, *words):
    for where, text in shown(trace, *words).items():
        equal(SECRET in text, there, "%s %s: the text of the file is there" % (where, " ".join(words)))
        if not there:
            expect("--sources DIR" in text, "%s does not say how to have it" % where)


@case("a trace that somebody sent shows no file of the reader's, unless he names the folder")
def _():
    folder = private_source()
    trace = sent(folder, "walk.cu")
    expect_text(trace, False)
    expect_text(trace, True, "--sources", folder)
    beside = new_path("beside")
    os.mkdir(beside)
    os.symlink(folder, os.path.join(beside, os.path.basename(folder)))
    os.symlink(os.path.join(folder, "walk.cu"), os.path.join(beside, "walk.cu"))
    for text in shown(trace, "--sources", beside).values():
        expect(SECRET not in text, "a link leads out of --sources")


@case("a trace of one's own shows its sources, where it was recorded, and a copy of it does not")
def _():
    own, kept = new_path("own"), new_path("kept")
    must("record", "-q", "-o", own, "--sample", "none", "--", "true")
    trace = sent(private_source(), "walk.cu")
    for name in os.listdir(own):
        if not name.startswith("."):
            path = os.path.join(own, name)
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    shutil.copytree(trace, own, dirs_exist_ok=True)
    expect_text(own, True)
    os.rename(own, kept)
    expect_text(kept, True)
    shutil.copytree(kept, own)
    expect_text(own, False)
    if not os.geteuid():
        os.chown(kept, 61234, 61234)
        expect_text(kept, False)


@case("objects of a trace are neither links to other files nor other files under a second name")
def _():
    folder = private_source()
    secret, name = os.path.join(folder, "walk.cu"), "5" * 64
    line = ('   0.000000036 s1   p1  101/101       program      program=1 device=1 form=SOURCE size=1 '
            'object="%s" options=""\n' % name)
    for put in (os.symlink, os.link):
        # PoCL's name of a program's text, which is in the trace.
        trace = sent("/a", "tempfile_abcdefg.cu", line)
        try:
            put(secret, os.path.join(trace, "objects", name))
        except OSError as error:
            note("no %s: %s" % (put.__name__, error))
            continue
        for where, text in shown(trace).items():
            expect(SECRET not in text, "%s: %s leads to the file" % (where, put.__name__))
    sha = hashlib.sha256(content(secret).encode()).hexdigest()
    trace = sent("/a", "tempfile_abcdefg.cu", line.replace(name, sha))
    shutil.copy(secret, os.path.join(trace, "objects", sha))
    for where, text in shown(trace).items():
        expect(SECRET in text, "%s does not have an object's text" % where)


@case("an unfinished trace that somebody sent changes no file of the reader's")
def _():
    kept, trace = precious(), sent("/a", "tempfile_abcdefg.cu")
    with open(os.path.join(trace, ".session"), "w", encoding="utf-8") as file:
        file.write("/dev/shm/aflame.ABCDEF\n")
    # As tar makes it of an archive that is unpacked in the home directory.
    os.link(kept, os.path.join(trace, "recorder"))
    done = aflame("print", "--count", trace)
    equal(content(kept), PRECIOUS, "the user's file")
    expect("cannot be finished here" in done.stderr, done.stderr)
    expect("gpu_work" in done.stdout, "the trace is not read: %s" % done.stderr)


# --- folders


def folder_of(other):
    """A folder of the stranger's that all may write to."""
    path = other.path("shared")
    other.act(os.mkdir, path)
    os.chmod(path, 0o777)
    return path


def put(path, text=PRECIOUS):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@case("a directory that a neighbour puts in the place of the trace is neither written to nor emptied")
def _():
    for when, status in (("mkdirat", r"somebody put another directory in the place of aflame\.data"),
                         ("fstatat", "--ctl: .* is not a FIFO")):
        with Stranger() as other:
            folder = folder_of(other)
            work = put(os.path.join(folder, "work", "thesis"))
            # Refused when all of a trace has been made, which is then made undone.
            no_fifo = put(os.path.join(folder, "no-fifo"))
            done = aflame(
                "record", "--strict", "-o", "aflame.data", "--sample", "none", "--ctl", no_fifo, "--", "true", cwd=folder,
                env=dict(os.environ, LD_PRELOAD=program("swaps.so"), SWAP_AT=when, SWAP_NAME="aflame.data", SWAP_OTHER="work"))
            expect("swapped" in done.stderr, "nothing was swapped: %s" % done.stderr)
            expect(done.returncode and re.search(status, done.stderr), done.stderr)
            equal(os.listdir(os.path.join(folder, "aflame.data")), ["thesis"], "what was put there (%s)" % when)
            equal(content(os.path.join(folder, "aflame.data", "thesis")), PRECIOUS, "the file")
            expect(not os.path.exists(work), "nothing was swapped")
            equal(os.listdir(os.path.join(folder, "aflame.data.gone")), [], "what is left of the trace")


def recorded(folder, name, *words, **how):
    """The recording is in the directory @name; what the recorder reported."""
    done = aflame("record", "-q", "--sample", "none", *words, "--", "true", cwd=folder, **how)
    equal(done.returncode, 0, "status: %s" % done.stderr)
    expect(Trace(os.path.join(folder, name)).counts()["total"] > 5, "%s is no trace: %s" % (name, done.stderr))
    return done.stderr


@case("a file that the user put beside a trace is never removed, and the trace is refused by its name")
def _():
    for stray in ("notes.txt", "objects/notes.txt", "objects/" + "5" * 64 + "/x", ".live.3/notes", "s9-9/x", "metadata.bak"):
        folder = new_path("folder")
        os.mkdir(folder)
        trace = os.path.join(folder, "proj")
        recorded(folder, "proj", "-o", "proj")
        kept = put(os.path.join(trace, stray))
        named = stray if stray.count("/") < 2 and not stray.startswith("s9-9") else stray[:stray.rindex("/")]
        words = r"proj contains %s, which is not part of a trace" % re.escape(named)
        for force in ([], ["--force"]):
            done = aflame("record", "-q", "--strict", "--sample", "none", "-o", "proj", *force, "--", "true", cwd=folder)
            expect(done.returncode and re.search(words, done.stderr), "record: %s" % done.stderr)
        done = aflame("import", "--force", "-o", "proj", folded(), cwd=folder)
        expect(done.returncode and re.search(words, done.stderr), "import: %s" % done.stderr)
        equal(content(kept), PRECIOUS, stray)
        # As the old one of the next.
        os.rename(trace, trace + ".old")
        recorded(folder, "proj", "-o", "proj")
        done = aflame("record", "-q", "--strict", "--sample", "none", "-o", "proj", "--", "true", cwd=folder)
        expect(done.returncode and re.search(words.replace("proj", r"proj\.old", 1), done.stderr), done.stderr)
        equal(content(trace + ".old/" + stray), PRECIOUS, stray)


@case("a directory with a file called .session, or metadata that says aflame, is no trace to be removed")
def _():
    for name, text in ((".session", ""), ("metadata", "/* CTF 1.8 */ env { tracer_name = \"aflame\"; }"), (".job", "aflame job x")):
        folder = new_path("folder")
        kept = put(os.path.join(folder, "aflame.data", "thesis"))
        put(os.path.join(folder, "aflame.data", name), text)
        for number in (2, 3):
            os.rename(os.path.join(folder, "aflame.data-2"), os.path.join(folder, "first")) if number == 3 else None
            reported = recorded(folder, "aflame.data-2")
            expect(re.fullmatch(r"aflame: aflame\.data contains thesis, which is not part of a trace.*aflame\.data-2\n", reported), reported)
        equal(content(kept), PRECIOUS, "the file")


@case("a trace of another user is left alone, whatever it is, and the recording has another name")
def _():
    def plant(trace, mode):
        os.mkdir(trace)
        os.close(os.open(os.path.join(trace, ".session"), os.O_CREAT))
        os.chmod(trace, mode)

    for mode in (0o777, 0o000):
        with Stranger() as other:
            folder = folder_of(other)
            other.act(plant, os.path.join(folder, "aflame.data"), mode)
            reported = recorded(folder, "aflame.data-2")
            expect(re.search(r"aflame\.data belongs to another user.*aflame\.data-2\n", reported), reported)
            equal(os.listdir(os.path.join(folder, "aflame.data")), [".session"], "his trace")
            done = aflame("record", "-q", "--strict", "--force", "-o", "aflame.data", "--", "true", cwd=folder)
            expect(done.returncode and "belongs to another user" in done.stderr, done.stderr)


@case("old traces of all kinds give way: with snapshots, of a job, and imported")
def _():
    folder = new_path("folder")
    os.mkdir(folder)
    for words in ([], ["--ring", "1M"], ["--live"]):
        for _ in range(3):
            recorded(folder, "aflame.data", *words)
        equal(sorted(os.listdir(folder)), ["aflame.data", "aflame.data.old"], "traces of %s" % words)
    env = dict(os.environ, PMIX_RANK="3", PMIX_NAMESPACE="one")
    for job in ("one", "one", "two", "three", "four"):
        recorded(folder, "aflame.data/rank-0003", env=dict(env, PMIX_NAMESPACE=job))
    names = [n for n in sorted(os.listdir(folder)) if "-" not in n]
    equal(names, ["aflame.data", "aflame.data.old"], "traces")
    equal(len([n for n in os.listdir(folder) if n.startswith("aflame.data.old-")]), 1, "folders that were set aside")
    for _ in range(2):
        must("import", "-q", "--force", "-o", "imported", folded(), cwd=folder)
    expect("here" in must("flame", "imported", cwd=folder), "the import is empty")


# --- what the recorder reads of programs


def recorded_cost(words, timeout):
    """(seconds of CPU, MB at most) of aflame with @words, none of which is a program to run."""
    recorder = subprocess.Popen([AFLAME, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    watchdog = threading.Timer(timeout, recorder.kill)
    watchdog.start()
    reported = recorder.stderr.read().decode()
    _, status, used = os.wait4(recorder.pid, 0)
    watchdog.cancel()
    equal((status, reported), (0, ""), "status of the recorder within %d s, and its words" % timeout)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


@case("unwind tables made to hurt cost the recorder neither memory nor time, and are named", tries=2)
def _():
    need("bpf")
    path = new_path()
    with Stranger() as other:
        place = shutil.copy(program("static_hostile_frames"), other.home)
        spinning = other.start([place, "12"])
        cost_s, most_mb = recorded_cost(
            ["record", "-q", "-F", "499", "-o", path, "-p", str(spinning.pid)], 120
        )
        equal(spinning.wait(), 0, "status of the program")
    trace = Trace(path)
    trace.check()
    stacks = trace.stacks()
    whole = weight_of(stacks, having("spin_wide")) + weight_of(stacks, having("spin_long"))
    note("%.2f s of CPU, %.0f MB, for %.2f s of samples" % (cost_s, most_mb, whole / 1e9))
    expect(whole > 0.5e9, "%d ns of samples in the program's functions" % whole)
    # What can be read is: a register of any number is read over. Where spin_long had all the steps of a second, no more is.
    mark = "[truncated: unwind tables that take too long to read]"
    below = weight_of(stacks, having("main", "spin_wide"))
    near(weight_of(stacks, having("spin_wide")) / whole, 0.5, 0.15, "spin_wide")
    expect(below > 0.1 * whole, "%.2f of the samples are of spin_wide below main" % (below / whole))
    reported = weight_of(stacks, having(mark))
    expect(below + reported > 0.9 * whole, "%.2f below main, %.2f say why they are short" % (below / whole, reported / whole))
    expect(weight_of(stacks, having(mark, "spin_long")) > 0.3 * whole, "spin_long does not say why its stacks are short")
    expect(most_mb < 200, "the recorder took %.0f MB" % most_mb)
    expect(cost_s < 2 + whole / 1e9, "the recorder took %.1f s of CPU" % cost_s)


@case("a program that maps code without end costs the recorder little, and is seen after that", tries=2)
def _():
    need("bpf")
    path, number = new_path(), 100000
    with Stranger() as other:
        place = shutil.copy(program("static_maps_endlessly"), other.home)
        mapping = other.start([place, str(number)])
        cost_s, most_mb = recorded_cost(["record", "-q", "-F", "499", "-o", path, "-p", str(mapping.pid)], 120)
        equal(mapping.wait(), 0, "status of the program")
    trace = Trace(path)
    trace.check()
    lost = {fields["reason"]: fields["count"] for fields in trace.fields("lost")}
    note("%.2f s of CPU, %.0f MB; lost: %s" % (cost_s, most_mb, lost))
    expect(set(lost) <= {"MAPPINGS", "THROTTLED", "KERNEL_RING"}, "lost: %s" % lost)
    seen = weight_of(trace.stacks(), having("main", "last"))
    expect(0.1e9 < seen < 3e9, "%d ns in last(), below main" % seen)
    expect(most_mb < 200, "the recorder took %.0f MB" % most_mb)
    expect(cost_s < 1.5, "the recorder took %.1f s of CPU for %d mappings" % (cost_s, number))


run_cases()
