#include "inject/core/translator.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/*
 * A translator answers for the kernel where a program asks for its own file: by these two of
 * /proc/self/exe's names, not by those that hardly any program uses.
 */
bool af_translator_runs_us(void)
{
	char reported[PATH_MAX], real[PATH_MAX];
	ssize_t nr_reported = readlink("/proc/self/exe", reported, sizeof reported),
		nr_real = readlink("/proc/thread-self/exe", real, sizeof real);

	return nr_reported > 0 && nr_real > 0 &&
	       (nr_reported != nr_real || memcmp(reported, real, (size_t)nr_reported));
}

static bool begins_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

bool af_translator_runs_others(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = 0;
	const char *slash = strrchr(exe, '/');
	return slash && begins_with(slash, "/qemu-") && !begins_with(slash, "/qemu-system-") &&
	       !begins_with(slash, "/qemu-x86_64");
}
