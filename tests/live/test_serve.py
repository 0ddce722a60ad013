#!/usr/bin/env python3
"""aflame serve over real sockets: who may ask, what hostile requests get, which part of the run a
page is of, and what it says when the trace is not what it was."""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/time"))

import processes
from machine import AFLAME, BUILD, SOURCE, WORKPLACE, any_sampler, program
from page import Page
from recording import must, new_path, record
from tap import case, equal, expect, note, run_cases

MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")
GEN_LAUNCHES = os.path.join(BUILD, "tests/bench/gen_launches")
SECONDS = 60  # after which something hangs

PLAIN = processes.RECORDER + processes.PROCESS
SAMPLE = processes.SAMPLE


def made(text):
    """A trace of a text."""
    file, trace = new_path("text"), new_path("trace")
    with open(file, "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run([MKTRACE, file, trace], check=True)
    return trace


def large():
    """Launches of four seconds: too much to be shown at once."""
    trace = new_path("large")
    subprocess.run([GEN_LAUNCHES, trace, "400000", "sampled"], check=True)
    return trace


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}
        self.text = self.body.decode("utf-8", "replace")


class Server:
    """`aflame serve` of a trace, with the cookie of its link."""

    def __init__(self, trace, *options, **environment):
        self.trace = trace
        self.process = subprocess.Popen(
            [AFLAME, "serve", *options, trace],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=WORKPLACE,
            env={**os.environ, **environment},
        )
        self.link = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{16}/)\?token=([0-9a-f]{32})", self.link)
        expect(found, "the link is %r: %s" % (self.link, "" if self.link else self.end()[1]))
        self.port, self.path, self.token = int(found[1]), found[2], found[3]
        self.cookie = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def end(self, signo=signal.SIGTERM):
        """Its status and what it wrote on standard error."""
        self.process.send_signal(signo)
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors

    def raw(self, request, timeout=SECONDS):
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            try:
                s.sendall(request)
            except (ConnectionResetError, BrokenPipeError):
                pass  # it may refuse before it has all of it
            data = b""
            while chunk := s.recv(1 << 16):
                data += chunk
        return Answer(data)

    def get(self, target="", method="GET", host=None, cookie=True, **headers):
        if cookie and self.cookie is None:
            first = self.raw(self.request(self.path + "?token=" + self.token))
            self.cookie = first.headers["set-cookie"].split(";")[0]
        if cookie:
            headers["Cookie"] = self.cookie
        return self.raw(self.request(self.path + target, method, host, headers))

    def request(self, target, method="GET", host=None, headers=()):
        lines = ["%s %s HTTP/1.1" % (method, target), "Host: " + (host or "127.0.0.1:%d" % self.port)]
        lines += ["%s: %s" % (k.replace("_", "-"), headers[k]) for k in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def report(self, target=""):
        """The page, once it is made: its data, and itself."""
        end = time.monotonic() + SECONDS
        while True:
            answer = self.get(target)
            if 'id="af-report"' in answer.text:
                break
            expect("is being made" in answer.text, answer.text[:2000])
            expect(time.monotonic() < end, "no report after %d s" % SECONDS)
            time.sleep(0.2)
        data = re.search(r'id="af-report">(.*?)</script>', answer.text, re.S)[1]
        return json.loads(data), answer

    def state(self, trace=""):
        return json.loads(self.get("state?trace=" + trace).text)


@case("the link gives a cookie, and the cookie the page, which is the report")
def _():
    with Server(made(PLAIN + SAMPLE)) as server:
        first = server.raw(server.request(server.path + "?token=" + server.token))
        equal(first.status, 200, "status")
        kept = first.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=" + server.path):
            expect(word in kept, "%s is not in %s" % (word, kept))
        data, page = server.report()
        expect(data["served"]["whole"] and data["served"]["small"], data["served"])
        equal(data["trees"][0]["label"], "cpu", "the tree")
        for name, value in (
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
        ):
            equal(page.headers.get(name), value, name)
        expect("frame-ancestors 'none'" in page.headers["content-security-policy"], page.headers)
        equal(int(page.headers["content-length"]), len(page.body), "length")
        head = server.get(method="HEAD")
        equal((head.status, head.body), (200, b""), "HEAD")
        equal(head.headers["content-length"], page.headers["content-length"], "length of HEAD")
        status, errors = server.end(signal.SIGINT)
        equal(status, 0, "exit status")
        expect("ssh -N -L %d:127.0.0.1:%d" % (server.port, server.port) in errors, errors)


@case("without the token, with another one, by another name or from another site: a sentence and no data")
def _():
    with Server(made(PLAIN + SAMPLE)) as server:
        server.report()
        wrong = "0" * 32
        for answer, words in (
            (server.get(cookie=False), "lacks the token"),
            (server.get("?token=" + wrong, cookie=False), "lacks the token"),
            (server.get("?token=" + wrong), "lacks the token"),
            (server.get(cookie=False, Cookie=server.cookie[:-1] + "x"), "lacks the token"),
            (server.get("state", cookie=False), "lacks the token"),
            (server.raw(server.request("/", headers={"Cookie": server.cookie})), "lacks the token"),
            (server.get(host="trace.example:%d" % server.port), "names another machine"),
            (server.get(host="127.0.0.1.example"), "names another machine"),
            (server.get(host="localhost:12x"), "names another machine"),
            (server.get(Origin="http://trace.example"), "page of another site"),
            (server.get(Origin="http://127.0.0.1:1"), "page of another site"),
            (server.get(Origin="null"), "page of another site"),
        ):
            equal(answer.status, 403, "status")
            expect(words in answer.text, answer.text)
            expect("af-report" not in answer.text and server.token not in answer.text, "data")
            expect("set-cookie" not in answer.headers, "a cookie was given")
        for host in ("localhost:8417", "LOCALHOST", "[::1]:9", "127.0.0.1:%d" % (server.port + 1)):
            equal(server.get(host=host).status, 200, host)
        own = "127.0.0.1:%d" % server.port
        equal(server.get("state", Origin="http://" + own).status, 200, "its own origin")


@case("what is no request is refused with its status, and the server goes on")
def _():
    with Server(made(PLAIN + SAMPLE)) as server:
        host = "Host: 127.0.0.1\r\n"
        long = "X-Long: " + "y" * 20000 + "\r\n"
        many = "X-One: y\r\n" * 200
        for text, status in (
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n" + host + host + "\r\n", 400),
            ("GET http://127.0.0.1/ HTTP/1.1\r\n" + host + "\r\n", 400),
            ("GET /%zz HTTP/1.1\r\n" + host + "\r\n", 400),
            ("GET /%00 HTTP/1.1\r\n" + host + "\r\n", 400),
            ("GET /../../etc/passwd HTTP/1.1\r\n" + host + "\r\n", 400),
            ("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host + "\r\n", 400),
            ("GET / HTTP/1.1\r\n folded: x\r\n" + host + "\r\n", 400),
            ("GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", 400),
            ("GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\n" + host + "\r\n", 405),
            ("DELETE / HTTP/1.1\r\n" + host + "\r\n", 405),
            ("GET /" + "x" * 3000 + " HTTP/1.1\r\n" + host + "\r\n", 414),
            ("GET / HTTP/1.1\r\n" + host + long + "\r\n", 431),
            ("GET / HTTP/1.1\r\n" + host + many + "\r\n", 431),
            ("GET / HTTP/2.0\r\n" + host + "\r\n", 505),
            ("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        ):
            answer = server.raw(text.encode("latin-1"))
            equal(answer.status, status, text[:60])
        for target in ("nothing", "state/", "%2fetc%2fpasswd"):
            equal(server.get(target).status, 404, target)
        server.report()


@case("slow, silent and many connections leave room for a browser")
def _():
    with Server(made(PLAIN + SAMPLE)) as server:
        server.report()
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
        for s in silent[::2]:
            s.sendall(b"GET / HT")
        begin = time.monotonic()
        server.report()
        note("a report beside 300 silent connections: %.2f s" % (time.monotonic() - begin))
        # The last one is still held; what it began has an end.
        silent[-2].settimeout(SECONDS)
        expect(b" 408 " in silent[-2].recv(1 << 16), "half a request had no end")
        with open("/proc/%d/status" % server.process.pid, encoding="ascii") as f:
            peak = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
        expect(peak < 64 << 10, "the server took %d kB" % peak)
        for s in silent:
            s.close()


@case("a taken port is named with what to do; without --port a free one is found")
def _():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        trace = made(PLAIN + SAMPLE)
        done = subprocess.run(
            [AFLAME, "serve", "--port", str(port), trace], capture_output=True, text=True, check=False
        )
        equal(done.returncode, 1, "exit status")
        expect("port %d of 127.0.0.1 is taken" % port in done.stderr, done.stderr)
        expect("leave --port out" in done.stderr, done.stderr)
    with Server(trace) as one, Server(trace) as other:
        expect(one.port != other.port, "two servers on one port")
    with Server(trace, "--port", str(port)) as server:
        equal(server.port, port, "the port")


@case("of a large trace a part comes first, the rest while it is looked at, and a range alone")
def _():
    with Server(large()) as server:
        data, _ = server.report()
        served = data["served"]
        expect(not served["whole"] and not served["small"], served)
        equal(served["from"], 0, "from")
        expect(0 < served["to"] < served["span"] / 3, served)
        near = served["part"] / served["bytes"] / (served["to"] / served["span"])
        expect(0.5 < near < 2, "%s" % served)
        expect(abs(sum(served["bins"]) / served["bytes"] - 1) < 0.02, "the bins are not the trace")
        expect(server.state(served["trace"])["whole"] in ("runs", "done"), server.state())
        data, _ = server.report("?from=1.5&to=2")
        served = data["served"]
        equal((served["from"], served["to"]), (1500000000, 2000000000), "the range")
        expect(data["time"]["from"] >= 1500000000 and data["time"]["span"] <= 2000000000, "slices outside")
        for bad in ("?from=2&to=1", "?from=x", "?from=99", "?from=-1&to=2", "?from=1e9&to=2e9"):
            answer = server.get(bad)
            equal(answer.status, 400, bad)
            expect("seconds since the trace began" in answer.text, answer.text)
        data, _ = server.report("?whole")
        expect(data["served"]["whole"], data["served"])
        equal(server.state()["whole"], "done", "the whole")
        data, _ = server.report()
        expect(data["served"]["whole"], "the whole is there, and a part is shown")


@case("a part of a recorded run has what --from and --to give")
def _():
    run = record(program("bursts"), sampler=any_sampler())
    file = new_path("page") + ".html"
    with Server(run.path) as server:
        data, _ = server.report()
        span = data["served"]["span"]
        for begin, end in ((0, span // 3), (span // 3, 2 * span // 3), (2 * span // 3, span)):
            must("flame", "-o", file, "--from", "%dns" % begin, "--to", "%dns" % end, run.path)
            with open(file, encoding="utf-8", errors="replace") as f:
                text = Page(f.read())
            _, answer = server.report("?from=%.9f&to=%.9f" % (begin / 1e9, end / 1e9))
            page = Page(answer.text)
            equal(page.total("cpu", "time"), text.total("cpu", "time"), "CPU time")
            equal(page.names, text.names, "names")
            note("%.3f s to %.3f s: %d names" % (begin / 1e9, end / 1e9, len(page.names)))


@case("--open gives the browser a private file that leads to the link, and removes it")
def _():
    browser, seen = new_path("browser"), new_path("seen")
    with open(browser, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nstat -c "%%a %%n" "$1" >%s.tmp\ncat "$1" >>%s.tmp\nmv %s.tmp %s\n' % ((seen,) * 4))
    os.chmod(browser, 0o700)
    with Server(made(PLAIN + SAMPLE), "--open", BROWSER=browser) as server:
        end = time.monotonic() + SECONDS
        while not os.path.exists(seen):
            expect(time.monotonic() < end, "the browser was not started")
            time.sleep(0.05)
        with open(seen, encoding="utf-8") as f:
            mode, file = f.readline().split()
            page = f.read()
        equal(mode, "600", "mode")
        expect(server.link in page, page)
        expect(server.token not in file, "the token is in a name")
        server.end()
        expect(not os.path.exists(file), "the file is left")


@case("a report that takes more memory than may be is a sentence that names --memory")
def _():
    with Server(large(), "--memory", "8M") as server:
        answer = server.get()
        while "is being made" in answer.text:
            answer = server.get()
        equal(answer.status, 500, "status")
        expect("more than 8 MB of memory" in answer.text and "--memory" in answer.text, answer.text)


@case("a trace that is recorded again is noticed, and never mixed with the one before")
def _():
    trace = made(PLAIN + SAMPLE)
    with Server(trace) as server:
        old = server.report()[0]["served"]["trace"]
        equal(server.state(old)["now"], "same", "at first")
        shutil.rmtree(trace)
        equal(server.state(old)["now"], "gone", "removed")
        answer = server.get()
        equal(answer.status, 404, "status")
        expect("no trace in" in answer.text and "Reload" in answer.text, answer.text)
        os.rename(made(PLAIN + SAMPLE.replace("=2000", "=3000")), trace)
        equal(server.state(old)["now"], "replaced", "again")
        data, _ = server.report()
        expect(data["served"]["trace"] != old, "another recording has the same name")
        equal(server.state(data["served"]["trace"])["now"], "same", "loaded anew")


@case("the page of a trace that is still being recorded says so, and the report comes when it is whole")
def _():
    trace = made(PLAIN + SAMPLE)
    with Server(trace) as server:
        session = os.path.join(trace, ".session")
        with open(session, "w", encoding="ascii") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            answer = server.get()
            expect("still being recorded" in answer.text, answer.text)
            expect('http-equiv="refresh"' in answer.text, "the page does not come again")
            equal(server.state()["now"], "live", "state")
            os.unlink(session)
        server.report()


@case("a run of no samples is a page that says so")
def _():
    with Server(made(PLAIN)) as server:
        data, _ = server.report()
        equal(data["trees"], [], "trees")
    done = subprocess.run([AFLAME, "serve", new_path()], capture_output=True, text=True, check=False)
    equal(done.returncode, 1, "exit status of no trace")
    expect("no trace in" in done.stderr, done.stderr)


@case("10,000 processes are shown")
def _():
    trace = new_path("many")
    processes.make(MKTRACE, trace, 10000)
    with Server(trace) as server:
        data, page = server.report()
        equal(data["served"]["processes"], 10000, "processes")
        note("%.1f MB" % (len(page.body) / 1e6))
        begin = time.monotonic()
        server.state()
        expect(time.monotonic() - begin < 5, "the server did not answer")


@case("SIGINT and SIGTERM end it and what it started, whatever that does")
def _():
    trace = large()
    for signo in (signal.SIGINT, signal.SIGTERM):
        with Server(trace) as server:
            server.get("?whole")
            children = subprocess.run(
                ["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=False
            ).stdout.split()
            expect(children, "nothing was made")
            equal(server.end(signo)[0], 0, "exit status")
            for pid in children:
                expect(not os.path.exists("/proc/" + pid), "a child is left")


if __name__ == "__main__":
    must("version")
    expect(os.path.exists(os.path.join(SOURCE, "README.md")), "no sources")
    run_cases()
