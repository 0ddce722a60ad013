#!/usr/bin/env python3
"""A trace on standard output, and a recording of the system that no program was named for."""

import os
import signal
import subprocess
import time

from machine import AFLAME, WORKPLACE, need, program
from recording import FAILED, USAGE, Trace, aflame, bare, must, new_path, parse_folded, read_numbers, refused
from shares import weight_of
from stranger import Stranger, need_public_build
from tap import case, equal, expect, near, note, run_cases


def piped(*words, status, **env):
    """What came out of `record -o -`, and its messages; nothing is left where the trace was."""
    place = new_path("place")
    os.mkdir(place)
    done = aflame("record", "-o", "-", *words, text=False, env=dict(os.environ, TMPDIR=place, **env))
    equal(done.returncode, status, "status; %s" % done.stderr)
    equal(os.listdir(place), [], "files that are left behind")
    return done.stdout, done.stderr.decode()


def unpacked(archive):
    folder = new_path("unpacked")
    os.mkdir(folder)
    subprocess.run(["tar", "-C", folder, "-x"], input=archive, check=True)
    equal(os.listdir(folder), ["aflame.data"], "what the archive holds")
    return Trace(os.path.join(folder, "aflame.data"))


@case("a tar of the whole trace; the program's output goes to standard error, its status is kept", tries=2)
def _():
    need("perf")
    used = new_path("used")
    archive, messages = piped("--sample", "perf", "-F", "999", "--", program("witness"), used, program("crowd"), "300", status=5)
    expect("constructor: " in messages, messages)
    used_ns = read_numbers(used)["user_us"] * 1000
    share = sum(weight for _, weight in unpacked(archive).stacks()) / used_ns
    note("%.1f %% of %.0f ms" % (100 * share, used_ns / 1e6))
    near(share, 1, 0.1, "what was sampled of the time that was used")


@case("in another tool's format: as export writes it of the same recording")
def _():
    text, _ = piped("--format", "gpuperf-cpu", "--", program("cl_loop"), status=0)
    expect(any(b"main" in line for line in text.splitlines()), text[:2000])
    text, messages = piped("--format", "iaprof", "--", "true", status=0)
    equal(text, b"", "samples of instructions where there is no device")
    expect("no samples of device instructions" in messages, messages)


@case("who reads no more ends nothing but the output")
def _():
    place = new_path("place")
    os.mkdir(place)
    command = "'%s' record -q -o - -- sh -c 'exit 3' | true; exit ${PIPESTATUS[0]}" % AFLAME
    done = subprocess.run(["bash", "-c", command], env=dict(os.environ, TMPDIR=place), stderr=subprocess.PIPE, check=False)
    equal((done.returncode, done.stderr), (3, b""), "status and messages")
    equal(os.listdir(place), [], "files that are left behind")


@case("words that make no sense with it")
def _():
    refused(USAGE, "--format is of the trace on standard output", "record", "--format", "tar", "--", "true")
    ranked = dict(os.environ, PMI_RANK="1", PMI_SIZE="2", PMI_FD="9")
    refused(USAGE, "this is a rank of a job", "record", "-o", "-", "--", "true", env=ranked)
    missing = dict(os.environ, TMPDIR=os.path.join(WORKPLACE, "missing"))
    refused(FAILED, r"no place for the trace in .*--stage", "record", "-o", "-", "--", "true", env=missing)


@case("without a program the system is recorded, until Ctrl-C", tries=2)
def _():
    need("bpf")
    trace, used = new_path(), new_path("used")
    burning = subprocess.Popen([program("witness"), used, program("crowd"), "600"], stdout=subprocess.DEVNULL)
    with subprocess.Popen([AFLAME, "record", "-q", "-o", trace], stdin=subprocess.DEVNULL) as recorder:
        burning.wait(60)
        time.sleep(0.3)
        recorder.send_signal(signal.SIGINT)
        equal(recorder.wait(60), 0, "status of the recorder")
    stacks = parse_folded(must("flame", trace))
    names = {bare(frame) for frames, _ in stacks for frame in frames}
    expect("main" in names or "burn" in names, sorted(names)[:50])
    truth = read_numbers(used)
    own = weight_of(stacks, lambda frames: frames[0].startswith("crowd"))
    share = own / (truth["user_us"] * 1000)
    note("%.1f %% of %.0f ms" % (100 * share, truth["user_us"] / 1e3))
    expect(0.5 < share < 1.2, "of the time that the program used")


@case("who may not record the system reads how to record a program")
def _():
    need_public_build()
    with Stranger() as other:
        done = other.run([AFLAME, "record"])
    equal(done.returncode, FAILED, "status")
    expect(b"aflame record -- PROGRAM" in done.stderr, done.stderr)


run_cases()
