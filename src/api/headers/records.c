/* Structs of C, and what is left of unions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/headers/unit.h"
#include "base/arena.h"

/* A struct whose members are gathered: their types come before it in the model. */
struct record {
	struct af_unit *u;
	const char *name; /* for structs without one inside it */
	uint32_t at;      /* offset in the outermost struct */
	struct af_model_member *members;
	uint32_t nr, cap;
	const char *bits_name; /* of a run of bit fields */
	uint64_t bits_begin, bits_end;
};

static void record_add(struct record *r, uint64_t offset, const char *name, const char *type,
                       uint64_t nr)
{
	if (!nr || nr > UINT16_MAX || !strcmp(type, "void"))
		return;
	AF_GROW(r->members, r->nr, r->cap);
	r->members[r->nr++] = (struct af_model_member){
	    .name = name, .type = type, .offset = (uint32_t)offset, .nr = (uint32_t)nr};
}

static const char *record_text(struct record *r, const char *fmt, const char *a, const char *b)
{
	char text[256];

	snprintf(text, sizeof text, fmt, a, b);
	return af_arena_strdup(&r->u->m->arena, text, strlen(text));
}

/* Bit fields, one behind the other, are bytes with the first one's name. */
static void record_bits_end(struct record *r)
{
	char type[24];

	if (!r->bits_name)
		return;
	uint64_t begin = r->bits_begin / 8, end = (r->bits_end + 7) / 8;
	snprintf(type, sizeof type, "bytes%llu", (unsigned long long)(end - begin));
	record_add(r, r->at + begin, r->bits_name,
	           af_arena_strdup(&r->u->m->arena, type, strlen(type)), 1);
	r->bits_name = NULL;
}

static void record_bits(struct record *r, CXCursor field, uint64_t bit)
{
	struct af_unit *u = r->u;
	uint64_t end = bit + (uint64_t)u->c.getFieldDeclBitWidth(field);

	if (r->bits_name && bit / 8 > (r->bits_end + 7) / 8)
		record_bits_end(r);
	if (!r->bits_name) {
		const char *name = af_unit_string(u, u->c.getCursorSpelling(field));

		r->bits_name = *name ? name : "bits";
		r->bits_begin = bit;
	}
	r->bits_end = end;
}

static enum CXVisitorResult record_field(CXCursor field, CXClientData data);

/* A union: its one type, where all of its members have the same; bytes otherwise. */
static void record_union(struct record *r, CXType type, uint64_t offset)
{
	struct record inner = {r->u, r->name, 0};
	bool same = true;

	r->u->c.Type_visitFields(type, record_field, &inner);
	record_bits_end(&inner);
	for (uint32_t i = 1; i < inner.nr; i++)
		same = same && !strcmp(inner.members[i].type, inner.members[0].type) &&
		       inner.members[i].nr == inner.members[0].nr;
	if (inner.nr && same)
		record_add(r, offset, inner.members[0].name, inner.members[0].type,
		           inner.members[0].nr);
	else if (inner.nr)
		record_add(r, offset, record_text(r, "%s_%s", inner.members[0].name, "or"),
		           af_unit_record(r->u, type, NULL), 1);
	free(inner.members);
}

/* A struct or union without a name for itself or its member belongs to the struct around it. */
static void record_anonymous(struct record *r, CXType type, uint64_t offset)
{
	struct af_unit *u = r->u;

	if (u->c.getCursorKind(u->c.getTypeDeclaration(type)) == CXCursor_UnionDecl) {
		record_union(r, type, offset);
		return;
	}
	uint32_t at = r->at;
	r->at = (uint32_t)offset;
	u->c.Type_visitFields(type, record_field, r);
	record_bits_end(r);
	r->at = at;
}

static enum CXVisitorResult record_field(CXCursor field, CXClientData data)
{
	struct record *r = data;
	struct af_unit *u = r->u;
	CXType type = u->c.getCanonicalType(u->c.getCursorType(field));
	CXType element = af_unit_strip(u, u->c.getCursorType(field));
	const char *name = af_unit_string(u, u->c.getCursorSpelling(field));
	long long bit = u->c.Cursor_getOffsetOfField(field);
	uint64_t nr = 1;

	if (bit < 0)
		return CXVisit_Continue;
	if (u->c.Cursor_isBitField(field)) {
		record_bits(r, field, (uint64_t)bit);
		return CXVisit_Continue;
	}
	record_bits_end(r);
	uint64_t offset = r->at + (uint64_t)bit / 8;
	bool no_name = !*name || strchr(name, '(');
	if (no_name && type.kind == CXType_Record) {
		record_anonymous(r, type, offset);
		return CXVisit_Continue;
	}
	if (type.kind == CXType_ConstantArray && element.kind != CXType_ConstantArray)
		element = type;
	for (; element.kind == CXType_ConstantArray;
	     element = af_unit_strip(u, u->c.getArrayElementType(element)))
		nr *= (uint64_t)u->c.getArraySize(element);
	const char *known = element.kind == CXType_Record
	                        ? af_unit_name(u, u->c.getTypeDeclaration(element))
	                        : NULL;
	if (element.kind == CXType_Record && !known)
		record_add(r, offset, name,
		           af_unit_record(u, element, record_text(r, "%s_%s", r->name, name)), nr);
	else if (element.kind != CXType_IncompleteArray)
		record_add(r, offset, name, af_unit_type(u, element), nr);
	return CXVisit_Continue;
}

static const char *record_bytes(struct af_unit *u, CXType type, const char *name)
{
	char bytes[24];

	snprintf(bytes, sizeof bytes, "bytes%lld", u->c.Type_getSizeOf(type));
	if (!name)
		return af_arena_strdup(&u->m->arena, bytes, strlen(bytes));
	return af_model_add_type(u->m, name, AF_MODEL_ALIAS, bytes)->name;
}

const char *af_unit_record(struct af_unit *u, CXType type, const char *name)
{
	CXCursor decl = u->c.getTypeDeclaration(type);
	long long size = u->c.Type_getSizeOf(type);

	if (name && af_model_type(u->m, name))
		return name;
	if (size <= 0 || size > UINT16_MAX)
		return "void";
	if (!name || u->c.getCursorKind(decl) == CXCursor_UnionDecl || !af_unit_is_api(u, decl))
		return record_bytes(u, type, name);
	struct record r = {u, name, 0};
	u->c.Type_visitFields(type, record_field, &r);
	record_bits_end(&r);
	struct af_model_type *t = af_model_add_type(u->m, name, AF_MODEL_STRUCT, NULL);
	t->size = (uint32_t)size;
	t->align = (uint32_t)u->c.Type_getAlignOf(type);
	for (uint32_t i = 0; i < r.nr; i++)
		af_model_add_member(u->m, t, r.members[i].offset, r.members[i].name,
		                    r.members[i].type, r.members[i].nr);
	free(r.members);
	return name;
}
