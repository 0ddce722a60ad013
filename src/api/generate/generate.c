/*
 * The generator. It runs while aflame is built:
 *
 *	generate tables MODEL RULES OUT
 *	generate layer|preload MODEL RULES OUT HEADER          HEADER is what the code includes
 *	generate enqueues MODEL RULES OUT HEADER
 *	generate callback MODEL RULES OUT HEADER IDS           IDS: numbers of callbacks
 *	generate minimal MODEL RULES OUT IDS
 */
#include "api/generate/generate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

/* AddressSanitizer asks: what is never freed is no leak of a program that runs once. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

void gen_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("generate: ", stderr);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Lines "ID NAME". */
static void ids_read(struct gen_ids *ids, const char *path)
{
	char line[256], name[200];
	FILE *f = fopen(path, "re");

	if (!f)
		gen_die("cannot read %s: %s", path, strerror(errno));
	while (fgets(line, sizeof line, f)) {
		struct gen_id id;
		if (*line == '#')
			continue;
		if (sscanf(line, "%u %199s", &id.id, name) != 2)
			gen_die("%s: not \"ID NAME\": %s", path, line);
		id.name = af_xstrdup(name);
		AF_GROW(ids->ids, ids->nr, ids->cap);
		ids->ids[ids->nr++] = id;
	}
	fclose(f);
}

static void capitals_write(const char *word, FILE *out)
{
	for (; *word; word++)
		fputc(*word >= 'a' && *word <= 'z' ? *word - 'a' + 'A' : '_', out);
}

/*
 * How a call tells of memory, in its first parameters: where its address was put and the bytes
 * (MADE), where the bytes of a row were put, …, rows (PITCH), or the address itself (HANDLED). An
 * older function that the model lacks is as the newer one.
 */
static const char *memory_form(const struct af_model *m, const char *name,
                               const struct af_function_rule *rule)
{
	const struct af_model_function *f = af_model_function(m, name);
	const struct af_model_param *first = f && f->nr_params ? f->params : NULL;

	if (!strcmp(rule->category, "free"))
		return "HANDLED";
	if (first && (first->points != AF_MODEL_OUT || !strcmp(first->type, "void")))
		return "HANDLED";
	return rule->bytes.nr_terms && rule->bytes.factors[0][0].kind == AF_FACTOR_AT ? "PITCH"
	                                                                              : "MADE";
}

/* The rules of @name, by its name alone; false where they do not put it at the level minimal. */
static bool minimal_rule(struct af_rules *rules, const char *name, struct af_function_rule *rule)
{
	struct af_model_function f = {.name = name};
	struct af_err err = {0};

	af_rules_apply(rules, &f, rule, &err);
	return rule->level && rule->category && !strcmp(rule->level, "minimal");
}

void gen_minimal(const struct af_model *m, const struct gen_ids *ids, struct af_rules *rules,
                 FILE *out)
{
	struct af_function_rule rule;

	fputs("/* Made by src/api/generate. */\n#define AF_CUDA_FUNCTIONS(F) \\\n", out);
	for (uint32_t i = 0; i < ids->nr; i++) {
		if (!minimal_rule(rules, ids->ids[i].name, &rule))
			continue;
		fprintf(out, "\tF(%u, %s, ", ids->ids[i].id, ids->ids[i].name);
		capitals_write(rule.category, out);
		fputs(") \\\n", out);
	}
	fputs("\n#define AF_CUDA_MEMORIES(M) \\\n", out);
	for (uint32_t i = 0; i < ids->nr; i++) {
		const char *name = ids->ids[i].name;
		if (!minimal_rule(rules, name, &rule) || !rule.memory)
			continue;
		fprintf(out, "\tM(%s, ", name);
		capitals_write(rule.category, out);
		fputs(", ", out);
		capitals_write(rule.memory, out);
		fprintf(out, ", %s) \\\n", memory_form(m, name, &rule));
	}
	fputs("\n", out);
}

static void code_write(const struct gen_api *api, enum gen_way way, char **more, FILE *out)
{
	struct gen_ids ids = {0};

	if (way == GEN_CALLBACK)
		ids_read(&ids, more[1]);
	fprintf(out, "/* Made by src/api/generate. */\n#include \"%s\"\n\n", more[0]);
	gen_encode(api, out);
	gen_wrappers(api, way, &ids, out);
}

static void type_change(struct af_model *m, const struct af_rule_type *as)
{
	for (uint32_t i = 0; i < m->nr_types; i++) {
		if (strcmp(m->types[i].name, as->name))
			continue;
		const struct af_model_type *base = af_model_type(m, as->base);
		if (!base || base->size != m->types[i].size)
			gen_die("%s cannot be shown as %s", as->name, as->base);
		m->types[i].base = as->base;
		return;
	}
	gen_die("%s has no type %s", m->name, as->name);
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {
	    [GEN_CALLBACK] = "callback", [GEN_LAYER] = "layer", [GEN_PRELOAD] = "preload"};
	struct af_err err = {0};
	struct af_model model = {0};
	struct af_rules rules = {0};
	struct gen_ids ids = {0};
	struct gen_api api;

	if (argc < 5)
		gen_die("usage: generate WHAT MODEL RULES OUT [HEADER | IDS] [IDS]");
	if (af_model_read(&model, argv[2], &err) || af_rules_read(&rules, argv[3], &err))
		gen_die("%s", err.msg);
	for (uint32_t i = 0; i < rules.nr_types; i++)
		type_change(&model, &rules.types[i]);
	FILE *out = fopen(argv[4], "we");
	if (!out)
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	if (!strcmp(argv[1], "minimal")) {
		ids_read(&ids, argv[5]);
		gen_minimal(&model, &ids, &rules, out);
		return fclose(out) != 0;
	}
	gen_resolve(&api, &model, &rules);
	if (!strcmp(argv[1], "tables"))
		gen_tables(&api, out);
	if (!strcmp(argv[1], "enqueues")) {
		fprintf(out, "/* Made by src/api/generate. */\n#include \"%s\"\n\n", argv[5]);
		gen_enqueues(&api, out);
	}
	for (int way = GEN_CALLBACK; way <= GEN_PRELOAD; way++)
		if (!strcmp(argv[1], ways[way]))
			code_write(&api, way, argv + 5, out);
	if (fclose(out))
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	return 0;
}
