#!/usr/bin/env python3
"""Names of code that run-time compilers make, and of files that are gone."""

import collections
import ctypes.util
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

from machine import AFLAME, WORKPLACE, any_sampler, need, need_tool, program
from recording import aflame, bare, must, new_path, record
from tap import Skip, case, equal, expect, note, run_cases


def share(recording, pattern):
    """The part of the samples that have a frame like @pattern in their stack."""
    stacks = recording.stacks()
    whole = sum(weight for _, weight in stacks)
    found = sum(w for frames, w in stacks if any(re.search(pattern, f) for f in frames))
    expect(whole > 0, "no samples")
    return found / whole


SCRIPT = """
function hotInner(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function hotOuter(ms) { const end = Date.now() + ms; let s = 0;
  while (Date.now() < end) s ^= hotInner(20000); return s; }
hotOuter(600);
"""


def node_run(*options):
    node = need_tool("node")
    script = new_path("hot") + ".js"
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    sampler = any_sampler()
    return record(node, *options, script, sampler=sampler, rate=997, quiet=False)


@case("functions of node are named by its perf map")
def _():
    recording = node_run("--perf-basic-prof")
    part = share(recording, r"hot(Inner|Outer)")
    note("the hot functions have %.2f of the samples" % part)
    expect(part > 0.3, "the hot functions have only %.2f of the samples" % part)


@case("functions of node are named by its jitdump, with lines")
def _():
    recording = node_run("--perf-prof")
    part = share(recording, r"hot(Inner|Outer)")
    expect(part > 0.3, "the hot functions have only %.2f of the samples" % part)
    strings = {f["string"]: f["text"] for f in recording.fields("string")}
    lines = set()
    for fields in recording.fields("symbol"):
        frames = fields["frames"]
        for i in range(0, len(frames), 3):
            if re.search("hot(Inner|Outer)", strings.get(frames[i], "")) and frames[i + 2]:
                lines.add((os.path.basename(strings[frames[i + 1]]), frames[i + 2]))
    note("lines of the hot functions: %s" % sorted(lines))
    expect(lines, "the hot functions have no line")
    expect(all(name.startswith("hot") and 2 <= line <= 4 for name, line in lines), str(lines))


@case("code that a program makes and moves has the name of its time")
def _():
    recording = record(program("writes_jitdump"), sampler=any_sampler(), rate=997, quiet=False)
    truth = {f: share(recording, "^%s" % f) for f in ("jit_first", "jit_second", "jit_moved")}
    note(str(truth))
    for name, part in truth.items():
        expect(0.15 < part < 0.55, "%s has %.2f of the samples" % (name, part))
    equal(share(recording, "jit_wrong"), 0, "share of what came later")


def reused(way):
    """Shares of the three functions that reuses_code puts at one address, 60:30:10."""
    recording = record(program("reuses_code"), way, "1.5", sampler=any_sampler(), rate=997, quiet=False)
    shares = {f: share(recording, "^%s" % f) for f in ("jit_first", "jit_second", "jit_third")}
    note("%s: %s" % (way, shares))
    return recording, shares


def right_shares(shares):
    for name, want in (("jit_first", 0.6), ("jit_second", 0.3), ("jit_third", 0.1)):
        expect(abs(shares[name] - want) < 0.05, "%s has %.3f of the samples, not %.1f" % (name, shares[name], want))


@case("a reused address has the name of its time: perf map that grows", tries=2)
def _():
    recording, shares = reused("map")
    right_shares(shares)
    lines = "".join(f["text"] for f in recording.fields("perf_map")).splitlines()
    equal([line.split()[2] for line in lines], ["jit_first", "jit_second", "jit_third"], "lines that were seen")


@case("a reused address has the name of its time: perf map that is written anew", tries=2)
def _():
    recording, shares = reused("rewrite")
    right_shares(shares)
    equal(len(list(recording.fields("perf_map"))), 3, "maps that were seen")


@case("a reused address has the name of its time: jitdump", tries=2)
def _():
    right_shares(reused("dump")[1])


@case("a reused address has the name of its time: the JIT interface of GDB", tries=2)
def _():
    recording, shares = reused("gdb")
    right_shares(shares)
    objects = {f["object"] for f in recording.fields("jit_image")}
    equal(len(objects - {""}), 3, "files that were seen")


LLVM = """
define i32 @hot_inner(i32 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %m = mul i32 %s, 31
  %sum = add i32 %m, %i
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret i32 %sum
}
define i32 @main() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %v = call i32 @hot_inner(i32 200000)
  %sum = xor i32 %s, %v
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 1500
  br i1 %again, label %loop, label %end
end:
  ret i32 0
}
"""


