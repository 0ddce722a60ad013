/* The object store's other half: not for targets, as mapping a file brings a handler of SIGBUS. */
#include "trace/write/objects.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "trace/read/files.h"

bool af_object_name_ok(const char *name)
{
	return strlen(name) == AF_SHA256_HEX - 1 &&
	       strspn(name, "0123456789abcdef") == AF_SHA256_HEX - 1;
}

static int object_open(struct af_file *f, int trace_dirfd, const char *name, struct af_err *err)
{
	char hex[AF_SHA256_HEX];

	*f = (struct af_file){0};
	if (!af_object_name_ok(name))
		return af_fail_plain(err, -EINVAL, "an object of the trace has an impossible name");

	scope_close int dirfd = af_trace_folder(trace_dirfd, AF_OBJECTS_DIR);
	scope_close int fd = dirfd < 0 ? dirfd : af_trace_file(dirfd, name);
	int rc = fd < 0 ? fd : af_file_map_fd(f, fd);
	if (rc)
		return af_fail(err, rc, "cannot read the trace's object %s", name);
	/* A file from elsewhere may lie there under a second name of its own (link(2)). */
	af_sha256_hex(f->data, f->size, hex);
	if (!strcmp(hex, name))
		return give_fd(fd);
	af_file_unmap(f);
	return af_fail_plain(err, -EBADMSG, "the trace's object %.16s… does not match its name",
	                     name);
}

int af_object_map(struct af_file *f, int trace_dirfd, const char *name, struct af_err *err)
{
	scope_close int fd = object_open(f, trace_dirfd, name, err);

	return fd < 0 ? fd : 0;
}

int af_object_open(int trace_dirfd, const char *name)
{
	struct af_file f;
	int fd = object_open(&f, trace_dirfd, name, NULL);

	af_file_unmap(&f);
	return fd;
}
