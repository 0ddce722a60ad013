"""The CUDA work of one trace, read as a stream from `aflame print --json` and joined by hand: calls
with their stacks, work with its calls, nodes of graphs with who captured them. None of its own
analyses is used: this checks the recorder alone."""

import bisect

KINDS = (
    "process thread function call call_long gpu_work gpu_work_long graph_node launch_config descriptor "
    "kernel queue callpath stack py_stack py_code string symbol lost memory clock"
).split()

LAUNCHES = ("LAUNCH", "GRAPH_LAUNCH")
BORDER = 0xFFFFFFFF


class Stack:
    """A native stack or a Python stack; ids are looked up as it is defined."""

    __slots__ = ("process", "stop", "epoch", "pcs")

    def __init__(self, process, stop, epoch, pcs):
        self.process, self.stop, self.epoch, self.pcs = process, stop, epoch, pcs


class Path:
    """A call path: its native and its Python stack, None where there is none."""

    __slots__ = ("native", "python", "_names")

    def __init__(self, native, python):
        self.native, self.python, self._names = native, python, None


class Call:
    __slots__ = ("process", "tid", "function", "category", "path", "end", "duration", "status", "works")

    def begin(self):
        return self.end - self.duration


class Work:
    __slots__ = ("process", "correlation", "descriptor", "node", "start", "busy", "call")


