#include "cmd/shared/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"
#include "exchange/source/source.h"
#include "render/html/encoding.h"
#include "render/render.h"

/* A whole file is mapped; a pipe is read to its end. */
static int text_take(struct af_stacks *s, int fd, const char *name, struct af_err *err)
{
	enum { PIECE = 1 << 18 };
	scope_free char *piece = NULL;

	if (!lseek(fd, 0, SEEK_CUR) && !af_file_map_fd(&s->file, fd) && s->file.size) {
		lseek(fd, 0, SEEK_END); /* where reading would have left it */
		s->data = (const char *)s->file.data;
		s->size = s->file.size;
		return 0;
	}
	piece = af_xcalloc(1, PIECE);
	for (;;) {
		ssize_t n = read(fd, piece, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return af_fail(err, -errno, "cannot read %s", name);
		if (!n)
			break;
		af_buf_add(&s->text, piece, (size_t)n);
	}
	s->data = s->text.data ? s->text.data : "";
	s->size = s->text.len;
	return 0;
}

/* Text in another encoding becomes UTF-8. */
static int text_recode(struct af_stacks *s, const char *encoding, struct af_err *err)
{
	struct af_buf recoded = {0};

	if (af_encoding_is_utf8(encoding))
		return 0;
	int rc = af_encoding_read(encoding, s->data, s->size, &recoded, err);
	af_buf_free(&s->text);
	s->text = recoded;
	s->data = recoded.data ? recoded.data : "";
	s->size = recoded.len;
	return rc;
}

/* The mark of UTF-8 at the front is no text. */
static void mark_skip(struct af_stacks *s)
{
	size_t mark = af_import_mark(s->data, s->size);

	s->data += mark;
	s->size -= mark;
}

/* Text in another known format, or unlike folded text, is not drawn. */
static int folded_check(const struct af_stacks *s, const struct af_folded_stats *stats,
                        struct af_err *err)
{
	char say[256];

	if (af_import_is_other(s->data, s->size, af_import_is_collapsed, say, sizeof say))
		return af_fail_plain(err, -EINVAL, "not folded stacks: %s", say);
	unsigned long long bad = stats->bad_lines, all = bad + stats->lines;
	if (stats->bad_lines > stats->lines)
		return af_fail_plain(
		    err, -EINVAL,
		    "not folded stacks: %llu of %llu lines do not parse, the first: %s", bad, all,
		    stats->complaint);
	return 0;
}

static int stacks_parse(struct af_stacks *s, const struct af_stacks_how *how, struct af_err *err)
{
	static const struct af_tree_weight one[] = {{"samples", "samples"}};
	static const struct af_tree_weight two[] = {{"before", "samples"}, {"after", "samples"}};
	struct af_folded_stats stats = {0};

	af_tree_open(&s->tree, how->two ? two : one, how->two ? 2 : 1);
	s->tree.ordered = how->ordered;
	int rc = folded_check(s, &stats, err);
	rc = rc ? rc : af_folded_read(&s->tree, s->data, s->size, how->two, &stats, err);
	rc = rc ? rc : folded_check(s, &stats, err);
	if (rc)
		return rc;
	uint64_t nr_lines = stats.lines + stats.bad_lines;
	if (stats.bad_lines)
		fprintf(stderr, "aflame %s: %llu of %llu lines do not parse, the first: %s\n",
		        how->who, (unsigned long long)stats.bad_lines, (unsigned long long)nr_lines,
		        stats.complaint);
	if (stats.slips)
		fprintf(
		    stderr,
		    "aflame %s: %llu counts stand behind a semicolon in place of a blank: taken "
		    "as counts\n",
		    how->who, (unsigned long long)stats.slips);
	if (stats.saturated)
		fprintf(stderr, "aflame %s: a sum of counts beyond 2^64 - 1 was cut to that\n",
		        how->who);
	return 0;
}

int af_stacks_read(struct af_stacks *s, int fd, const char *name, const struct af_stacks_how *how,
                   struct af_err *err)
{
	*s = (struct af_stacks){0};
	int rc = text_take(s, fd, name, err);
	rc = rc ? rc : text_recode(s, how->encoding, err);
	if (rc)
		return rc;
	mark_skip(s);
	rc = stacks_parse(s, how, err);
	return rc ? af_while(err, rc, "while reading %s", name) : 0;
}

static int text_open(const char *name, struct af_err *err)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? af_fail(err, -errno, "cannot open %s", name) : fd;
}

int af_stacks_open(struct af_stacks *s, const char *name, const struct af_stacks_how *how,
                   struct af_err *err)
{
	if (!strcmp(name, "-"))
		return af_stacks_read(s, STDIN_FILENO, "standard input", how, err);
	*s = (struct af_stacks){0};
	scope_close int fd = text_open(name, err);
	return fd < 0 ? fd : af_stacks_read(s, fd, name, how, err);
}

int af_stacks_text(struct af_stacks *s, const char *name, const char *encoding, struct af_err *err)
{
	int rc;

	*s = (struct af_stacks){0};
	if (!strcmp(name, "-")) {
		rc = text_take(s, STDIN_FILENO, "standard input", err);
	} else {
		scope_close int fd = text_open(name, err);
		rc = fd < 0 ? fd : text_take(s, fd, name, err);
	}
	rc = rc ? rc : text_recode(s, encoding, err);
	if (!rc)
		mark_skip(s);
	return rc;
}

void af_stacks_close(struct af_stacks *s)
{
	af_tree_close(&s->tree);
	af_file_unmap(&s->file);
	af_buf_free(&s->text);
}
