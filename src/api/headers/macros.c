/*
 * Macros that are values of a type. C does not say of which; headers do, by a comment above a group
 * of macros that names a type, by a cast in the macro, or whoever runs `aflame api read` does.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/headers/unit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { TYPES_MOST = 2, TYPE_NAME_MOST = 96 };

/* The types that macros from one line on are values of. */
struct macro_group {
	const char *types[TYPES_MOST];
	bool is_flags;
};

struct macro {
	const char *name;
	struct macro_group of;
	bool has_value;
	int64_t value;
};

struct macros {
	struct af_unit *u;
	struct macro *all;
	uint32_t nr, cap;
	/* The lines of a file, as far as they are read. */
	const char *path, *at, *end;
	unsigned line;
	struct macro_group group;
	bool was_blank, in_comment;
};

/* The comments of a file, line by line */

static void group_add(struct macro_group *g, const char *type)
{
	for (int i = 0; i < TYPES_MOST; i++) {
		if (g->types[i] && !strcmp(g->types[i], type))
			return;
		if (!g->types[i]) {
			g->types[i] = type;
			return;
		}
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A comment that names error codes: of the type PREFIX_error_code, as the next macro begins. */
static void group_errors(struct macros *m, const char *next)
{
	char name[TYPE_NAME_MOST];
	size_t len = 0;

	next += strspn(next, " \t\n");
	if (strncmp(next, "#define ", 8))
		return;
	for (next += 8; len < 32 && isalnum((unsigned char)next[len]); len++)
		name[len] = (char)tolower((unsigned char)next[len]);
	memcpy(name + len, "_error_code", sizeof "_error_code");
	group_add(&m->group, af_arena_strdup(&m->u->m->arena, name, strlen(name)));
}

/*
 * A comment of one line begins a group where it names a type; another one behind a blank line ends
 * it, unless it speaks of values that are reserved.
 */
static void group_comment(struct macros *m, const char *text, size_t len, const char *next)
{
	struct macro_group found = {0};
	char comment[256], word[TYPE_NAME_MOST];

	len = len < sizeof comment ? len : sizeof comment - 1;
	memcpy(comment, text, len);
	comment[len] = 0;
	for (const char *at = comment; *at;) {
		size_t n = 0;
		while (is_word(at[n]) && n + 1 < sizeof word) {
			word[n] = at[n];
			n++;
		}
		word[n] = 0;
		const struct af_unit_name *type = af_unit_integer(m->u, word);
		if (type)
			group_add(&found, type->name);
		at += n ? n : 1;
	}
	found.is_flags = strstr(comment, "bitfield") != NULL;
	if (found.types[0]) {
		m->group = found;
	} else if (strcasestr(comment, "error codes")) {
		m->group = found;
		group_errors(m, next);
	} else if (m->was_blank && !strcasestr(comment, "reserved")) {
		m->group = found;
	}
}

static void group_line(struct macros *m, const char *line, size_t len, const char *next)
{
	size_t blank = strspn(line, " \t");
	const char *begin = line + (blank < len ? blank : len), *end = line + len;

	if (m->in_comment) {
		m->in_comment = !memmem(line, len, "*/", 2);
	} else if (begin == end || *begin == '\n') {
		m->was_blank = true;
		return;
	} else if (end - begin > 4 && !memcmp(begin, "/*", 2)) {
		const char *close = memmem(begin, (size_t)(end - begin), "*/", 2);

		m->in_comment = !close;
		if (begin[2] == '*')
			m->group = (struct macro_group){0};
		else if (close)
			group_comment(m, begin + 2, (size_t)(close - begin - 2), next);
	} else if (*begin != '#' && end[-1] != ';' && begin == line) {
		m->group = (struct macro_group){0};
	}
	m->was_blank = false;
}

/* Read the lines above @line. */
static void group_reach(struct macros *m, unsigned line)
{
	while (m->line < line && m->at < m->end) {
		const char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
		const char *next = newline ? newline + 1 : m->end;

		group_line(m, m->at, (size_t)((newline ? newline : m->end) - m->at), next);
		m->at = next;
		m->line++;
	}
}

/* The types of a macro */

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

/* `#define NAME ((TYPE)…`, with blanks; a limit of a type is no value with a meaning. */
static void group_cast(struct macros *m, const char *name, struct macro_group *g)
{
	char type[TYPE_NAME_MOST];
	const char *at = m->at;
	size_t n = 0;

	at = m->at < m->end ? strstr(at, name) : NULL;
	if (!at || ends_with(name, "_MAX") || ends_with(name, "_MIN"))
		return;
	at += strlen(name);
	at += strspn(at, " \t(");
	for (; is_word(at[n]) && n + 1 < sizeof type; n++)
		type[n] = at[n];
	type[n] = 0;
	const struct af_unit_name *found = n && at[n] == ')' ? af_unit_integer(m->u, type) : NULL;
	if (found)
		group_add(g, found->name);
}

static struct macro_group macro_group(struct macros *m, const char *name)
{
	const struct af_headers *of = m->u->of;
	struct macro_group g = {0};

	for (uint32_t i = 0; i < of->nr_groups; i++)
		if (af_headers_match(of->groups[i].patterns, name)) {
			group_add(&g, of->groups[i].type);
			g.is_flags = of->groups[i].is_flags;
			return g;
		}
	group_cast(m, name, &g);
	return g.types[0] ? g : m->group;
}

static enum CXChildVisitResult macro_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct macros *m = data;
	struct af_unit *u = m->u;
	unsigned line = 0;
	CXFile file = NULL;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_MacroDefinition || !af_unit_is_api(u, cursor) ||
	    u->c.Cursor_isMacroFunctionLike(cursor))
		return CXChildVisit_Continue;
	const char *path = af_unit_file(u, cursor, &line);
	if (!m->path || strcmp(path, m->path) || line < m->line) {
		size_t size = 0;

		u->c.getExpansionLocation(u->c.getCursorLocation(cursor), &file, NULL, NULL, NULL);
		m->at = u->c.getFileContents(u->tu, file, &size);
		m->end = m->at + size;
		m->path = path;
		m->line = 1;
		m->group = (struct macro_group){0};
		m->was_blank = m->in_comment = false;
	}
	group_reach(m, line);
	const char *name = af_unit_string(u, u->c.getCursorSpelling(cursor));
	struct macro_group of = macro_group(m, name);
	if (u->of->leave && af_headers_match(u->of->leave, name))
		return CXChildVisit_Continue;
	if (of.types[0]) {
		AF_GROW(m->all, m->nr, m->cap);
		m->all[m->nr++] = (struct macro){.name = name, .of = of};
	}
	return CXChildVisit_Continue;
}

