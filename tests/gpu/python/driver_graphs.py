"""Graphs by the driver's own functions, for frameworks that cannot update an executable one."""

import ctypes

DRIVER = ctypes.CDLL("libcuda.so.1")
RELAXED = 2


def check(rc, what):
    if rc:
        raise RuntimeError("%s: CUDA error %d" % (what, rc))


def capture(stream, work):
    """What @work puts into the stream (a handle), as a graph."""
    graph = ctypes.c_void_p()
    check(DRIVER.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), RELAXED), "begin of a capture")
    work()
    check(DRIVER.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)), "its end")
    return graph


def instantiate(graph):
    out = ctypes.c_void_p()
    rc = DRIVER.cuGraphInstantiateWithFlags(ctypes.byref(out), graph, ctypes.c_ulonglong(0))
    check(rc, "instantiation")
    return out


def update(executable, graph):
    result = (ctypes.c_uint64 * 4)()
    check(DRIVER.cuGraphExecUpdate_v2(executable, graph, result), "update")


def launch(executable, stream):
    check(DRIVER.cuGraphLaunch(executable, ctypes.c_void_p(stream)), "launch of a graph")


def destroy(graph):
    check(DRIVER.cuGraphDestroy(graph), "end of a graph")


def update_and_launch(stream, works, steps, each=None):
    """Captures anew, updates and launches at each of @steps; @works take turns."""
    first = capture(stream, works[0])
    executable = instantiate(first)
    destroy(first)
    for i in range(steps):
        graph = capture(stream, works[i % len(works)])
        update(executable, graph)
        launch(executable, stream)
        destroy(graph)
        if each and i % 50 == 49:
            each()
