/*
 * The generator. It runs while aflame is built:
 *
 *	generate tables MODEL RULES OUT
 *	generate layer|preload MODEL RULES OUT HEADER          HEADER is what the code includes
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
		id.name = strdup(name);
		AF_GROW(ids->ids, ids->nr, ids->cap);
		ids->ids[ids->nr++] = id;
	}
	fclose(f);
}

void gen_minimal(const struct gen_ids *ids, struct af_rules *rules, FILE *out)
{
	fputs("/* Made by src/api/generate. F(id, name, category) */\n"
	      "#define AF_CUDA_FUNCTIONS(F) \\\n",
	      out);
	for (uint32_t i = 0; i < ids->nr; i++) {
		struct af_model_function f = {.name = ids->ids[i].name};
		struct af_function_rule rule;
		struct af_err err = {0};
		if (af_rules_apply(rules, &f, &rule, &err) && !rule.level)
			continue;
		if (rule.level && !strcmp(rule.level, "minimal")) {
			fprintf(out, "\tF(%u, %s, ", ids->ids[i].id, f.name);
			for (const char *p = rule.category; *p; p++)
				fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : '_', out);
			fputs(") \\\n", out);
		}
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
	FILE *out = fopen(argv[4], "we");
	if (!out)
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	if (!strcmp(argv[1], "minimal")) {
		ids_read(&ids, argv[5]);
		gen_minimal(&ids, &rules, out);
		return fclose(out) != 0;
	}
	gen_resolve(&api, &model, &rules);
	if (!strcmp(argv[1], "tables"))
		gen_tables(&api, out);
	for (int way = GEN_CALLBACK; way <= GEN_PRELOAD; way++)
		if (!strcmp(argv[1], ways[way]))
			code_write(&api, way, argv + 5, out);
	if (fclose(out))
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	return 0;
}
