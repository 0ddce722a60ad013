/* The object store's other half: not for targets, as mapping a file brings a handler of SIGBUS. */
#include "trace/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/scope.h"

bool af_object_name_ok(const char *name)
{
	return strlen(name) == AF_SHA256_HEX - 1 &&
	       strspn(name, "0123456789abcdef") == AF_SHA256_HEX - 1;
}

int af_object_map(struct af_file *f, int trace_dirfd, const char *name, struct af_err *err)
{
	*f = (struct af_file){0};
	if (!af_object_name_ok(name))
		return af_fail_plain(err, -EINVAL, "an object of the trace has an impossible name");

	scope_close int dirfd =
	    openat(trace_dirfd, AF_OBJECTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = dirfd < 0 ? -errno : af_file_map_at(f, dirfd, name);
	return rc ? af_fail(err, rc, "cannot read the trace's object %s", name) : 0;
}
