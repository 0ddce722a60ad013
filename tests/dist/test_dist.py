#!/usr/bin/env python3
"""The tarball: it needs a glibc and nothing else, lies anywhere, and is the same each time. And an
installation by meson, which has to find its library too.

    test_dist.py BUILD SOURCE [WORDS]"""

import atexit
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../live"))

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
del sys.argv[2]

from tap import Skip, case, equal, expect, note, run_cases

PORTABLE = os.path.join(BUILD, "packaging/aflame-portable")
LIBRARY = os.path.join(BUILD, "packaging/libaflame-portable.so")
ALLOC_LIBRARY = os.path.join(BUILD, "packaging/libaflame-alloc-portable.so")
MPI_LIBRARY = os.path.join(BUILD, "packaging/libaflame-mpi-portable.so")
ZE_LIBRARY = os.path.join(BUILD, "packaging/libaflame-ze-portable.so")
HIP_LIBRARY = os.path.join(BUILD, "packaging/libaflame-hip-portable.so")
WALL_LIBRARY = os.path.join(BUILD, "packaging/libaflame-wall-portable.so")
SHARES = os.path.join(BUILD, "tests/live/programs/shares")
MODULES = ("libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "ld-linux-x86-64.so.2")
GLIBC = (2, 17)
# glibc keeps 1,664 bytes for the libraries with static TLS that are opened late (csu/libc-tls.c, TLS_STATIC_SURPLUS).
PT_TLS, TLS_MOST = 7, 1600

WORKPLACE = tempfile.mkdtemp(prefix="aflame-dist-")
atexit.register(shutil.rmtree, WORKPLACE, ignore_errors=True)


def run(*argv, **how):
    how.setdefault("check", True)
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=120,
        **how,
    )


def need_portable():
    if not os.path.exists(PORTABLE):
        raise Skip("no archive of each library here: no portable programs were built")


