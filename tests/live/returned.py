"""Times of calls of any function, held against what the program returns measured itself."""

import collections
import json
import re

from recording import must
from tap import equal, expect

Truth = collections.namedtuple("Truth", "calls returned inside_ns outside_ns")


def truths(run):
    lines = re.findall(r"truth (\w+) (\d+) (\d+) (\d+) (\d+)", run.stdout.decode())
    return {name: Truth(*map(int, numbers)) for name, *numbers in lines}


def table(run):
    """{function: row}, of all processes together."""
    tables = json.loads(must("report", "functions_called", "--json", "--limit", "0", run.path))["tables"]
    rows = {}
    for row in (row for t in tables for row in t["rows"]):
        was = rows.setdefault(row["function"], dict(row, calls=0, timed=0, time_ns=0))
        for key in ("calls", "timed", "time_ns"):
            was[key] += row[key] or 0
    return rows


def holds(run, *functions):
    """Calls and returns as the program counts them; times between those that it takes inside and outside."""
    truth, rows = truths(run), table(run)
    for function in functions:
        want, row = truth[function], rows[function]
        equal(row["calls"], want.calls, "calls of " + function)
        equal(row["timed"], want.returned, "calls of %s that returned" % function)
        within = want.inside_ns <= row["time_ns"] <= want.outside_ns
        expect(within, "%s took %d ns, and by itself %s" % (function, row["time_ns"], want))
