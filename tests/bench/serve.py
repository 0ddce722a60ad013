#!/usr/bin/env python3
"""See serve. Arguments: aflame, a trace, serve.js."""

import glob
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request

AFLAME, TRACE, SCRIPT = sys.argv[1:]


def peak_kb(pid):
    try:
        with open("/proc/%s/status" % pid, encoding="ascii") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
    except (OSError, TypeError):
        return 0


def with_children(pid):
    yield str(pid)
    for path in glob.glob("/proc/%s/task/*/children" % pid):
        try:
            with open(path, encoding="ascii") as f:
                yield from f.read().split()
        except OSError:
            pass


class Peaks(threading.Thread):
    """The peak of each process of a server, until it ends."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.peaks = {}
        self.start()

    def run(self):
        while peak_kb(self.pid):
            for pid in with_children(self.pid):
                self.peaks[pid] = max(self.peaks.get(pid, 0), peak_kb(pid))
            time.sleep(0.005)


class Browser:
    """Chromium, started before the clock; without it, urllib."""

    def __init__(self):
        self.node = None
        if os.environ.get("CHROMIUM"):
            self.node = subprocess.Popen(
                ["node", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.node.stdout.readline()
        self.what = "in Chromium" if self.node else "received"

    def show(self, link):
        if self.node:
            self.node.stdin.write(link + "\n")
            self.node.stdin.flush()
            self.node.stdout.readline()
            return
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(link).read()
        while b"af-report" not in opener.open(link.split("?")[0]).read():
            time.sleep(0.1)


def serve(browser, name):
    begin = time.monotonic()
    server = subprocess.Popen(
        [AFLAME, "serve", TRACE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    peaks = Peaks(server.pid)
    link = server.stdout.readline().strip()
    linked = time.monotonic() - begin
    browser.show(link)
    shown = time.monotonic() - begin
    first = sum(peaks.peaks.values()) / 1024
    server.terminate()
    server.wait()
    print(
        "%-12s link after %5.2f s, first screen %s after %5.2f s, peaks of all processes together %4.0f MB"
        % (name, linked, browser.what, shown, first),
        flush=True,
    )


def drop_cache():
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("1\n")
    except OSError:
        return False
    return True


def main():
    browser = Browser()
    for _ in range(3):
        serve(browser, "cached")
    for _ in range(3):
        if drop_cache():
            serve(browser, "not cached")
    if browser.node:
        browser.node.stdin.close()
        browser.node.wait()


main()