def pack(where, umask=0o022):
    need_portable()
    if not shutil.which("dpkg-query"):
        raise Skip("no dpkg: the licences of what is linked in are not found")
    done = run(
        os.path.join(SOURCE, "packaging/pack"),
        BUILD,
        os.path.join(WORKPLACE, where),
        check=False,
        preexec_fn=lambda: os.umask(umask),
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    equal((done.returncode, done.stderr), (0, ""), "pack's status and words")
    return done.stdout.strip()


_unpacked = []


def unpacked():
    """The folder that the tarball makes."""
    if not _unpacked:
        with tarfile.open(pack("out")) as tar:
            (name,) = {m.name.split("/")[0] for m in tar}
            tar.extractall(os.path.join(WORKPLACE, "unpacked"))
        _unpacked.append(os.path.join(WORKPLACE, "unpacked", name))
    return _unpacked[0]


def files(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(base, name)


@case("its programs ask for nothing but glibc, and for nothing younger than 2.17 of that")
def _():
    need_portable()
    for path in PORTABLE, LIBRARY, MPI_LIBRARY, ZE_LIBRARY, HIP_LIBRARY, WALL_LIBRARY:
        reported = run("objdump", "-p", path).stdout
        needed = re.findall(r"^ *NEEDED +(\S+)", reported, re.M)
        foreign = sorted(set(needed) - set(MODULES))
        expect(
            not foreign,
            "%s needs %s: packaging/meson.build is to name its archive"
            % (os.path.basename(path), foreign),
        )
        expect(not re.search(r"RPATH|RUNPATH", reported), "%s looks in folders of its own" % path)
        versions = re.findall(r" GLIBC_([\d.]+)$", reported, re.M)
        young = [v for v in versions if tuple(map(int, v.split("."))) > GLIBC]
        if young:
            table = run("objdump", "-T", path).stdout
            names = sorted(re.findall(r"\((GLIBC_(?:%s))\) (\S+)" % "|".join(young), table))
            expect(not young, "to be added to packaging/old_glibc.c: %s" % names)
        note("%s: %s" % (os.path.basename(path), ", ".join(sorted(set(versions)))))


@case("the extension for Python asks for Python's stable ABI and for nothing else")
def _():
    path = os.path.join(BUILD, "packaging/_regions-portable.so")
    if not os.path.exists(path):
        raise Skip("no Python.h (python3-dev), or no portable programs: the extension was not built")
    reported = run("objdump", "-p", path).stdout
    equal(sorted(set(re.findall(r"^ *NEEDED +(\S+)", reported, re.M)) - {"libc.so.6"}), [], "libraries")
    versions = re.findall(r" GLIBC_([\d.]+)$", reported, re.M)
    expect(all(tuple(map(int, v.split("."))) <= GLIBC for v in versions), "versions of glibc: %s" % versions)
    package = os.path.join(unpacked(), "lib/aflame/python")
    words = "import aflame\nwith aflame.region('x'): print(type(aflame.region).__name__)"
    done = run(sys.executable, "-c", words, env={**os.environ, "PYTHONPATH": package})
    equal(done.stdout, "builtin_function_or_method\n", "the function of the extension")


@case("its libraries give programs what the built ones give them")
def _():
    need_portable()

    def exports(path):
        reported = run("nm", "-D", "--defined-only", path).stdout
        return sorted(line.split()[-1] for line in reported.splitlines())

    built = exports(os.path.join(BUILD, "src/inject/libaflame.so"))
    expect("pthread_create" in built, "%s" % built)
    equal(exports(LIBRARY), built, "what is exported")
    for name in ("alloc", "hip", "mpi", "wall"):
        portable = os.path.join(BUILD, "packaging/libaflame-%s-portable.so" % name)
        equal(exports(portable), exports(os.path.join(BUILD, "src/inject/libaflame-%s.so" % name)), "what is exported")


def thread_local_bytes(path):
    """The size of a library's block of thread-local variables, by its program headers (64-bit ELF)."""
    with open(path, "rb") as f:
        data = f.read()
    expect(data[:5] == b"\x7fELF\x02", "%s is no 64-bit ELF file" % path)
    (at,) = struct.unpack_from("<Q", data, 32)
    size, nr = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(nr)]
    return sum(h[6] for h in headers if h[0] == PT_TLS)


@case("a program that runs can open libaflame.so: its thread-local variables have the room that glibc keeps")
def _():
    for path in os.path.join(BUILD, "src/inject/libaflame.so"), LIBRARY:
        if not os.path.exists(path):
            continue
        size = thread_local_bytes(path)
        expect(0 < size <= TLS_MOST, "%s has %d bytes of thread-local variables; at most %d" % (path, size, TLS_MOST))
        words = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(sys.argv[1] in open('/proc/self/maps').read())"
        done = run(sys.executable, "-c", words, path, check=False)
        equal((done.returncode, done.stdout), (0, "True\n"), "%s, opened late: %s" % (path, done.stderr))
        note("%s: %d of %d bytes" % (os.path.basename(path), size, TLS_MOST))


@case("packed twice, it is the same")
def _():
    first, second = pack("first"), pack("second", umask=0o077)
    with open(first, "rb") as a, open(second, "rb") as b:
        expect(a.read() == b.read(), "the bytes differ")
    with tarfile.open(first) as tar:
        for m in tar:
            equal((m.uid, m.gid, m.uname, m.mtime), (0, 0, "", 1700000000), m.name)
            if not m.issym():
                equal(m.mode & 0o022, 0, "write permission on " + m.name)


@case("its name is its version, and no path of the machine that made it is in it")
def _():
    folder = unpacked()
    version = run(os.path.join(folder, "bin/aflame"), "--version").stdout
    equal(os.path.basename(folder), version.strip().replace(" ", "-") + "-x86_64", "the folder")
    nr = 0
    for path in files(folder):
        with open(path, "rb") as f:
            text = f.read()
        for place in BUILD, SOURCE, WORKPLACE:
            expect(place.encode() + b"/" not in text, "%s is in %s" % (place, path))
        nr += 1
    expect(nr > 12, "only %d files" % nr)


@case("it has the man page, the completions, and the licence of each archive inside")
def _():
    folder = unpacked()
    for name, place in (
        ("aflame.1", "share/man/man1"),
        ("aflame", "share/bash-completion/completions"),
        ("_aflame", "share/zsh/site-functions"),
        ("aflame.fish", "share/fish/vendor_completions.d"),
    ):
        with open(os.path.join(BUILD, "src/cmd/help_output", name), "rb") as a:
            with open(os.path.join(folder, place, name), "rb") as b:
                expect(a.read() == b.read(), name + " is another one")
    licences = os.path.join(folder, "share/doc/aflame/licences")
    with open(os.path.join(licences, "README"), encoding="utf-8") as f:
        rows = re.findall(r"^    (lib\S+\.a) +(\S+) +\S", f.read(), re.M)
    holds = {archive for archive, _ in rows}
    expect({"libdw.a", "libelf.a", "libz.a"} <= holds, "the archives: %s" % holds)
    for _, source in rows:
        with open(os.path.join(licences, source), encoding="utf-8") as f:
            for name in re.findall(r"/common-licenses/([\w.+-]*\w)", f.read()):
                expect(os.path.exists(os.path.join(licences, name + ".txt")), "no %s" % name)


def bare_root():
    """A root with a glibc and a program to record, and not even a shell."""
    folder = os.path.basename(unpacked())
    if not os.path.exists(SHARES):
        raise Skip("shares was not built here")
    root = tempfile.mkdtemp(prefix="root-", dir=WORKPLACE)
    os.chmod(root, 0o755)
    for place in "proc", "dev/shm", "tmp", "my tools: new", "lib64", "bin":
        os.makedirs(os.path.join(root, place))
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    loaded = run("ldd", PORTABLE).stdout + run("ldd", SHARES).stdout
    libraries = set(re.findall(r"(?:=> )?(/\S+) \(0x", loaded))
    expect(len(libraries) < len(MODULES) + 2, "these are many libraries: %s" % libraries)
    for path in libraries:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    shutil.copy(SHARES, os.path.join(root, "bin/shares"))
    os.symlink("../my tools: new/%s/bin/aflame" % folder, root + "/bin/aflame")
    return root


SCRIPT = """
root=$1 from=$2 user=$3; shift 3
mount --bind "$from" "$root/my tools: new" && mount --rbind /proc "$root/proc" &&
mount %s "$root/dev/shm" && mount -o remount,bind,ro "$root/my tools: new" || exit 99
cd "$root/tmp" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot ${user:+--userspec=$user} "$root" "$@"
"""
# Who is root in a namespace of his own only has no right to what the machine's root left there.
SHARED = "--bind /dev/shm" if os.geteuid() == 0 else "-t tmpfs none"


def bare(root, user, *words, status=0):
    """aflame alone with a glibc, on a read-only mount, through a link, at a path with blanks."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    if run(*unshare, "true", check=False).returncode:
        raise Skip("no namespaces to mount in here")
    done = run(
        *unshare,
        "sh",
        "-c",
        SCRIPT % SHARED,
        "sh",
        root,
        os.path.dirname(unpacked()),
        user,
        "/bin/aflame",
        *words,
        check=False,
    )
    if done.returncode == 99:
        raise Skip("nothing can be mounted here: %s" % done.stderr.strip())
    expect(done.returncode == status, "%s: %d\n%s" % (words, done.returncode, done.stderr))
    return done.stdout


def alone(user):
    root = bare_root()
    doctor = json.loads(bare(root, user, "doctor", "--json"))
    expect(doctor["shm"]["works"], "doctor: %s" % doctor)
    bare(root, user, "record", "-q", "-F", "499", "-o", "/tmp/run", "--", "/bin/shares", "0.3")
    document = json.loads(bare(root, user, "report", "top", "--json", "/tmp/run"))
    top = document["tables"][0]
    equal([row["function"] for row in top["rows"][:3]], ["a", "b", "c"], "the heaviest functions")
    for name in "f.svg", "f.html", "f.folded":
        bare(root, user, "flame", "-o", "/tmp/" + name, "/tmp/run")
        size = os.path.getsize(os.path.join(root, "tmp", name))
        expect(size > 100, "%s has %d bytes" % (name, size))


@case("alone with a glibc, read-only, through a link, at a path with blanks, it records and draws")
def _():
    try:
        alone("")
    finally:
        for link in glob.glob("/dev/shm/aflame-lib-%d/*" % os.geteuid()):
            if os.readlink(link).startswith("/my tools: new/"):
                os.unlink(link)


@case("the same as a user who is not root")
def _():
    if os.geteuid():
        raise Skip("this is one: the case before was it")
    alone("12345:12345")
    shutil.rmtree("/dev/shm/aflame-lib-12345", ignore_errors=True)


@case("a directory of that name in /dev/shm that somebody else made is not used")
def _():
    if os.geteuid():
        raise Skip("only root can make one for another user")
    place = "/dev/shm/aflame-lib-12346"
    os.mkdir(place, 0o755)
    try:
        root = bare_root()
        argv = ("record", "-o", "/tmp/run", "--", "/bin/shares", "0.1")
        argv = ("record", "--strict", *argv[1:])
        bare(root, "12346:12346", *argv, status=1)
        equal(os.listdir(place), [], "what is in it")
        os.chown(place, 12346, 12346)
        os.chmod(place, 0o777)
        bare(root, "12346:12346", *argv, status=1)
        os.chmod(place, 0o700)
        bare(root, "12346:12346", *argv)
        equal(len(os.listdir(place)), 1, "links")
    finally:
        shutil.rmtree(place)


@case("an installation finds its library, wherever DESTDIR has it")
def _():
    log = os.path.join(BUILD, "meson-logs/install-log.txt")
    kept = None
    if os.path.exists(log):
        with open(log, encoding="utf-8") as f:
            kept = f.read()
    there = os.path.join(WORKPLACE, "installed")
    try:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", there)
    finally:
        if kept is not None:
            with open(log, "w", encoding="utf-8") as f:
                f.write(kept)
    (program,) = glob.glob(there + "/**/bin/aflame", recursive=True)
    for name in "aflame.1", "_aflame", "aflame.fish", "bash-completion/completions/aflame":
        equal(len(glob.glob(there + "/**/share/**/" + name, recursive=True)), 1, name)
    trace = os.path.join(WORKPLACE, "trace")
    words = ("--sample", "none", "-o", trace, "--", "sh", "-c", "echo $LD_PRELOAD")
    reported = run(program, "record", "-q", *words).stdout
    expect(reported.startswith(there) and reported.endswith("/aflame/libaflame.so\n"), reported)


run_cases()
