"""A job of ranks_step, each rank with a recorder of its own, and one of them odd. For live tests and
for tests/bench/odd_ranks."""

import json
import os
import subprocess
import tempfile

KINDS = ("cpu", "device", "disk")
BLKIO = "/sys/fs/cgroup/blkio"
UNIFIED = "/sys/fs/cgroup"


class NoLimit(Exception):
    """This machine cannot make a disk slow for one process."""


class SlowDisk:
    """A control group whose reads of the disk below @path are limited to @iops a second."""

    def __init__(self, path, iops):
        device = os.stat(path).st_dev
        name = "%d:%d" % (os.major(device), os.minor(device))
        self.folder, self.procs = None, None
        try:
            if os.path.isdir(BLKIO):
                self._make(BLKIO, "tasks", "blkio.throttle.read_iops_device", "%s %d\n" % (name, iops))
            else:
                self._make(UNIFIED, "cgroup.procs", "io.max", "%s riops=%d\n" % (name, iops))
        except OSError as problem:
            self.close()
            raise NoLimit("no control group limits reads here: %s" % problem) from problem

    def _make(self, root, procs, limit, text):
        self.folder = tempfile.mkdtemp(prefix="aflame-odd-", dir=root)
        with open(os.path.join(self.folder, limit), "w", encoding="ascii") as f:
            f.write(text)
        self.procs = os.path.join(self.folder, procs)

    def enter(self):
        """Called in the process that is to have the slow disk."""
        with open(self.procs, "w", encoding="ascii") as f:
            f.write("0")

    def close(self):
        """Without processes in it, a control group is a folder to remove."""
        if self.folder:
            os.rmdir(self.folder)
            self.folder = None


def environment(build, rank, ranks, kind):
    """That of a rank as torchrun starts it; with the mock of CUDA where devices are used."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI", "SLURM_"))}
    env = dict(known, RANK=str(rank), WORLD_SIZE=str(ranks))
    if kind == "device":
        mock = os.path.join(build, "tests/mock_cuda")
        path = [os.path.join(mock, part) for part in ("driver", "cupti13")]
        env.update(LD_LIBRARY_PATH=":".join(path), MOCK_CUDA="1", MOCK_CUDA_DEVICES="1", MOCK_CUDA_VERSION="13000")
    return env


def run_job(build, out, ranks, odd, kind, steps, options=(), off_cpu=True):
    """
    Record @ranks ranks into the folder @out. Rank @odd has more of @kind; None: no rank has. Waits for the disk
    are recorded if @off_cpu, and else only polled.
    """
    aflame = os.path.join(build, "src/cmd/aflame")
    program = os.path.join(build, "tests/live/programs/ranks_step")
    options = [*options, *(["--off-cpu"] if kind == "disk" and off_cpu else [])]
    disk = None
    with tempfile.TemporaryDirectory(prefix="aflame-odd-") as folder:
        shared, data = os.path.join(folder, "shared"), os.path.join(folder, "data")
        with open(shared, "wb") as f:
            f.write(bytes(4096))
        with open(data, "wb") as f:
            f.write(os.urandom(16 * 4096))
            f.flush()
            os.fsync(f.fileno())
        if kind == "disk" and odd is not None:
            disk = SlowDisk(data, 20)
        try:
            started = []
            for rank in range(ranks):
                more = "file=" + data if kind == "disk" else kind if rank == odd else ""
                command = [aflame, "record", "-q", "-o", out, *options, "--", program, str(steps), shared, more]
                slow = disk.enter if disk and rank == odd else None
                started.append(subprocess.Popen(command, env=environment(build, rank, ranks, kind), preexec_fn=slow))
            return [one.wait() for one in started]
        finally:
            if disk:
                disk.close()


def report(build, out, *words):
    """{table: rows} of `aflame report ranks`."""
    command = [os.path.join(build, "src/cmd/aflame"), "report", "ranks", "--json", *words, out]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
