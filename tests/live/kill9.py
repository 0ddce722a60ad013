#!/usr/bin/env python3
"""kill -9 of the target, of the recorder, of both, at random moments: every trace opens, and every
event that was completed is in it, or with --ring is counted.
kill9.py AFLAME PROGRAMS [ROUNDS [SEED [OPTIONS OF record]]]"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

aflame, programs = sys.argv[1], sys.argv[2]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 50
seed = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
options = sys.argv[5:]
random.seed(seed)
THREADS = 3


def pid_of_target(recorder):
    """The recorder's child, once it runs the program."""
    for _ in range(400):
        kids = open(f"/proc/{recorder}/task/{recorder}/children").read().split()
        for kid in kids:
            try:
                if "kill_target" in os.readlink(f"/proc/{kid}/exe"):
                    return int(kid)
            except OSError:
                pass
        time.sleep(0.005)
    raise RuntimeError("the target did not start")


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def counted(path):
    if not os.path.exists(path):
        return 0  # killed before it began
    with open(path, "rb") as f:
        data = f.read(8)
    return struct.unpack("<Q", data)[0] if len(data) == 8 else 0


def events(trace):
    """Events of the kind the target makes, and how many the trace says were lost."""
    out = subprocess.run([aflame, "print", "--json", "--kind", "mapping_gone,lost", trace],
                         capture_output=True, text=True)
    if out.returncode:
        raise RuntimeError(out.stderr.strip())
    made = lost = 0
    for line in out.stdout.splitlines():
        event = json.loads(line)
        if event["kind"] == "mapping_gone":
            made += 1
    damage = json.loads(subprocess.run([aflame, "report", "--json", "--limit", "0", trace],
                                       capture_output=True, text=True, check=True).stdout)
    for table in damage["tables"]:
        if table["name"] == "lost":
            for row in table["rows"]:
                what = row["what"]
                if "drain" in what or "no stream" in what or "gave way" in what:
                    lost += row["count"]
                if row["key"].startswith("damaged"):
                    raise RuntimeError(f"the trace is damaged: {what}: {row['count']}")
    return made, lost


def one_round(victim, folder):
    trace, file = folder + "/t", folder + "/made"
    recorder = subprocess.Popen([aflame, "record", "-q", "-f", "-F", "499", "-o", trace, *options, "--",
                                 programs + "/kill_target", file, str(THREADS)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = pid_of_target(recorder.pid)
    time.sleep(random.uniform(0, 0.35))
    if victim in ("target", "both"):
        kill(target)
    if victim in ("recorder", "both"):
        if victim == "both" and random.random() < 0.5:
            time.sleep(random.uniform(0, 0.02))
        kill(recorder.pid)
    recorder.wait()
    if victim == "recorder":
        time.sleep(random.uniform(0, 0.1))
        kill(target)
    for _ in range(400):
        if not os.path.exists(f"/proc/{target}") or open(f"/proc/{target}/stat").read().split()[-50] == "Z":
            break
        time.sleep(0.005)
    time.sleep(0.02)
    want = counted(file)
    made, lost = events(trace)
    babel = shutil.which("babeltrace2")
    if babel:
        r = subprocess.run([babel, trace], capture_output=True, text=True)
        mine = subprocess.run([aflame, "print", trace], capture_output=True, text=True)
        if r.returncode or len(r.stdout.splitlines()) != len(mine.stdout.splitlines()):
            return f"babeltrace2 does not agree: {r.stderr[-300:]}"
    if made + lost < want:
        return f"{want} events were made, {made} are there and {lost} are known to be lost"
    if made > want + 2 * THREADS:
        return f"{want} events were made, but {made} are there"
    if os.path.exists(trace + "/.session"):
        return "the trace was not finished"
    return None


def leftovers(home):
    """Shared directories of our own traces: each names its trace in `control`."""
    left = []
    for name in os.listdir("/dev/shm"):
        try:
            with open(f"/dev/shm/{name}/control", "rb") as f:
                if home.encode() in f.read():
                    left.append(name)
        except OSError:
            pass
    return left


def main():
    home = tempfile.mkdtemp(prefix="aflame-kill9-")
    n = 0
    for victim in ("target", "recorder", "both"):
        failures = []
        share = rounds // 3 + (rounds % 3 > ("target", "recorder", "both").index(victim))
        for i in range(share):
            with tempfile.TemporaryDirectory(dir=home) as folder:
                try:
                    why = one_round(victim, folder)
                except (RuntimeError, subprocess.CalledProcessError) as e:
                    why = str(e)
                if why:
                    failures.append(f"round {i}: {why}")
        n += 1
        print(f"{'not ok' if failures else 'ok'} {n} - kill -9 of {victim}, {share} times: "
              f"all completed events are in the trace")
        for line in failures:
            print("# " + line)
    left = leftovers(home)
    shutil.rmtree(home)
    n += 1
    print(f"{'not ok' if left else 'ok'} {n} - nothing is left in shared memory")
    print(f"# seed {seed}")
    print(f"1..{n}")


main()
