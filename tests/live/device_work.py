"""Device work as a trace tells it: each piece with its descriptor, its launch, its times."""

import hashlib
import os

from tap import equal, expect


class Work:
    """One piece of device work: its descriptor, its launch, its times on the trace's clock."""

    def __init__(self, event, descriptor, launch):
        f = event["fields"]
        self.op, self.queue, self.kernel = descriptor["op"], descriptor["queue"], descriptor["kernel"]
        self.descriptor, self.launch = descriptor, launch
        self.status = f.get("status", 0)
        self.delivered = event["time_ns"]
        self.queued, self.submit, self.start, self.end = (
            f[k + "_ns"] for k in ("queued", "submit", "start", "end")
        )
        self.stamped = self.queued is not None


def works(run):
    """All device work of a recording, in the order of the trace."""
    launches = {(e["process"], e["fields"]["correlation"]): e for e in run.events("launch")}
    descriptors = {(e["stream"], e["fields"]["descriptor"]): e["fields"] for e in run.events("descriptor")}
    events = sorted(run.events("work") + run.events("work_long"), key=lambda e: e["time_ns"])
    return [
        Work(
            e,
            descriptors[e["stream"], e["fields"]["descriptor"]],
            launches.get((e["process"], e["fields"]["correlation"])),
        )
        for e in events
    ]


def kernel_names(run):
    return {e["fields"]["kernel"]: e["fields"]["name"] for e in run.events("kernel")}


def check_work(run):
    """What is true of every trace with device work."""
    launches = [(e["process"], e["fields"]["correlation"]) for e in run.events("launch")]
    equal(len(launches), len(set(launches)), "distinct correlations")
    done = [
        (e["process"], e["fields"]["correlation"])
        for e in run.events("work") + run.events("work_long")
    ]
    equal(len(done), len(set(done)), "distinct correlations of work")
    equal(set(done) - set(launches), set(), "work without a launch")
    first = min(e["time_ns"] for e in run.events("note"))
    last = max(e["time_ns"] for e in run.events("note"))
    slack = 1000000  # the driver's clock and ours are read one after the other
    for work in works(run):
        if not work.stamped:
            expect(work.status < 0, "no times, but no error either")
            continue
        expect(
            work.queued <= work.submit <= work.start <= work.end,
            "times out of order: %s" % vars(work),
        )
        expect(
            first - slack <= work.queued and work.end <= last + slack,
            "work outside of the run: %s" % vars(work),
        )
        after = work.queued - work.launch["time_ns"]
        expect(-slack <= after < 250 * slack, "queued %d ns after its call" % after)
        before = work.delivered - work.end
        expect(before >= -slack, "work ends %d ns after it was reported" % -before)


def check_complete(run):
    equal(
        len(run.events("work")) + len(run.events("work_long")),
        len(run.events("launch")),
        "work for launches",
    )
    equal([e["fields"] for e in run.events("lost")], [], "losses")


def check_objects(run):
    """objects/ holds what the PROGRAM events name, under its own SHA-256, and nothing else."""
    named = set()
    for p in run.fields("program"):
        expect(p["object"], "an object that was not kept: %s" % p)
        with open(os.path.join(run.path, "objects", p["object"]), "rb") as file:
            data = file.read()
        equal(len(data), p["size"], "size of %s" % p["object"])
        equal(hashlib.sha256(data).hexdigest(), p["object"], "SHA-256")
        named.add(p["object"])
    equal(set(os.listdir(os.path.join(run.path, "objects"))), named, "files in objects/")
    return named
