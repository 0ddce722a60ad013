#!/usr/bin/env python3
"""--from, --to, --focus, --hide and --search choose what a plug-in gets: the trees that it makes of that are those that
aflame's own views have with the same options."""

import json
import os
import subprocess

from machine import BUILD
from plugin_work import document, plugin, refused, report, tables, trace
from recording import aflame, must, new_path
from tap import case, equal, expect, run_cases


def flames():
    """With the word cpu the tree of samples, else that of work: CPU time, device time, and counts."""
    return plugin("flames", head="static int cpu, gpu;", begin="""static const struct af_pass_weight w[] = {{"time", "ns"}, {"count", "count"}};
	cpu = argc ? h->tree(h, "cpu", "CPU", w, 2) : 0;
	gpu = argc ? 0 : h->tree(h, "gpu", "GPU", w, 2);
	return 0;""", sample="""if (!cpu) return;
	uint32_t at = h->tree_stack(h, cpu, 0, s->stack);
	h->tree_add(h, cpu, at, 0, s->weight_ns);
	h->tree_add(h, cpu, at, 1, !s->is_rest);""",
                  work="""if (!gpu || !w->busy_ns || !*w->op) return;
	uint32_t at = h->tree_child(h, gpu, h->tree_stack(h, gpu, 0, w->stack), w->name, AF_PASS_FRAME_GPU);
	h->tree_add(h, gpu, at, 0, w->busy_ns);
	h->tree_add(h, gpu, at, 1, !w->is_rest);""",
                  finish="return 0;")


def folded(*words):
    out = new_path("flames") + ".folded"
    must("report", *words[:-1], "-o", out, words[-1])
    with open(out, encoding="utf-8") as f:
        return sorted(f.read().splitlines())


@case("trees of stacks, of samples and of work, are the flame graphs of the trace")
def _():
    for name, view in ("mixed", "cpu"), ("kernel", "cpu"), ("family", "cpu"), ("mixed", "gpu"), ("cuda", "gpu"), ("twice", "gpu"), ("ranges", "gpu"):
        got = folded("--plugin", flames(), *(["cpu"] if view == "cpu" else []), trace(name))
        equal(got, sorted(must("flame", "--view", view, "-w", "time", trace(name)).splitlines()), "%s of %s" % (view, name))
        expect(got, "nothing in %s" % name)


WINDOWS = {"mixed": "62ns", "cuda": "2000ns", "kernel": "39ns"}


def total(*words):
    (tree,) = [t["rows"] for t in document(*words)["tables"] if t["name"] in ("cpu", "gpu", "tree")]
    return sum(row["self"] for row in tree)


@case("in a time window the trees are the flame graphs of that window, and windows side by side have each count once")
def _():
    for name, view in ("mixed", "cpu"), ("kernel", "cpu"), ("cuda", "gpu"):
        word = ["cpu"] if view == "cpu" else []
        middle, parts = WINDOWS[name], 0
        sums = {"time": 0, "count": 0}
        for window in ("--to", middle), ("--from", middle):
            done = aflame("flame", "--view", view, "-w", "time", *window, trace(name))
            if "has no data" not in done.stderr:
                equal(done.returncode, 0, "flame of %s (%s)" % (window, done.stderr))
                equal(folded(*window, "--plugin", flames(), *word, trace(name)), sorted(done.stdout.splitlines()), "%s of %s, %s" % (view, name, window))
                parts += bool(done.stdout)
            for weight in sums:
                sums[weight] += total(*window, "-w", weight, "--plugin", flames(), *word, trace(name))
        equal(sums, {w: total("-w", w, "--plugin", flames(), *word, trace(name)) for w in sums}, "both windows of %s, %s" % (name, view))
        equal(parts, 2, "windows with something in them, %s of %s" % (view, name))


def sums(rows):
    """By frame and depth: where --hide hides a kernel, a plug-in gets its caller, which it takes for a kernel's frame."""
    by = {}
    for row in rows:
        one = by.setdefault((row["frame"], row["depth"]), [0, 0])
        one[0] += row["total"]
        one[1] += row["self"]
    return by


