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

# The emulator knows what Linux' console does, and not all that xterm does.
KEYS = {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"}
KEYS.update({"enter": "\r", "back": "\x7f", "pgdn": "\x1b[6~", "pgup": "\x1b[5~"})


class Terminal:
    def __init__(self, command, rows=24, columns=80, term="linux"):
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

    def idle(self):
        """Has it read all keys, and does it wait for more?"""
        process = "/proc/%d/" % self.pid
        try:
            with open(process + "stat", encoding="utf-8") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            if state in "ZX":
                return True
            slave = os.open(process + "fd/0", os.O_RDONLY | os.O_NOCTTY)
        except OSError:
            return True
        try:
            unread = fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4)
        except OSError:  # it is not there yet
            return False
        finally:
            os.close(slave)
        return state == "S" and unread == b"\0" * 4

    def pump(self, most_s=20.0):
        """Take what the program writes until it waits for the next key."""
        end = time.monotonic() + most_s
        while time.monotonic() < end:
            idle = self.idle()
            if not select.select([self.fd], [], [], 0.03)[0]:
                if idle:
                    break
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                self.status = os.waitpid(self.pid, 0)[1] if self.status is None else self.status
                break
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
        columns = range(self.screen.columns)
        return [(line[x].data, line[x].fg, line[x].bg, line[x].reverse) for x in columns]

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
