/*
 * A mock of a Level Zero driver, for Level Zero's own loader (ZE_ENABLE_ALT_DRIVERS): it computes
 * nothing on a device, but has a device's timer, and every piece of work takes as long as the
 * program says. Never installed.
 *
 *	MOCK_ZE_LOG=FILE     a line for each piece of work: its name, start and end in ticks
 *	MOCK_ZE_BITS=N       valid bits of kernels' stamps (32)
 *	MOCK_ZE_FIRST=N      where the timer stands at the start (0)
 *	MOCK_ZE_NO_CLOCK=1   zeDeviceGetGlobalTimestamps fails
 *	MOCK_ZE_DEVICES=N    devices (2)
 *	MOCK_ZE_NO_METRICS=1 with ZET_ENABLE_METRICS=1 zeInit fails, as where Intel's libraries lack
 *	MOCK_ZE_FAIL=CALL=N  a function of metrics (mock_metrics.c) fails with the result N
 *
 * A module is a text with the names of its kernels, divided by blanks. A kernel's first argument is
 * its duration in ns: whole ticks, of 80 ns. A copy and a fill take 80 ns for each byte. A kernel
 * called "never" does not end; one called "refused" cannot be appended.
 */
#ifndef AF_MOCK_ZE_H
#define AF_MOCK_ZE_H

enum { MOCK_ZE_HZ = 12500000, MOCK_ZE_TICK_NS = 80 };

#endif
