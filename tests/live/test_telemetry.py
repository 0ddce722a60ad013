#!/usr/bin/env python3
"""Counters of the machine over time (record --telemetry): held against what the test reads of the kernel itself, and,
for devices that are not here, against files that look like those of their drivers, which the program rewrites
while it is recorded."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

from machine import AFLAME, BUILD
from recording import USAGE, Recording, aflame, must, new_path, record, refused
from tap import Skip, case, equal, expect, near, note, run_cases

NS_PER_MS = 1000000


class Telemetry:
    """What a trace has of each counter: [(time, span, value)] by name, values as they were written."""

    def __init__(self, run):
        mine = [e for e in run.events("counter") if e["process"] == 0]
        self.counters = {e["fields"]["counter"]: e["fields"] for e in mine}
        equal(len(self.counters), len(mine), "counters with a number of their own")
        self.by_name = {f["name"]: f for f in self.counters.values()}
        self.of = collections.defaultdict(list)
        for e in run.events("reading"):
            values = e["fields"]["values"]
            for number, value in zip(values[::2], values[1::2]):
                name = self.counters[number]["name"]
                self.of[name].append((e["time_ns"], e["fields"]["span_ns"], value))
                equal(bool(e["fields"]["span_ns"]), self.counters[number]["flags"] == "AMOUNT",
                      "whether a value of %s is of a time" % name)  # fmt: skip
        self.notes = {f["key"]: f["value"] for f in run.fields("note") if f["key"].startswith("telemetry.")}
        lost = [e["fields"] for e in run.events("lost") if e["process"] == 0]
        self.missed = sum(f["count"] for f in lost if f["reason"] == "LATE")

    def total(self, name):
        return sum(value for _, _, value in self.of[name])

    def values(self, name):
        return [value for _, _, value in self.of[name]]


def telemetry(what, *command, **how):
    return Telemetry(record(*command, options=("--telemetry", what), **how))


def python(script, *words):
    return (sys.executable, "-c", script, *words)


def check_ticks(t, name, period_ns):
    """A tick is due each period from the first on, and there is one more at the end: each was read, or missed."""
    times = [time for time, _, _ in t.of[name]]
    periods = (times[-1] - times[0]) / period_ns
    ticks = len(times) + t.missed
    note("%d readings, %d missed, %.3f periods" % (len(times), t.missed, periods))
    # The last one is made a little after the end, and the first a little after its time.
    expect(int(periods - 0.5) + 2 <= ticks <= int(periods + 0.5) + 2, "%d ticks in %.3f periods" % (ticks, periods))
    return times


@case("ticks are exact in number, and a level is read at each")
def _():
    for ms in (1, 10, 200):
        t = telemetry("system=%d" % ms, *python("import time; time.sleep(0.9)"))
        times = check_ticks(t, "threads running", ms * NS_PER_MS)
        expect(len(times) >= 3, "only %d readings" % len(times))
        # The kernel takes long to write /proc/stat, so it is not read at each tick; its amounts are of the time between.
        all_of = len(times) - 1
        expect(0 < len(t.of["CPU user"]) <= all_of and (ms < 200 or len(t.of["CPU user"]) == all_of),
               "%d readings of an amount at %d ticks" % (len(t.of["CPU user"]), len(times)))
        spans = [span for _, span, _ in t.of["CPU user"]]
        equal(sum(spans), times[-1] - times[0], "the time that amounts are of")
        words = "12 counters, every %d ms, read %d times" % (ms, len(times))
        expect(t.notes["telemetry.system"].startswith(words), t.notes)


@case("ticks that the recorder had no CPU for are a loss of their own")
def _():
    script = "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(0.4)\nos.kill(os.getppid(), signal.SIGCONT)"
    run = record(*python(script + "\ntime.sleep(0.2)"), options=("--telemetry", "system=10"))
    t = Telemetry(run)
    check_ticks(t, "threads running", 10 * NS_PER_MS)
    expect(t.missed >= 35, "%d missed while the recorder stood still for 40 periods" % t.missed)
    rows = json.loads(must("report", "lost", "--json", run.path))["tables"][0]["rows"]
    equal([(row["count"], row["what"]) for row in rows],
          [(t.missed, "readings of counters that were due and not made: no CPU was free, or one takes long")],
          "what was lost")  # fmt: skip
    expect("and %d times not in time" % t.missed in t.notes["telemetry.system"], t.notes)


def cpu_ticks():
    with open("/proc/stat", encoding="ascii") as f:
        return [int(n) for n in f.readline().split()[1:]]


@case("CPU time of the host is what the kernel reports, and has the program's")
def _():
    script = """
