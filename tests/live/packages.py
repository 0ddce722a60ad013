"""Debian's packages: those that are installed, and what comes from the archive into a folder of ours."""

import glob
import os
import re
import subprocess
import sys


def install(wanted):
    """Packages that start servers are reported not to, as there is no need of them."""
    missing = [p for p in sorted(wanted) if subprocess.run(["dpkg", "-s", p], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode]
    if not missing:
        return
    print("installing %s" % " ".join(missing), file=sys.stderr)
    policy = "/usr/sbin/policy-rc.d"
    own = not os.path.exists(policy)
    if own:
        with open(policy, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(policy, 0o755)
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    try:
        subprocess.run(["apt-get", "update", "-qq"], env=env, check=False, stdout=subprocess.DEVNULL)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-remove", "--no-install-recommends", *missing],
                       env=env, check=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    finally:
        if own:
            os.unlink(policy)


class Archive:
    """The archive that this machine's own lists name, its sources, too, by lists in @folder: the machine's stay as they are."""

    def __init__(self, folder):
        self.folder = folder
        self.parts = os.path.join(folder, "parts")
        lists, cache = os.path.join(folder, "lists"), os.path.join(folder, "cache")
        for path in (self.parts, lists + "/partial", cache + "/archives/partial"):
            os.makedirs(path, exist_ok=True)
        self.how = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=" + self.parts,
                    "-o", "Dir::State::lists=" + lists, "-o", "Dir::Cache=" + cache, "-o", "APT::Sandbox::User="]
        self.updated = False

    def update(self):
        if self.updated:
            return
        for path in glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/*"):
            if path.endswith((".list", ".sources")):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(os.path.join(self.parts, os.path.basename(path)), "w", encoding="utf-8") as file:
                    file.write(with_sources(text))
        subprocess.run(["apt-get", *self.how, "-qq", "update"], check=True, stdout=subprocess.DEVNULL)
        self.updated = True

    def versions(self, name, kind):
        """The newest first. A mirror may list one that it does not have."""
        done = subprocess.run(["apt-cache", *self.how, "madison", name], stdout=subprocess.PIPE, universal_newlines=True, check=True)
        rows = [line.split("|") for line in done.stdout.splitlines()]
        return list(dict.fromkeys(row[1].strip() for row in rows if row[2].strip().endswith(kind)))

    def get(self, name, kind, words, into):
        """Runs apt-get @words NAME=VERSION in the empty folder @into for the newest version that is to be had."""
        self.update()
        for version in self.versions(name, kind):
            done = subprocess.run(["apt-get", *self.how, "-qq", *words, "%s=%s" % (name, version)], cwd=into, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
            if not done.returncode:
                return
        raise RuntimeError("apt-get %s %s: %s" % (" ".join(words), name, done.stderr.strip()[-200:] if self.versions(name, kind) else "unknown"))

    def source(self, name, into):
        """Unpacks the source package @name in the empty folder @into; its folder there."""
        self.get(name, "Sources", ["source"], into)
        return next(path for path in glob.glob(into + "/*") if os.path.isdir(path))

    def package(self, name, into):
        """Unpacks the package @name, which is not installed, into @into."""
        self.get(name, "Packages", ["download"], into)
        subprocess.run(["dpkg", "-x", *glob.glob(into + "/*.deb"), into], check=True)


def with_sources(text):
    """A list of apt's, in either form, with the sources of what it names."""
    text = re.sub(r"^Types:.*$", "Types: deb deb-src", text, flags=re.M)
    return re.sub(r"^deb([ \t].*)$", r"deb\1\ndeb-src\1", text, flags=re.M)
