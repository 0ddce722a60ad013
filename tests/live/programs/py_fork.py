"""py_fork.py [SCALE]: Python processes made in every way.

Truth: 300 ms of CPU each in parent_work (this process), child_work (os.fork, no exec), and pool_work in
two multiprocessing workers, one by fork and one by spawn (a new interpreter). A spawn also starts
multiprocessing's resource tracker, a Python process that does nothing. Only the parent prints.
Exit status: 0, or 1 when a child failed.
"""

import multiprocessing
import os
import sys

import py_burn


def parent_work(n):
    py_burn.spin(n)


def child_work(n):
    py_burn.spin(n)


def pool_work(n):
    py_burn.spin(n)


def start_worker(method, n):
    worker = multiprocessing.get_context(method).Process(target=pool_work, args=(n,))
    worker.start()
    return worker


def main():
    n = int(300 * py_burn.scale() * py_burn.spins_per_ms())
    pid = os.fork()
    if pid == 0:
        child_work(n)
        os._exit(0)
    workers = [start_worker(method, n) for method in ("fork", "spawn")]
    parent_work(n)
    _, status = os.waitpid(pid, 0)
    for worker in workers:
        worker.join()
        status |= worker.exitcode
    print("truth cpu_ms_each %d" % (300 * py_burn.scale()))
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