import resource, time
end = time.time() + 1
while time.time() < end: pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
"""
    before = cpu_ticks()
    run = record(*python(script), options=("--telemetry", "system"))
    after = cpu_ticks()
    t = Telemetry(run)
    used = float(run.stdout.decode())
    per = t.by_name["CPU user"]["per"]
    user = (t.total("CPU user") + t.total("CPU user, nice")) / per
    note("the program used %.2f s, CPUs %.2f s in its time" % (used, user))
    expect(user >= used - 0.1, "less than the program's")
    for name, column in (("CPU user", 0), ("CPU system", 2), ("CPU idle", 3), ("CPU waiting", 4)):
        most = after[column] - before[column]
        expect(t.total(name) <= most, "%s: %d ticks, and at most %d" % (name, t.total(name), most))
    all_ns = sum(t.total(name) for name in t.by_name if t.by_name[name]["group"] == "CPU") / per * 1e9
    spans = sum(span for _, span, _ in t.of["CPU user"])
    near(all_ns / spans / os.cpu_count(), 1, 0.1, "all states over all CPUs' time")


@case("memory that a program takes is seen, and how much", tries=3)
def _():
    script = "import time; time.sleep(0.3); b = bytearray(400 << 20); time.sleep(0.3)"
    t = telemetry("memory=20", *python(script))
    used = t.values("memory used")
    grown = (max(used[len(used) // 2 :]) - used[0]) / (1 << 20)
    near(grown, 400, 120, "MB more")


SENDS = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def take():
    c, _ = server.accept()
    while c.recv(1 << 16): pass
t = threading.Thread(target=take); t.start()
s = socket.create_connection(server.getsockname())
s.sendall(bytes(50 << 20)); s.close(); t.join()
"""


