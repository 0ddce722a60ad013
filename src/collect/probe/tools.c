/* Interfaces by which programs call a tool: there is nothing to be found but other tools. */
#include <stdio.h>
#include <stdlib.h>

#include "collect/probe/collect.h"

int af_kokkos_probe(char *words, size_t size, struct af_err *err)
{
	const char *other = getenv("KOKKOS_TOOLS_LIBS");

	(void)err;
	if (!other || !*other)
		other = getenv("KOKKOS_PROFILE_LIBRARY");
	if (other && *other)
		snprintf(words, size, "programs call libaflame.so, which hands calls on to %s",
		         other);
	else
		snprintf(words, size, "programs with Kokkos 3.0 or later call libaflame.so");
	return 0;
}

int af_itt_probe(char *words, size_t size, struct af_err *err)
{
	const char *other = getenv("INTEL_LIBITTNOTIFY64");

	(void)err;
	if (other && *other)
		snprintf(words, size, "programs call libaflame.so, which hands calls on to %s",
		         other);
	else
		snprintf(words, size, "programs that have ITT linked in call libaflame.so");
	return 0;
}
