/* Writes the tables that readers decode by. */
#include <stdlib.h>
#include <string.h>

#include "api/generate/generate.h"
#include "base/arena.h"

static int by_value(const void *a, const void *b)
{
	const struct af_model_value *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

/* Several names may have one value: the first in the header is kept. */
static void values_write(const struct af_model_type *t, uint32_t id, FILE *out)
{
	struct af_model_value *sorted = af_xcalloc(t->nr_values + 1, sizeof *sorted);

	memcpy(sorted, t->values, t->nr_values * sizeof *sorted);
	for (uint32_t i = 1; i < t->nr_values; i++) /* stable */
		for (uint32_t j = i; j && by_value(&sorted[j - 1], &sorted[j]) > 0; j--) {
			struct af_model_value v = sorted[j];
			sorted[j] = sorted[j - 1];
			sorted[j - 1] = v;
		}
	fprintf(out, "static const struct af_api_value v%u[] = {\n", id);
	for (uint32_t i = 0; i < t->nr_values; i++)
		if (!i || sorted[i].value != sorted[i - 1].value)
			fprintf(out, "\t{%lldLL, \"%s\"},\n", (long long)sorted[i].value,
			        sorted[i].name);
	fputs("};\n", out);
	free(sorted);
}

static bool is_signed_builtin(const char *name)
{
	return name[0] == 'i' && name[1] >= '1' && name[1] <= '9';
}

static const char *builtin_of(const struct af_model *m, const struct af_model_type *t)
{
	while (t->base && strcmp(t->base, t->name))
		t = af_model_type(m, t->base);
	return t->name;
}

static const char *form_of(const struct af_model *m, const struct af_model_type *t)
{
	static const struct {
		const char *name, *form;
	} forms[] = {
	    {"handle", "HANDLE"}, {"pointer", "ADDRESS"}, {"x64", "ADDRESS"}, {"f32", "FLOAT"},
	    {"f64", "FLOAT"},     {"char", "CHAR"},       {"void", "VOID"},
	};
	const char *name = builtin_of(m, t);

	if (t->form == AF_MODEL_ENUM && t->nr_values)
		return "ENUM";
	if (t->form == AF_MODEL_FLAGS && t->nr_values)
		return "FLAGS";
	if (t->form == AF_MODEL_STRUCT)
		return "STRUCT";
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(forms[i].name, name))
			return forms[i].form;
	if (!strncmp(name, "bytes", 5))
		return "BYTES";
	return is_signed_builtin(name) ? "SIGNED" : "UNSIGNED";
}

/* The types in use: their numbers by name, in the order in which they are written. */
struct names {
	const char **names;
	uint32_t nr, cap;
};

static int32_t name_find(const struct names *n, const char *name)
{
	for (uint32_t i = 0; i < n->nr; i++)
		if (!strcmp(n->names[i], name))
			return (int32_t)i;
	return -1;
}

/* An alias of a type with values or members shows those. */
static const struct af_model_type *shown_type(const struct af_model *m,
                                              const struct af_model_type *t)
{
	while (t->form == AF_MODEL_ALIAS && t->base) {
		const struct af_model_type *base = af_model_type(m, t->base);
		if (!base || base == t || base->form == AF_MODEL_BUILTIN)
			break;
		t = base;
	}
	return t;
}

static uint32_t type_write(const struct af_model *m, const char *name, struct names *done,
                           FILE *out)
{
	int32_t known = name_find(done, name);
	const struct af_model_type *named = af_model_type(m, name);

	if (known >= 0)
		return (uint32_t)known;
	if (!named)
		gen_die("%s: unknown type %s", m->name, name);
	const struct af_model_type t = *shown_type(m, named);
	for (uint32_t i = 0; i < t.nr_members; i++)
		type_write(m, t.members[i].type, done, out);
	AF_GROW(done->names, done->nr, done->cap);
	uint32_t id = done->nr;
	done->names[done->nr++] = name;
	if (t.nr_values)
		values_write(&t, id, out);
	if (t.nr_members) {
		fprintf(out, "static const struct af_api_member m%u[] = {\n", id);
		for (uint32_t i = 0; i < t.nr_members; i++)
			fprintf(out, "\t{\"%s\", &t%d, %u, %u},\n", t.members[i].name,
			        name_find(done, t.members[i].type), t.members[i].offset,
			        t.members[i].nr);
		fputs("};\n", out);
	}
	fprintf(out, "static const struct af_api_type t%u = {\"%s\", AF_API_%s, %s, %u, ", id, name,
	        form_of(m, &t), is_signed_builtin(builtin_of(m, &t)) ? "true" : "false", t.size);
	if (t.nr_values)
		fprintf(out, "sizeof v%u / sizeof *v%u, {.values = v%u}};\n", id, id, id);
	else if (t.nr_members)
		fprintf(out, "%u, {.members = m%u}};\n", t.nr_members, id);
	else
		fputs("0, {NULL}};\n", out);
	return id;
}

