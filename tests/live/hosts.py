"""Two hosts on one machine: namespaces with a name, processes, a /dev/shm and a boot id of their own, and a
folder that both have over a network file system (sshfs, whose server is sftp-server)."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid

from machine import WORKPLACE, need_tool
from recording import new_path
from tap import Skip

SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/lib/ssh/sftp-server", "/usr/libexec/openssh/sftp-server")

# What a host's first process does; then it waits to be killed, and everything of the host goes with it.
BOOT = """
mount --make-rprivate / && hostname "$1" && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs "$4" &&
mount --bind "$2" /proc/sys/kernel/random/boot_id || { echo no; exit 1; }
sshfs -f -o passive,allow_other,default_permissions :"$3" "$3.there" <&9 >&9 9>&- &
for i in $(seq 100); do mountpoint -q "$3.there" && break; sleep 0.05; done
mountpoint -q "$3.there" && echo ready || echo no
exec sleep 3600
"""


class Host:
    """@served is a folder; the host has it as @served.there. @local is the host's own disk."""

    def __init__(self, name, served, server):
        self.name, self.local = name, new_path("local-" + name)
        boot_id = new_path("boot-id")
        os.makedirs(self.local)
        with open(boot_id, "w", encoding="ascii") as f:
            f.write("%s\n" % uuid.uuid4())
        ours, theirs = socket.socketpair()
        self.server = subprocess.Popen([server, "-e"], stdin=ours, stdout=ours, stderr=subprocess.DEVNULL)
        words = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.first = subprocess.Popen(
            [*words, "sh", "-c", BOOT, "sh", name, boot_id, served, self.local], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: os.dup2(theirs.fileno(), 9, True),
            close_fds=False)
        ours.close()
        theirs.close()
        if self.first.stdout.readline() != b"ready\n":
            self.first.kill()
            raise Skip("no hosts of namespaces with sshfs here: %s" % self.first.stderr.read(300).decode().strip())
        children = "/proc/%d/task/%d/children" % (self.first.pid, self.first.pid)
        with open(children, encoding="ascii") as f:
            self.pid = f.read().split()[0]

    def words(self, *command):
        """The command line that runs @command on this host."""
        return ["nsenter", "--target", self.pid, "--mount", "--uts", "--ipc", "--pid", "--", *map(str, command)]

    def run(self, *command, **how):
        """CompletedProcess, as text."""
        return subprocess.run(self.words(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False, cwd="/", **how)

    def start(self, *command, **how):
        return subprocess.Popen(self.words(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd="/", **how)

    def close(self):
        self.first.kill()
        self.first.communicate()
        self.server.kill()
        self.server.wait()


@contextlib.contextmanager
def two_hosts():
    """(folder, hosts): the folder is on both, over the network."""
    if os.geteuid():
        raise Skip("making hosts of namespaces needs root")
    for tool in "unshare", "nsenter", "sshfs":
        need_tool(tool)
    server = next((path for path in SERVERS if os.path.exists(path)), None)
    if not server or not os.path.exists("/dev/fuse"):
        raise Skip("no sftp-server, or no /dev/fuse")
    served = new_path("served")
    os.makedirs(served)
    os.makedirs(served + ".there")
    hosts = []
    try:
        for name in "nodea", "nodeb":
            hosts.append(Host(name, served, server))
        yield served + ".there", hosts
    finally:
        for host in hosts:
            host.close()
