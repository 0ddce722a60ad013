#!/usr/bin/env python3
"""What cannot work says why and what to do, exits non-zero, and does the program no harm."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

from machine import AFLAME, WORKPLACE, program
from recording import (
    FAILED,
    USAGE,
    Trace,
    aflame,
    must,
    new_path,
    record,
    refused,
    sampled,
)
from tap import case, equal, expect, note, run_cases


def recording_refused(status, pattern, *command):
    """The same of a program that cannot be started; an old trace stays where it is."""
    folder = new_path("folder")
    os.mkdir(folder)
    must("record", "-q", "--sample", "none", "--", "true", cwd=folder)
    before = trace_bytes(os.path.join(folder, "aflame.data"))
    refused(status, pattern, "record", "-q", "--sample", "none", "--", *command, cwd=folder)
    equal(os.listdir(folder), ["aflame.data"], "files")
    equal(trace_bytes(os.path.join(folder, "aflame.data")), before, "the old trace")


def trace_bytes(path):
    found = {}
    for folder, _, files in os.walk(path):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), path)] = file.read()
    return found


def longest_stream(run):
    paths = (os.path.join(run.path, n) for n in os.listdir(run.path) if re.match(r"s\d", n))
    return max(paths, key=os.path.getsize)


def file_with(content, name="file", mode=0o644, path=None):
    path = path or new_path(name)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


# --- programs that cannot be recorded


@case("no such program")
def _():
    recording_refused(FAILED, r"no program /no/such/program$", "/no/such/program")
    recording_refused(FAILED, r"no program nosuchprogram in \$PATH$", "nosuchprogram")


@case("a program that may not be run")
def _():
    path = file_with(b"#!/bin/sh\n")
    recording_refused(FAILED, re.escape(path) + r", which is not executable: `chmod \+x .*` makes it a program", path)


@case("a directory as the program")
def _():
    recording_refused(FAILED, r"%s.*is a directory" % re.escape(WORKPLACE), WORKPLACE)


@case("a program whose interpreter is not there")
def _():
    path = file_with(b"#!/no/such/interpreter\n", mode=0o755)
    folder = new_path("folder")
    os.mkdir(folder)
    words = ["record", "--sample", "none", "--", path]
    refused(FAILED, r"cannot run .*No such file", *words, cwd=folder)
    equal(os.listdir(folder), [], "files left behind")


@case("no program at all, for a command that needs one")
def _():
    refused(USAGE, r"no program to record.*aflame run -- PROGRAM", "run")


@case("a process that has vanished")
def _():
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused(FAILED, r"no process %d: it may have ended" % gone.pid, "record", "-p", gone.pid)
    refused(FAILED, r"no process 99999999999", "record", "--sample", "none", "-p", "99999999999")


# --- where the trace goes


def place_refused(pattern, place, *force):
    """--strict refuses; else the program runs, and the same words say why it is not recorded."""
    words = [*force, "--sample", "none", "-o", place, "--", "sh", "-c", "echo ran; exit 7"]
    expect("ran" not in refused(FAILED, pattern, "record", "--strict", *words).stdout, "it ran")
    done = refused(7, "the program runs unrecorded: .*" + pattern, "record", *words)
    equal(done.stdout, "ran\n", "what the program printed")


@case("a trace into a directory that is not there")
def _():
    place_refused(r"no/such/place.*No such file", "no/such/place")


@case("a trace where a file is, or a folder of something else")
def _():
    path = file_with(b"precious")
    folder = new_path("folder")
    os.mkdir(folder)
    shutil.copy(path, os.path.join(folder, "thesis"))
    for force in ([], ["--force"]):
        place_refused(r"is not a directory: choose another name with -o", path, *force)
        place_refused(r"is not an aflame trace: choose another name", folder, *force)
    equal(trace_bytes(folder), {"thesis": b"precious"}, "the folder")
    with open(path, "rb") as file:
        equal(file.read(), b"precious", "the file")


@case("an old trace is kept as .old, or replaced with --force")
def _():
    folder = new_path("folder")
    os.mkdir(folder)
    for number in range(3):
        must(
            "record", "-q", "--sample", "none", "--", "sh", "-c", "exit 0", str(number), cwd=folder
        )
    equal(sorted(os.listdir(folder)), ["aflame.data", "aflame.data.old"], "traces")
    commands = [
        Trace(os.path.join(folder, name)).fields("process")[0]["cmdline"][-1:]
        for name in ("aflame.data", "aflame.data.old")
    ]
    equal(commands, ["2", "1"], "runs in aflame.data and aflame.data.old")
    must("record", "-q", "-f", "--sample", "none", "--", "sh", "-c", "exit 0", "3", cwd=folder)
    equal(
        Trace(os.path.join(folder, "aflame.data.old")).fields("process")[0]["cmdline"][-1:],
        "1",
        "the kept run",
    )


@case("a trace is private")
def _():
    run = record("true")
    equal(os.stat(run.path).st_mode & 0o777, 0o700, "mode of the directory")
    for folder, _, files in os.walk(run.path):
        for name in files:
            equal(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600, "mode of " + name)


@case("a symbolic link in the trace's place is not followed")
def _():
    victim = new_path("victim")
    os.mkdir(victim)
    link = new_path("link")
    os.symlink(victim, link)
    done = aflame("record", "-q", "-o", link, "--sample", "none", "--", "true")
    note(done.stderr)
    equal(os.listdir(victim), [], "files made through the link")


# --- traces that are none


@case("a trace that is not there, or is something else")
def _():
    empty = new_path("empty")
    os.mkdir(empty)
    path = file_with(b"precious")
    for words in (["flame"], ["report"], ["print"]):
        refused(FAILED, r"no trace in nosuchdir: run `aflame record", *words, "nosuchdir")
        refused(FAILED, r"no trace in aflame\.data: run `aflame record", *words, cwd=empty)
        refused(FAILED, r"is a file, and a trace is a directory", *words, path)
        refused(FAILED, r"is not a trace: it has no file named metadata", *words, empty)


@case("a trace of another program that writes CTF")
def _():
    foreign = new_path("foreign")
    os.mkdir(foreign)
    with open(os.path.join(foreign, "metadata"), "w", encoding="ascii") as file:
        file.write(
            "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n"
            'env { tracer_name = "lttng-ust"; };\n'
        )
    with open(os.path.join(foreign, "channel0_0"), "wb") as file:
        file.write(b"\xc1\x1f\xfc\xc1" + bytes(4092))
    for words in (["flame"], ["report"], ["print"]):
        refused(
            USAGE, r"is a CTF trace, but not of aflame: read it with babeltrace2", *words, foreign
        )


@case("a trace from a newer aflame")
def _():
    run = record("true")
    metadata = os.path.join(run.path, "metadata")
    with open(metadata, encoding="utf-8") as file:
        text = file.read()
    with open(metadata, "w", encoding="utf-8") as file:
        file.write(text.replace("aflame_trace_version = 1;", "aflame_trace_version = 99;"))
    for words in (["flame"], ["report"], ["print"]):
        refused(
            FAILED, r"of version 99 .*reads up to version \d+: upgrade aflame", *words, run.path
        )


@case("a damaged trace is read as far as it goes, with a line that says so")
def _():
    run = sampled("0.3")
    whole = run.counts()["total"]
    stream = longest_stream(run)
    size = os.path.getsize(stream)
    with open(stream, "r+b") as file:
        file.truncate(size - 100)
    done = aflame("print", "--count", run.path)
    equal(done.returncode, 0, "status")
    expect("damaged" in done.stderr, "no word of the damage: %r" % done.stderr)
    left = int(re.search(r"^total +(\d+)$", done.stdout, re.M).group(1))
    note("%d of %d events" % (left, whole))
    with open(stream, "r+b") as file:
        file.write(os.urandom(size))
    done = aflame("flame", run.path)
    expect(
        done.returncode in (0, FAILED) and "damaged" in done.stderr,
        "status %d: %s" % (done.returncode, done.stderr),
    )


def reading(*words):
    """aflame while it reads: it has begun to write, and waits for its output to be taken."""
    reader = subprocess.Popen(
        [AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    expect(os.read(reader.stdout.fileno(), 1), "no output: %s" % " ".join(words))
    return reader


@case("a stream that somebody cuts off while it is read costs its end, with a line that says so")
def _():
    run = sampled()
    stream = longest_stream(run)
    with open(stream, "rb") as file:
        packets = file.read()
    # The same packets again and again are damage, too, but more than can be read at once.
    file_with(packets * (1 + (1 << 21) // len(packets)), path=stream)
    whole = len(must("print", run.path))
    reader = reading("print", run.path)
    os.truncate(stream, 0)
    rest, words = reader.communicate(timeout=60)
    equal(reader.returncode, 0, "status")
    expect(0 < len(rest) < whole / 2, "%d of %d bytes of text" % (len(rest), whole))
    reported = "aflame print: %s could not be read to its end" % os.path.realpath(stream)
    expect(reported in words.decode(), "no word of it: %r" % words)


# --- command lines


MISTAKES = {
    "recrod": ([], r"no command recrod: did you mean `aflame record`"),
    "frobnicate": ([], r"no command frobnicate"),
    "help": (["recrod"], r"no command recrod: did you mean `aflame record`"),
    "record": (["--rtae", "5", "--", "true"], r"no option --rtae: did you mean --rate"),
    "flame": (["--veiw", "cpu"], r"no option --veiw: did you mean --view"),
    "print": (["-k", "smaple"], r"no kind of event is called smaple: did you mean sample"),
    "report": (["tpo", "nosuchdir"], r"tpo is no report.*did you mean top"),
}

VALUES = [
    (["record", "--sample", "prf", "--", "true"], r"--sample takes one of .*perf.*prf"),
    (["record", "-F", "0", "--", "true"], r"--rate takes 1 to"),
    (["record", "-F", "-5", "--", "true"], r"--rate"),
    (["record", "-F", "99999999999999999999", "--", "true"], r"--rate"),
    (["record", "-F", "abc", "--", "true"], r"--rate.*abc"),
    (["record", "-F"], r"-F needs a value"),
    (["record", "-d", "5parsecs", "--", "true"], r"--duration.*5parsecs"),
    (["record", "--api", "vulkan", "--", "true"], r"--api knows .*vulkan"),
    (["record", "-Z", "--", "true"], r"-Z"),
    (["flame", "--view", "front"], r"--view takes one of cpu\|gpu\|all"),
    (["flame", "-o", "picture.jpeg"], r"picture\.jpeg.*\.svg"),
    (["flame", "--format", "gif"], r"gif"),
    (["flame", "one", "two"], r"two"),
    (["report", "--limit", "x"], r"--limit.*x"),
    (["print", "--from", "yesterday"], r"--from.*yesterday"),
    (["report", "callers"], r"callers needs a function.*FUNCTION"),
    (["report", "gaps", "--search", "x"], r"--search are for top, flat, tree"),
    (["report", "top", "one", "two"], r"two"),
    (["print", "one", "two"], r"one trace directory"),
    (["doctor", "one", "two"], r"one trace: two"),
]


@case("a mistyped command, option or kind is answered with the nearest real one")
def _():
    for command, (words, pattern) in MISTAKES.items():
        refused(USAGE, pattern, command, *words)


@case("a value that makes no sense is named with those that do")
def _():
    for words, pattern in VALUES:
        refused(USAGE, pattern, *words)
    refused(
        USAGE,
        r"unknown weight kilos.*time, samples, count, bytes",
        "flame",
        "--weight",
        "kilos",
        sampled().path,
    )


@case("an option of the program is the program's")
def _():
    run = record("echo", "--rate", "-o", "x")
    equal(run.stdout, b"--rate -o x\n", "its output")
    done = aflame("record", "-q", "-o", new_path(), "--sample", "none", "echo", "-n", "--force")
    equal((done.returncode, done.stdout), (0, "--force"), "(status, output) without --")


@case("a result into a folder that is not there")
def _():
    run = sampled()
    for name in ("x.svg", "x.html", "x.folded"):
        refused(
            FAILED, r"no/such/%s: No such file" % name, "flame", "-o", "no/such/" + name, run.path
        )
    refused(FAILED, r"no/such/x: No such file", "print", "-o", "no/such/x", run.path)


# --- folded text


@case("folded text that is none")
def _():
    junk = file_with(bytes(range(256)) * 40, "junk")
    for path in (junk, program("shares")):
        for output in ([], ["-o", new_path("x") + ".svg"]):
            done = aflame("flame", "--folded", path, *output)
            expect(
                done.returncode == USAGE and "not folded stacks" in done.stderr,
                "status %d: %r" % (done.returncode, done.stderr),
            )
            expect(
                not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.stderr),
                "control characters: %r" % done.stderr,
            )
            expect(not output or not os.path.exists(output[1]), "a picture was made of it")
    refused(FAILED, r"nosuchfile: No such file", "flame", "--folded", "nosuchfile")
    refused(FAILED, r"[Ii]s a directory", "flame", "--folded", WORKPLACE)


@case("empty folded text makes a whole picture of nothing")
def _():
    path = file_with(b"", "empty")
    output = new_path("x") + ".svg"
    equal(must("flame", "--folded", path, "-o", output), "", "output")
    with open(output, "rb") as file:
        xml.etree.ElementTree.parse(file)


@case("folded lines that do not parse are reported and counted, the others are drawn")
def _():
    done = aflame("flame", "--folded", "-", input=b"a;b 5\nno count\na;b xyz\na;c 2\n", stdin=None)
    equal((done.returncode, done.stdout), (0, "a;b 5\na;c 2\n"), "(status, output)")
    expect(re.search(r"2 of 4 lines do not parse, the first: line 2", done.stderr), done.stderr)


# --- the rest


@case("a reader that goes away is no error of ours")
def _():
    run = record(program("shares"), "0.05")
    line = '"$1" print "$2" | head -n 1 >/dev/null; echo done'
    done = subprocess.run(
        ["sh", "-c", line, "sh", AFLAME, run.path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    equal((done.stdout, done.stderr), (b"done\n", b""), "(stdout, stderr)")


@case("help of every command is on standard output and names every option")
def _():
    for command in ("run", "record", "flame", "report", "print", "doctor"):
        text = must(command, "--help")
        expect(text.startswith("Usage: aflame %s" % command), text[:80])
        equal(must("help", command), text, "help " + command)
    expect(must("--version") == must("version"), "versions differ")


run_cases()
