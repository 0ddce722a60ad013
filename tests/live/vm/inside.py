"""
In the guest: loads the modules, then takes the steps that its arguments name, and writes what they found to
$OUT/results.json: {step: {…}}; a step that broke has "broke".

    python3 inside.py BUILD STEP…
"""

import glob
import json
import os
import shutil
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


FEED = """
cat $OUT/rows.1 >$GT/rows; sleep 0.4
echo drop >$GT/event; cat $OUT/rows.2 >$GT/rows; sleep 0.4
echo reset >$GT/event; sleep 1.5
cat $OUT/rows.3 >$GT/rows; sleep 0.4
"""


def stalls_doctor(*before):
    """What doctor has to say of the stalls' collector, run below the words @before."""
    done = run(*before, AFLAME, "doctor", "--json")
    (one,) = [c for c in json.loads(done["out"])["collectors"] if c["name"] == "xe-eustall"]
    return [one["works"], one["says"]]


def step_stalls():
    """Rows that wait, rows after some were dropped, and rows after a reset; and who may have them."""
    card = cards()[0]
    env = dict(os.environ, GT="%s/%s/gt0" % (STANDIN, card))
    words = ("record", "-q", "-o", "/run/stalls", "--sample", "none", "--gpu-samples", "--", "sh", "-c", FEED)
    found = {"before": state(card, 0), "recorder": run(AFLAME, *words, env=env), "after": state(card, 0)}
    shutil.copytree("/run/stalls", OUT + "/stalls")
    other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    found["doctors"] = [stalls_doctor(), stalls_doctor(*other)]
    for one in cards():
        os.chmod(node(one), 0o666)
    found["doctors"].append(stalls_doctor(*other))
    with open("/proc/sys/dev/xe/observation_paranoid", "w", encoding="ascii") as file:
        file.write("0")
    found["doctors"].append(stalls_doctor(*other))
    return found


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
