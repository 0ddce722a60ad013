"""What is true of every trace with CUDA work, whoever made it."""

# Losses of CPU samples: nothing of a device's.
OF_SAMPLES = ("BUSY", "THROTTLED", "NO_JOIN", "DEBUGGER", "FORBIDDEN", "KERNEL_RING")
MOSTLY = 0.99
SLACK_NS = 1000000


def percent(part, whole):
    return "%d of %d (%.2f %%)" % (part, whole, 100 * part / whole if whole else 0)


def has_stack(call):
    return bool(call.path and call.path.native and call.path.native.pcs)


def is_complete(call):
    python = call.path.python if call.path else None
    return (
        has_stack(call)
        and call.path.native.stop == "COMPLETE"
        and (python is None or python.stop == "COMPLETE")
    )


def check_launches(table, name, launches):
    """All have their stack, and it goes to where the thread starts."""
    with_stack = sum(map(has_stack, launches))
    table.fact(
        name + ": every launch has its stack",
        launches and with_stack == len(launches),
        "all, and at least one",
        percent(with_stack, len(launches)),
    )
    complete = sum(map(is_complete, launches))
    stops = {c.path.native.stop for c in launches if has_stack(c)} - {"COMPLETE"}
    table.fact(
        name + ": stacks are complete to the thread's start",
        launches and complete >= MOSTLY * len(launches),
        "99 % of them at least",
        percent(complete, len(launches)) + (", others end %s" % sorted(stops) if stops else ""),
    )


def check_kernels(table, name, kernels):
    joined = sum(w.call is not None for w in kernels)
    orphans = sorted({w.descriptor["name"] for w in kernels if w.call is None})[:3]
    table.fact(
        name + ": every kernel has its launch",
        kernels and joined == len(kernels),
        "all, and at least one",
        percent(joined, len(kernels)) + (", not %s …" % orphans if orphans else ""),
    )


def check_captured(table, name, trace, kernels):
    """Kernels of graphs lead back to who captured them."""
    of_graphs = [w for w in kernels if w.node]
    found = sum(trace.captured(w) is not None for w in of_graphs)
    table.fact(
        name + ": every kernel of a graph has the stack that captured it",
        of_graphs and found == len(of_graphs),
        "all, and at least one",
        percent(found, len(of_graphs)),
    )


def has_python(call):
    return bool(call.path and call.path.python and call.path.python.pcs)


def runs_python(trace, call):
    """The interpreter is on the stack. (PyTorch's backward threads launch without it.)"""
    names = trace.names(call.path)
    return has_python(call) or any(n.startswith("_PyEval_EvalFrame") for n in names)


def check_python(table, name, trace, launches):
    theirs = [c for c in launches if runs_python(trace, c)]
    with_frames = sum(map(has_python, theirs))
    table.fact(
        name + ": launches with the interpreter on their stack have Python frames",
        theirs and with_frames >= MOSTLY * len(theirs),
        "99 % of them at least",
        percent(with_frames, len(theirs)) + ", %d without it" % (len(launches) - len(theirs)),
    )


def check_trace(table, name, trace):
    lost = [(reason, count) for reason, count in trace.lost if reason not in OF_SAMPLES]
    table.fact(name + ": nothing is lost", not lost, "no LOST", lost or True)
    table.fact(
        name + ": no two calls have the same correlation",
        trace.repeated == 0,
        "none",
        trace.repeated or True,
    )
    ahead = [_ahead_ns(trace, w) for w in trace.works]
    stamped = [ns for ns in ahead if ns is not None]
    early = [ns for ns in stamped if ns > SLACK_NS]
    worst = ", by %.3f ms at most" % (max(early) / 1e6) if early else ""
    table.fact(
        name + ": no work starts before its call begins",
        not early and (stamped or not trace.works),
        "none, and stamps",
        "%d of %d with stamps%s" % (len(early), len(stamped), worst),
    )


def _ahead_ns(trace, work):
    """How long before its call it began; None where there is no stamp or no call."""
    start = trace.started(work)
    return work.call.begin() - start if start is not None and work.call else None


def check_device_time(table, machine, name, trace):
    """`aflame flame` has all of it. Returns its text."""
    folded = machine.output("flame", "--view", "gpu", trace.path)
    shown = sum(float(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    busy = sum(w.busy for w in trace.works if w.start)
    table.fact(
        name + ": the flame graph has all device time",
        busy and abs(shown / busy - 1) <= 0.001,
        "%.3f ms" % (busy / 1e6),
        "%.3f ms" % (shown / 1e6),
    )
    return folded
