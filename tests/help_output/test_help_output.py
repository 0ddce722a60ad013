#!/usr/bin/env python3
"""The tables of commands in their other forms: the man page, and completions, which are tried in
real shells.

    test_help_output.py BUILD [WORDS]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../live"))

from shells import Bash, Fish, Zsh
from tap import Skip, case, equal, expect, run_cases

BUILD = os.path.abspath(sys.argv[1])
AFLAME = os.path.join(BUILD, "src/cmd/aflame")
FORMS = os.path.join(BUILD, "src/cmd/help_output")
SHELLS = {"bash": (Bash, "aflame"), "zsh": (Zsh, "_aflame"), "fish": (Fish, "aflame.fish")}

_home = tempfile.TemporaryDirectory(prefix="aflame-forms-")
HOME = _home.name


def aflame(*words):
    return subprocess.run(
        [AFLAME, *words], stdout=subprocess.PIPE, universal_newlines=True, check=True
    ).stdout


def commands():
    listed = aflame("help").split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def options(command):
    """(letter or None, name, how its value follows: "", " VALUE", "[=VALUE]") of each."""
    for line in aflame("help", command).splitlines():
        m = re.match(r"  (?:-(.), |    )--([a-z0-9-]+)( \S+|\[=\S+\])?(?:  |$)", line)
        if m:
            yield m.group(1), m.group(2), m.group(3) or ""


def choices(command, name):
    """What --help shows as one|two behind the option."""
    text = " ".join(aflame("help", command).split())
    return re.search(r"--%s [A-Z]+ .*?([a-z]+(?:\|[a-z]+)+)" % name, text).group(1).split("|")


def man_page():
    with open(os.path.join(FORMS, "aflame.1"), encoding="utf-8") as f:
        return f.read()


@case("the man page has every command and every option, with its letter and its value")
def _():
    sections = dict(re.findall(r"^\.Ss aflame (\S+)\n(.*?)(?=^\.S[sh])", man_page(), re.M | re.S))
    equal(list(sections), commands(), "the sections")
    nr = 0
    for command, text in sections.items():
        rows = text.replace("\\-", "-").replace("\\&", "").splitlines()
        for letter, name, value in options(command):
            if name == "help":
                continue
            row = ".It%s Fl -%s%s" % (
                " Fl %s ," % letter if letter else "",
                name,
                re.sub(r"^\[=(.*)\]", r" Ns Oo = Ns Ar \1 Oc", re.sub(r"^ ", " Ar ", value)),
            )
            expect(row in rows, "%s: no row %r" % (command, row))
            nr += 1
    expect(nr > 40, "only %d options were looked for" % nr)


@case("mandoc has nothing to warn of")
def _():
    if not shutil.which("mandoc"):
        raise Skip("no mandoc here")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", os.path.join(FORMS, "aflame.1")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        check=False,
    )
    # Whether what SEE ALSO names is installed here is another question.
    reported = [line for line in done.stdout.splitlines() if "mandoc.db" not in line]
    equal(reported, [], "what mandoc says")


@case("groff has nothing to warn of, and shows no macro as text")
def _():
    if not shutil.which("man") or not shutil.which("groff"):
        raise Skip("no man and groff here")
    done = subprocess.run(
        ["man", "--warnings", "-P", "cat", "-l", os.path.join(FORMS, "aflame.1")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
        check=False,
    )
    equal((done.returncode, done.stderr), (0, ""), "status and words")
    words = "summary | findings | coverage | ranks | top | flat | tree | callers | callees | gaps | stalls | counters | kernel-counters | energy | annotate | diff | TABLE"
    expect("aflame report [%s]" % words in " ".join(done.stdout.split()), done.stdout)
    expect(not re.search(r"^ *\.[A-Z][a-z] |@[A-Z]+@|\\[-&]", done.stdout, re.M), "a macro shows")


def place():
    """Two traces, another directory, a file."""
    for name in ("aflame.data", "second run", "elsewhere/deeper"):
        os.makedirs(os.path.join(HOME, name), exist_ok=True)
    for name in ("aflame.data/metadata", "second run/metadata", "stacks.folded"):
        with open(os.path.join(HOME, name), "w", encoding="utf-8"):
            pass


def holds(got, wanted, line):
    missing = sorted(set(wanted) - set(got))
    expect(not missing, "%r: no %s in %s" % (line, missing, got))


def answers(shell, script):
    """What each of them must answer."""
    with shell(os.path.join(FORMS, script), HOME) as s:
        line = "aflame "
        holds(s.complete(line), commands(), line)
        equal(s.complete("aflame rep"), ["report"], "aflame rep")
        nr = 0
        for command in commands():
            line = "aflame %s --" % command
            names = ["--" + name for _, name, _ in options(command)]
            got = [word.rstrip("=") for word in s.complete(line)]
            equal(sorted(set(got) - {"--"}), sorted(names), line)
            nr += len(names)
        expect(nr > 40, "only %d options were looked for" % nr)

        views = choices("flame", "view")
        equal(sorted(s.complete("aflame flame --view ")), sorted(views), "a choice")
        equal(s.complete("aflame record --sample tim"), ["timer"], "a choice begun")
        holds(s.complete("aflame flame --weight "), ["time", "samples", "off-cpu"], "a weight")
        got = [word.rstrip(",") for word in s.complete("aflame print --kind launch,clo")]
        equal(got, ["launch,clock"], "a list")
        equal(s.complete("aflame flame --folded sta"), ["stacks.folded"], "a file")
        equal([w.rstrip("/") for w in s.complete("aflame record -o else")], ["elsewhere"], "a directory")
        got = [w.rstrip("/") for w in s.complete("aflame flame ")]
        equal(sorted(set(got)), ["aflame.data", "second run"], "the traces")
        got = [w.rstrip("/") for w in s.complete("aflame flame else")]
        equal(got, ["elsewhere"], "on the way to a trace")
        got = [w.rstrip("/") for w in s.complete("aflame report ")]
        holds(got, ["summary", "top", "tree", "aflame.data"], "report")
        holds(s.complete("aflame record -- printen"), ["printenv"], "a program")
        holds(s.complete("aflame record -F 99 printen"), ["printenv"], "a program after options")
        got = s.complete("aflame record -- cat stack")
        equal(got, ["stacks.folded"], "what a program is given")
        equal(s.complete("aflame help doc"), ["doctor"], "help")


for name in SHELLS:

    @case("%s completes commands, options, their values, traces, programs" % name)
    def _(name=name):
        place()
        answers(*SHELLS[name])


@case("bash completes --option=VALUE, which it takes apart itself")
def _():
    place()
    with Bash(os.path.join(FORMS, "aflame"), HOME) as s:
        equal(s.complete("aflame flame --view=cp"), ["--view=cpu"], "a choice")
        equal(len(s.complete("aflame flame --view=")), len(choices("flame", "view")), "choices")
        equal(s.complete("aflame record --off-cpu=w"), ["--off-cpu=wakers"], "a choice or none")
        equal(s.complete("aflame record --off-cpu printen"), ["printenv"], "behind none")


@case("shellcheck has nothing to say of bash's")
def _():
    if not shutil.which("shellcheck"):
        raise Skip("no shellcheck here")
    done = subprocess.run(
        ["shellcheck", "-s", "bash", os.path.join(FORMS, "aflame")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    equal(done.returncode, 0, done.stdout[:3000])


run_cases()
