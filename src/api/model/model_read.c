/* The text of a model, line by line. Whatever it says, what is read can be used without checks. */
#include "api/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

enum { WORDS_MOST = 6, STRUCT_MOST = UINT16_MAX, KIND_LAST = UINT16_MAX };

/* Where the reader is. */
struct model_text {
	struct af_model *m;
	const char *path;
	uint32_t line;
	char *words[WORDS_MOST];
	uint32_t nr_words;
	struct af_model_type *type; /* which lines with a tab belong to */
	struct af_model_function *function;
	struct af_err *err;
};

#define BAD(t, fmt, ...)                                                                           \
	af_fail_plain((t)->err, -EINVAL, "%s:%u: " fmt, (t)->path, (t)->line, ##__VA_ARGS__)

/* A name as C has it. */
static bool is_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	if (!*s || !strchr(letters, *s))
		return false;
	for (; *s; s++)
		if (!strchr(letters, *s) && (*s < '0' || *s > '9'))
			return false;
	return true;
}

static int text_name(const struct model_text *t, const char *s)
{
	return is_name(s) ? 0 : BAD(t, "\"%s\" is no name", s);
}

static int text_number(const struct model_text *t, const char *s, uint32_t most, uint32_t *value)
{
	char *end;

	errno = 0;
	unsigned long v = strtoul(s, &end, 0);
	if (*s < '0' || *s > '9' || *end || errno || v > most)
		return BAD(t, "\"%s\" is no number from 0 to %u", s, most);
	*value = (uint32_t)v;
	return 0;
}

/* A type that has a size; void only where @void_too. */
static int text_type(const struct model_text *t, const char *name, bool void_too)
{
	const struct af_model_type *type = af_model_type(t->m, name);

	if (!type)
		return BAD(t, "no type %s above this line", name);
	if (!type->size && !void_too)
		return BAD(t, "%s has no size", name);
	return 0;
}

/* The lines that begin with a word */

static int read_api(struct model_text *t)
{
	struct af_model *m = t->m;
	int rc;

	if (m->name)
		return BAD(t, "a second line \"api\"");
	if (t->nr_words < 4)
		return BAD(t, "expected \"api NAME KIND TITLE\"");
	rc = text_name(t, t->words[1]);
	if (!rc)
		rc = text_number(t, t->words[2], KIND_LAST, &m->kind);
	if (rc)
		return rc;
	m->name = af_arena_strdup(&m->arena, t->words[1], strlen(t->words[1]));
	m->title = af_arena_strdup(&m->arena, t->words[3], strlen(t->words[3]));
	return 0;
}

static int read_source(struct model_text *t)
{
	if (t->nr_words < 2 || t->nr_words > 3)
		return BAD(t, "expected \"source HEADER [VERSION]\"");
	af_model_add_source(t->m, t->words[1], t->nr_words > 2 ? t->words[2] : NULL);
	return 0;
}

static int read_struct(struct model_text *t)
{
	uint32_t size = 0, align = 0;
	int rc = text_number(t, t->words[3], STRUCT_MOST, &size);

	if (!rc)
		rc = text_number(t, t->words[4], STRUCT_MOST, &align);
	if (rc)
		return rc;
	if (!size || !align || (align & (align - 1)) || size % align)
		return BAD(t, "%u bytes aligned to %u are no size of a struct", size, align);
	t->type = af_model_add_type(t->m, t->words[1], AF_MODEL_STRUCT, NULL);
	t->type->size = size;
	t->type->align = align;
	return 0;
}

static int read_stored(struct model_text *t, enum af_model_form form, const char *base)
{
	struct af_model_type *added = af_model_add_type(t->m, t->words[1], form, base);
	const struct af_model_type *b = af_model_type(t->m, base);

	if (!b || b->form != AF_MODEL_BUILTIN || !b->size)
		return BAD(t, "%s is no built-in type", base);
	if (form != AF_MODEL_ALIAS && base[0] != 'i' && base[0] != 'u')
		return BAD(t, "values of %s have no names", base);
	t->type = added;
	return 0;
}

