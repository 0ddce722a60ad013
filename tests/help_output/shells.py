"""Completion as a user has it: a real shell on a terminal, keys pressed, words read back.

    with Bash(script) as shell:
        shell.complete("aflame record --sam")   →  ["--sample"]

What stands before the word that is completed is not in the answer.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from tap import Skip, expect

END = "@END@"
DEADLINE_S = 30


def need_shell(name):
    path = shutil.which(name)
    if not path:
        raise Skip("no %s here" % name)
    return path


class Terminal:
    """A shell on a terminal so wide that no line is broken."""

    def __init__(self, argv, home):
        need_shell(argv[0])
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(home)
            os.execvpe(
                argv[0],
                argv,
                {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "LC_ALL": "C.UTF-8"},
            )
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 4000, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def until(self, pattern):
        """All that it says up to and with @pattern."""
        reported, deadline = "", time.monotonic() + DEADLINE_S
        while not re.search(pattern, reported, re.M):
            left = deadline - time.monotonic()
            expect(left > 0, "the shell never says %r, but %.3000r" % (pattern, reported))
            if select.select([self.fd], [], [], left)[0]:
                reported += os.read(self.fd, 65536).decode("utf-8", "replace")
        return reported

    def do(self, line):
        os.write(self.fd, (line + "; echo do''ne\r").encode())
        self.until(r"^done\r?$")

    def complete(self, line):
        """The words that all completions of the end of @line make of it."""
        keys = line + self.ALL + "\x01printf '<%s>\\n' \x05 " + END + "\r"
        os.write(self.fd, keys.encode())
        reported = self.until(r"^<%s>\r?$" % END)
        words = re.findall(r"^<(.*)>\r?$", reported, re.M)[:-1]
        before = line.split(" ")[:-1]
        expect(words[: len(before)] == before, "%r has become %r" % (line, words))
        return words[len(before) :]


class Bash(Terminal):
    ALL = "\x1b*"  # insert-completions

    def __init__(self, script, home):
        super().__init__(["bash", "--norc", "--noprofile", "-i"], home)
        self.do("PS1=; bind 'set enable-bracketed-paste off'; . '%s'" % script)


class Zsh(Terminal):
    ALL = "\x18a"

    def __init__(self, script, home):
        super().__init__(["zsh", "-f", "-i"], home)
        self.do(
            "PS1= PS2= RPS1=; unsetopt prompt_sp prompt_cr; fpath=('%s' $fpath)"
            % os.path.dirname(script)
        )
        self.do("autoload -Uz compinit && compinit -D -u; bindkey -e")
        self.do(
            "zle -C all-matches complete-word _generic; bindkey '^Xa' all-matches; "
            "zstyle ':completion:all-matches:*' insert true; "
            "zstyle ':completion:all-matches::::' completer _all_matches _complete"
        )


class Fish:
    """It tells its completions itself."""

    def __init__(self, script, home):
        need_shell("fish")
        self.script, self.home = script, home

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def complete(self, line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", self.script, line],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            cwd=self.home,
            env={"PATH": os.environ["PATH"], "HOME": self.home},
            check=False,
            timeout=DEADLINE_S,
        )
        expect(not done.returncode and not done.stderr, "fish: %s" % done.stderr)
        return [row.split("\t")[0] for row in done.stdout.splitlines()]