class Trace:
    def __init__(self, machine, path):
        self.path = path
        self.calls = {}  # (process, correlation) → Call
        self.works, self.lost, self.memory, self.processes = [], [], [], {}
        self.repeated = 0
        self._functions, self._kernels, self._queues, self._codes = {}, {}, {}, {}
        self._nodes, self._clocks, self._parents = {}, {}, {}
        self._stacks, self._py_stacks, self._paths, self._descriptors = {}, {}, {}, {}
        self._strings, self._symbols = {}, {}
        for event in machine.json_lines(path, KINDS):
            getattr(self, "_on_" + event["kind"])(event, event["fields"])
        for work in self.works:
            work.call = self.calls.get((work.process, work.correlation))
            if work.call:
                work.call.works += 1

    # ---- events, in the order of the trace

    def _on_process(self, event, f):
        self.processes[event["process"]] = f["pid"]
        self._parents[event["process"]] = f["parent"]

    def _on_thread(self, event, f):
        pass

    def _on_lost(self, event, f):
        self.lost.append((f["reason"], f["count"]))

    def _on_clock(self, event, f):
        if f["clock"] == "DEVICE":
            key = event["process"], f["device"]
            pair = f["foreign"], f["mono_ns"], f["uncertainty_ns"]
            self._clocks.setdefault(key, []).append(pair)

    def _on_function(self, event, f):
        self._functions[event["process"], f["function"]] = (f["name"], f["category"])

    def _on_kernel(self, event, f):
        self._kernels[event["process"], f["kernel"]] = f["name"]

    def _on_queue(self, event, f):
        self._queues[event["process"], f["queue"]] = f

    def _on_py_code(self, event, f):
        self._codes[event["process"], f["code"]] = f["name"]

    def _on_stack(self, event, f):
        key = event["stream"], f["stack"]
        self._stacks[key] = Stack(event["process"], f["stop"], f["epoch"], f["pcs"])

    def _on_py_stack(self, event, f):
        key = event["stream"], f["py_stack"]
        self._py_stacks[key] = Stack(event["process"], f["stop"], 0, f["frames"])

    def _on_callpath(self, event, f):
        stream = event["stream"]
        native = self._stacks.get((stream, f["stack"]))
        self._paths[stream, f["callpath"]] = Path(
            native, self._py_stacks.get((stream, f["py_stack"]))
        )

    def _on_string(self, event, f):
        self._strings[event["stream"], f["string"]] = f["text"]

    def _on_symbol(self, event, f):
        names = [self._strings.get((event["stream"], s), "") for s in f["frames"][::3]]
        key = f["process"], f["address"]
        self._symbols.setdefault(key, []).append((f["epoch"], names))

    def _on_descriptor(self, event, f):
        process = event["process"]
        f["name"] = self._of(self._kernels, process, f["kernel"], "")
        f["queue_key"] = (process, f["queue"])
        self._descriptors[event["stream"], f["descriptor"]] = f

    def _on_launch_config(self, event, f):
        descriptor = self._descriptors.get((event["stream"], f["descriptor"]))
        if descriptor is not None:
            descriptor["config"] = f

    def _on_call(self, event, f):
        call = Call()
        call.process, call.tid, call.end = event["process"], event["tid"], event["time_ns"]
        call.function, call.category = self._of(
            self._functions, call.process, f["function"], ("?", "?")
        )
        call.path = self._paths.get((event["stream"], f["callpath"])) if f["callpath"] else None
        call.duration, call.status, call.works = f["duration_ns"], f.get("status", 0), 0
        key = call.process, f["correlation"]
        self.repeated += key in self.calls
        self.calls[key] = call

    _on_call_long = _on_call

    def _on_gpu_work(self, event, f):
        work = Work()
        work.process, work.correlation = event["process"], f["correlation"]
        work.descriptor = self._descriptors.get((event["stream"], f["descriptor"]), {"op": "?", "name": "?"})
        work.node, work.start, work.call = f["node"], f["start_ns"], None
        if "busy_ns" in f:
            work.busy = f["busy_ns"]
        else:
            work.busy = (f["end_ns"] or 0) - (f["start_ns"] or 0)
        self.works.append(work)

    _on_gpu_work_long = _on_gpu_work

    def _on_graph_node(self, event, f):
        path = self._paths.get((event["stream"], f["callpath"])) if f["callpath"] else None
        versions = self._nodes.setdefault((event["process"], f["node"]), [])
        versions.append((event["time_ns"], f["original"], path))

    def _on_memory(self, event, f):
        self.memory.append(f)

    def _of(self, table, process, number, unknown):
        """What a process knows by a number: itself, or from whom it was forked."""
        while process and (process, number) not in table:
            process = self._parents.get(process, 0)
        return table.get((process, number), unknown)

    # ---- questions

    def launches(self):
        return [c for c in self.calls.values() if c.category in LAUNCHES]

    def kernels(self):
        return [w for w in self.works if w.descriptor["op"] == "KERNEL"]

    def queue_of(self, work):
        return self._queues.get(work.descriptor.get("queue_key"), {})

    def names(self, path):
        """The functions of a call path, native and Python, as a set."""
        if path is None:
            return frozenset()
        if path._names is None:
            path._names = frozenset(self._native(path.native)) | frozenset(
                self._python(path.python)
            )
        return path._names

    def _native(self, stack):
        if stack is None:
            return
        for pc in stack.pcs:
            versions = self._symbols.get((stack.process, pc), ())
            # The newest version of at most the stack's epoch, or the first there is.
            fitting = [n for g, n in versions if g <= stack.epoch] or [
                n for _, n in versions[:1]
            ]
            if fitting:
                yield from fitting[-1]

    def _python(self, stack):
        if stack is None:
            return
        for frame in stack.pcs:
            code = int(frame, 16) >> 32
            if code != BORDER:
                yield self._of(self._codes, stack.process, code, "?")

    def captured(self, work):
        """Who captured the node of this work, as of its launch; None when not known."""
        node, seen = work.node, 0
        when = work.call.end if work.call else None
        while node and seen < 16:
            versions = self._nodes.get((work.process, node), [])
            if not versions:
                return None
            at = len(versions) - 1
            if when is not None:
                at = max(bisect.bisect_right([v[0] for v in versions], when) - 1, 0)
            _, original, path = versions[at]
            if path is not None:
                return path
            node, seen = original, seen + 1
        return None

    def started(self, work):
        """When the work started, on the trace's clock; None without a stamp."""
        if not work.start:
            return None
        if work.call and abs(work.start - work.call.end) < 10**15:
            return work.start
        queue = self.queue_of(work)
        pairs = self._clocks.get((work.process, queue.get("device")))
        if not pairs:
            return None
        # Clocks drift by less than a thousandth, so a good pair far away may be the better one.
        foreign, mono, _ = min(pairs, key=lambda p: p[2] + abs(p[0] - work.start) // 1000)
        return work.start - foreign + mono
