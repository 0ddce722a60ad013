#!/usr/bin/env python3
"""Arguments of traced calls, which plug-ins get by name, are those that `print --calls --json` has; and a plug-in that
was built with the first version of the header gives what it gave."""

import json
import os
import subprocess

from machine import AFLAME, BUILD, SOURCE, WORKPLACE, program
from plugin_work import compiled, document, plugin, refused, trace
from recording import new_path, record
from tap import case, equal, expect, note, run_cases

# aflame and a trace of an API that has every form of an argument (tests/mock_api).
MOCK = os.path.join(BUILD, "tests/golden/calls/aflame_mock_api")
MKCALLS = os.path.join(BUILD, "tests/golden/calls/mkcalls")
OLD = os.path.join(SOURCE, "tests/live/programs/pass_1_0")

# Answers lines of a file, "CALL NAME": the value that the call with that number has by that name. "?NAME" is what NAME
# points to, or NAME itself where the trace has no more of it.
ANSWERS = {
    "head": r"""static FILE *in; static char word[512]; static int at = -1, next = -1;
static void print(const struct af_pass_argument *a)
{
	switch (a->type) {
	case AF_PASS_TEXT:
		printf("text ");
		for (const char *c = a->text; *c; c++) printf(*c == '\n' ? "\\n" : "%c", *c);
		printf("\n"); break;
	case AF_PASS_REAL: printf("real %.17g\n", a->real); break;
	case AF_PASS_SIGNED: printf("number %lld %s\n", (long long)a->number, a->value_name ? a->value_name : ""); break;
	case AF_PASS_NUMBER: printf("number %llu %s\n", (unsigned long long)a->number, a->value_name ? a->value_name : ""); break;
	case AF_PASS_HEX: printf("hex %#llx\n", (unsigned long long)a->number); break;
	case AF_PASS_SEQ:
		printf("seq %u ", a->nr);
		for (uint32_t i = 0; i < a->nr * a->width; i++) printf("%02x", ((const unsigned char *)a->values)[i]);
		printf("\n"); break;
	default: printf("type %u\n", a->type);
	}
}
static void answer(const struct af_pass_host *h, const struct af_pass_event *ev)
{
	struct af_pass_argument a = {.size = sizeof a};
	if (*word == '?') {
		char pointee[512] = "*";
		strcat(pointee, word + 1);
		if (h->argument(h, ev, word + 1, &a)) { printf("none\n"); return; }
		if (a.target != AF_PASS_TARGET_NONE && a.number && !h->argument(h, ev, pointee, &a)) { print(&a); return; }
		memmove(word, word + 1, strlen(word));
	}
	if (h->argument(h, ev, word, &a)) printf("none\n"); else print(&a);
}
""",
    "begin": r"""in = argc ? fopen(argv[0], "r") : 0;
	if (!in) return h->fail(h, "no file");
	if (fscanf(in, "%d %511s", &next, word) != 2) next = -1;
	return h->want(h, 0);""",
    "event": r"""struct af_pass_call c = {.size = sizeof c};
	if (ev->kind < 0x1000 || h->call(h, ev, &c)) return;
	at++;
	while (next == at) {
		answer(h, ev);
		if (fscanf(in, "%d %511s", &next, word) != 2) next = -1;
	}""",
}


def paths(name, value, is_top):
    """[(name for argument(), what JSON has)]: leaves of a value of JSON."""
    if isinstance(value, dict) and set(value) == {"before", "after"}:
        return paths(name, value["after"], is_top) + [(n, v) for n, v in paths(name + "@before", value["before"], False)]
    if isinstance(value, dict) and all(isinstance(v, int) for v in value.values()) and not all(k.islower() for k in value):
        return [("%s[%d]" % (name, 2 * i + 1), v) for i, v in enumerate(value.values())]
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in paths("%s.%s" % (name, k), v, False)]
    if isinstance(value, list):
        return [leaf for i, v in enumerate(value) for leaf in paths("%s[%d]" % (name, i), v, False)]
    if name.endswith("@before"):
        name = "*" + name
    return [("?" + name if is_top else name, value)]


def same(got, expected):
    word, _, rest = got.partition(" ")
    if expected is None:
        return word == "hex" and int(rest, 16) == 0
    if word == "text":
        return rest == str(expected).replace("\n", "\\n")
    if word == "real":
        return float("%.9g" % float(rest)) == float(expected) or float(rest) == float(expected)
    if word == "hex":
        return int(rest, 16) == int(expected, 16)
    if word == "seq":
        return rest.split(" ")[1] == expected
    if word != "number":
        return False
    number, _, value_name = rest.partition(" ")
    if isinstance(expected, str) and len(expected) == 1 and not expected.isdigit():
        return int(number) == ord(expected)
    if isinstance(expected, str) and not expected.isdigit():
        return value_name == expected or (not value_name and ("|" in expected or expected.startswith("0x")) and int(number))
    return int(number) == int(expected)


def run_of(aflame, *words):
    return subprocess.run([aflame, *words], capture_output=True, text=True, check=False)


def calls_of(dir, aflame=AFLAME):
    """Those of functions whose arguments have names."""
    events = [json.loads(line) for line in run_of(aflame, "print", "--json", dir).stdout.splitlines()]
    return [e for e in events if isinstance(e["fields"].get("args"), dict) and e["kind"] != "call_open"]


