"""A second user of this machine, without any privilege: as whom to run programs, in a folder of his.

No name is needed for that, only a number that nobody has: nothing is added to the machine.
"""

import json
import os
import pwd
import shutil
import struct
import subprocess
import tempfile
import traceback

from machine import AFLAME, BUILD, program
from tap import Skip


def free_id():
    """A number of a user, and of a group, that nobody has and that owns no process."""
    owners = {os.stat("/proc/%s" % p).st_uid for p in os.listdir("/proc") if p.isdigit() and os.path.exists("/proc/" + p)}
    for number in range(61234, 61334):
        try:
            pwd.getpwuid(number)
        except KeyError:
            if number not in owners:
                return number
    raise Skip("every number for a user is taken here")


# Numbers of capabilities: linux/capability.h.
DAC_OVERRIDE, DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN, SYSLOG, PERFMON, BPF = 1, 2, 19, 21, 34, 38, 39


def give_rights(path, rights, effective):
    """What setcap(8) does, which is not everywhere: struct vfs_cap_data, revision 2."""
    mask = sum(1 << number for number in rights)
    value = struct.pack("<IIIII", 0x02000000 | effective, mask & 0xFFFFFFFF, 0, mask >> 32, 0)
    try:
        os.setxattr(path, "security.capability", value)
    except OSError as failure:
        raise Skip("no file can be given capabilities here: %s" % failure)


def need_public_build():
    """What was built here is loaded by other users' programs, which must be able to read it."""
    path = os.path.join(BUILD, "src/inject/libaflame.so")
    while path != "/":
        if not os.stat(path).st_mode & (0o001 if os.path.isdir(path) else 0o004):
            raise Skip("others cannot read what was built here: %s" % path)
        path = os.path.dirname(path)


class Stranger:
    """with Stranger() as other: other.run(words); other.home is a folder of his."""

    def __enter__(self):
        if os.geteuid():
            raise Skip("needs root to act as a second user")
        self.id = free_id()
        self.home = tempfile.mkdtemp(prefix="aflame-stranger-")
        os.chown(self.home, self.id, self.id)
        os.chmod(self.home, 0o755)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.home, ignore_errors=True)

    def _as_him(self, how):
        how.setdefault("cwd", self.home)
        how.setdefault("stdin", subprocess.DEVNULL)
        env = {"PATH": os.environ["PATH"], "HOME": self.home}
        env.update(how.pop("env", {}))
        return dict(how, env=env, user=self.id, group=self.id, extra_groups=[])

    def start(self, words, **how):
        return subprocess.Popen(words, **self._as_him(how))

    def run(self, words, **how):
        how.setdefault("timeout", 120)
        return subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **self._as_him(how)
        )

    def act(self, function, *words):
        """Runs function(*words) as him, in a process of its own; fails where that fails."""
        pid = os.fork()
        if not pid:
            try:
                os.setgroups([])
                os.setgid(self.id)
                os.setuid(self.id)
                os.umask(0o022)
                function(*words)
                os._exit(0)
            except BaseException:  # the child must not come back
                traceback.print_exc()
                os._exit(1)
        if os.waitpid(pid, 0)[1]:
            raise AssertionError("the stranger could not do his part")

    def call(self, function, *arguments):
        """What function(*arguments) returns, called as him in a process of its own."""
        there, here = os.pipe()
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setgroups([])
                os.setgid(self.id)
                os.setuid(self.id)
                os.write(here, json.dumps(function(*arguments)).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(here)
        with open(there, "rb") as answer:
            reported = answer.read()
        if os.waitpid(pid, 0)[1]:
            raise RuntimeError("%s failed as another user" % function.__name__)
        return json.loads(reported)

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text, mode=0o644):
        """A file of his."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(path, self.id, self.id)
        os.chmod(path, mode)
        return path

    def program(self, name):
        """A copy of a program of known behaviour (machine.py) that he may run."""
        return shutil.copy(program(name), self.home)

    def install(self, rights=(), effective=False):
        """The program, with these capabilities, and its library where he may run them; the path of the program."""
        folders = [self.path(name) for name in ("bin", "lib", "lib/aflame")]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o755)
        shutil.copy(os.path.join(BUILD, "src/inject/libaflame.so"), folders[2])
        path = shutil.copy(AFLAME, folders[0])
        if rights:
            give_rights(path, rights, effective)
        return path
