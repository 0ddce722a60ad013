/* Prototypes as functions of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/headers/unit.h"
#include "base/arena.h"

/* The element where @type is an array, as parameters and what they point to may be. */
static CXType without_arrays(struct af_unit *u, CXType type)
{
	CXType t = af_unit_strip(u, type), canonical = u->c.getCanonicalType(t);

	if (canonical.kind != CXType_ConstantArray && canonical.kind != CXType_IncompleteArray)
		return type;
	while (t.kind == CXType_Typedef)
		t = af_unit_strip(u, u->c.getTypedefDeclUnderlyingType(u->c.getTypeDeclaration(t)));
	return without_arrays(u, u->c.getArrayElementType(t));
}

/* The type pointed to; false: @type is passed as a value. */
static bool points_to(struct af_unit *u, CXType type, CXType *to)
{
	CXType t = af_unit_strip(u, type), canonical = u->c.getCanonicalType(t);

	if (canonical.kind == CXType_ConstantArray || canonical.kind == CXType_IncompleteArray) {
		*to = without_arrays(u, type);
		return true;
	}
	if (canonical.kind != CXType_Pointer)
		return false;
	*to = without_arrays(u, u->c.getPointeeType(t.kind == CXType_Typedef ? canonical : t));
	CXType target = u->c.getCanonicalType(*to);
	/* A typedef of a pointer is a handle or a callback, unless it points to a known struct. */
	if (t.kind == CXType_Typedef && target.kind != CXType_Record)
		return false;
	if (target.kind == CXType_FunctionProto || target.kind == CXType_FunctionNoProto)
		return false;
	return target.kind != CXType_Record || (u->c.Type_getSizeOf(target) > 0 &&
	                                        af_unit_is_api(u, u->c.getTypeDeclaration(target)));
}

static void function_param(struct af_unit *u, struct af_model_function *f, CXType type,
                           const char *name)
{
	CXType to;
	char number[16];

	if (!*name) {
		snprintf(number, sizeof number, "arg%u", f->nr_params);
		name = number;
	}
	if (!points_to(u, type, &to)) {
		af_model_add_param(u->m, f, name, AF_MODEL_BY_VALUE, af_unit_type(u, type));
		return;
	}
	bool is_const =
	    u->c.isConstQualifiedType(to) || u->c.isConstQualifiedType(u->c.getCanonicalType(to));
	af_model_add_param(u->m, f, name, is_const ? AF_MODEL_IN : AF_MODEL_OUT,
	                   af_unit_type(u, to));
}

/* The parameters of a declaration, which has them itself or, for a function type, below it. */
struct params {
	struct af_unit *u;
	CXCursor *cursors;
	uint32_t nr, cap;
};

static enum CXChildVisitResult param_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct params *p = data;
	(void)parent;

	if (p->u->c.getCursorKind(cursor) != CXCursor_ParmDecl)
		return CXChildVisit_Continue;
	AF_GROW(p->cursors, p->nr, p->cap);
	p->cursors[p->nr++] = cursor;
	return CXChildVisit_Continue;
}

static void function_add(struct af_unit *u, CXCursor decl, CXType type, const char *name)
{
	struct params p = {u};

	if (af_model_function(u->m, name) ||
	    (u->of->functions && !af_headers_match(u->of->functions, name)))
		return;
	int nr = u->c.getNumArgTypes(type);
	u->c.visitChildren(decl, param_visit, &p);
	struct af_model_function *f = af_model_add_function(
	    u->m, u->m->nr_functions, name, af_unit_type(u, u->c.getResultType(type)));
	for (int i = 0; i < nr; i++) {
		bool has = p.nr == (uint32_t)nr;
		const char *param =
		    has ? af_unit_string(u, u->c.getCursorSpelling(p.cursors[i])) : "";

		function_param(u, f,
		               has ? u->c.getCursorType(p.cursors[i])
		                   : u->c.getArgType(type, (unsigned)i),
		               param);
	}
	free(p.cursors);
}

static enum CXChildVisitResult function_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct af_unit *u = data;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_FunctionDecl ||
	    u->c.isCursorDefinition(cursor) ||
	    u->c.Cursor_getStorageClass(cursor) == CX_SC_Static || !af_unit_is_wanted(u, cursor))
		return CXChildVisit_Continue;
	function_add(u, cursor, u->c.getCursorType(cursor),
	             af_unit_string(u, u->c.getCursorSpelling(cursor)));
	return CXChildVisit_Continue;
}

/* typedef RESULT (*NAME_fn)(…): how headers give functions that a program must ask for. */
static enum CXChildVisitResult fn_type_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct af_unit *u = data;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_TypedefDecl || !af_unit_is_wanted(u, cursor))
		return CXChildVisit_Continue;
	const char *name = af_unit_string(u, u->c.getCursorSpelling(cursor));
	size_t len = strlen(name);
	if (len < 4 || strcmp(name + len - 3, "_fn"))
		return CXChildVisit_Continue;
	CXType type = u->c.getCanonicalType(u->c.getTypedefDeclUnderlyingType(cursor));
	if (type.kind == CXType_Pointer)
		type = u->c.getCanonicalType(u->c.getPointeeType(type));
	if (type.kind == CXType_FunctionProto)
		function_add(u, cursor, type, af_arena_strdup(&u->m->arena, name, len - 3));
	return CXChildVisit_Continue;
}

void af_unit_functions(struct af_unit *u)
{
	CXCursor all = u->c.getTranslationUnitCursor(u->tu);

	u->c.visitChildren(all, function_visit, u);
	u->c.visitChildren(all, fn_type_visit, u);
}
