/*
 * Tests that an emulator of another machine (qemu-user) cannot run, for it stands between them and
 * the kernel. The reason is printed, as a line of TAP's diagnostics.
 */
#ifndef AF_TEST_EMULATED_H
#define AF_TEST_EMULATED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* As src/inject/core/translator.c knows it: an emulator answers only for the first of the names. */
static inline bool is_emulated(void)
{
	char reported[4096], real[4096];
	ssize_t nr_reported = readlink("/proc/self/exe", reported, sizeof reported),
		nr_real = readlink("/proc/thread-self/exe", real, sizeof real);

	return nr_reported != nr_real || memcmp(reported, real, (size_t)nr_reported);
}

/* Skips the calling test where it is emulated, for @reason. */
#define SKIP_EMULATED(reason)                                                                      \
	do {                                                                                       \
		if (is_emulated()) {                                                               \
			printf("# skipped under an emulator: %s\n", reason);                       \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#endif