@case("functions that LLVM compiles in memory have names without an option")
def _():
    lli = need_tool("lli")
    script = new_path("hot") + ".ll"
    with open(script, "w", encoding="utf-8") as file:
        file.write(LLVM)
    for kind in ("mcjit", "orc"):
        recording = record(lli, "-jit-kind=" + kind, script, sampler=any_sampler(), rate=997, quiet=False)
        part = share(recording, "^hot_inner")
        note("%s: hot_inner has %.2f of the samples" % (kind, part))
        expect(part > 0.3, "%s: hot_inner has only %.2f of the samples" % (kind, part))


LLVM_LINES = """static volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned step(unsigned s, unsigned i)
{
	return s * 31 + i / (s | 1);
}
__attribute__((noinline)) unsigned hot(unsigned n)
{
	unsigned s = 0;
	for (unsigned i = 0; i < n; i++)
		s = step(s, i);
	return s;
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		sink ^= hot(200000 + sink % 2);
	return 0;
}
"""


@case("functions that LLVM compiles in memory have lines and inlined calls of their debug information")
def _():
    lli, clang = need_tool("lli"), need_tool("clang")
    source = new_path("lines") + ".c"
    with open(source, "w", encoding="utf-8") as file:
        file.write(LLVM_LINES)
    subprocess.run([clang, "-O1", "-g", "-S", "-emit-llvm", "-o", source + ".ll", source], check=True)
    name = os.path.basename(source)
    for kind in ("mcjit", "orc"):
        recording = record(lli, "-jit-kind=" + kind, source + ".ll", sampler=any_sampler(), rate=997, quiet=False)
        rows = json.loads(must("report", "flat", "--lines", "--json", "--limit", "0", recording.path))["tables"][-1]["rows"]
        lines = collections.Counter()
        for row in rows:
            if name in row["location"]:
                lines[row["location"]] += row["self"]
        note("%s: %s" % (kind, dict(lines)))
        best = max(lines, key=lines.get)
        expect(best.endswith("%s:4" % name), "%s: the hottest line is %s" % (kind, best))
        stacks = [(f, w) for f, w in recording.stacks() if any(bare(x) == "hot" for x in f)]
        inlined = sum(w for f, w in stacks if bare(f[-1]) == "step" and bare(f[-2]) == "hot")
        expect(inlined > 0.8 * sum(w for _, w in stacks), "%s: step is not inlined in hot: %s" % (kind, stacks[:3]))
        # Its unwind tables are those that LLVM registers: stacks go on through LLVM to the program's start.
        whole = sum(w for f, w in stacks if [bare(x) for x in f].count("main") == 2 and "_start" in f)
        expect(whole > 0.9 * sum(w for _, w in stacks), "%s: stacks are cut: %s" % (kind, stacks[:3]))


REGISTERS = """
#include <stdint.h>
#include <string.h>
struct bases { void *text, *data, *function; };
const void *_Unwind_Find_FDE(void *, struct bases *);
void __register_frame(void *), __deregister_frame(void *);
static uint8_t table[4096];
int check(void)
{
	static const uint8_t cie[24] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	uint32_t *fde = (void *)(table + 24);
	struct bases bases;

	memcpy(table, cie, sizeof cie);
	fde[0] = 20, fde[1] = 28, fde[2] = (uint32_t)(table + 0x800 - (uint8_t *)&fde[2]), fde[3] = 0x40;
	if (_Unwind_Find_FDE(table + 0x810, &bases))
		return 1;
	__register_frame(table);
	if (!_Unwind_Find_FDE(table + 0x810, &bases))
		return 2;
	__deregister_frame(table);
	return _Unwind_Find_FDE(table + 0x810, &bases) ? 3 : 0;
}
"""
LOADS = """
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*check)(void) = (int (*)(void))(library ? dlsym(library, "check") : 0);
	return check ? check() : 9;
}
"""


