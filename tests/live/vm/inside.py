"""
In the guest: loads the modules, then takes the steps that its arguments name, and writes what they found to
$OUT/results.json: {step: {…}}; a step that broke has "broke".

    python3 inside.py BUILD STEP…
"""

import ctypes
import fcntl
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import traceback

OUT = os.environ["OUT"]
BUILD = sys.argv[1]
AFLAME = BUILD + "/src/cmd/aflame"
STANDIN = "/sys/kernel/debug/xe_standin"


def run(*words, **options):
    """{status, out}: what a command printed, on both of its channels."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    return {"status": done.returncode, "out": done.stdout.decode(errors="replace")}


def load_modules():
    with open(OUT + "/modules", encoding="ascii") as lines:
        return [run("busybox", "insmod", line.strip()) for line in lines]


def cards():
    """The PCI addresses of the stand-in's cards."""
    return sorted(os.listdir(STANDIN))


def node(card):
    (path,) = glob.glob("/sys/bus/pci/devices/%s/drm/renderD*" % card)
    return "/dev/dri/" + os.path.basename(path)


def state(card, gt):
    with open("%s/%s/gt%d/state" % (STANDIN, card, gt), encoding="ascii") as lines:
        return {key: int(value) for key, value in (line.split() for line in lines)}


def step_modules():
    loaded = load_modules()
    return {
        "failed": [one["out"] for one in loaded if one["status"]],
        "btf": [name for name in ("xe", "i915", "drm", "gpu_sched") if os.path.exists("/sys/kernel/btf/" + name)],
        "cards": cards(),
        "nodes": [node(card) for card in cards()],
    }


def step_walk():
    card = cards()[0]
    return run(OUT + "/xe_walk", node(card), "%s/%s" % (STANDIN, card))


def control(fifo, word):
    """The recorder's answer to a line at its control socket, once that is there."""
    while not os.path.exists(fifo + ".ack"):
        time.sleep(0.1)
    with open(fifo, "w", encoding="ascii") as file:
        file.write(word + "\n")
    with open(fifo + ".ack", encoding="ascii") as file:
        return file.readline().strip()


