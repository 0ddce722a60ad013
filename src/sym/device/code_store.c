#include "sym/device/code_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/system/fs.h"
#include "trace/read/files.h"
#include "trace/read/origin.h"
#include "trace/write/objects.h"

struct af_code_store {
	int dirfd;
	struct af_map by_name; /* hash of the name → object */
	struct af_arena objects;
	struct store_object *last;
};

struct store_object {
	struct store_object *before; /* the one opened before it */
	struct store_object *same;   /* another whose name has the same hash */
	char name[AF_SHA256_HEX];
	struct af_file file;
	struct af_code *code;
	struct af_err err;
};

int af_code_store_open(struct af_code_store **out, const char *dir, struct af_err *err)
{
	int fd = af_trace_dir_open(dir);

	*out = NULL;
	if (fd < 0)
		return af_fail(err, fd, "cannot open %s", dir);
	*out = af_xcalloc(1, sizeof **out);
	(*out)->dirfd = fd;
	return 0;
}

void af_code_store_close(struct af_code_store *s)
{
	if (!s)
		return;
	for (struct store_object *o = s->last; o; o = o->before) {
		af_code_close(o->code);
		af_file_unmap(&o->file);
	}
	close(s->dirfd);
	af_map_free(&s->by_name);
	af_arena_free(&s->objects);
	free(s);
}

static void store_read(const struct af_code_store *s, struct store_object *o)
{
	int rc = af_object_map(&o->file, s->dirfd, o->name, &o->err);

	if (!rc && o->file.data)
		af_code_open(&o->code, o->file.data, o->file.size, &o->err);
	else if (!rc)
		af_fail_plain(&o->err, -ENOEXEC, "the object is empty");
}

static struct store_object *store_object(struct af_code_store *s, const char *name)
{
	uint64_t *known = af_map_at(&s->by_name, af_scatter_bytes(name, strlen(name)), NULL);
	struct store_object *first = (struct store_object *)(uintptr_t)*known, *o;

	for (o = first; o; o = o->same)
		if (!strcmp(o->name, name))
			return o;
	o = af_arena_alloc(&s->objects, sizeof *o);
	*o = (struct store_object){.before = s->last, .same = first};
	memcpy(o->name, name, sizeof o->name - 1);
	s->last = o;
	*known = (uintptr_t)o;
	store_read(s, o);
	return o;
}

struct af_code *af_code_store_get(struct af_code_store *s, const char *name)
{
	return af_object_name_ok(name) ? store_object(s, name)->code : NULL;
}

const char *af_code_store_reason(struct af_code_store *s, const char *name)
{
	if (!*name)
		return "it was not kept";
	return af_object_name_ok(name) ? store_object(s, name)->err.msg
	                               : "that is no name of an object";
}

int af_code_store_map(const struct af_code_store *s, const char *name, struct af_file *f)
{
	return af_object_map(f, s->dirfd, name, NULL);
}

bool af_code_store_is_here(const struct af_code_store *s)
{
	return af_origin_is_here(s->dirfd);
}
