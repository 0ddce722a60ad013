/*
 * A builder must write a trace without a fault, whatever was imported: written to a folder
 * of the memory's, read back, gone.
 */
#ifndef AF_FUZZ_BUILDER_CHECK_H
#define AF_FUZZ_BUILDER_CHECK_H

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/fs.h"
#include "exchange/builder/builder.h"
#include "exchange/source/source.h"
#include "trace/read/reader.h"
#include "trace/write/objects.h"

/* Bytes, given in pieces so that tokens are parted. */
struct fuzz_bytes {
	const uint8_t *at, *end;
	size_t piece;
};

static inline ssize_t fuzz_read(void *arg, void *to, size_t size)
{
	struct fuzz_bytes *b = arg;
	size_t n = (size_t)(b->end - b->at);

	n = n < size ? n : size;
	n = n < b->piece ? n : b->piece;
	memcpy(to, b->at, n);
	b->at += n;
	return (ssize_t)n;
}

static char fuzz_dir[64];

static inline void fuzz_dir_remove(void)
{
	rmdir(fuzz_dir);
}

static inline void fuzz_dir_make(void)
{
	if (*fuzz_dir)
		return;
	strcpy(fuzz_dir, "/dev/shm/aflame-fuzz-XXXXXX");
	if (!mkdtemp(fuzz_dir)) {
		perror("mkdtemp");
		exit(2);
	}
	atexit(fuzz_dir_remove);
}

static inline void fuzz_dir_empty(void)
{
	char path[512];
	DIR *d = opendir(fuzz_dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", fuzz_dir, e->d_name);
		if (unlink(path) && !strcmp(e->d_name, AF_OBJECTS_DIR))
			af_remove_tree(path);
	}
	if (d)
		closedir(d);
}

static inline void fuzz_check_trace(uint64_t most)
{
	struct af_trace *t;
	struct af_event ev;
	struct af_err err = {0};
	uint64_t nr = 0;

	if (af_trace_open(&t, fuzz_dir, 0, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	while (af_trace_next(t, &ev))
		nr += ev.kind == AF_KIND_CALL || ev.kind == AF_KIND_CALL_LONG ||
		      ev.kind == AF_KIND_KSAMPLE || ev.kind == AF_KIND_GPU_WORK ||
		      ev.kind == AF_KIND_GPU_WORK_LONG || ev.kind == AF_KIND_GPU_SAMPLE;
	const struct af_trace_damage *d = af_trace_damage(t);
	if (d->packets || d->events || d->discarded || d->missing || d->retimed || nr > most)
		abort();
	af_trace_close(t);
}

/* Write @d, read it back, close it. */
static inline void fuzz_check_builder(struct af_builder *d)
{
	struct af_err err = {0};
	/* Work may get a call each, samples a call and work, spans time before and behind inner
	 * ones. */
	uint64_t most = af_builder_nr(d) + d->nr_works + d->nr_slices + 2 * d->stalls.nr;

	if (af_builder_nr(d)) {
		fuzz_dir_make();
		int dir = open(fuzz_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (af_builder_write(d, dir, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			abort();
		}
		close(dir);
		fuzz_check_trace(most);
		fuzz_dir_empty();
	}
	af_builder_close(d);
}

/*
 * The data that @import takes from the bytes into @d, which is open, must be a trace without a
 * fault.
 */
static inline void fuzz_import(struct af_builder *d, const uint8_t *data, size_t size,
                               void (*import)(struct af_builder *d,
                                              const struct af_import_source *in, uint32_t number,
                                              char *complaint, size_t size))
{
	struct fuzz_bytes b = {data, data + size, 1 + size / 3};
	const struct af_import_source in = {fuzz_read, &b};
	char complaint[256] = "";

	import(d, &in, 0, complaint, sizeof complaint);
	fuzz_check_builder(d);
}

#endif
