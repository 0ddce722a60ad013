"""Plug-ins that tests compile, and what they give of traces."""

import functools
import json
import os
import re
import shutil
import subprocess

from machine import AFLAME, BUILD, SOURCE, WORKPLACE
from recording import FAILED, aflame, must, new_path
from tap import Skip, equal, expect

EXAMPLES = os.path.join(BUILD, "examples/plugins")
INCLUDE = os.path.join(SOURCE, "include")
MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")


def sanitized():
    with open(AFLAME, "rb") as f:
        return b"__asan_init" in f.read()


@functools.lru_cache(maxsize=None)
def trace(name):
    to = new_path(name)
    subprocess.run([MKTRACE, os.path.join(SOURCE, "tests/golden/analyse/%s.trace" % name), to], check=True)
    return to


def example(name):
    path = os.path.join(EXAMPLES, name + ".so")
    expect(os.path.exists(path), "%s was not built" % path)
    return path


def compiled(source, name, *flags, include=INCLUDE):
    plus = source.endswith(".cc")
    compiler = os.environ.get("CXX" if plus else "CC", "c++" if plus else "cc").split()
    if not shutil.which(compiler[0]):
        raise Skip("no %s" % compiler[0])
    to = os.path.join(WORKPLACE, name + ".so")
    done = subprocess.run([*compiler, "-I", include, "-shared", "-fPIC", *flags, source, "-o", to],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), "what the compiler says of " + name)
    return to


BODIES = {"begin": "return h->want(h, 0);", "event": "", "sample": "", "work": "", "finish": "return ok(h);"}


def plugin(name, head="", descriptor="sizeof(struct af_pass_descriptor), AF_PASS_MAJOR, AF_PASS_MINOR", include=INCLUDE, **bodies):
    """A plug-in with these bodies of callbacks; it gives one table with a row, unless its finish() says otherwise."""
    body = {**BODIES, **bodies}
    text = """#include <aflame/pass.h>
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const struct af_pass_column column = {"n", "N", AF_PASS_UNIT_COUNT, 0, 0, 0, {0, 0}};
static int ok(const struct af_pass_host *h)
{
	const struct af_pass_cell cell = {0, 42, 0, 0};
	return h->row(h, h->table(h, "answers", "Answers", &column, 1), &cell, 1);
}
static volatile int *const null = 0;
%s
static int begin(const struct af_pass_host *h, int argc, char **argv, void **state) { %s }
static void event(const struct af_pass_host *h, void *state, const struct af_pass_event *ev) { %s }
static void sample(const struct af_pass_host *h, void *state, const struct af_pass_sample *s) { %s }
static void work(const struct af_pass_host *h, void *state, const struct af_pass_work *w) { %s }
static int finish(const struct af_pass_host *h, void *state) { (void)ok; (void)null; %s }
AF_PASS_DESCRIPTOR = {%s, "test", "a test", begin, event, sample, work, finish};
""" % (head, *(body[c] for c in BODIES), descriptor)
    source = os.path.join(WORKPLACE, name + ".c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    return compiled(source, name, include=include)


def report(*words, **how):
    return aflame("report", *words, **how)


def document(*words):
    return json.loads(must("report", "--json", "-n", 0, *words))


def tables(*words):
    return {t["name"]: t["rows"] for t in document(*words)["tables"]}


def refused(path, pattern, *words, of="mixed", status=FAILED):
    """Its run fails with this message, which names it, and with nothing on standard output."""
    done = report(*words, "--plugin", path, trace(of))
    equal((done.returncode, done.stdout), (status, ""), "status and output (%s)" % done.stderr)
    expect(path in done.stderr and re.search(pattern, done.stderr), "%r is not in %s" % (pattern, done.stderr))
    return done
