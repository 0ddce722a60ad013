"""A terminal of a given size with a program in it, as an emulator (python3-pyte) draws it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

from tap import Skip, expect

# Debian's, where another python3 comes first.
sys.path.append("/usr/lib/python3/dist-packages")
try:
    import pyte
except ImportError:
    pyte = None

KEYS = {"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "esc": "\x1b"}
KEYS.update({"enter": "\r", "back": "\x7f", "pgdn": "\x1b[6~", "pgup": "\x1b[5~"})


class Terminal:
    def __init__(self, command, rows=24, columns=80, term="xterm-256color"):
        if not pyte:
            raise Skip("no python3-pyte here")
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.status = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(TERM=term, LC_ALL="C.UTF-8")
            os.environ.pop("NO_COLOR", None)
            try:
                os.execv(command[0], command)
            finally:
                os._exit(127)
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def pump(self, quiet_s=0.15, most_s=20.0):
        """Take what the program writes until it writes nothing for a while."""
        end = time.monotonic() + most_s
        wrote = False
        while time.monotonic() < end:
            ready = select.select([self.fd], [], [], quiet_s if wrote else 1.0)[0]
            if not ready:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                self.status = os.waitpid(self.pid, 0)[1] if self.status is None else self.status
                break
            wrote = True
            self.stream.feed(data)

    def press(self, *keys):
        for key in keys:
            os.write(self.fd, KEYS.get(key, key).encode())
            self.pump()
        return self

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def wait_for(self, pattern, most_s=20.0):
        end = time.monotonic() + most_s
        while time.monotonic() < end:
            self.pump()
            found = re.search(pattern, self.text(), re.M)
            if found:
                return found
            if self.status is not None:
                break
        expect(False, "the screen never has %r:\n%s" % (pattern, self.text()))

    def cells(self, row):
        """[(character, foreground, background, reverse)]"""
        line = self.screen.buffer[row]
        return [(line[x].data, line[x].fg, line[x].bg, line[x].reverse) for x in range(self.screen.columns)]

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