/* Their values: the compiler's */

static enum CXChildVisitResult value_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct macros *m = data;
	struct af_unit *u = m->u;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_VarDecl)
		return CXChildVisit_Continue;
	const char *name = af_unit_string(u, u->c.getCursorSpelling(cursor));
	if (strncmp(name, "aflame_value_", 13))
		return CXChildVisit_Continue;
	unsigned long i = strtoul(name + 13, NULL, 10);
	CXEvalResult value = u->c.Cursor_Evaluate(cursor);
	if (value && i < m->nr && u->c.EvalResult_getKind(value) == CXEval_Int) {
		m->all[i].has_value = true;
		m->all[i].value = u->c.EvalResult_getAsLongLong(value);
	}
	if (value)
		u->c.EvalResult_dispose(value);
	return CXChildVisit_Continue;
}

static int macros_evaluate(struct macros *m)
{
	struct af_unit *u = m->u;
	struct af_buf text = {0};
	CXTranslationUnit tu = NULL;

	for (uint32_t i = 0; i < m->nr; i++)
		af_buf_fmt(&text, "static const long long aflame_value_%u = (long long)(%s);\n", i,
		           m->all[i].name);
	int rc = af_unit_parse(u, text.data ? text.data : "", &tu);
	if (!rc)
		u->c.visitChildren(u->c.getTranslationUnitCursor(tu), value_visit, m);
	if (tu)
		u->c.disposeTranslationUnit(tu);
	af_buf_free(&text);
	return rc;
}

/* Does @name, or a typedef that it stands for, call itself a bit field? */
static bool is_bitfield(struct af_unit *u, const char *name)
{
	const struct af_unit_name *type = af_unit_integer(u, name);

	while (type && !strstr(type->name, "bitfield")) {
		CXType to = af_unit_strip(u, u->c.getTypedefDeclUnderlyingType(type->cursor));

		if (to.kind != CXType_Typedef)
			return false;
		const char *next =
		    af_unit_string(u, u->c.getCursorSpelling(u->c.getTypeDeclaration(to)));
		type = af_unit_integer(u, next);
	}
	return type != NULL;
}

static int64_t value_in(const char *base, int64_t value)
{
	if (!strcmp(base, "u32"))
		return (uint32_t)value;
	return !strcmp(base, "i32") ? (int32_t)value : value;
}

/* The type @name, made where it is not there: of the group's macros if they are in no typedef. */
static struct af_model_type *value_type(struct macros *m, const char *name, bool is_flags)
{
	struct af_unit *u = m->u;
	const struct af_model_type *known = af_model_type(u->m, name);
	const struct af_unit_name *integer = af_unit_integer(u, name);
	const char *base = is_flags ? "u32" : "i32";

	if (known)
		return known->form == AF_MODEL_ENUM || known->form == AF_MODEL_FLAGS
		           ? (struct af_model_type *)known
		           : NULL;
	for (uint32_t i = 0; i < m->nr; i++)
		for (int k = 0; k < TYPES_MOST && m->all[i].of.types[k]; k++)
			if (m->all[i].has_value && m->all[i].value > INT32_MAX &&
			    !strcmp(m->all[i].of.types[k], name))
				base = "u32";
	if (integer)
		base = af_unit_base(u, u->c.getTypedefDeclUnderlyingType(integer->cursor));
	is_flags = is_flags || is_bitfield(u, name);
	return af_model_add_type(u->m, name, is_flags ? AF_MODEL_FLAGS : AF_MODEL_ENUM, base);
}

static bool has_name(const struct af_model_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr_values; i++)
		if (!strcmp(t->values[i].name, name))
			return true;
	return false;
}

int af_unit_macros(struct af_unit *u)
{
	struct macros m = {.u = u};

	u->c.visitChildren(u->c.getTranslationUnitCursor(u->tu), macro_visit, &m);
	int rc = macros_evaluate(&m);
	for (uint32_t i = 0; !rc && i < m.nr; i++)
		for (int k = 0; k < TYPES_MOST && m.all[i].has_value && m.all[i].of.types[k]; k++) {
			struct af_model_type *t =
			    value_type(&m, m.all[i].of.types[k], m.all[i].of.is_flags);

			if (t && !has_name(t, m.all[i].name))
				af_model_add_value(u->m, t, value_in(t->base, m.all[i].value),
				                   m.all[i].name);
		}
	free(m.all);
	return rc;
}
