#include "sym/resolve/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/system/clock.h"
#include "sym/module/module.h"
#include "sym/resolve/kernel.h"

/* A module that nobody uses at the moment. */
struct shared_module {
	struct af_sym_module *module; /* NULL: the place is free */
	struct af_shared_file file;   /* its path and its build-id are malloc'd */
	uint64_t bytes, used;
};

struct af_sym_shared {
	pthread_mutex_t lock; /* of the modules */
	struct shared_module modules[AF_SHARED_MODULES];
	uint64_t bytes, uses;

	char *kernel_path; /* NULL: no table was read */
	struct af_kernel kernel;
	int kernel_rc;

	struct af_strtab strings;
	struct af_map packages; /* string of a path → string of its package */
};

struct af_sym_shared *af_sym_shared_open(void)
{
	struct af_sym_shared *s = af_xcalloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void shared_drop(struct af_sym_shared *s, struct shared_module *m)
{
	free((char *)m->file.path);
	free((uint8_t *)m->file.build_id);
	s->bytes -= m->bytes;
	*m = (struct shared_module){0};
}

void af_sym_shared_close(struct af_sym_shared *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < AF_SHARED_MODULES; i++) {
		af_sym_module_close(s->modules[i].module);
		shared_drop(s, &s->modules[i]);
	}
	af_kernel_close(&s->kernel);
	free(s->kernel_path);
	af_strtab_free(&s->strings);
	af_map_free(&s->packages);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void shared_stamp(struct af_shared_file *file)
{
	struct stat st;

	memset(file->stamp, 0, sizeof file->stamp);
	if (*file->path != '/' || stat(file->path, &st) || !S_ISREG(st.st_mode))
		return;
	file->stamp[0] = st.st_dev;
	file->stamp[1] = st.st_ino;
	file->stamp[2] = (uint64_t)st.st_size;
	file->stamp[3] = af_timespec_ns(&st.st_mtim);
	file->stamp[4] = af_timespec_ns(&st.st_ctim);
	file->stamp[5] = 1;
}

static bool shared_is(const struct shared_module *m, const struct af_shared_file *file)
{
	const struct af_shared_file *is = &m->file;

	return m->module && is->trust_path == file->trust_path &&
	       is->build_id_len == file->build_id_len && !strcmp(is->path, file->path) &&
	       (!file->build_id_len || !memcmp(is->build_id, file->build_id, file->build_id_len));
}

struct af_sym_module *af_shared_take(struct af_sym_shared *s, struct af_shared_file *file)
{
	struct af_sym_module *found = NULL, *stale = NULL;

	if (!s)
		return NULL;
	/* Before the file is opened: one that takes its place meanwhile has another stamp. */
	shared_stamp(file);
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < AF_SHARED_MODULES && !found && !stale; i++) {
		struct shared_module *m = &s->modules[i];

		if (!shared_is(m, file))
			continue;
		if (memcmp(m->file.stamp, file->stamp, sizeof file->stamp) != 0)
			stale = m->module;
		else
			found = m->module;
		shared_drop(s, m);
	}
	pthread_mutex_unlock(&s->lock);
	af_sym_module_close(stale);
	return found;
}

/* The place that is free, or the one whose module has not been used for longest. */
static struct shared_module *shared_oldest(struct af_sym_shared *s, bool may_be_free)
{
	struct shared_module *oldest = NULL;

	for (uint32_t i = 0; i < AF_SHARED_MODULES; i++) {
		struct shared_module *m = &s->modules[i];

		if (!m->module && may_be_free)
			return m;
		if (m->module && (!oldest || m->used < oldest->used))
			oldest = m;
	}
	return oldest;
}

static void shared_put(struct af_sym_shared *s, const struct af_shared_file *file,
                       struct af_sym_module *m, uint64_t bytes)
{
	struct shared_module *to;

	while (s->bytes + bytes > AF_SHARED_BYTES && (to = shared_oldest(s, false))) {
		af_sym_module_close(to->module);
		shared_drop(s, to);
	}
	to = shared_oldest(s, true);
	if (to->module) {
		af_sym_module_close(to->module);
		shared_drop(s, to);
	}
	*to = (struct shared_module){m, *file, bytes, s->uses++};
	to->file.path = af_xstrdup(file->path);
	uint8_t *build_id = af_xcalloc(file->build_id_len + 1, 1);
	if (file->build_id_len)
		memcpy(build_id, file->build_id, file->build_id_len);
	to->file.build_id = build_id;
	s->bytes += bytes;
}

void af_shared_give(struct af_sym_shared *s, const struct af_shared_file *file,
                    struct af_sym_module *m)
{
	uint64_t bytes = af_sym_module_found_at(m, file->path);

	if (!s || !file->stamp[5] || !bytes || bytes > AF_SHARED_BYTES) {
		af_sym_module_close(m);
		return;
	}
	pthread_mutex_lock(&s->lock);
	shared_put(s, file, m, bytes);
	pthread_mutex_unlock(&s->lock);
}

const struct af_kernel *af_shared_kernel(struct af_sym_shared *s, const char *path, int *rc)
{
	if (!s->kernel_path || strcmp(s->kernel_path, path) != 0) {
		af_kernel_close(&s->kernel);
		free(s->kernel_path);
		s->kernel_path = af_xstrdup(path);
		s->kernel_rc = af_kernel_open(&s->kernel, path);
	}
	*rc = s->kernel_rc;
	return &s->kernel;
}

const char *af_shared_package(struct af_sym_shared *s, const char *path)
{
	const uint64_t *package = af_map_get(&s->packages, af_strtab_id_z(&s->strings, path));

	return package ? af_strtab_get(&s->strings, (uint32_t)*package) : NULL;
}

void af_shared_set_package(struct af_sym_shared *s, const char *path, const char *package)
{
	uint32_t id = af_strtab_id_z(&s->strings, package);

	*af_map_at(&s->packages, af_strtab_id_z(&s->strings, path), NULL) = id;
}
