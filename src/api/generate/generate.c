/*
 * The generator: `generate tables|layer|preload|callback MODEL RULES OUT [HEADER]`. It runs while
 * aflame is built. Code that goes into targets includes HEADER.
 */
#include "api/generate/generate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

static void code_write(const struct gen_api *api, enum gen_way way, const char *header, FILE *out)
{
	fprintf(out, "/* Made by src/api/generate. */\n#include \"%s\"\n\n", header);

	gen_encode(api, out);
	gen_wrappers(api, way, out);
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {
	    [GEN_CALLBACK] = "callback", [GEN_LAYER] = "layer", [GEN_PRELOAD] = "preload"};
	struct af_err err = {0};
	struct af_model model = {0};
	struct af_rules rules;
	struct gen_api api;

	if (argc < 5 || (strcmp(argv[1], "tables") && argc != 6))
		gen_die("usage: generate tables|callback|layer|preload MODEL RULES OUT [HEADER]");
	if (af_model_read(&model, argv[2], &err) || af_rules_read(&rules, argv[3], &err))
		gen_die("%s", err.msg);
	gen_resolve(&api, &model, &rules);
	FILE *out = fopen(argv[4], "we");
	if (!out)
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	if (!strcmp(argv[1], "tables"))
		gen_tables(&api, out);
	for (int way = GEN_CALLBACK; way <= GEN_PRELOAD; way++)
		if (!strcmp(argv[1], ways[way]))
			code_write(&api, way, argv[5], out);
	if (fclose(out))
		gen_die("cannot write %s: %s", argv[4], strerror(errno));
	return 0;
}
