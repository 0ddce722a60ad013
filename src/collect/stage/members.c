#include "collect/stage/members.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/read/contents.h"
#include "trace/read/files.h"

static void member_add(struct af_members *m, const char *name)
{
	AF_GROW(m->names, m->nr, m->cap);
	m->names[m->nr++] = af_xstrdup(name);
}

static int names_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void member_found(void *members, const char *name, int fd)
{
	if (af_trace_is_placed(fd))
		member_add(members, name);
}

static void members_find(struct af_members *m)
{
	af_trace_each(m->fd, member_found, m);
	AF_SORT(m->names, m->nr, names_order);
}

int af_members_open(struct af_members *m, const char *path, struct af_err *err)
{
	char name[NAME_MAX + 1], full[PATH_MAX];

	*m = (struct af_members){.fd = -1};
	scope_close int fd = af_trace_dir_open(path);
	if (fd < 0)
		return af_fail(err, fd, "cannot open %s", path);
	m->single = af_trace_is_placed(fd);
	if (m->single && realpath(path, full)) {
		m->fd = af_parent_open(full, name);
		if (m->fd >= 0)
			member_add(m, name);
	} else {
		m->fd = give_fd(fd);
		members_find(m);
	}
	if (m->nr)
		return 0;
	return af_fail_plain(err, -ENODATA, "%s has no trace in it", path);
}

void af_members_close(struct af_members *m)
{
	for (uint32_t i = 0; i < m->nr; i++)
		free(m->names[i]);
	free(m->names);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct af_members){.fd = -1};
}
