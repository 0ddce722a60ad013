"""What this machine can do, and where the build is (the first argument of every test file)."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

from tap import Skip

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
AFLAME = os.path.join(BUILD, "src/cmd/aflame")
PROGRAMS = os.path.join(BUILD, "tests/live/programs")
SCRIPTS = os.path.join(SOURCE, "tests/live/programs")

# meson sets it for its tests: PoCL 3.1 reads memory that it has freed, so that with junk in there
# cl_queues dies in three of five runs, recorded or not.
os.environ.pop("MALLOC_PERTURB_", None)

# Everything that a test file makes lies here and is removed when it ends.
_workplace = tempfile.TemporaryDirectory(prefix="aflame-live-")
WORKPLACE = _workplace.name
os.environ["XDG_CACHE_HOME"] = os.path.join(WORKPLACE, "cache")

SAMPLERS = ("perf", "timer")


def program(name):
    """A program of known behaviour; some are not built everywhere."""
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise Skip("%s was not built here" % name)
    return path


@functools.lru_cache(maxsize=None)
def probes():
    """What doctor says: {name: reason why not, or None when it works}."""
    doctor = subprocess.run(
        [AFLAME, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    answer = json.loads(doctor.stdout)
    found = {c["name"]: None if c["works"] else c["says"] for c in answer["collectors"]}
    found["shm"] = None if answer["shm"]["works"] else answer["shm"].get("says", "no /dev/shm")
    return found


def need(collector):
    """Skips the case when that collector does not work here."""
    reason = probes().get(collector, "not in this build")
    if reason:
        raise Skip("%s: %s" % (collector, " ".join(reason.split())))


def samplers():
    """Those that work here, the best first; skips the case when none does."""
    found = [name for name in SAMPLERS if not probes()[name]]
    if not found:
        need(SAMPLERS[0])
    return found


def any_sampler():
    return samplers()[0]


def need_tool(name):
    path = shutil.which(name)
    if not path:
        raise Skip("%s is not installed" % name)
    return path


def need_own_tool(name):
    """A tool that is to run, or to be run by, programs of this build: tests/cross builds those of other machines."""
    path = need_tool(name)
    if elf_machine(AFLAME) != elf_machine(sys.executable):
        raise Skip("%s is of this machine, and aflame of another" % name)
    return path


def elf_machine(path):
    with open(path, "rb") as file:
        return file.read(20)[18:]


def need_root():
    if os.geteuid():
        raise Skip("only root can become another user")
    os.chmod(WORKPLACE, 0o711)


@functools.lru_cache(maxsize=None)
def pythons():
    """[(version, path)] of every Python here whose frames can be read."""
    found = subprocess.run(
        [os.path.join(SOURCE, "tests/live/python_frames/pythons")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    return [tuple(line.split(None, 1)) for line in found.stdout.splitlines()]