def compare(dir, calls, aflame=AFLAME):
    """Each argument of each call, by name."""
    asked = []
    for i, call in enumerate(calls):
        fields = call["fields"]
        leaves = [leaf for name, value in fields["args"].items() for leaf in paths(name, value, True)]
        if isinstance(fields.get("result"), (str, int)):
            leaves.append(("return", fields["result"]))
        asked += [(i, call["kind"], name, value) for name, value in leaves]
    questions = new_path("questions")
    with open(questions, "w", encoding="utf-8") as f:
        f.writelines("%d %s\n" % (i, name) for i, _, name, _ in asked)
    done = run_of(aflame, "report", "--plugin", plugin("answers", **ANSWERS), questions, dir)
    equal(done.returncode, 0, "status (%s)" % done.stderr[-500:])
    lines = [line for line in done.stderr.splitlines() if line.split(" ")[0] in ("none", "text", "real", "number", "hex", "seq", "type")]
    equal(len(lines), len(asked), "answers")
    wrong = [(*question, line) for question, line in zip(asked, lines) if not same(line, question[3])]
    equal(wrong[:5], [], "answers that differ from print --json")
    return asked


@case("each argument of the mock API's calls has by its name the value that print --json has")
def _():
    dir = new_path("calls")
    subprocess.run([MKCALLS, dir], check=True)
    asked = compare(dir, calls_of(dir, MOCK), MOCK)
    names = [name for _, _, name, _ in asked]
    note("%d values of %d kinds of names" % (len(names), len(set(names))))
    for name in "config.size.x", "config.scale[1]", "grid[2]", "?string", "return", "?kernel":
        expect(name in names, "no %s among %s" % (name, sorted(set(names))))


@case("the same of a recorded program of OpenCL")
def _():
    run = record(program("cl_copies"), options=["--api", "opencl:full"])
    calls = calls_of(run.path)
    expect(len(calls) > 20, "%d calls" % len(calls))
    note("%d values of %d calls" % (len(compare(run.path, calls)), len(calls)))


@case("a pattern of functions gets their calls alone, with bytes and the number of their arguments")
def _():
    dir = new_path("calls")
    subprocess.run([MKCALLS, dir], check=True)
    own = [e for e in calls_of(dir, MOCK) if e["kind"] in ("mockAlloc", "mockCopy")]
    path = plugin("some", begin='int rc = h->want(h, "mock[AC]*[cy]"); return rc ? rc : h->kind_find(h, "mockCopy") < 0x1000;',
                  event=r"""struct af_pass_call c = {.size = sizeof c};
	struct af_pass_argument a = {.size = sizeof a};
	if (h->call(h, ev, &c) || !c.nr_arguments || h->argument_at(h, ev, 0, &a) || !h->argument_at(h, ev, c.nr_arguments, &a))
		h->fail(h, "arguments of %s", h->kind_name(h, ev->kind));
	if (!h->argument(h, ev, "nonsense", &a) || !h->argument(h, ev, "*count", &a) || !h->argument(h, ev, "", &a) ||
	    !h->argument(h, ev, "count[0]", &a) || !h->argument(h, ev, "count.x", &a) || !h->argument(h, ev, "mem@before", &a))
		h->fail(h, "an argument that there is not");
	printf("call %s %u %llu\n", c.function, c.has_bytes, (unsigned long long)c.bytes);""")
    done = run_of(MOCK, "report", "--plugin", path, dir)
    equal(done.returncode, 0, "status (%s)" % done.stderr)
    equal(sorted(line for line in done.stderr.splitlines() if line.startswith("call ")),
          sorted("call %s 1 %d" % (e["kind"], e["fields"]["bytes"]) for e in own), "calls and bytes")
    refused(plugin("no_function", begin='return h->want(h, "noSuch*");'), 'no kind of event, and no traced function, is called "noSuch')


@case("a plug-in that was built with the header of 1.0 gives what one of today's header gives")
def _():
    for name, source in ("kernels_by_grid", "kernels_by_grid.c"), ("launch_gaps", "launch_gaps.c"), ("cpu_by_thread", "cpu_by_thread.cc"):
        source = os.path.join(SOURCE, "examples/plugins", source)
        old, new = compiled(source, name + "_old", include=OLD), compiled(source, name + "_new")
        for of in "cuda", "mixed":
            equal(document("--plugin", old, trace(of)), document("--plugin", new, trace(of)), name + " of " + of)
    path = plugin("old", include=OLD, event="""struct { struct af_pass_call c; unsigned char behind[64]; } is;
	memset(&is, 0x5a, sizeof is);
	is.c.size = sizeof is.c;
	if (h->minor < 1 || h->call(h, ev, &is.c)) return;
	for (unsigned i = 0; i < sizeof is.behind; i++) if (is.behind[i] != 0x5a) h->fail(h, "it wrote behind the struct of 1.0");
	printf("%s\\n", is.c.function);""")
    dir = os.path.join(WORKPLACE, "calls_of_old")
    subprocess.run([MKCALLS, dir], check=True)
    done = run_of(MOCK, "report", "--json", "--plugin", path, dir)
    equal(json.loads(done.stdout)["tables"][0]["rows"], [{"n": 42}], "rows (%s)" % done.stderr)
    expect("mockCopy" in done.stderr.splitlines(), done.stderr)


run_cases()
