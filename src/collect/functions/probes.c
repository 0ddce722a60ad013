#include "collect/functions/probes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"

static int shared_write(int shm_fd, const char *name, const void *data, size_t size)
{
	scope_close int fd = af_create_private(shm_fd, name);

	return fd < 0 ? fd : af_write_all(fd, data, size);
}

int af_probes_write(int shm_fd, const struct af_probe *probes, uint32_t nr)
{
	static const uint8_t called[AF_PROBES_MOST];

	if (!nr)
		return 0;
	int rc = shared_write(shm_fd, AF_PROBES_FILE, probes, nr * sizeof *probes);
	return rc ? rc : shared_write(shm_fd, AF_PROBES_CALLED_FILE, called, sizeof called);
}

bool af_probes_called(int shm_fd, uint8_t *called)
{
	scope_close int fd = af_open_regular(shm_fd, AF_PROBES_CALLED_FILE, O_NOFOLLOW);

	return fd >= 0 && pread(fd, called, AF_PROBES_MOST, 0) == AF_PROBES_MOST;
}

/* The first of those that were not called, and how many more there are. */
static void names_write(const struct af_probed_call *all, uint32_t nr, uint32_t missing,
                        char *names, size_t size)
{
	enum { SHOWN = 5 };
	uint32_t shown = 0;
	size_t len = 0;

	for (uint32_t i = 0; i < nr && shown < SHOWN && len < size; i++)
		if (!all[i].called)
			len += (size_t)snprintf(names + len, size - len, "%s%s",
			                        shown++ ? ", " : "", all[i].function);
	if (missing > shown && len < size)
		snprintf(names + len, size - len, " and %u more (aflame print -k note)",
		         missing - shown);
}

uint32_t af_uncalled_words(const struct af_probed_call *all, uint32_t nr, char *words, size_t size)
{
	uint32_t of_file = 0, missing = 0;
	char names[600] = "";

	for (; of_file < nr && !strcmp(all[of_file].file, all->file); of_file++)
		missing += !all[of_file].called;
	names_write(all, of_file, missing, names, sizeof names);
	*words = 0;
	if (missing && missing < of_file)
		snprintf(words, size, "--uprobe: of %u functions of %s %s not called: %s", of_file,
		         all->file, missing > 1 ? "these were" : "one was", names);
	else if (missing)
		snprintf(words, size,
		         "--uprobe: no call of %s was seen: either there was none, or what was "
		         "recorded has another file than %s mapped (see /proc/PID/maps)",
		         names, all->file);
	return of_file;
}
