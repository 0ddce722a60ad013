/* Types of C as types of a model. */
#include <stdio.h>
#include <string.h>

#include "api/headers/unit.h"
#include "base/arena.h"

CXType af_unit_strip(const struct af_unit *u, CXType type)
{
	for (;;) {
		if (type.kind == CXType_Elaborated)
			type = u->c.Type_getNamedType(type);
		else if (type.kind == CXType_Attributed)
			type = u->c.Type_getModifiedType(type);
		else
			return type;
	}
}

static const char *unit_bytes(struct af_unit *u, CXType type)
{
	long long size = u->c.Type_getSizeOf(type);
	char name[16];

	if (size <= 0 || size > UINT16_MAX)
		return "void";
	int len = snprintf(name, sizeof name, "bytes%lld", size);
	return af_arena_strdup(&u->m->arena, name, (size_t)len);
}

static const char *integer_base(long long size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? "i8" : "u8";
	case 2:
		return is_signed ? "i16" : "u16";
	case 4:
		return is_signed ? "i32" : "u32";
	default:
		return is_signed ? "i64" : "u64";
	}
}

static const char *pointer_base(struct af_unit *u, CXType canonical)
{
	CXType to = u->c.getCanonicalType(u->c.getPointeeType(canonical));

	return to.kind == CXType_Record && u->c.Type_getSizeOf(to) < 0 ? "handle" : "pointer";
}

const char *af_unit_base(struct af_unit *u, CXType type)
{
	CXType t = u->c.getCanonicalType(type);

	switch (t.kind) {
	case CXType_Void:
	case CXType_Record:
		return NULL;
	case CXType_Enum: {
		CXType stored = u->c.getEnumDeclIntegerType(u->c.getTypeDeclaration(t));
		return af_unit_base(u, stored);
	}
	case CXType_Char_S:
	case CXType_Char_U:
		return "char";
	case CXType_Bool:
	case CXType_UChar:
	case CXType_UShort:
	case CXType_UInt:
	case CXType_ULong:
	case CXType_ULongLong:
		return integer_base(u->c.Type_getSizeOf(t), false);
	case CXType_SChar:
	case CXType_Short:
	case CXType_Int:
	case CXType_Long:
	case CXType_LongLong:
		return integer_base(u->c.Type_getSizeOf(t), true);
	case CXType_Float:
		return "f32";
	case CXType_Double:
		return "f64";
	case CXType_Pointer:
		return pointer_base(u, t);
	case CXType_IncompleteArray:
	case CXType_FunctionProto: /* as a parameter it is a pointer to one */
	case CXType_FunctionNoProto:
		return "pointer";
	default:
		return unit_bytes(u, t);
	}
}

/* Enumerations */

struct enum_values {
	struct af_unit *u;
	struct af_model_type *type;
};

static enum CXChildVisitResult enum_value(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct enum_values *v = data;
	struct af_unit *u = v->u;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_EnumConstantDecl)
		return CXChildVisit_Continue;
	int64_t value = v->type->base[0] == 'u'
	                    ? (int64_t)u->c.getEnumConstantDeclUnsignedValue(cursor)
	                    : (int64_t)u->c.getEnumConstantDeclValue(cursor);
	af_model_add_value(u->m, v->type, value, af_unit_string(u, u->c.getCursorSpelling(cursor)));
	return CXChildVisit_Continue;
}

/*
 * Flags say so by the name of their type, or have at least three values of one bit, one of them
 * beyond 2; all others, beside 0, are masks by their name or the highest value (all flags).
 */
static bool values_are_flags(const struct af_model_type *t)
{
	size_t len = strlen(t->name);
	int64_t single = 0, most = 0;

	for (uint32_t i = 0; i < t->nr_values; i++)
		most = t->values[i].value > most ? t->values[i].value : most;
	if (len > 5 && !strcasecmp(t->name + len - 5, "flags"))
		return true;
	for (uint32_t i = 0; i < t->nr_values; i++) {
		int64_t v = t->values[i].value;
		bool is_bit = v > 0 && !(v & (v - 1));

		if (v && !is_bit && v != most && !strstr(t->values[i].name, "MASK"))
			return false;
		single += is_bit;
	}
	return single >= 3 && most > 2;
}

static const char *unit_enum(struct af_unit *u, CXType type)
{
	CXCursor decl = u->c.getTypeDeclaration(type);
	const char *name = af_unit_name(u, decl), *base = af_unit_base(u, type);

	if (!name || af_model_type(u->m, name))
		return name ? name : base;
	struct enum_values v = {u, af_model_add_type(u->m, name, AF_MODEL_ENUM, base)};
	u->c.visitChildren(decl, enum_value, &v);
	if (values_are_flags(v.type))
		v.type->form = AF_MODEL_FLAGS;
	return name;
}

static enum CXChildVisitResult enum_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct af_unit *u = data;
	(void)parent;

	if (u->c.getCursorKind(cursor) != CXCursor_EnumDecl || !u->c.isCursorDefinition(cursor) ||
	    !af_unit_is_api(u, cursor))
		return CXChildVisit_Continue;
	const char *name = af_unit_name(u, cursor);
	if (name && !(u->of->leave && af_headers_match(u->of->leave, name)))
		unit_enum(u, u->c.getCursorType(cursor));
	return CXChildVisit_Continue;
}

void af_unit_enums(struct af_unit *u)
{
	u->c.visitChildren(u->c.getTranslationUnitCursor(u->tu), enum_visit, u);
}

/* All others */

static const char *unit_typedef(struct af_unit *u, CXType type)
{
	CXCursor decl = u->c.getTypeDeclaration(type);
	CXType canonical = u->c.getCanonicalType(type);
	const char *base = af_unit_base(u, canonical);

	if (canonical.kind == CXType_Record || canonical.kind == CXType_Enum)
		return af_unit_type(u, canonical);
	if (!af_unit_is_api(u, decl))
		return base ? base : "void";
	const char *name = af_unit_string(u, u->c.getCursorSpelling(decl));
	if (!base || !strcmp(base, "void"))
		return "void";
	if (!af_model_type(u->m, name))
		af_model_add_type(u->m, name, AF_MODEL_ALIAS, base);
	return name;
}

const char *af_unit_type(struct af_unit *u, CXType type)
{
	CXType t = af_unit_strip(u, type);
	const char *base;

	switch (t.kind) {
	case CXType_Typedef:
		return unit_typedef(u, t);
	case CXType_Enum:
		return unit_enum(u, t);
	case CXType_Record:
		return af_unit_record(u, t, af_unit_name(u, u->c.getTypeDeclaration(t)));
	default:
		base = af_unit_base(u, t);
		return base ? base : "void";
	}
}

static enum CXChildVisitResult type_visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct af_unit *u = data;
	enum CXCursorKind kind = u->c.getCursorKind(cursor);
	(void)parent;

	if (kind != CXCursor_TypedefDecl && kind != CXCursor_StructDecl)
		return CXChildVisit_Continue;
	if (af_unit_is_api(u, cursor) &&
	    af_headers_match(u->of->types, af_unit_string(u, u->c.getCursorSpelling(cursor))))
		af_unit_type(u, u->c.getCursorType(cursor));
	return CXChildVisit_Continue;
}

void af_unit_types(struct af_unit *u)
{
	if (u->of->types)
		u->c.visitChildren(u->c.getTranslationUnitCursor(u->tu), type_visit, u);
}
