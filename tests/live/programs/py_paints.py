"""py_paints.py LIBRARY: paints.c's paint_here(), called by a greenlet that has switched before."""

import ctypes
import sys

from greenlet import getcurrent, greenlet

library = ctypes.CDLL(sys.argv[1])
library.paint_here.argtypes = [ctypes.c_double, ctypes.c_void_p]
told = (ctypes.c_long * 2)()


def paints():
    getcurrent().parent.switch()
    return library.paint_here(5.0, told)


g = greenlet(paints)
g.switch()
if g.switch():
    sys.exit(1)
print("truth taken", told[0])
print("truth frame", told[1])