static int read_type(struct model_text *t)
{
	const char *form = t->nr_words > 2 ? t->words[2] : "";
	int rc;

	if (t->nr_words < 3)
		return BAD(t, "expected \"type NAME FORM …\"");
	rc = text_name(t, t->words[1]);
	if (rc)
		return rc;
	if (af_model_type(t->m, t->words[1]))
		return BAD(t, "a second type %s", t->words[1]);
	if (t->nr_words == 5 && !strcmp(form, "struct"))
		return read_struct(t);
	if (t->nr_words == 4 && !strcmp(form, "enum"))
		return read_stored(t, AF_MODEL_ENUM, t->words[3]);
	if (t->nr_words == 4 && !strcmp(form, "flags"))
		return read_stored(t, AF_MODEL_FLAGS, t->words[3]);
	if (t->nr_words == 3)
		return read_stored(t, AF_MODEL_ALIAS, form);
	return BAD(t, "\"%s\" is no form of a type, or has too few or too many words", form);
}

/* Adding comes before the check of the type, because it is what makes a type bytesN exist. */
static int read_function(struct model_text *t)
{
	struct af_model *m = t->m;
	uint32_t number = 0;
	int rc;

	if (t->nr_words != 4)
		return BAD(t, "expected \"fn NUMBER NAME RESULT\"");
	rc = text_number(t, t->words[1], KIND_LAST - m->kind, &number);
	if (!rc)
		rc = text_name(t, t->words[2]);
	if (rc)
		return rc;
	if (af_model_function(m, t->words[2]))
		return BAD(t, "a second function %s", t->words[2]);
	if (m->nr_functions && m->functions[m->nr_functions - 1].number >= number)
		return BAD(t, "number %u is not above that of the function before", number);
	t->function = af_model_add_function(m, number, t->words[2], t->words[3]);
	return text_type(t, t->words[3], true);
}

/* The lines that begin with a tab */

static int read_value(struct model_text *t)
{
	char *end;

	if (t->nr_words != 2)
		return BAD(t, "expected \"VALUE NAME\"");
	errno = 0;
	long long value = strtoll(t->words[0], &end, 0);
	if (end == t->words[0] || *end || errno)
		return BAD(t, "\"%s\" is no value", t->words[0]);
	af_model_add_value(t->m, t->type, value, t->words[1]);
	return text_name(t, t->words[1]);
}

static int read_member(struct model_text *t)
{
	const struct af_model_type *s = t->type;
	uint32_t offset = 0, nr = 1, begin = 0;
	int rc;

	if (t->nr_words < 3 || t->nr_words > 4)
		return BAD(t, "expected \"OFFSET NAME TYPE [COUNT]\"");
	rc = text_number(t, t->words[0], STRUCT_MOST, &offset);
	if (!rc)
		rc = text_name(t, t->words[1]);
	if (!rc && t->nr_words > 3)
		rc = text_number(t, t->words[3], STRUCT_MOST, &nr);
	if (rc)
		return rc;
	if (s->nr_members) {
		const struct af_model_member *last = &s->members[s->nr_members - 1];
		begin = last->offset + last->nr * af_model_type(t->m, last->type)->size;
	}
	if (!strcmp(t->words[2], s->name))
		return BAD(t, "%s cannot be a member of itself", s->name);
	af_model_add_member(t->m, t->type, offset, t->words[1], t->words[2], nr);
	rc = text_type(t, t->words[2], false);
	if (rc)
		return rc;
	uint64_t bytes = (uint64_t)af_model_type(t->m, t->words[2])->size * nr;
	if (!nr || offset < begin || offset + bytes > s->size)
		return BAD(t, "%s does not lie in the struct behind what is above it", t->words[1]);
	return 0;
}

