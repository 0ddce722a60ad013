"""What is on this machine: aflame (from a tarball or where it lies), nvcc, CUPTI, and a folder for
everything that is built and recorded, removed at the end."""

import concurrent.futures
import fnmatch
import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(HERE, "programs")
PYTHON = os.path.join(HERE, "python")

# What is built → its source, and options beside those of all.
BUILDS = {
    "paths": ("paths.cu", []),
    "paths_shared": ("paths.cu", ["-cudart", "shared"]),
    "streams": ("streams.cu", []),
    "contexts": ("contexts.cu", []),
    "driver": ("driver.cu", []),
    "exc": ("exc.cu", []),
    "graphs": ("graphs.cu", []),
    "dynpar": ("dynpar.cu", ["-rdc=true", "-lcudadevrt"]),
    "copies": ("copies.cu", []),
    "errors": ("errors.cu", []),
    "exits": ("exits.cu", []),
    "launches": ("launches.cu", []),
    "stalls": ("stalls.cu", ["-lineinfo"]),
    "kernels.fatbin": ("kernels.cu", ["-fatbin"]),
}


MODELS = os.path.join(SOURCE, "src/api/models")


def cuda_functions():
    """{name: (CUPTI's number, class)} of the driver's functions that a plain recording has."""
    rules, found = [], {}
    with open(os.path.join(MODELS, "cuda.rules")) as file:
        for line in file:
            words = line.split("#")[0].split()
            if len(words) > 1:
                rules.append((words[0].split(","), words[1:]))
    with open(os.path.join(MODELS, "cuda.ids")) as file:
        ids = [line.split() for line in file if line[0] != "#"]
    for number, name in ids:
        set_by = {"level": "default", "class": "other"}
        for patterns, words in rules:
            if any(fnmatch.fnmatchcase(name, p) for p in patterns):
                set_by.update(w.split(":", 1) for w in words if w.split(":")[0] in set_by)
        if set_by["level"] == "minimal":
            found[name] = (int(number), set_by["class"])
    return found


class Missing(Exception):
    """What is not on this machine."""


def first(paths):
    return next((p for p in paths if os.path.exists(p)), None)


