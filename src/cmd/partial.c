#include "cmd/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"

int af_partial_write(const char *file, af_partial_write_all *write, void *arg, struct af_err *err)
{
	char partial[PATH_MAX];
	struct stat st;

	if (!strcmp(file, "-"))
		return write(STDOUT_FILENO, arg, err);

	bool in_place = !stat(file, &st) && !S_ISREG(st.st_mode);
	if ((size_t)snprintf(partial, sizeof partial, in_place ? "%s" : "%s.part", file) >=
	    sizeof partial)
		return af_fail_plain(err, -ENAMETOOLONG, "the name %s is too long", file);
	scope_close int fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return af_fail(err, -errno, "cannot write %s", file);
	int rc = write(fd, arg, err);
	if (!rc && !in_place && rename(partial, file))
		rc = af_fail(err, -errno, "cannot write %s", file);
	if (rc && !in_place)
		unlink(partial);
	return rc ? af_while(err, rc, "while writing %s", file) : 0;
}