def recorded(name, *options):
    """A recorder of all processes, and a function that ends it and keeps its trace as $OUT/NAME."""
    trace, fifo = "/run/" + name, "/run/%s.ctl" % name
    recorder = subprocess.Popen(
        [AFLAME, "record", "-a", "-o", trace, "--ctl", fifo, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    answers = [control(fifo, "status")]

    def end():
        answers.append(control(fifo, "stop"))
        printed = recorder.communicate()[0].decode(errors="replace")
        shutil.copytree(trace, "%s/%s" % (OUT, name))
        return {"status": recorder.returncode, "out": printed, "answers": answers}

    return end


def step_drivers():
    """Work by the stand-in, for a program without libaflame."""
    end = recorded("drivers", "--sample", "none")
    work = run(OUT + "/xe_work", node(cards()[0]))
    return {"work": work, "recorder": end()}


def step_kernels():
    """Batches of a program without libaflame, and rows that lie in the kernels that they start."""
    card = cards()[0]
    end = recorded("kernels", "--gpu-samples", "--sample", "none")
    work = run(OUT + "/xe_batch", node(card), "%s/%s/gt0/rows" % (STANDIN, card))
    return {"work": work, "recorder": end()}


def step_i915():
    """Batches of a program without libaflame, on the stand-in for i915 in the place of the real one."""
    run("busybox", "rmmod", "i915")
    with open(OUT + "/standin", encoding="utf-8") as file:
        loaded = run("busybox", "insmod", file.read() + "/i915.ko")
    (card,) = [name for name in os.listdir("/sys/bus/pci/drivers/i915") if name.startswith("0000:")]
    end = recorded("i915", "--sample", "none")
    work = run(OUT + "/i915_batch", node(card))
    with open("/sys/kernel/debug/i915_standin", encoding="ascii") as lines:
        times = [[int(word) for word in line.split()] for line in lines]
    return {"loaded": loaded, "card": card, "work": work, "recorder": end(), "times": times}


# Linux 6.15, drivers/gpu/drm/xe/xe_eu_stall.c: where the counts of 8 bits lie, from the lowest, after the address in
# units of 8 bytes, by Level Zero's names of the reasons.
LAYOUTS = {
    1260: (29, "Active OtherStall ControlStall PipeStall SendStall DistStall SbidStall SyncStall InstrFetchStall"),
    2001: (29, "PSDepStall OtherStall ControlStall PipeStall SendStall DistStall SbidStall SyncStall InstrFetchStall Active"),
    3500: (61, "PSDepStall OtherStall ControlStall PipeStall SendStall DistStall SbidStall SyncStall InstrFetchStall Active"),
}


class Rows:
    """Rows that are sent to GTs, and their sums: {card: {address: {reason: count}}}."""

    def __init__(self, graphics, seed):
        self.bits, names = LAYOUTS[graphics]
        self.names = names.split()
        self.random = random.Random(seed)
        self.sent = {}

    def row(self):
        address = (0x8000FFFD0000 + 16 * self.random.randrange(200)) >> 3 & (1 << self.bits) - 1
        counts = [self.random.choice((0, 0, 1, 7, 255)) for _ in self.names]
        value = address
        for i, count in enumerate(counts):
            value |= count << self.bits + 8 * i
        return address << 3, dict(zip(self.names, counts)), value.to_bytes(64, "little")

    def send(self, card, gt, nr, lost=0):
        """@nr rows, of which the first @lost will not be read."""
        rows = [self.row() for _ in range(nr)]
        with open("%s/%s/gt%d/rows" % (STANDIN, card, gt), "wb", buffering=0) as file:
            data = b"".join(row for _, _, row in rows)
            if file.write(data) != len(data):
                raise OSError("no room for rows")
        for address, counts, _ in rows[lost:]:
            sums = self.sent.setdefault(card, {}).setdefault("%#x" % address, {})
            for name, count in counts.items():
                if count:
                    sums[name] = sums.get(name, 0) + count


def event(card, gt, word):
    with open("%s/%s/gt%d/event" % (STANDIN, card, gt), "w", encoding="ascii") as file:
        file.write(word)


def wait_for(what, true):
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def all_taken(card, gt):
    now = state(card, gt)
    return now["added"] == now["taken"]


def sampled(name, begin, during):
    """What a recorder with --gpu-samples printed, while @during() runs; @begin() is called before it."""
    trace, fifo = "/run/" + name, "/run/%s.ctl" % name
    begin()
    program = [AFLAME, "record", "--gpu-samples", "--sample", "none", "--api", "none", "-o", trace, "--ctl", fifo, "--", "cat"]
    recorder = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    control(fifo, "status")
    try:
        during()
    finally:
        printed = recorder.communicate(b"end\n")[0].decode(errors="replace")
    shutil.copytree(trace, "%s/%s" % (OUT, name))
    return {"status": recorder.returncode, "out": printed}


def step_stalls():
    """Rows on both cards, some before anybody observes; then a drop, and a reset, of the first one."""
    first, second = cards()
    rows = Rows(2001, 1)

    def before():
        rows.send(first, 0, 3000)

    def during():
        rows.send(second, 0, 500)
        wait_for("the rows of both", lambda: all_taken(first, 0) and all_taken(second, 0))
        opened = state(first, 0)["opened"]
        event(first, 0, "reset")
        wait_for("another stream", lambda: state(first, 0)["opened"] > opened and state(first, 0)["enabled"])
        rows.send(first, 0, 40)
        wait_for("rows after the reset", lambda: all_taken(first, 0))
        event(first, 0, "drop")
        rows.send(first, 0, 60)
        wait_for("rows after the drop", lambda: all_taken(first, 0))

    recorder = sampled("stalls", before, during)
    return {"recorder": recorder, "sent": rows.sent, "states": [state(card, 0) for card in (first, second)]}


def observe(card):
    """A stream of the card's first GT, as another tool would hold it."""
    fd = os.open(node(card), os.O_RDWR)
    gt = ctypes.create_string_buffer(struct.pack("<QIIIIQQQ", 0, 0, 0, 1, 0, 0, 0, 0))
    stream = fcntl.ioctl(fd, 0x4020644B, bytearray(struct.pack("<QQQQ", 0, 1, 0, ctypes.addressof(gt))), True)
    return [fd, stream]


def step_busy():
    """Another tool observes the first card: the second one is sampled all the same."""
    first, second = cards()
    rows, held = Rows(2001, 2), observe(first)

    def during():
        rows.send(second, 0, 80)
        wait_for("the rows", lambda: all_taken(second, 0))

    try:
        recorder = sampled("busy", lambda: None, during)
    finally:
        for fd in held:
            os.close(fd)
    return {"recorder": recorder, "sent": rows.sent, "open": state(first, 0)["open"]}


def reload_standin(graphics):
    """The stand-in's module again, as another GPU."""
    run("busybox", "rmmod", "xe")
    with open(OUT + "/modules", encoding="ascii") as lines:
        (module,) = [line.strip() for line in lines if line.strip().endswith("/xe.ko")]
    return run("busybox", "insmod", module, "graphics=%d" % graphics)


def step_whole():
    """Intel's own driver launches a kernel, and one card gives the rows in $OUT/whole/rows that lie in it."""
    loaded = reload_standin(1260)
    card, other = cards()
    with open("/sys/bus/pci/drivers/xe/unbind", "w", encoding="ascii") as file:
        file.write(other)
    with open(OUT + "/whole/rows", "rb") as file:
        rows = file.read()
    with open(OUT + "/whole/program", encoding="ascii") as file:
        how = json.load(file)
    trace, launched = "/run/whole", "/run/launched"
    recorder = subprocess.Popen(
        [AFLAME, "record", "--gpu-samples", "--sample", "none", "-o", trace, "--", *how["words"]],
        env=dict(os.environ, **how["env"], ZE_WORKS_LAUNCHED=launched), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    while not os.path.exists(launched) and recorder.poll() is None:
        time.sleep(0.005)
    with open("%s/%s/gt0/rows" % (STANDIN, card), "wb", buffering=0) as file:
        file.write(rows)
    printed = recorder.communicate()[0].decode(errors="replace")
    shutil.copytree(trace, OUT + "/whole/trace")
    return {"loaded": loaded, "recorder": {"status": recorder.returncode, "out": printed}, "state": state(card, 0)}


def step_layouts():
    """The same driver on other GPUs: Ponte Vecchio, with two tiles, and Xe3p."""
    found = {}
    for graphics in (1260, 3500):
        loaded = reload_standin(graphics)
        rows = Rows(graphics, graphics)

        def during():
            rows.send(cards()[0], 0, 100)
            if graphics == 1260:
                rows.send(cards()[0], 1, 70)
            wait_for("the rows", lambda: all_taken(cards()[0], 0) and all_taken(cards()[0], 1))

        recorder = sampled("stalls-%d" % graphics, lambda: None, during)
        found[str(graphics)] = {"loaded": loaded, "recorder": recorder, "sent": rows.sent}
    return found


def doctor(**how):
    """What doctor says of the collector, and of the kernel's drivers."""
    done = subprocess.run([AFLAME, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, **how)
    answer = json.loads(done.stdout)
    (row,) = [c for c in answer["collectors"] if c["name"] == "xe-eustall"]
    return row, answer["drivers"]


def as_user():
    os.setgid(65534)
    os.setuid(65534)


def step_doctor():
    for card in cards():
        os.chmod(node(card), 0o666)
    refused, refused_drivers = doctor(preexec_fn=as_user)
    with open("/proc/sys/dev/xe/observation_paranoid", "w", encoding="ascii") as file:
        file.write("0")
    allowed, _ = doctor(preexec_fn=as_user)
    with open("/proc/sys/dev/xe/observation_paranoid", "w", encoding="ascii") as file:
        file.write("1")
    root, drivers = doctor()
    return {"root": root, "refused": refused, "allowed": allowed, "drivers": drivers, "refused_drivers": refused_drivers}


def step_batches():
    """What the BPF program finds in the batches of the test, beside what the library finds."""
    return run(BUILD + "/tests/live/batch/submit", "12", "early", *sorted(glob.glob(OUT + "/batch-*")))


def step_kernel():
    """What the kernel has to say of itself at the end."""
    messages = run("dmesg")["out"]
    return {"wrong": [line for line in messages.splitlines() if "BUG" in line or "WARNING" in line or "Oops" in line]}


def main():
    results = {}
    for name in sys.argv[2:]:
        begin = time.monotonic()
        try:
            results[name] = globals()["step_" + name]()
        except Exception:  # the other steps go on
            results[name] = {"broke": traceback.format_exc()}
        results[name]["seconds"] = time.monotonic() - begin
        with open(OUT + "/results.json", "w", encoding="utf-8") as file:
            json.dump(results, file)


main()
