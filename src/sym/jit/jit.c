#include "sym/jit/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"

/* The bound of a map's cost, whoever wrote it: each line takes some 80 bytes more. */
enum { JIT_TEXT_MAX = 64 << 20, JIT_LINES_MAX = 1 << 20 };

int af_jit_check(const struct stat *st, const struct af_jit_trust *trust)
{
	uint64_t written_ns = af_timespec_ns(&st->st_mtim);
	bool ours = false;

	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	for (uint32_t i = 0; i < trust->nr_owners; i++)
		ours = ours || trust->owners[i] == st->st_uid;
	if (!ours)
		return -EPERM;
	return written_ns < trust->not_before_ns ? -ESTALE : 0;
}

/*
 * The file, or the end of it, read rather than mapped: its writer may still be there, and truncate
 * it. *@from is where in the file the text begins.
 */
static int jit_read(char **text, uint64_t *from, int fd, const struct af_jit_trust *trust)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	int rc = af_jit_check(&st, trust);
	if (rc)
		return rc;
	*from = st.st_size > JIT_TEXT_MAX ? (uint64_t)st.st_size - JIT_TEXT_MAX : 0;
	size_t size = (size_t)((uint64_t)st.st_size - *from), have = 0;
	scope_free char *all = af_xrealloc(NULL, size + 1);
	while (have < size) {
		ssize_t n = pread(fd, all + have, size - have, (off_t)(*from + have));
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

/* The last JIT_LINES_MAX whole lines of @text, which has others before it if @is_end. */
static char *jit_last_lines(char *text, bool is_end)
{
	char *first = text, *end = text + strlen(text);
	uint32_t nr = 0;

	if (is_end) {
		first = strchr(text, '\n');
		first = first ? first + 1 : end;
	}
	for (char *at = end; at > first; at--)
		if (at[-1] == '\n' && nr++ == JIT_LINES_MAX)
			return at;
	return first;
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

bool af_jit_line(char *line, uint64_t *start, uint64_t *size, char **name)
{
	if (!jit_number(&line, start) || !jit_number(&line, size) || !*line)
		return false;
	*name = line;
	return true;
}

static void jit_add(struct af_jit *j, char *line)
{
	uint64_t start, size;
	char *name;

	if (!af_jit_line(line, &start, &size, &name))
		return;
	AF_GROW(j->entries, j->nr, j->cap);
	uint64_t end = start + size < start ? UINT64_MAX : start + size;
	j->entries[j->nr] = (struct af_jit_entry){start, name};
	af_ranges_add(&j->ranges, start, end, 0, j->nr++);
}

int af_jit_open_path(const char *path)
{
	return af_open_regular(AT_FDCWD, path, O_NOFOLLOW);
}

int af_jit_open(struct af_jit *j, int fd, const struct af_jit_trust *trust)
{
	*j = (struct af_jit){0};
	uint64_t from = 0;
	int rc = jit_read(&j->text, &from, fd, trust);
	if (rc)
		return rc;
	char *first = jit_last_lines(j->text, from);
	j->left_out = from + (uint64_t)(first - j->text);
	for (char *line = first, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		else if (trust->growing)
			break;
		jit_add(j, line);
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