@case("--focus, --hide and --search leave what they leave of `report tree`")
def _():
    for name, view, pattern in ("mixed", "cpu", "main"), ("mixed", "gpu", "main"), ("cuda", "gpu", "gemm"), ("cuda", "gpu", "cudaLaunch"):
        word = ["cpu"] if view == "cpu" else []
        for words in (("--focus", pattern), ("--hide", pattern), ("--search", pattern), ("--focus", "a", "--hide", pattern), ("--hide", pattern, "--hide", "^cu", "--search", "a")):
            own = aflame("report", "tree", "--json", "-n", 0, "--view", view, *words, trace(name))
            done = aflame("report", "--json", "-n", 0, *words, "--plugin", flames(), *word, trace(name))
            rows = [r for r in json.loads(done.stdout)["tables"][0]["rows"] if r["total"]] if done.returncode == 0 else []
            if own.returncode:
                expect("no stack matches" in own.stderr and not rows, "%s of %s: %s" % (words, name, own.stderr))
                continue
            equal(done.returncode, 0, "status (%s)" % done.stderr)
            equal(sums(rows), sums(json.loads(own.stdout)["tables"][0]["rows"]), "%s of %s, %s" % (view, name, words))


@case("calls are in the window that they reach into, and --search leaves those with such a stack")
def _():
    path = plugin("calls", begin='return h->want(h, "call") | h->want(h, "call_long");', event="""struct af_pass_call c = {.size = sizeof c};
	struct af_pass_trace t = {.size = sizeof t};
	h->trace(h, &t);
	if (h->call(h, ev, &c)) h->fail(h, "no call");
	else printf("call %s %llu %llu %u\\n", c.function, (unsigned long long)(c.start_ns - t.start_ns), (unsigned long long)(c.end_ns - t.start_ns), c.is_rest);""")

    def calls(*words):
        done = report("--plugin", path, *words, trace("cuda"))
        equal(done.returncode, 0, "status (%s)" % done.stderr)
        return [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("call ")]
    everything = calls()
    longest = max(everything, key=lambda c: int(c[2]) - int(c[1]))
    middle = "%dns" % ((int(longest[1]) + int(longest[2])) // 2)
    first, second = calls("--to", middle), calls("--from", middle)
    equal(sum(c[3] == "0" for c in first + second), len(everything), "calls of both windows that are no rest")
    equal(sum(int(c[2]) - int(c[1]) for c in first + second), sum(int(c[2]) - int(c[1]) for c in everything), "their time")
    equal(len(first) + len(second) > len(everything), True, "a call is in both windows")
    some = calls("--search", "memcpy")
    expect(some and all("emcpy" in c[0] for c in some) and len(some) < len(everything), "calls with memcpy: %s" % some)


@case("what cannot be chosen is refused with the reason")
def _():
    refused(plugin("all"), "--focus, --hide and --search choose stacks.*this one takes all events", "--search", "main")
    refused(plugin("ranges", begin='return h->want(h, "range");'), "choose stacks.*this one takes range", "--hide", "main")
    expect(tables("--search", "nothing at all", "--plugin", plugin("few", begin="return 0;"), trace("mixed"))["answers"], "without event(), it runs")
    for words, pattern in (("--from", "2us", "--to", "1us"), "--to is not after --from"), (("--by", "rank"), "--by is not for plug-ins"):
        done = report(*words, "--plugin", plugin("few2", begin="return 0;"), trace("mixed"))
        expect(done.returncode and not done.stdout and pattern in done.stderr, done.stderr)


@case("in a folder of ranks a window is one of the set's times")
def _():
    out = new_path("set")
    subprocess.run([os.path.join(BUILD, "tests/bench/gen_set"), out, "--ranks", "3", "--hosts", "1", "--bytes", "200000"], capture_output=True, check=True)
    whole = total("--plugin", flames(), "cpu", out)
    halves = [total(*window, "--plugin", flames(), "cpu", out) for window in (("--to", "600ms"), ("--from", "600ms"))]
    equal(sum(halves), whole, "CPU time of both windows")
    expect(all(halves), "CPU time of the windows: %s" % halves)
    own = total("tree", "--view", "cpu", "-w", "time", "--to", "600ms", out)
    equal(halves[0], own, "of the first, as `report tree` has it")


run_cases()