class Machine:
    def __init__(self, aflame, keep=False):
        self.work = tempfile.mkdtemp(prefix="aflame-gpu-")
        self.keep = keep
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.work, "cache")
        try:
            self.aflame = self._unpacked(os.path.abspath(aflame))
        except Missing:
            self.close()
            raise
        self.nvcc = shutil.which("nvcc") or first(sorted(glob.glob("/usr/local/cuda*/bin/nvcc")))
        self.built, self.errors, self.numbers = {}, {}, itertools.count(1)

    def _unpacked(self, path):
        if os.path.isfile(path) and tarfile.is_tarfile(path):
            with tarfile.open(path) as tar:
                tar.extractall(self.work, filter="data")
            path = first(glob.glob(self.work + "/*/")) or path
        found = first(os.path.join(path, p) for p in ("bin/aflame", "src/cmd/aflame"))
        if not found:
            raise Missing("no tarball and no folder with bin/aflame in it: %s" % path)
        return found

    def close(self):
        if self.keep:
            print("kept: %s" % self.work)
        else:
            shutil.rmtree(self.work, ignore_errors=True)

    @property
    def bindings(self):
        """The folder of the Python package aflame: of an installation, or of a build."""
        top = os.path.dirname(os.path.dirname(self.aflame))
        return first(map(top.__add__, ("/lib/aflame/python", "/bindings"))) or ""

    # ---- building

    def include(self):
        """The folder of cupti.h."""
        site = sysconfig.get_paths()["purelib"]
        places = ["/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
        if self.nvcc:
            places.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(self.nvcc))))
        roots = [p + d for p in places for d in ("/targets/x86_64-linux", "/extras/CUPTI", "")]
        roots += sorted(glob.glob(site + "/nvidia/cu*")) + [site + "/nvidia/cuda_cupti"]
        found = first(os.path.join(r, "include/cupti.h") for r in roots)
        if not found:
            raise Missing("no cupti.h")
        return os.path.dirname(found)

    def libcupti(self):
        """PyTorch's before the toolkit's: a process must not have two."""
        site = sysconfig.get_paths()["purelib"]
        found = first(
            sorted(glob.glob(site + "/nvidia/*/lib/libcupti.so.1*"))
            + sorted(glob.glob("/usr/local/cuda*/targets/x86_64-linux/lib/libcupti.so.1*"))
            + sorted(glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1*"))
        )
        if not found:
            raise Missing("no libcupti.so")
        return found

    def _includes(self):
        """cupti.h includes cuda.h, which may be in another folder."""
        cupti = self.include()
        if os.path.exists(os.path.join(cupti, "cuda.h")):
            return ["-I", cupti]
        top = os.path.dirname(os.path.dirname(os.path.realpath(self.nvcc or "/usr/bin/nvcc")))
        both = [os.path.join(top, d) for d in ("include", "targets/x86_64-linux/include")]
        return ["-I", cupti, *[w for d in both for w in ("-I", d)]]

    def _links(self):
        """The shared cudart need not be where the loader looks."""
        top = os.path.dirname(os.path.dirname(os.path.realpath(self.nvcc)))
        found = first(os.path.join(top, d) for d in ("targets/x86_64-linux/lib", "lib64"))
        return ["-lcuda", *(["-Xlinker", "-rpath=" + found] if found else [])]

    def _compile(self, name, command):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.work
        )
        if done.returncode:
            self.errors[name] = done.stdout.strip() or "status %d" % done.returncode
        else:
            self.built[name] = os.path.join(self.work, name)

    def build(self):
        """Builds all, in parallel; what fails is in self.errors."""
        jobs = {}
        if self.nvcc:
            for name, (file, options) in BUILDS.items():
                jobs[name] = [
                    self.nvcc,
                    "-std=c++17",
                    "-O2",
                    "-arch=native",
                    "-Xcompiler",
                    "-fno-optimize-sibling-calls,-pthread",
                    "-o",
                    name,
                    os.path.join(PROGRAMS, file),
                    *options,
                    *([] if "-fatbin" in options else self._links()),
                ]
        else:
            self.errors["nvcc"] = "not found"
        cc = [shutil.which("cc") or "gcc", "-O2", "-Wall", "-I", os.path.join(SOURCE, "src")]
        try:
            layouts = os.path.join(HERE, "layouts.c")
            jobs["layouts"] = [*cc, *self._includes(), "-o", "layouts", layouts]
            bare = os.path.join(HERE, "bare/bare.c")
            library = self.libcupti()
            with open(os.path.join(self.work, "cuda_functions.h"), "w") as header:
                rows = ["F(%d, %s, %s)" % (n, f, c) for f, (n, c) in cuda_functions().items()]
                header.write("#define AF_CUDA_FUNCTIONS(F) " + " ".join(rows) + "\n")
            jobs["bare.so"] = [*cc, *self._includes(), "-I.", "-fPIC", "-shared", "-o", "bare.so", bare]
            jobs["bare.so"] += [library, "-Wl,-rpath," + os.path.dirname(library)]
        except Missing as reason:
            self.errors["CUPTI"] = str(reason)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for name, command in jobs.items():
                pool.submit(self._compile, name, command)

    def program(self, name):
        if name not in self.built:
            raise Missing("%s was not built" % name)
        return self.built[name]

    # ---- running

    def new_trace(self):
        return os.path.join(self.work, "trace-%d" % next(self.numbers))

    def record_command(self, trace, command, options=()):
        return [self.aflame, "record", "-q", "-o", trace, *options, "--", *command]

    def record(self, command, options=(), timeout=200, env=None):
        """(path of the trace, the CompletedProcess)"""
        trace = self.new_trace()
        done = run(self.record_command(trace, command, options), timeout, env)
        return trace, done

    def json_lines(self, trace, kinds):
        """The events of these kinds, one after the other, never all of them in memory."""
        command = [self.aflame, "print", "--json", "-k", ",".join(kinds), trace]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as printing:
            for line in printing.stdout:
                yield json.loads(line)
            reported = printing.stderr.read().decode("utf-8", "replace").strip()
        if printing.returncode:
            raise RuntimeError("aflame print: status %d: %s" % (printing.returncode, reported))

    def output(self, *words):
        done = run([self.aflame, *words], 120)
        if done.returncode:
            raise RuntimeError("aflame %s: %s" % (" ".join(words), done.stderr.strip()))
        return done.stdout


def run(command, timeout, env=None):
    """The CompletedProcess; one that runs out of time ends by SIGINT, so that aflame ends well."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **(env or {})},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            try:
                out, err = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
            err += "\nout of time: %d s" % timeout
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def truth_of(done):
    """What the program printed as its truth, or None."""
    found = re.findall(r"^truth (\{.*\})$", done.stdout, re.M)
    return json.loads(found[-1]) if found else None
