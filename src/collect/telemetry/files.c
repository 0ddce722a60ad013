/* Counters that are files of one number each: what sysfs is made of. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/proc.h"
#include "collect/telemetry/private.h"

/* The number at the start of a file; what follows it is a unit, a time, or nothing. */
static bool number_read(int fd, uint64_t *number)
{
	char text[64], *end;

	if (!telemetry_text_read(fd, text, sizeof text) || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return !errno && (!*end || strchr(" \n@", *end));
}

/* Without overflow: a driver's number may be any. */
static uint64_t scaled(const struct telemetry_file *f, uint64_t number)
{
	__uint128_t value = (__uint128_t)number * f->times / f->by;

	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

bool telemetry_add_file(struct telemetry_source *s, const struct telemetry_file *file,
                        uint32_t device, uint32_t flags, uint64_t per, const char *name,
                        const char *unit, const char *group)
{
	struct telemetry_file f = *file;
	uint64_t number;

	if (s->nr == TELEMETRY_VALUES)
		return false;
	f.times = f.times ? f.times : 1;
	f.by = f.by ? f.by : 1;
	f.fd = af_open_regular(AT_FDCWD, f.path, 0);
	if ((f.fd == -EACCES || f.fd == -EPERM) && !*s->why)
		snprintf(s->why, sizeof s->why, "%.300s can be read by root alone", f.path);
	if (f.fd < 0)
		return false;
	if (!number_read(f.fd, &number)) {
		close(f.fd);
		return false;
	}
	size_t size = strlen(f.path) + 1;
	f.path = memcpy(af_arena_alloc(&s->texts, size), f.path, size);
	f.counter = telemetry_add(s, device, flags, per, name, unit, group);
	AF_GROW(s->files, s->nr_files, s->cap_files);
	s->files[s->nr_files++] = f;
	return true;
}

static int entry_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void telemetry_each(struct telemetry_source *s, const struct telemetry_roots *roots,
                    const char *folder, const char *start,
                    void (*take)(struct telemetry_source *s, const struct telemetry_roots *roots,
                                 const char *path, const char *name))
{
	char path[512], **names = NULL;
	uint32_t nr = 0, cap = 0;

	snprintf(path, sizeof path, "%s", folder);
	DIR *d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));) {
		if (*e->d_name == '.' || strncmp(e->d_name, start, strlen(start)) != 0)
			continue;
		AF_GROW(names, nr, cap);
		names[nr++] = af_xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	AF_SORT(names, nr, entry_order);
	for (uint32_t i = 0; i < nr; i++) {
		char entry[768];
		snprintf(entry, sizeof entry, "%s/%s", path, names[i]);
		take(s, roots, entry, names[i]);
		free(names[i]);
	}
	free(names);
}

bool telemetry_line(const char *path, const char *name, char *text, size_t size)
{
	char file[768];

	snprintf(file, sizeof file, "%s/%s", path, name);
	if (!af_read_text(file, text, size))
		return false;
	text[strcspn(text, "\n")] = 0;
	return *text;
}

/* A file that vanishes stays away: its device went. */
static void file_lost(struct telemetry_source *s, struct telemetry_file *f, int error)
{
	char what[200];

	snprintf(what, sizeof what, "%.150s: %s", f->path, error ? strerror(error) : "no number");
	telemetry_failed(s, what);
	s->totals[f->counter].known = false;
	if (error != ENODEV && error != ENOENT)
		return;
	close(f->fd);
	f->fd = -1;
}

void telemetry_files_read(struct telemetry_source *s)
{
	uint64_t number;

	for (uint32_t i = 0; i < s->nr_files; i++) {
		struct telemetry_file *f = &s->files[i];
		errno = 0;
		if (f->fd < 0)
			continue;
		if (!number_read(f->fd, &number))
			file_lost(s, f, errno);
		else if (s->all[f->counter].flags & AF_COUNTER_AMOUNT)
			telemetry_total(s, f->counter, scaled(f, number));
		else
			telemetry_put(s, f->counter, scaled(f, number));
	}
}
