"""The suites that tests/live/suites runs: where each comes from, how a file of it runs, and what each of its tests gave.

A file runs by a shell script, in a folder of its own: $1 is the file, $SUITE where the suite lies, $OUT the folder."""

import glob
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

LIMIT_S = 300
STATUS = "(exit status)"


class Results(dict):
    """{test: result}; tests of one name are told apart by their order."""

    def add(self, name, result):
        key, number = name, 1
        while key in self:
            number += 1
            key = "%s (%d)" % (name, number)
        self[key] = result


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Suite:
    """@chosen files by default; prepare() makes it in an empty folder and tells no later user what it holds."""

    name, packages, chosen, script = "", (), (), ""

    def __init__(self, folder):
        self.folder = folder

    def command(self):
        return "mkdir -p $OUT/tmp && cd $OUT && export TMPDIR=$OUT/tmp\n%s >log 2>&1 </dev/null\necho $? >status\n" % self.script.strip()

    def results(self, out):
        """What the tests of one file gave, of its folder."""
        found = Results()
        self.parse(out, found)
        found.add(STATUS, read(out + "/status").strip())
        return found


class CPython(Suite):
    """Debian's package of tests over a copy of the library: the package itself may want another version of Python than is here."""

    name, python = "cpython", "/usr/bin/python3"
    packages = ("python3", "libpython3-stdlib", "dpkg-dev")
    # Those hang plain: daemon threads at the interpreter's end now and then, VSOCK where virtual machines have no host's.
    hanging = "-i test_4_daemon_threads -i '*VSOCK*'"
    script = 'PYTHONPATH=$SUITE/lib timeout -k 5 %d %s -m test -v --junit-xml=$OUT/result.xml %s "$1"' % (LIMIT_S, python, hanging)
    # What takes long comes first, as the others run beside it.
    chosen = """test_multiprocessing_fork test_signal test_io test_subprocess test_threading test_socket test_multiprocessing_main_handling
        test_asyncio.test_subprocess test_asyncio.test_unix_events test_asyncio.test_tasks test_asyncio.test_locks test_asyncio.test_queues
        test_asyncio.test_threads test_asyncio.test_streams test_atexit test_class test_cmd_line test_contextlib test_coroutines
        test_ctypes test_dict test_eintr test_epoll test_exceptions test_faulthandler test_fcntl test_file test_float test_fork1
        test_functools test_gc test_generators test_getpass test_ioctl test_itertools test_json test_math test_memoryview test_mmap
        test_openpty test_os test_poll test_popen test_posix test_pty test_queue test_re test_resource test_sched test_select
        test_selectors test_sys test_sys_setprofile test_sys_settrace test_thread
        test_threadedtempfile test_threading_local test_threadsignals test_time test_tracemalloc test_traceback test_wait3
        test_wait4 test_weakref test_zlib""".split()

    def prepare(self, archive, work):
        how = [self.python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'), sysconfig.get_python_version())"]
        library, version = subprocess.run(how, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.split()
        shutil.copytree(library, self.folder + "/lib", symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "config-*"))
        archive.package("libpython%s-testsuite" % version, work)
        shutil.copytree(work + library, self.folder + "/lib", dirs_exist_ok=True)

    def all(self):
        found = glob.glob(self.folder + "/lib/test/test_*")
        return sorted(n for n in (os.path.basename(p) for p in found) if n.endswith(".py") or "." not in n)

    def files(self, everything):
        return sorted({n[:-3] if n.endswith(".py") else n for n in self.all()}) if everything else self.chosen

    @staticmethod
    def parse(out, found):
        try:
            cases = ElementTree.parse(out + "/result.xml").iter("testcase")
        except (OSError, ElementTree.ParseError):
            return
        for case in cases:
            bad = [child.tag for child in case if child.tag in ("failure", "error")]
            found.add(case.get("name"), "".join(bad) or case.get("result"))


class Perl(Suite):
    """The tests of the language, run by the perl that is here: what they test are its own files."""

    name, perl = "perl", "/usr/bin/perl"
    packages = ("perl", "dpkg-dev")
    # As t/TEST runs them: from t, with the switches of the first line.
    script = """
(cd $SUITE/t && switches=$(sed -n '1s/^#![^ ]*perl  *\\(-.*\\)/\\1/p' "$1") && timeout -k 5 %d %s $switches "$1")""" % (LIMIT_S, perl)
    folders = ("base", "cmd", "comp", "io", "mro", "op", "re", "uni", "lib", "corelib")

    def prepare(self, archive, work):
        source = archive.source("perl", work)
        shutil.move(source + "/t", self.folder + "/t")
        os.mkdir(self.folder + "/lib")
        for test in glob.glob(source + "/lib/*.t"):
            shutil.move(test, self.folder + "/lib")
        os.symlink("../lib", self.folder + "/t/corelib")
        os.symlink(self.perl, self.folder + "/t/perl")
        how = [self.perl, "-MConfig", "-e", 'print join "\\n", grep { $_ } map { -d $_ ? $_ : () } @Config{qw(privlibexp archlibexp)}, @INC']
        for library in subprocess.run(how, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.split():
            if library.startswith("/usr/"):
                shutil.copytree(library, self.folder + "/lib", dirs_exist_ok=True)

    def files(self, everything):
        found = [os.path.relpath(p, self.folder + "/t") for f in self.folders for p in glob.glob("%s/t/%s/*.t" % (self.folder, f))]
        return sorted(f for f in found if everything or f not in self.long)

    # Many seconds each, and all of one kind: tables of characters and of patterns.
    long = {"re/fold_grind_%s.t" % n for n in ("8", "T", "a", "aa", "d", "l", "u")} | {
        "re/uniprops%02d.t" % n for n in range(1, 11)} | {"re/charset.t", "op/lex_assign.t", "op/coreamp.t", "op/svleak.t"}

    @staticmethod
    def parse(out, found):
        for line in read(out + "/log").splitlines():
            is_test = re.match(r"(not ok|ok)\b *(\d*)[^#]*(# *(skip|todo)\b)?", line, re.I)
            if is_test:
                found.add(is_test.group(2) or "?", " ".join(w.lower() for w in is_test.group(1, 4) if w))


class SQLite(Suite):
    """testfixture, SQLite's own program for tests, built here."""

    name = "sqlite"
    packages = ("dpkg-dev", "gcc", "make", "tcl-dev", "tcl", "zlib1g-dev")
    script = 'timeout -k 5 %d $SUITE/build/testfixture $SUITE/source/test/"$1".test' % LIMIT_S
    chosen = """aggnested alter analyze attach auth autoinc autovacuum backup between bigfile blob btree01 busy cast check coalesce collate1
        collate2 conflict count crash8 cse date default delete descidx1 distinct e_expr e_fkey e_select enc enc2 exclusive
        exists expr expr2 fkey1 fkey2 fork-test fts3aa fts3ab fts4aa func func2 func3 gencol1 hook in in2 incrblob incrvacuum
        index insert intpkey ioerr join join2 json101 json102 like limit lock lock2 lock3 lock4 lock5 lookaside main malloc3
        memdb memsubsys1 misc1 misc2 mmap1 mmap3 multiplex mutex1 mutex2 notify1 null pager1 pageropt pcache pragma printf printf2 quota
        rbu rowid rowvalue rtree savepoint schema select1 select2 select3 select4 select5 select6 select7 shared shared2 shmlock sidedelete
        sort stat subquery superlock sync syscall table tempdb temptable thread001 thread002 thread1 thread2 trans
        trigger1 trigger2 types unique unlock update upsert1 vacuum view vtab1 wal wal2 wal3 walcksum walhook where where2
        window1 with1 without_rowid1 zeroblob""".split()
    # These run others.
    runners = re.compile(r"^(all|.*quick|full|permutations|soak|memleak|rtree|session|async|releasetest|fts3|fts4|mallocAll|rbu|testrunner|.*-tests?)$")

    def prepare(self, archive, work):
        shutil.move(archive.source("sqlite3", work), self.folder + "/source")
        os.mkdir(self.folder + "/build")
        for words in (["../source/configure", "--enable-all"], ["make", "-j2", "testfixture", "CFLAGS=-O1 -g"]):
            done = subprocess.run(["nice", "-n", "10", *words], cwd=self.folder + "/build", check=False, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            if done.returncode:
                raise RuntimeError("%s: %s" % (words[0], done.stdout[-1000:]))

    def files(self, everything):
        there = {os.path.basename(p)[:-5] for p in glob.glob(self.folder + "/source/test/*.test")}
        return sorted(n for n in (there if everything else there & set(self.chosen)) if not self.runners.match(n))

    @staticmethod
    def parse(out, found):
        text = read(out + "/log")
        bad = set(re.findall(r"^! (\S+) (?:expected|got|error)", text, re.M))
        for name, rest in re.findall(r"^(\S+)\.\.\.(.*)$", text, re.M):
            found.add(name, "failed" if name in bad else rest.strip().split(" ")[-1] or "?")


SUITES = {suite.name: suite for suite in (CPython, Perl, SQLite)}


def prepared(name, scratch, archive):
    """The suite @name, made below @scratch unless it is there."""
    suite = SUITES[name](os.path.join(scratch, name))
    ready, work = suite.folder + "/ready", suite.folder + "/work"
    if not os.path.exists(ready):
        print("preparing %s" % name, file=sys.stderr)
        shutil.rmtree(suite.folder, ignore_errors=True)
        os.makedirs(work)
        suite.prepare(archive, work)
        shutil.rmtree(work)
        with open(ready, "w", encoding="utf-8"):
            pass
    return suite
