/*
 * libpycalls.so of py_calls_c_calls_py.py: C between Python and Python, called through ctypes.
 */
#include "burn.h"

#define PYCALLS_API __attribute__((visibility("default")))

typedef void (*pycalls_callback)(void);

PYCALLS_API void c_work(unsigned long us);
PYCALLS_API int64_t c_calls_back(pycalls_callback callback, unsigned long us);

BURN_SINK;

/* Burns that many microseconds, about. */
APART void c_work(unsigned long us)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_A, us * BURN_PER_US);
	burn_sink = x;
}

/* Burns a little itself, then calls back into Python; returns the callback's CPU time in ns. */
APART int64_t c_calls_back(pycalls_callback callback, unsigned long us)
{
	uint64_t x = burn_sink;
	int64_t ns;

	BURN(x, BURN_B, us * BURN_PER_US);
	burn_sink = x;
	ns = -burn_thread_ns();
	callback();
	return ns + burn_thread_ns();
}
