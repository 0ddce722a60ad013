"""py_paints.py LIBRARY: paints.c's paint_here(), called by a greenlet that has switched before."""

import ctypes
import sys

from greenlet import getcurrent, greenlet

library = ctypes.CDLL(sys.argv[1])
library.paint_here.argtypes = [ctypes.c_double, ctypes.c_void_p]
reported = (ctypes.c_long * 2)()


def paints():
    getcurrent().parent.switch()
    return library.paint_here(5.0, reported)


g = greenlet(paints)
g.switch()
if g.switch():
    sys.exit(1)
print("truth taken", reported[0])
print("truth frame", reported[1])