static const char *pointee_word(enum gen_pointee p)
{
	static const char *const words[] = {
	    [GEN_NOTHING] = "NOTHING", [GEN_ONE] = "ONE",       [GEN_ARRAY] = "ARRAY",
	    [GEN_PAIRS] = "PAIRS",     [GEN_STRING] = "STRING", [GEN_ZERO] = "ARRAY",
	};
	return words[p];
}

static void params_write(const struct gen_api *api, const struct gen_function *f,
                         struct names *done, FILE *out)
{
	for (uint32_t i = 0; i < f->nr_params; i++) {
		type_write(api->model, f->params[i].type, done, out);
		if (f->params[i].target)
			type_write(api->model, f->params[i].target, done, out);
	}
	type_write(api->model, f->result, done, out);
	if (!f->nr_params)
		return;
	fprintf(out, "static const struct af_api_param p%u[] = {\n", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		fprintf(out, "\t{\"%s\", &t%d, ", p->name, name_find(done, p->type));
		if (p->target)
			fprintf(out, "&t%d", name_find(done, p->target));
		else
			fputs("NULL", out);
		fprintf(out, ", %u, AF_API_%s, %d, %d},\n", p->at, pointee_word(p->pointee),
		        p->is_out, p->is_inout);
	}
	fputs("};\n", out);
}

static void function_write(const struct gen_function *f, const struct names *done, FILE *out)
{
	fprintf(out, "\t[%u] = {\"%s\", &t%d, ", f->number, f->name, name_find(done, f->result));
	if (f->nr_params)
		fprintf(out, "p%u, ", f->number);
	else
		fputs("NULL, ", out);
	fprintf(out, "%u, AF_CATEGORY_%s, AF_API_%s, %u, %u, %u, %d, %d, %d, %d},\n", f->nr_params,
	        f->category, f->level, f->bytes_size, f->bytes_at, f->fixed, f->bytes != NULL,
	        f->can_fail, f->is_safe, f->blocks);
}

/* The enumeration of error codes: the type of most results. */
static const char *errors_of(const struct gen_api *api)
{
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		const struct af_model_type *t = af_model_type(api->model, f->result);
		if (f->can_fail && f->error < 0 && t)
			return f->result;
	}
	return NULL;
}

/* "a.h, b.h 13000": headers of one version have it once. */
static void headers_write(const struct af_model *m, FILE *out)
{
	fputc('"', out);
	for (uint32_t i = 0; i < m->nr_sources; i++) {
		const struct af_model_source *s = &m->sources[i], *next = s + 1;
		bool is_last = i + 1 == m->nr_sources;
		fputs(s->header, out);
		if (s->version && (is_last || !next->version || strcmp(s->version, next->version)))
			fprintf(out, " %s", s->version);
		fputs(is_last ? "" : ", ", out);
	}
	fputc('"', out);
}

void gen_tables(const struct gen_api *api, FILE *out)
{
	const struct af_model *m = api->model;
	struct names done = {0};
	uint32_t last = 0;

	fprintf(out, "/* Made by src/api/generate. */\n#include <stddef.h>\n\n"
	             "#include \"aflame/event.h\"\n#include \"api/tables/tables.h\"\n\n");
	for (uint32_t i = 0; i < api->nr_functions; i++)
		params_write(api, &api->functions[i], &done, out);
	fputs("static const struct af_api_function functions[] = {\n", out);
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		function_write(&api->functions[i], &done, out);
		last = api->functions[i].number > last ? api->functions[i].number : last;
	}
	const char *errors = errors_of(api);
	fprintf(out,
	        "};\n\nextern const struct af_api_table af_api_%s;\nconst struct af_api_table "
	        "af_api_%s = {"
	        "\"%s\", \"%s\", AF_API_",
	        m->name, m->name, m->name, m->title);
	for (const char *p = strcmp(m->name, "ze") ? m->name : "level_zero"; *p; p++)
		fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
	fprintf(out, ", %u, %u, functions, ", m->kind, last + 1);
	if (errors)
		fprintf(out, "&t%d, ", name_find(&done, errors));
	else
		fputs("NULL, ", out);
	headers_write(m, out);
	fputs("};\n", out);
}
