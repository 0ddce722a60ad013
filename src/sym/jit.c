#include "sym/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/scope.h"

enum { JIT_FILE_MAX = 256 << 20 };

int af_jit_check(const struct stat *st, const struct af_jit_trust *trust)
{
	uint64_t written_ns =
	    (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	bool ours = false;

	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	for (uint32_t i = 0; i < trust->nr_owners; i++)
		ours = ours || trust->owners[i] == st->st_uid;
	if (!ours)
		return -EPERM;
	return written_ns < trust->not_before_ns ? -ESTALE : 0;
}

/* The whole file, read rather than mapped: its writer may still be there, and truncate it. */
static int jit_read(char **text, int fd, const struct af_jit_trust *trust)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	int rc = af_jit_check(&st, trust);
	if (rc)
		return rc;
	if (st.st_size > JIT_FILE_MAX)
		return -EFBIG;
	size_t size = (size_t)st.st_size, have = 0;
	scope_free char *all = af_xrealloc(NULL, size + 1);
	while (have < size) {
		ssize_t n = pread(fd, all + have, size - have, (off_t)have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		have += (size_t)n;
	}
	all[have] = 0;
	*text = give(all);
	return 0;
}

/* A hexadecimal number and the blank after it. */
static bool jit_number(char **p, uint64_t *value)
{
	char *end;

	/* strtoull takes blanks and signs, which no map has. */
	if (!strchr("0123456789abcdefABCDEF", **p) || !**p)
		return false;
	errno = 0;
	*value = strtoull(*p, &end, 16);
	if (errno || *end != ' ')
		return false;
	*p = end + 1;
	return true;
}

static void jit_line(struct af_jit *j, char *line)
{
	uint64_t start, size;

	if (!jit_number(&line, &start) || !jit_number(&line, &size) || !*line)
		return;
	AF_GROW(j->entries, j->nr, j->cap);
	uint64_t end = start + size < start ? UINT64_MAX : start + size;
	j->entries[j->nr] = (struct af_jit_entry){start, line};
	af_ranges_add(&j->ranges, start, end, 0, j->nr++);
}

int af_jit_open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int af_jit_open(struct af_jit *j, int fd, const struct af_jit_trust *trust)
{
	*j = (struct af_jit){0};
	int rc = jit_read(&j->text, fd, trust);
	if (rc)
		return rc;
	for (char *line = j->text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		else if (trust->growing)
			break;
		jit_line(j, line);
	}
	af_ranges_build(&j->ranges);
	return 0;
}

void af_jit_close(struct af_jit *j)
{
	free(j->text);
	free(j->entries);
	af_ranges_free(&j->ranges);
	*j = (struct af_jit){0};
}

const struct af_jit_entry *af_jit_find(const struct af_jit *j, uint64_t address)
{
	uint32_t i = af_ranges_find(&j->ranges, address);

	return i == AF_RANGES_NONE ? NULL : &j->entries[i];
}