@case("unwind tables that a library registers reach its own unwinder, which nothing else has loaded")
def _():
    cc, folder = need_tool("gcc"), new_path("registers")
    os.mkdir(folder)
    for name, text in (("library.c", REGISTERS), ("loads.c", LOADS)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    library, loads = os.path.join(folder, "library.so"), os.path.join(folder, "loads")
    subprocess.run([cc, "-shared", "-fPIC", "-o", library, os.path.join(folder, "library.c"), "-Wl,--no-as-needed", "-lgcc_s"], check=True)
    subprocess.run([cc, "-o", loads, os.path.join(folder, "loads.c"), "-ldl"], check=True)
    equal(subprocess.run([loads, library], check=False).returncode, 0, "status alone")
    equal(aflame("record", "-o", new_path(), "--", loads, library).returncode, 0, "status when recorded")


@case("a jitdump is found where its marker says, when the process is over")
def _():
    need("bpf")
    folder = new_path("dumps")
    os.mkdir(folder)
    script = "cd %s && %s; cd /" % (folder, program("writes_jitdump"))
    recording = record("sh", "-c", script, sampler="bpf", rate=20, quiet=False)
    part = share(recording, "^jit_(first|second|moved)")
    expect(part > 0.8, "the code of the dump has %.2f of the samples" % part)


@case("a library that is deleted while the program runs is reported by name and reason")
def _():
    copy = new_path("shares")
    shutil.copy(program("shares"), copy)
    script = new_path("run") + ".sh"
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n%s 0.2 & sleep 0.3; rm -f %s; wait\n" % (copy, copy))
    os.chmod(script, 0o755)
    recording = record(script, sampler=any_sampler(), rate=997, quiet=False)
    unknown = [f for f in functions(recording) if f.strip("[]").startswith("unknown:")]
    expect(not unknown, "a frame does not name its module: %s" % unknown)


def stripped_shares():
    """(program without symbols, folder with its debug file)"""
    for tool in ("objcopy", "strip"):
        need_tool(tool)
    folder = new_path("debug")
    os.mkdir(folder)
    stripped = new_path("stripped")
    whole = program("shares")
    subprocess.run(
        ["objcopy", "--only-keep-debug", whole, os.path.join(folder, "shares.debug")], check=True
    )
    subprocess.run(["strip", "-o", stripped, whole], check=True)
    return stripped, folder


class Server:
    """debuginfod over a folder, on a port that was free a moment ago."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(new_path("debuginfod"), "w+b")
        self.process = subprocess.Popen(
            [need_tool("debuginfod"), "-F", "-vv", "-p", str(self.port), "-d", ":memory:", folder],
            stdout=self.log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        self.url = "http://127.0.0.1:%d" % self.port

    def reported(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def wait(self):
        """Until it has looked through its folder; skips the case when it does not come up."""
        for _ in range(100):
            try:
                with urllib.request.urlopen(self.url + "/metrics", timeout=5) as answer:
                    text = answer.read().decode()
                if re.search(r'scanned_total\{source="file"\} [1-9]', text) or re.search(
                    r"thread_work_total.*groom", text
                ):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise Skip("debuginfod does not come up here")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def asked(url):
    """An environment in which that server is asked, and nothing is remembered."""
    kept = new_path("kept")
    os.makedirs(kept)
    return dict(
        os.environ, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=kept, XDG_CACHE_HOME=kept
    )


def functions(recording, part=0):
    """The functions that have at least that part of the samples in their stacks."""
    weights, whole = {}, 0
    for stack, weight in recording.stacks():
        whole += weight
        for name in {bare(f) for f in stack}:
            weights[name] = weights.get(name, 0) + weight
    return {name for name, weight in weights.items() if weight >= part * whole}


def notes(recording):
    return {f["key"]: f["value"] for f in recording.fields("note")}


@case("a server is asked for debug information when the environment names it, and only then")
def _():
    stripped, folder = stripped_shares()
    server = Server(folder)
    try:
        server.wait()
        sampler = any_sampler()
        whole = record(program("shares"), "0.1", sampler=sampler, status=None)
        wanted = {f for f in functions(whole, 0.05) if re.match(r"[a-z_]+$", f)} - {"shares"}
        expect(len(wanted) > 2, "the program has too few functions: %s" % wanted)
        known = functions(record(stripped, "0.1", sampler=sampler, status=None, env=asked("")))
        own = wanted - known
        expect(own, "no function needs the server")
        expect("/buildid/" not in server.reported(), "a server was asked without being named")
        recording = record(stripped, "0.1", sampler=sampler, status=None, env=asked(server.url))
        expect("/buildid/" in server.reported(), "the server was not asked")
        missing = own - functions(recording)
        note("from the server: %s" % sorted(own))
        expect(not missing, "not named: %s" % missing)
    finally:
        server.close()


@case("a server that does not answer costs its names and a word, not the recording")
def _():
    stripped, _ = stripped_shares()
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % deaf.getsockname()[1]
        recording = record(stripped, "0.1", sampler=any_sampler(), status=None, env=asked(url))
    word = notes(recording).get("symbols.debuginfod", "")
    note(word)
    expect("server" in word or "libdebuginfod" in word, "no note says so")


class Answers(http.server.ThreadingHTTPServer):
    """A debuginfod that answers as @say(handler) does, and keeps which paths it was asked for."""

    daemon_threads = True

    def __init__(self, say):
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.server.asked.append(self.path)
                say(self)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Who gave up waiting is no error of the server's."""

    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]


