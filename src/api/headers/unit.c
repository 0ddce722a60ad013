#include "api/headers/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static const char main_file[] = "aflame_api.c";

const char *af_unit_string(struct af_unit *u, CXString s)
{
	const char *text = u->c.getCString(s);
	const char *copy = af_arena_strdup(&u->m->arena, text ? text : "", text ? strlen(text) : 0);

	u->c.disposeString(s);
	return copy;
}

int af_unit_parse(struct af_unit *u, const char *more, CXTranslationUnit *tu)
{
	static const char *const always[] = {"-xc", "-std=gnu17", "-w", "-ferror-limit=0"};
	enum { ALWAYS = sizeof always / sizeof *always };
	const struct af_headers *of = u->of;
	scope_free const char **args = af_xcalloc(of->nr_args + ALWAYS, sizeof *args);
	struct af_buf text = {0};

	memcpy(args, always, sizeof always);
	for (uint32_t i = 0; i < of->nr_args; i++)
		args[ALWAYS + i] = of->args[i];
	for (uint32_t i = 0; i < of->nr_files; i++) {
		scope_free char *path = realpath(of->files[i], NULL);

		if (path)
			af_buf_fmt(&text, "#include \"%s\"\n", path);
		else
			af_buf_fmt(&text, "#include <%s>\n", of->files[i]);
	}
	af_buf_str(&text, more);
	struct CXUnsavedFile file = {main_file, text.data, text.len};
	enum CXErrorCode rc = u->c.parseTranslationUnit2(
	    u->index, main_file, args, (int)(of->nr_args + ALWAYS), &file, 1,
	    CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing, tu);
	af_buf_free(&text);
	if (rc != CXError_Success)
		return af_fail_plain(u->err, -EINVAL, "libclang could not parse the headers (%d)",
		                     (int)rc);
	return 0;
}

/* The first error of the compiler is ours. */
static int unit_check(struct af_unit *u)
{
	unsigned nr = u->c.getNumDiagnostics(u->tu);

	for (unsigned i = 0; i < nr; i++) {
		CXDiagnostic d = u->c.getDiagnostic(u->tu, i);
		bool bad = u->c.getDiagnosticSeverity(d) >= CXDiagnostic_Error;
		const char *text =
		    bad ? af_unit_string(
			      u, u->c.formatDiagnostic(d, CXDiagnostic_DisplaySourceLocation))
			: NULL;

		u->c.disposeDiagnostic(d);
		if (bad)
			return af_fail_plain(u->err, -EINVAL, "%s", text);
	}
	return 0;
}

/* Folders that hold more than one API. */
static bool is_shared_folder(const char *folder)
{
	return !strcmp(folder, "/usr/include") || !strcmp(folder, "/usr/local/include");
}

static void unit_included(CXFile file, CXSourceLocation *stack, unsigned len, CXClientData data)
{
	struct af_unit *u = data;
	(void)stack;

	if (len != 1)
		return;
	const char *path = af_unit_string(u, u->c.getFileName(file));
	const char *slash = strrchr(path, '/');
	const char *folder =
	    slash ? af_arena_strdup(&u->m->arena, path, (size_t)(slash - path)) : ".";

	AF_GROW(u->files, u->nr_files, u->cap_files);
	u->files[u->nr_files++] = path;
	if (is_shared_folder(folder))
		return;
	AF_GROW(u->folders, u->nr_folders, u->cap_folders);
	u->folders[u->nr_folders++] = folder;
}

int af_unit_open(struct af_unit *u)
{
	int rc = af_clang_open(&u->c, u->err);

	if (rc)
		return rc;
	u->index = u->c.createIndex(0, 0);
	rc = af_unit_parse(u, "", &u->tu);
	if (rc)
		return rc;
	u->c.getInclusions(u->tu, unit_included, u);
	return unit_check(u);
}

void af_unit_close(struct af_unit *u)
{
	if (u->tu)
		u->c.disposeTranslationUnit(u->tu);
	if (u->index)
		u->c.disposeIndex(u->index);
	free(u->files);
	free(u->folders);
	free(u->named);
	free(u->integers);
}

const char *af_unit_file(struct af_unit *u, CXCursor cursor, unsigned *line)
{
	CXFile file = NULL;

	u->c.getExpansionLocation(u->c.getCursorLocation(cursor), &file, line, NULL, NULL);
	return file ? af_unit_string(u, u->c.getFileName(file)) : NULL;
}

static bool unit_holds(struct af_unit *u, CXCursor cursor, bool below)
{
	const char *path = af_unit_file(u, cursor, NULL);

	for (uint32_t i = 0; path && i < u->nr_files; i++)
		if (!strcmp(u->files[i], path))
			return true;
	for (uint32_t i = 0; path && i < u->nr_folders; i++) {
		size_t len = strlen(u->folders[i]);

		if (!strncmp(path, u->folders[i], len) && path[len] == '/' &&
		    (below || !strchr(path + len + 1, '/')))
			return true;
	}
	return false;
}

bool af_unit_is_api(struct af_unit *u, CXCursor cursor)
{
	return unit_holds(u, cursor, true);
}

bool af_unit_is_wanted(struct af_unit *u, CXCursor cursor)
{
	return unit_holds(u, cursor, false);
}

/* Newer versions describe a declaration without a name in parentheses. */
const char *af_unit_name(struct af_unit *u, CXCursor decl)
{
	CXCursor canonical = u->c.getCanonicalCursor(decl);

	for (uint32_t i = 0; i < u->nr_named; i++)
		if (u->c.equalCursors(u->named[i].cursor, canonical))
			return u->named[i].name;
	const char *tag = af_unit_string(u, u->c.getCursorSpelling(decl));
	return *tag && !strchr(tag, '(') ? tag : NULL;
}

const struct af_unit_name *af_unit_integer(const struct af_unit *u, const char *name)
{
	for (uint32_t i = 0; i < u->nr_integers; i++)
		if (!strcmp(u->integers[i].name, name))
			return &u->integers[i];
	return NULL;
}

static enum CXChildVisitResult unit_typedef(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct af_unit *u = data;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_TypedefDecl)
		return CXChildVisit_Continue;
	CXType to = af_unit_strip(u, u->c.getTypedefDeclUnderlyingType(cursor));
	CXType canonical = u->c.getCanonicalType(to);
	const char *name = af_unit_string(u, u->c.getCursorSpelling(cursor));
	if (to.kind == CXType_Record || to.kind == CXType_Enum) {
		CXCursor decl = u->c.getCanonicalCursor(u->c.getTypeDeclaration(to));

		AF_GROW(u->named, u->nr_named, u->cap_named);
		u->named[u->nr_named++] = (struct af_unit_name){decl, name};
	} else if (canonical.kind >= CXType_Bool && canonical.kind <= CXType_LongLong &&
	           af_unit_is_api(u, cursor)) {
		AF_GROW(u->integers, u->nr_integers, u->cap_integers);
		u->integers[u->nr_integers++] = (struct af_unit_name){cursor, name};
	}
	return CXChildVisit_Continue;
}

void af_unit_names(struct af_unit *u)
{
	u->c.visitChildren(u->c.getTranslationUnitCursor(u->tu), unit_typedef, u);
}
