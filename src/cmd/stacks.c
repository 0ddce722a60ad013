#include "cmd/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "render/render.h"

/* A whole file is mapped; a pipe is read to its end. */
static int stacks_text(struct af_stacks *s, int fd, const char *name, struct af_err *err)
{
	enum { PIECE = 1 << 18 };
	scope_free char *piece = NULL;

	if (!lseek(fd, 0, SEEK_CUR) && !af_file_map_fd(&s->file, fd) && s->file.size)
		return 0;
	piece = af_xcalloc(1, PIECE);
	for (;;) {
		ssize_t n = read(fd, piece, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return af_fail(err, -errno, "cannot read %s", name);
		if (!n)
			return 0;
		af_buf_add(&s->text, piece, (size_t)n);
	}
}

static int stacks_parse(struct af_stacks *s, bool two, const char *who, struct af_err *err)
{
	static const struct af_tree_weight one[] = {{"samples", "samples"}};
	static const struct af_tree_weight both[] = {{"before", "samples"}, {"after", "samples"}};
	struct af_folded_stats stats = {0};
	const char *data = s->file.size ? (const char *)s->file.data : s->text.data;
	size_t size = s->file.size ? s->file.size : s->text.len;

	af_tree_open(&s->tree, two ? both : one, two ? 2 : 1);
	int rc = af_folded_read(&s->tree, data ? data : "", size, two, &stats, err);
	uint64_t nr_lines = stats.lines + stats.bad_lines;
	if (stats.bad_lines)
		fprintf(stderr, "aflame %s: %llu of %llu lines do not parse, the first: %s\n", who,
		        (unsigned long long)stats.bad_lines, (unsigned long long)nr_lines,
		        stats.complaint);
	if (stats.saturated)
		fprintf(stderr, "aflame %s: a sum of counts beyond 2^64 - 1 was cut to that\n",
		        who);
	return rc;
}

int af_stacks_read(struct af_stacks *s, int fd, const char *name, bool two, const char *who,
                   struct af_err *err)
{
	*s = (struct af_stacks){0};
	int rc = stacks_text(s, fd, name, err);
	if (rc)
		return rc;
	rc = stacks_parse(s, two, who, err);
	return rc ? af_while(err, rc, "while reading %s", name) : 0;
}

int af_stacks_open(struct af_stacks *s, const char *name, const char *who, struct af_err *err)
{
	if (!strcmp(name, "-"))
		return af_stacks_read(s, STDIN_FILENO, "standard input", false, who, err);
	*s = (struct af_stacks){0};
	scope_close int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return af_fail(err, -errno, "cannot open %s", name);
	return af_stacks_read(s, fd, name, false, who, err);
}

void af_stacks_close(struct af_stacks *s)
{
	af_tree_close(&s->tree);
	af_file_unmap(&s->file);
	af_buf_free(&s->text);
}