def send(handler, data, size=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(size or len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def build_id_of(path):
    reported = subprocess.run([need_tool("readelf"), "-n", path], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    return re.search("Build ID: ([0-9a-f]+)", reported).group(1)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def from_server(say):
    """(functions of the stripped program, note on servers, build-ids asked for) with such a server"""
    if not ctypes.util.find_library("debuginfod"):
        raise Skip("no libdebuginfod (libdebuginfod1)")
    stripped, _ = stripped_shares()
    server = Answers(say)
    try:
        recording = record(stripped, "0.1", sampler=any_sampler(), status=None, env=asked(server.url()))
    finally:
        server.shutdown()
        server.server_close()
    word = notes(recording).get("symbols.debuginfod", "")
    note(word or "no note")
    own = "/buildid/%s/debuginfo" % build_id_of(stripped)
    expect(own in server.asked, "not asked for %s but %s" % (own, server.asked))
    return functions(recording, 0.05), word, os.path.basename(stripped)


@case("doctor names the package that has the names: of the C library, and of a trace's files")
def _():
    dpkg, xz = need_tool("dpkg"), os.path.realpath(need_tool("xz"))
    blob = new_path("blob")
    with open(blob, "wb") as file:
        file.write(os.urandom(3 << 20))
    trace = record(xz, "-T1", "-1", "-k", "-c", blob, sampler=any_sampler())
    reported = doctor_names(trace.path)
    note(reported["says"])
    maps = subprocess.run(["ldd", xz], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    library = os.path.realpath(re.search(r"=> (\S*liblzma\S*)", maps).group(1))
    if is_stripped(library):
        found = subprocess.run([dpkg, "-S", "*" + os.path.basename(library)], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
        wanted = found.split(":")[0] + "-dbgsym"
        expect(not reported["works"] and " %s" % wanted in reported["says"], "%s is not named: %s" % (wanted, reported))
    libc = os.path.realpath(re.search(r"=> (\S*libc[.]so\S*)", maps).group(1))
    reported = doctor_names()
    note(reported["says"])
    equal(reported["works"], not is_stripped(libc), "the C library has its names: %s" % reported["says"])


def doctor_names(*trace):
    done = subprocess.run([AFLAME, "doctor", "--json", *trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout)["names"]


def is_stripped(path):
    """Whether neither @path nor a debug file for its build-id has a symbol table, by readelf."""
    build_id = build_id_of(path)
    files = [path, "/usr/lib/debug/.build-id/%s/%s.debug" % (build_id[:2], build_id[2:])]
    return not any(re.search(r"\.symtab", subprocess.run(["readelf", "-SW", f], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                                        check=False, encoding="utf-8").stdout) for f in files)


def by_bounds(names, module):
    return [name for name in names if re.match(re.escape(module) + "!fn_[0-9a-f]+$", name)]


@case("names come from a server that has the file by its build-id; of another file none is taken")
def _():
    stripped, folder = stripped_shares()
    own, data = build_id_of(stripped), read(os.path.join(folder, "shares.debug"))

    def has_it(handler):
        if own in handler.path:
            send(handler, data)
        else:
            handler.send_error(404)

    names, word, module = from_server(has_it)
    expect({"a", "b"} <= names and not by_bounds(names, module), "not named: %s" % names)
    equal(word, "", "note")
    other = read(program("foreign_64"))
    names, word, module = from_server(lambda handler: send(handler, other))
    expect(by_bounds(names, module) and not names & {"a", "b", "work"}, "named by another file: %s" % names)
    expect("the build-id is another" in word, "no note says so: %s" % word)


@case("garbage from a server is not used, and reported")
def _():
    for data in (os.urandom(70000), b"\x7fELF" + bytes(60), b"<html>sign in</html>"):
        names, word, module = from_server(lambda handler, data=data: send(handler, data))
        expect(by_bounds(names, module), "no function by its bounds: %s" % names)
        expect("the build-id is another" in word, "no note says so: %s" % word)


@case("a server that does not have the file, or breaks off, costs its names only")
def _():
    for say in (lambda handler: handler.send_error(404), lambda handler: handler.send_error(500),
                lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)):
        names, _, module = from_server(say)
        expect(by_bounds(names, module), "no function by its bounds: %s" % names)


@case("a server that only trickles is waited for 20 s, and reported")
def _():
    over = threading.Event()

    def trickle(handler):
        send(handler, b"\x7fELF", size=1 << 20)
        while not over.wait(0.5):
            handler.wfile.write(b"x")

    try:
        names, word, module = from_server(trickle)
    finally:
        over.set()
    expect(by_bounds(names, module), "no function by its bounds: %s" % names)
    expect("less than 100 KB came from one in 20 s" in word, "no note says so: %s" % word)


run_cases()
