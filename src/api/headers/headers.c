#include "api/headers/headers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/headers/unit.h"
#include "base/arena.h"
#include "base/buf.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The version as the option gives it: a text, or what the macro of this name is. */
struct version {
	struct af_unit *u;
	char text[64];
};

static enum CXChildVisitResult version_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct version *v = data;
	struct af_unit *u = v->u;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_VarDecl ||
	    strcmp(af_unit_string(u, u->c.getCursorSpelling(cursor)), "aflame_version"))
		return CXChildVisit_Continue;
	CXEvalResult value = u->c.Cursor_Evaluate(cursor);
	if (value && u->c.EvalResult_getKind(value) == CXEval_Int)
		snprintf(v->text, sizeof v->text, "%lld", u->c.EvalResult_getAsLongLong(value));
	else if (value && u->c.EvalResult_getKind(value) == CXEval_StrLiteral)
		snprintf(v->text, sizeof v->text, "%s", u->c.EvalResult_getAsStr(value));
	if (value)
		u->c.EvalResult_dispose(value);
	return CXChildVisit_Break;
}

static int headers_sources(struct af_unit *u)
{
	const char *version = u->of->version;
	struct version v = {u};
	struct af_buf text = {0};
	CXTranslationUnit tu = NULL;
	int rc = 0;

	if (version && (isalpha((unsigned char)*version) || *version == '_')) {
		af_buf_fmt(&text, "static const __typeof__((%s) + 0) aflame_version = %s;\n",
		           version, version);
		rc = af_unit_parse(u, text.data, &tu);
		if (!rc)
			u->c.visitChildren(u->c.getTranslationUnitCursor(tu), version_visit, &v);
		if (tu)
			u->c.disposeTranslationUnit(tu);
		af_buf_free(&text);
		version = *v.text ? v.text : version;
	}
	for (uint32_t i = 0; !rc && i < u->of->nr_files; i++)
		af_model_add_source(u->m, last_part(u->of->files[i]), version);
	return rc;
}

int af_headers_read(const struct af_headers *of, struct af_model *m, struct af_err *err)
{
	struct af_unit u = {.of = of, .m = m, .err = err};
	int rc = af_unit_open(&u);

	if (!rc)
		rc = headers_sources(&u);
	if (!rc) {
		af_unit_names(&u);
		rc = af_unit_macros(&u);
	}
	if (!rc) {
		af_unit_enums(&u);
		af_unit_types(&u);
		af_unit_functions(&u);
	}
	af_unit_close(&u);
	return rc;
}