def loopback():
    with open("/proc/net/dev", encoding="ascii") as f:
        line = next(line for line in f if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


@case("bytes that cross the network are all counted")
def _():
    before = loopback()
    t = telemetry("network=20", *python(SENDS))
    most = loopback() - before
    got = t.total("lo received")
    note("%d bytes, of %d in a little more time" % (got, most))
    expect(50 << 20 <= got <= most, "lo received %d bytes" % got)
    equal(got, t.total("lo sent"), "what was sent to itself")


@case("tasks that wait for a CPU are pressure")
def _():
    if not os.path.exists("/proc/pressure/cpu"):
        raise Skip("this kernel has no pressure stall information")
    nr = 2 * os.cpu_count()
    script = """
import os, time
for _ in range(%d):
    if not os.fork():
        end = time.time() + 1
        while time.time() < end: pass
        os._exit(0)
for _ in range(%d): os.wait()
""" % (nr, nr)
    t = telemetry("pressure", *python(script))
    waited, span = t.total("cpu pressure, some") / 1e6, sum(span for _, span, _ in t.of["cpu pressure, some"]) / 1e9
    note("%.3f s of pressure in %.3f s" % (waited, span))
    # The kernel adds up every 2 s at the latest, and when it is read.
    expect(0.6 <= waited <= span + 0.1, "seconds of pressure")


# --- devices that are not here: a mount namespace has a /sys and a /proc/fs of our own

FILES = {
    "/sys/class/powercap/intel-rapl:0/name": "package-0",
    "/sys/class/powercap/intel-rapl:0/energy_uj": "1000000",
    "/sys/class/powercap/intel-rapl:0/max_energy_range_uj": "10000000",
    "/sys/class/powercap/intel-rapl:0:0/name": "dram",
    "/sys/class/powercap/intel-rapl:0:0/energy_uj": "9000000",
    "/sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "10000000",
    "/sys/devices/0000:c1:00.0/gpu_busy_percent": "37",
    "/sys/devices/0000:c1:00.0/mem_info_vram_used": "123456789",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/power1_average": "215000000",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/power1_input": "1",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/power1_label": "PPT",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/temp1_input": "48500",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/temp1_label": "edge",
    "/sys/devices/0000:c1:00.0/hwmon/hwmon3/freq1_input": "1700000000",
    "/sys/devices/0000:03:00.0/tile0/gt0/freq0/act_freq": "2100",
    "/sys/devices/0000:03:00.0/tile0/gt0/freq0/throttle/status": "1",
    "/sys/devices/0000:03:00.0/hwmon/hwmon4/energy1_input": "5000000",
    "/sys/devices/0000:03:00.0/hwmon/hwmon4/energy1_label": "card",
    "/sys/devices/0000:03:00.0/hwmon/hwmon4/energy2_input": "4000000",
    "/sys/devices/0000:03:00.0/hwmon/hwmon4/energy2_label": "pkg",
    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "100",
    "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "0",
    "/sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets": "7000@1690000000.123456789",
    "/proc/fs/lustre/llite/scratch-ffff9c3a1c2d3000/stats":
        "snapshot_time 1.0 secs.nsecs\nread_bytes 5 samples [bytes] 1 4096 20480\nopen 3 samples [usec] 1 2 3\n",
}  # fmt: skip
LINKS = {
    "/sys/class/drm/card0/device": "../../../devices/0000:c1:00.0",
    "/sys/class/drm/card1/device": "../../../devices/0000:03:00.0",
    "/sys/devices/0000:c1:00.0/driver": "../../bus/pci/drivers/amdgpu",
    "/sys/devices/0000:03:00.0/driver": "../../bus/pci/drivers/xe",
}
CHANGES = (
    ("/sys/class/powercap/intel-rapl:0/energy_uj", "3500000"),
    ("/sys/class/powercap/intel-rapl:0:0/energy_uj", "500000"),
    ("/sys/devices/0000:03:00.0/hwmon/hwmon4/energy1_input", "9000000"),
    ("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "350"),
    ("/sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets", "9500@1690000001.0"),
    ("/proc/fs/lustre/llite/scratch-ffff9c3a1c2d3000/stats",
     "snapshot_time 2.0 secs.nsecs\nread_bytes 9 samples [bytes] 1 4096 36864\nwrite_bytes 2 samples [bytes] 1 9 18\n"
     "open 3 samples [usec] 1 2 3\n"),
    ("/sys/devices/0000:c1:00.0/hwmon/hwmon3/temp1_input", ""),
)  # fmt: skip
NAMESPACE = """
import json, os, sys
files, links, command = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
for folder in ("/sys", "/proc/fs"):
    if os.system("mount -t tmpfs none " + folder): sys.exit(99)
for path, text in files.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
for path, to in links.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(to, path)
os.execvp(command[0], command)
"""


def on_other_machine(*command, files=None):
    words = ["unshare", "--mount", sys.executable, "-c", NAMESPACE, json.dumps(FILES if files is None else files)]
    try:
        done = subprocess.run(words + [json.dumps(LINKS if files is None else {}), *command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)  # fmt: skip
    except FileNotFoundError as gone:
        raise Skip("unshare is missing (util-linux)") from gone
    if done.returncode == 99 or b"unshare failed" in done.stderr:
        raise Skip("no mount namespace can be made: run as root")
    return done


def devices_recorded(what):
    # By one write each, as the kernel's files change: they are read at any moment.
    script = """
import os, time
time.sleep(0.25)
for path, text in %r:
    file = os.open(path, os.O_WRONLY)
    if text: os.pwrite(file, text.ljust(os.fstat(file).st_size, "\\n").encode(), 0)
    else: os.ftruncate(file, 0)
time.sleep(0.25)
"""
    path = new_path()
    done = on_other_machine(AFLAME, "record", "-q", "-o", path, "--sample", "none", "--telemetry", what, "--",
                            *python(script % (CHANGES,)))  # fmt: skip
    equal((done.returncode, done.stderr), (0, b""), "its status and messages")
    run = Recording(path, done)
    run.check()
    return run, Telemetry(run)


@case("devices' files: each number is in the trace, in its unit, and totals grow by what was written")
def _():
    run, t = devices_recorded("rapl=20,gpu=20,network=20,lustre=20")
    equal(t.total("energy of package-0"), 2500000, "uJ of the package")
    equal(t.total("energy of package-0, dram"), 1500000, "uJ of memory, whose counter wrapped at 10 J")
    equal(t.total("energy"), 4000000, "uJ of a GPU")
    equal(t.total("energy, pkg"), 0, "uJ of its package")
    equal(t.total("mlx5_0 port 1 sent"), 1000, "bytes of InfiniBand: words of four")
    equal(t.total("cxi0 sent"), 2500, "bytes of Slingshot")
    equal((t.total("Lustre scratch read"), t.total("Lustre scratch reads")), (16384, 4), "reads of Lustre")
    equal((t.total("Lustre scratch written"), t.total("Lustre scratch writes")), (18, 2), "writes of Lustre")
    equal(t.total("Lustre scratch opens"), 0, "opens of Lustre")
    for name, unit, value in (("GPU busy", "%", 37), ("memory used", "bytes", 123456789), ("power", "W", 215),
                              ("clock", "MHz", 1700), ("GPU clock", "MHz", 2100), ("throttled", "", 1)):  # fmt: skip
        counter = t.by_name[name]
        equal(counter["unit"], unit, "unit of " + name)
        equal({v / counter["per"] for v in t.values(name)}, {value}, name)
    equal(t.values("temperature, edge")[0], 48500, "thousandths of a degree")
    devices = {e["fields"]["device"]: e["fields"]["name"] for e in run.events("device")}
    equal(devices[t.by_name["power"]["device"]], "AMD GPU 0000:c1:00.0", "whose power it is")
    equal(devices[t.by_name["energy"]["device"]], "Intel GPU 0000:03:00.0", "whose energy it is")
    # The sensor of the temperature went: its values end, and the note tells.
    gone = t.notes["telemetry.gpu"]
    expect("values could not be had, first: " in gone and "temp1_input" in gone, gone)
    expect(len(t.of["temperature, edge"]) < len(t.of["power"]), "values of a sensor that went")


@case("files that vanish while they are read, with the device that they are of, are a note")
def _():
    # A file of /proc stands in for one of sysfs: reading it fails for good when its process has ended.
    script = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "100"])
os.makedirs("/sys/class/powercap/intel-rapl:0")
os.symlink("/proc/%d/stat" % child.pid, "/sys/class/powercap/intel-rapl:0/energy_uj")
open("/sys/class/powercap/intel-rapl:0/name", "w").write("package-0")
end = "import os, shutil, signal, sys, time; time.sleep(0.3); os.kill(%d, 9); shutil.rmtree('/sys/class'); time.sleep(0.3)"
recorder = subprocess.Popen(sys.argv[1:] + ["--", sys.executable, "-c", end % child.pid])
child.wait()
sys.exit(recorder.wait())
"""
    path = new_path()
    done = on_other_machine(*python(script, AFLAME, "record", "-q", "-o", path, "--sample", "none", "--telemetry",
                                    "rapl=20,system=20"), files={})  # fmt: skip
    equal((done.returncode, done.stderr), (0, b""), "its status and messages")
    run = Recording(path, done)
    run.check()
    t = Telemetry(run)
    expect(re.search(r"; \d+ values could not be had, first: /sys/class/powercap/intel-rapl:0/energy_uj: ",
                     t.notes["telemetry.rapl"]), t.notes)  # fmt: skip
    expect(0 < len(t.of["energy of package-0"]) < len(t.of["threads running"]), "readings of a file that went")


SPIN = """
import os, time
begin = time.monotonic()
meter = os.open("/sys/class/powercap/intel-rapl:0/energy_uj", os.O_WRONLY)
def spend(upto, spin):
    while (now := time.monotonic() - begin) < upto:
        os.pwrite(meter, b"%07d" % (1e6 + now * 5e6), 0)
        end = time.monotonic() + 0.005
        while spin and time.monotonic() < end: pass
        spin or time.sleep(0.005)
spend(0.5, True)
spend(1, False)
print(time.process_time())
"""


@case("CPU packages: what they took while threads ran is the threads', the rest is idle, and both are the counter")
def _():
    path = new_path()
    done = on_other_machine(AFLAME, "record", "-q", "-o", path, "-F", "999", "--telemetry", "rapl=20", "--",
                            *python(SPIN))  # fmt: skip
    equal((done.returncode, done.stderr), (0, b""), "its status and messages")
    t = Telemetry(Recording(path, done))
    document = json.loads(must("report", "energy", "-n", "0", "--json", path))["tables"][0]
    rows = [row for row in document["rows"] if row["device"] == "CPU: package-0"]
    equal({row["unit"] for row in rows}, {"J"}, "units")
    total = t.total("energy of package-0") / 1e6
    near(sum(row["energy_j"] for row in rows), total, 0.001, "joules of all rows, as the counter has them")
    near(total, 5, 0.1, "joules, 5 W for a second")
    (idle,) = [row["energy_j"] for row in rows if row["kernel"].startswith("[idle")]
    used, taken = float(done.stdout), total - idle
    note("%.3f s of CPU time took %.3f of %.3f J" % (used, taken, total))
    # 5 W for as long as its one thread ran; that of its start is not over before the first reading.
    expect(0.1 < used < 0.7, "the program's own CPU time")
    expect(0.7 * 5 * used < taken < 1.05 * 5 * used, "joules of its CPU time")
    expect(all(row["error_j"] is not None for row in rows), "rows without an error")
    folded = must("flame", "-w", "energy", "--view", "cpu", "-o", "-", path).splitlines()
    near(sum(int(line.rsplit(" ", 1)[1]) for line in folded) / 1e3, total, 0.001, "joules of the flame graph")
    expect(any("spend" in line for line in folded), folded[:3])


@case("counters are in the table and on the timeline")
def _():
    run, t = devices_recorded("rapl=50,gpu=50")
    rows = json.loads(must("report", "counters", "-n", "0", "--json", run.path))["tables"][0]["rows"]
    equal({row["counter"] for row in rows}, set(t.by_name), "counters in the table")
    (row,) = [row for row in rows if row["counter"] == "energy of package-0"]
    equal((row["total"], row["total_unit"]), (2.5, "J"), "its total")
    path = new_path("timeline") + ".json"
    must("timeline", "-o", path, run.path)
    with open(path, encoding="utf-8") as file:
        drawn = {e["name"] for e in json.load(file)["traceEvents"] if e["ph"] == "C"}
    missing = {name for name in t.by_name if not any(name in track for track in drawn)}
    equal(missing, set(), "counters without a track")


# --- NVIDIA's management library: a mock of it, tests/mock_nvml

MOCK_NVML = os.path.join(BUILD, "tests/mock_nvml")


def nvml(what="nvml=10", seconds=0.6, **knobs):
    env = dict(os.environ, LD_LIBRARY_PATH=MOCK_NVML, **{k: str(v) for k, v in knobs.items()})
    run = record(*python("import time; time.sleep(%f)" % seconds), options=("--telemetry", what), env=env)
    return run, Telemetry(run)


def levels_by_time(t, name):
    """[(ns since the first, value in its unit)]"""
    first = t.of[name][0][0]
    return [(time - first, value / t.by_name[name]["per"]) for time, _, value in t.of[name]]


@case("NVML: power, clocks and throttling are those of the time, and energy is what power adds up to")
def _():
    run, t = nvml()
    # The device takes 400 W from 250 ms after it was first looked for on.
    for name, before, after in (("power", 200, 400), ("SM clock", 1980, 1200), ("throttled: power cap", 0, 1)):
        values = [value for _, value in levels_by_time(t, name)]
        change = values.index(after)
        expect(3 < change < len(values) - 3, "%s changes at reading %d of %d" % (name, change, len(values)))
        equal((set(values[:change]), set(values[change:])), ({before}, {after}), name)
    power = levels_by_time(t, "power")
    joule = sum(w * (next_ns - ns) / 1e9 for (ns, w), (next_ns, _) in zip(power, power[1:]))
    near(t.total("energy") / t.by_name["energy"]["per"] / joule, 1, 0.05, "energy over integrated power")
    equal({v for v in t.values("memory used")}, {41 << 30}, "bytes")
    devices = {e["fields"]["device"]: e["fields"]["name"] for e in run.events("device")}
    equal(devices[t.by_name["power"]["device"]], "Mock H200", "whose power it is")
    equal(devices[t.by_name["temperature"]["device"]], "Mock H100", "whose temperature it is")
    notes = {e["fields"]["value"] for e in run.events("device_note") if e["fields"]["key"] == "pci"}
    equal(notes, {"0000:18:00.0", "0000:2a:00.0"}, "PCI addresses")
    t = nvml("nvml-links=10")[1]
    moved = t.total("PCIe received") / sum(span for _, span, _ in t.of["PCIe received"]) * 1e9
    near(moved / 1e9, 1, 0.01, "GB a second, by a counter that wraps")
    t = nvml("nvml-links=300")[1]
    spans = [span for _, span, _ in t.of["PCIe received"]]  # the last tick may be soon after the one before
    expect(len(spans) < 2 and max(spans, default=0) < 134 * NS_PER_MS, "amounts of a time of two wraps: %s" % spans)
    expect("PCIe received wraps in 134 ms, and was read after 3" in t.notes["telemetry.nvml-links"], t.notes)
    expect("NVLink sent" not in t.by_name, "a counter that the device does not have")


@case("NVML: a throttled device is a finding, with its reason, its time and its clocks")
def _():
    run, t = nvml()
    tables = {table["name"]: table["rows"] for table in json.loads(must("report", "--json", run.path))["tables"]}
    (row,) = tables["limits"]
    equal((row["kind"], row["limit"], row["device"]), ("throttled", "throttled: power cap", "Mock H200"), "its row")
    # The driver is not asked for both at one moment.
    near(row["value"], 1200, 300, "its clock then, in MHz")
    near(row["otherwise"], 1980, 300, "its clock else")
    levels = levels_by_time(t, "throttled: power cap")
    throttled_ns = levels[-1][0] - next(ns for ns, value in levels if value)
    equal((row["time_ns"], row["of_ns"]), (throttled_ns, levels[-1][0]), "time throttled, of all of it")
    (found,) = [row for row in tables["findings"] if row["kind"] == "throttled"]
    equal(found["time_ns"], throttled_ns, "the finding's time")
    expect("Mock H200 was throttled (power cap) for " in found["finding"], found["finding"])
    expect(": its clock was %s MHz then and " % format(int(row["value"] + 0.5), ",") in found["finding"], found["finding"])


@case("NVML: a PCIe link that is full is a finding, with what it moves and could move")
def _():
    for lanes, full in ((4, True), (16, False)):
        run, t = nvml("nvml-links=20", MOCK_NVML_LANES=lanes)
        equal((set(t.values("PCIe generation")), set(t.values("PCIe lanes"))), ({1}, {lanes}), "its link")
        tables = json.loads(must("report", "limits", "--json", run.path))["tables"]
        if not full:
            equal(tables, [], "limits of a link of 4 GB/s")
            continue
        (row,) = tables[0]["rows"]
        equal((row["kind"], row["limit"], row["link"]), ("full-link", "PCIe received", "generation 1 of 4, 4 of 16 lanes"), "its row")
        near(row["value"] / 1e9, 1, 0.02, "GB a second, of 1")
        near(row["otherwise"] / 1e9, 1, 0.001, "GB a second that four lanes of generation 1 move")
        expect(row["time_ns"] > 0.9 * row["of_ns"], "time in which it was full")
        expect("was full (PCIe received)" in must("report", "findings", run.path), "no such finding")


@case("NVML: a question that takes long is put less often, and its amounts are of the time since the last")
def _():
    for us, seconds in ((0, 1), (10, 2.5)):
        t = nvml(seconds=seconds, MOCK_NVML_SLOW_US=us)[1]
        energy = t.of["energy"]
        note("energy was read %d times, power %d times" % (len(energy), len(t.of["power"])))
        # However busy the machine is, a sleep takes no less: 20,000 times that pass until the next question.
        for (before, _, _), (time_ns, _, _) in zip(energy, energy[1:-1]):
            expect(time_ns - before >= 20000 * us * 1000, "energy was read again after %d ns" % (time_ns - before))
        for (before, _, _), (time_ns, span, _) in zip(energy, energy[1:]):
            equal(span, time_ns - before, "the time that energy is of")
        whole = t.of["power"][-1][0] - t.of["power"][0][0]
        equal(sum(span for _, span, _ in energy), whole, "all of them")
    expect(len(t.of["power"]) > 2 * len(energy), "a question that takes no time was not put more often")


@case("NVML: a question that takes longer than others' periods holds none of them up")
def _():
    t = nvml("nvml=20,nvml-links=20,system=5", MOCK_NVML_PCIE_US=40000, seconds=1)[1]
    slow = len(t.of["PCIe received"])
    note("in %d long readings %d and %d others" % (slow, len(t.of["threads running"]), len(t.of["temperature"])))
    expect(slow > 5, "it was read %d times" % slow)
    # One thread for all would read each of them once for each of the long ones.
    expect(len(t.of["threads running"]) > 2 * slow, "the others waited")


@case("NVML: what this user may not see is a note, and the rest is read")
def _():
    t = nvml(MOCK_NVML_DENIED=1)[1]
    expect("energy" not in t.by_name and len(t.of["power"]) > 3, "counters: %s" % sorted(t.by_name))
    expect("energy needs rights that this user has not" in t.notes["telemetry.nvml"], t.notes)
    run, t = nvml(MOCK_NVML_DENIED=2)
    equal((t.by_name, t.missed, run.status), ({}, 0, 0), "counters, missed ticks and status where nothing may be seen")
    expect(t.notes["telemetry.nvml"].endswith(" needs rights that this user has not"), t.notes)


@case("NVML: what a device does not have, or no longer, is left out and reported")
def _():
    t = nvml(MOCK_NVML_FIELDS=0)[1]
    equal(set(t.values("power")), {200000, 400000}, "power without fields")
    t = nvml("nvml-links=10", MOCK_NVML_FIELDS=0)[1]
    equal({name.split(",")[0] for name in t.by_name}, {"PCIe generation", "PCIe lanes"}, "links without traffic")
    t = nvml(MOCK_NVML_GONE_MS=300)[1]
    expect("values could not be had, first: " in t.notes["telemetry.nvml"], t.notes)
    expect("NVML's error 15" in t.notes["telemetry.nvml"], t.notes)
    expect(10 < len(t.of["power"]) < len(t.of["temperature"]) - 10, "readings of a device that was lost")
    t = nvml(MOCK_NVML_INIT=9)[1]
    expect("nvmlInit failed (9)" in t.notes["telemetry.nvml"], t.notes)


@case("drm: what the driver tells of the program's descriptors is in the trace, from the first on")
def _():
    script = """
import os, sys, time
def tell(busy):
    with open("/proc/%d/fdinfo/77.new" % os.getpid(), "w") as f:
        f.write("drm-driver:\\ti915\\ndrm-client-id:\\t7\\ndrm-pdev:\\t0000:00:02.0\\ndrm-engine-render:\\t%d ns\\n"
                "drm-resident-system0:\\t5 MiB\\n" % busy)
    with open("/proc/%d/fdinfo/77.new" % os.getpid()) as f: text = f.read()
    with open("/proc/%d/fdinfo/77" % os.getpid(), "r+" if os.path.exists("/proc/%d/fdinfo/77" % os.getpid()) else "w") as f:
        f.write(text)
for folder in ("fd", "fdinfo"):
    if os.system("mount -t tmpfs none /proc/%d/%s" % (os.getpid(), folder)): sys.exit(99)
tell(1000000000)
os.symlink("/dev/dri/renderD128", "/proc/%d/fd/77" % os.getpid())
time.sleep(1.5)
tell(1250000000)
time.sleep(0.3)
"""
    path = new_path()
    done = on_other_machine(AFLAME, "record", "-q", "-o", path, "--sample", "none", "--telemetry", "drm=20", "--",
                            *python(script), files={"/sys/class/drm/renderD128/dev": "226:128"})  # fmt: skip
    if done.returncode == 99:
        raise Skip("nothing can be mounted in /proc/PID")
    equal((done.returncode, done.stderr), (0, b""), "its status and messages")
    run = Recording(path, done)
    run.check()
    t = Telemetry(run)
    (busy,) = [name for name in t.by_name if name.startswith("render busy of python3")]
    (memory,) = [name for name in t.by_name if name.startswith("system0 memory of python3")]
    equal((t.by_name[busy]["unit"], t.by_name[busy]["per"], t.by_name[memory]["unit"]), ("s", 1000000000, "bytes"), "units")
    equal((t.total(busy), set(t.values(memory))), (1250000000, {5 << 20}), "ns of the engine, bytes")
    devices = {e["fields"]["device"]: e["fields"]["name"] for e in run.events("device")}
    equal(devices[t.by_name[busy]["device"]], "GPU 0000:00:02.0 (i915)", "whose engine it is")


@case("drm is read from the start on, and of each rank of a job, also before a process uses a GPU")
def _():
    files = {"/sys/class/drm/renderD128/dev": "226:128"}
    script = """
import os, subprocess, sys
env = dict(os.environ, PMIX_NAMESPACE="aflame-drm-%d" % os.getpid())
def rank(number, path, seconds):
    words = [sys.argv[1], "record", "-q", "-o", path, "--sample", "none", "--telemetry", "drm=20,system=20", "--", "sh", "-c",
             "touch %s.began; sleep %g" % (path, seconds)]
    child = subprocess.Popen(words, env=dict(env, PMIX_RANK=str(number)))
    while not os.path.exists(path + ".began") and child.poll() is None: pass
    return child
first, second = rank(0, sys.argv[2], 1.5), rank(1, sys.argv[3], 0.4)
sys.exit(second.wait() or first.wait())
"""
    paths = [new_path(), new_path()]
    done = on_other_machine(*python(script, AFLAME, *paths), files=files)
    equal((done.returncode, done.stderr), (0, b""), "status and messages")
    first, second = (Telemetry(Recording(path, done)) for path in paths)
    expect("telemetry.system" in first.notes and "telemetry.system" not in second.notes, second.notes)
    for t in (first, second):
        expect(re.match(r"0 counters, every 20 ms, read \d+ times", t.notes["telemetry.drm"]), t.notes)


# --- the ranks of a job on one host


def rank_start(rank, job, seconds):
    known = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI", "SLURM_"))}
    env = dict(known, PMIX_RANK=str(rank), PMIX_NAMESPACE=job)
    path, began = new_path(), new_path("began")
    words = [AFLAME, "record", "-q", "-o", path, "--sample", "none", "--telemetry", "system=20", "--",
             "sh", "-c", "touch %s; sleep %g" % (began, seconds)]  # fmt: skip
    child = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)  # fmt: skip
    while not os.path.exists(began) and child.poll() is None:
        time.sleep(0.01)
    return child, path


def rank_end(child, path, status=0):
    out, err = child.communicate()
    equal((child.returncode, err), (status, b""), "a rank's status and messages")
    run = Recording(path, subprocess.CompletedProcess((), child.returncode, out, err))
    return run, Telemetry(run)


@case("of the ranks of a job on a host one reads; when it ends, or is killed, another one goes on")
def _():
    for ends in ("ends", "is killed"):
        job = "aflame-test-%d-%s" % (os.getpid(), ends[-3:])
        first = rank_start(0, job, 0.5 if ends == "ends" else 60)
        second, other = rank_start(1, job, 4), rank_start(0, job + "-other", 0.2)
        equal(len(rank_end(*other)[1].of["CPU user"]) > 0, True, "whether a rank of another job reads")
        killed_ns = None
        if ends == "is killed":
            killed_ns = time.monotonic_ns()
            os.killpg(first[0].pid, signal.SIGKILL)
            first[0].communicate()
        else:
            t = rank_end(*first)[1]
            expect(len(t.of["CPU user"]) > 3 and set(t.notes) == {"telemetry.system"}, t.notes)
            killed_ns = t.of["CPU user"][-1][0]
        t = rank_end(*second)[1]
        expect(job in t.notes["telemetry.others"], t.notes)
        expect("has ended: read here from " in t.notes["telemetry.taken over"], t.notes)
        times = check_ticks(t, "threads running", 20 * NS_PER_MS)
        note("the first rank %s, and %.2f s later the second reads" % (ends, (times[0] - killed_ns) / 1e9))
        expect(times[0] > killed_ns, "the second rank has read before the first one ended")


@case("a source without anything is reported where it is named, and nowhere else")
def _():
    path = new_path()
    done = on_other_machine(AFLAME, "record", "-q", "-o", path, "--sample", "none", "--telemetry", "rapl,all",
                            "--", "true", files={})  # fmt: skip
    equal((done.returncode, done.stderr), (0, b""), "its status and messages")
    notes = Telemetry(Recording(path, done)).notes
    expect("has no intel-rapl zone: modprobe intel_rapl_msr" in notes["telemetry.rapl"], notes)
    expect("telemetry.gpu" not in notes and "telemetry.system" in notes, notes)
    done = on_other_machine(AFLAME, "record", "--strict", "--telemetry", "rapl", "--", "true", files={})
    equal(done.returncode, 1, "status with --strict")
    expect(b"--telemetry rapl does not work here" in done.stderr, done.stderr)


@case("words that make no sense are refused, with those that do")
def _():
    for words in ("nothing", "system=0", "system=60001", "system=x", "system=", "", "system,", "systemx", "all=-1"):
        refused(USAGE, "--telemetry takes NAME or NAME=MS.*names are system, ", "record", "--telemetry", words,
                "--", "true")  # fmt: skip


@case("doctor lists all sources, and which have anything here")
def _():
    files = dict(FILES, **{"/sys/class/drm/renderD128/dev": "226:128"})
    done = on_other_machine(AFLAME, "doctor", "--json", files=files)
    listed = {row["name"]: row for row in json.loads(done.stdout)["telemetry"]}
    equal({name for name, row in listed.items() if row["works"]} >= {"system", "rapl", "drm", "network", "lustre"}, True,
          "what works there: %s" % listed)  # fmt: skip
    expect("2 counters: energy of package-0" in listed["rapl"]["says"], listed["rapl"])
    text = aflame("doctor").stdout
    for name in listed:
        expect("--telemetry %s: " % name in text, "%s is not in doctor's text" % name)


run_cases()
