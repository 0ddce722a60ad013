#!/usr/bin/env python3
"""tests/columns, on lines that are right and wrong.

    test_columns.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, run_cases


def refused(line):
    """What the script says of a tree of this line, without the plan and the verdict."""
    with tempfile.TemporaryDirectory(prefix="aflame-columns-") as root:
        os.mkdir(os.path.join(root, "src"))
        with open(os.path.join(root, "src", "a.c"), "w", encoding="utf-8") as to:
            to.write("\n%s\n" % line)
        done = subprocess.run([os.path.join(HERE, "columns"), root], stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()[2:]
    equal(done.returncode, 1 if lines else 0, "status")
    return lines


@case("keys are fine")
def _():
    for line in ('row->time_ns.value = 3;', 'int c = af_table_column(t, "time_ns");', 'x = names[3].len;',
                 '{"Rest", AF_CELL_PERCENT, AF_SHOW_USED, .key = "rest"};', 'C(time_ns, "Time", AF_CELL_NS)'):
        equal(refused(line), [], line)


@case("numbers, titles and columns without a key are not")
def _():
    for line in ('c[3].text = "";', 'row[0].value++;', 'af_table_column(t, "At most");', 'af_table_column(t, "Time");',
                 'if (!strcmp(t->columns[c].title, "x"))', 'columns[] = {{"Time", AF_CELL_NS}};'):
        equal(refused(line), ["# src/a.c:2:" + line], line)


run_cases()