static int read_param(struct model_text *t)
{
	enum af_model_points points = AF_MODEL_BY_VALUE;
	const char *type = t->words[t->nr_words - 1];
	int rc;

	if (t->nr_words < 2 || t->nr_words > 3)
		return BAD(t, "expected \"NAME [in|out] TYPE\"");
	if (t->nr_words == 3 && strcmp(t->words[1], "in") && strcmp(t->words[1], "out"))
		return BAD(t, "\"%s\" is neither in nor out", t->words[1]);
	if (t->nr_words == 3)
		points = t->words[1][0] == 'i' ? AF_MODEL_IN : AF_MODEL_OUT;
	rc = text_name(t, t->words[0]);
	if (rc)
		return rc;
	af_model_add_param(t->m, t->function, t->words[0], points, type);
	return text_type(t, type, points != AF_MODEL_BY_VALUE);
}

static int read_belonging(struct model_text *t)
{
	if (t->function)
		return read_param(t);
	if (t->type && t->type->form == AF_MODEL_STRUCT)
		return read_member(t);
	if (t->type && t->type->form != AF_MODEL_ALIAS)
		return read_value(t);
	return BAD(t, "nothing above this line takes a line with a tab");
}

/* Cut @line into words. The fourth word of the line "api" is the rest of it: a title has blanks. */
static void text_split(struct model_text *t, char *line)
{
	char *at = line;

	line[strcspn(line, "#\r\n")] = 0;
	for (size_t len = strlen(line); len && strchr(" \t", line[len - 1]); len--)
		line[len - 1] = 0;
	uint32_t most = strncmp(line, "api ", 4) ? WORDS_MOST : 4;
	for (t->nr_words = 0; t->nr_words < most; t->nr_words++) {
		at += strspn(at, " \t");
		if (!*at)
			return;
		t->words[t->nr_words] = at;
		if (t->nr_words + 1 < most)
			at += strcspn(at, " \t");
		if (*at && t->nr_words + 1 < most)
			*at++ = 0;
	}
}

static int read_line(struct model_text *t, char *line)
{
	bool belongs = line[0] == '\t';

	text_split(t, line);
	if (!t->nr_words)
		return 0;
	if (!t->m->name && strcmp(t->words[0], "api"))
		return BAD(t, "the first line must be \"api NAME KIND TITLE\"");
	if (belongs)
		return read_belonging(t);
	t->type = NULL;
	t->function = NULL;
	if (!strcmp(t->words[0], "api"))
		return read_api(t);
	if (!strcmp(t->words[0], "source"))
		return read_source(t);
	if (!strcmp(t->words[0], "type"))
		return read_type(t);
	if (!strcmp(t->words[0], "fn"))
		return read_function(t);
	return BAD(t, "\"%s\" begins no line of a model", t->words[0]);
}

static int read_stream(struct af_model *m, const char *path, FILE *f, struct af_err *err)
{
	struct model_text t = {.m = m, .path = path, .err = err};
	scope_free char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int rc = 0;

	while (!rc && (len = getline(&line, &cap, f)) >= 0) {
		t.line++;
		rc = strlen(line) == (size_t)len ? read_line(&t, line) : BAD(&t, "a NUL byte");
	}
	if (!rc && ferror(f))
		return af_fail(err, -EIO, "cannot read %s", path);
	if (!rc && !m->name)
		return af_fail_plain(err, -EINVAL, "%s: no line \"api\"", path);
	return rc;
}

int af_model_read(struct af_model *m, const char *path, struct af_err *err)
{
	scope_fclose FILE *f = fopen(path, "re");

	return f ? read_stream(m, path, f, err) : af_fail(err, -errno, "cannot open %s", path);
}

int af_model_read_text(struct af_model *m, const char *name, const char *text, size_t len,
                       struct af_err *err)
{
	scope_fclose FILE *f = len ? fmemopen((void *)text, len, "r") : fopen("/dev/null", "re");

	return f ? read_stream(m, name, f, err) : af_fail(err, -errno, "cannot read %s", name);
}
