/* Writes the functions that stand before the real ones. */
#include <stdlib.h>

#include "api/generate/generate.h"
#include "base/arena.h"

static void signature_write(const struct gen_api *api, const struct gen_function *f, bool names,
                            FILE *out)
{
	fputc('(', out);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		fprintf(out, "%s%s", i ? ", " : "", gen_ctype(api->model, f->params[i].type));
		if (names)
			fprintf(out, " a%u", i);
	}
	if (f->is_variadic)
		fputs(names ? ", MORE_PARAMS" : ", ...", out);
	fputs(f->nr_params ? ")" : "void)", out);
}

/* @filled: with what the wrapper has put in the place of what the program does not want. */
static void real_write(const struct gen_api *api, const struct gen_function *f, bool filled,
                       FILE *out)
{
	fprintf(out, "((%s (*)", gen_ctype(api->model, f->result));
	signature_write(api, f, false, out);
	fprintf(out, ")next[%u])(", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "%s%s%u", i ? ", " : "",
		        filled && f->params[i].is_filled ? "filled_" : "a", i);
	fputs(f->is_variadic ? ", MORE_ARGS)" : ")", out);
}

/* While it waits, its arguments are seen as its event will have them. */
static void waits_write(const struct gen_function *f, FILE *out)
{
	fputs("\tif (c->how & AF_HOW_WAITS) {\n", out);
	fprintf(out, "\t\tstruct args_%u seen = *a;\n", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (f->params[i].is_native && !f->params[i].target)
			fprintf(out, "\t\tseen.a%u = AF_API_STORED(%s, a->a%u);\n", i,
			        f->params[i].type, i);
	fputs("\t\taf_api_waits(c, &seen, sizeof seen);\n\t}\n", out);
}

void gen_keep(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		if (p->is_inout)
			fprintf(out, "\tstruct af_api_before before_%u;\n", i);
		if (p->is_filled)
			fprintf(out,
			        "\tuint64_t fill_%u[8];\n"
			        "\tvoid *filled_%u = AF_API_FILLED(c, %s, a->a%u, fill_%u);\n",
			        i, i, p->target, i, i);
	}
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (f->params[i].is_inout)
			gen_before(api, f, i, out);
	if (f->blocks)
		waits_write(f, out);
}

static void wrapper_write(const struct gen_api *api, enum gen_way way, const struct gen_function *f,
                          FILE *out)
{
	const char *result = gen_ctype(api->model, f->result);

	fprintf(out, "%s %s ", way == GEN_PRELOAD ? "AF_API_EXPORT" : "static", result);
	if (way == GEN_PRELOAD)
		fputs(f->name, out);
	else
		fprintf(out, "wrapper_%u", f->number);
	signature_write(api, f, true, out);
	fprintf(out,
	        "\n{\n\tstruct af_api_hook call, *c = &call;\n"
	        "\tAF_API_NEXT(&next[%u], \"%s\");\n"
	        "\tif (!af_api_begin(c, 0x%x))\n\t\t%s",
	        f->number, f->name, api->model->kind + f->number,
	        f->result_size ? "return " : "{ ");
	real_write(api, f, false, out);
	fputs(f->result_size ? ";\n" : "; return; }\n", out);
	fprintf(out, "\tAF_API_REGS(c);\n\tconst struct args_%u args = {", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "%sa%u", i ? ", " : "", i);
	fprintf(out, "%s}, *a = &args;\n\t(void)a;\n", f->nr_params ? "" : "0");
	gen_keep(api, f, out);
	fprintf(out, "\t%s", f->result_size ? result : "");
	fputs(f->result_size ? " result = " : "", out);
	real_write(api, f, true, out);
	fprintf(out, ";\n\tencode_%u(c%s, a", f->number, f->result_size ? ", result" : "");
	gen_kept(f, out);
	fprintf(out, ");\n%s}\n\n", f->result_size ? "\treturn result;\n" : "");
}

/* For who looks functions up by name: only where the code that is included wants it. */
static void export_table_write(const struct gen_api *api, FILE *out)
{
	fprintf(out, "#ifdef AF_API_ENTRIES\nconst struct af_api_entry af_api_%s_entries[] = {\n",
	        api->model->name);
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		fprintf(out, "\t{\"%s\", %u, (void *)%s, -1},\n", f->name, f->number, f->name);
	}
	fputs("\t{NULL, 0, NULL, 0},\n};\n#endif\n", out);
}

static void layer_table_write(const struct gen_api *api, FILE *out)
{
	fprintf(out, "const struct af_api_entry af_api_%s_entries[] = {\n", api->model->name);
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		fprintf(out, "\t{\"%s\", %u, (void *)wrapper_%u, ", f->name, f->number, f->number);
		if (f->is_entry)
			fprintf(out, "AF_API_SLOT(%s)},\n", f->name);
		else
			fputs("-1},\n", out);
	}
	fputs("\t{NULL, 0, NULL, 0},\n};\n", out);
}

/* Ids of callbacks become function numbers; 0: no function of the model. */
static void ids_write(const struct gen_api *api, const struct gen_ids *ids, FILE *out)
{
	fprintf(out, "const uint16_t af_api_%s_ids[] = {\n", api->model->name);
	for (uint32_t i = 0; i < ids->nr; i++) {
		const struct af_model_function *f = af_model_function(api->model, ids->ids[i].name);
		if (f)
			fprintf(out, "\t[%u] = %u,\n", ids->ids[i].id, f->number);
	}
	fprintf(out, "};\nconst uint32_t af_api_%s_nr_ids = sizeof af_api_%s_ids / 2;\n",
	        api->model->name, api->model->name);
}

/*
 * At the entry: what inout parameters point to, which are single numbers in these APIs. False when
 * there are none.
 */
static bool enter_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct gen_param *p = &f->params[i];
		if (p->is_filled)
			gen_die("%s: %s of %s cannot be filled", api->model->name, p->name,
			        f->name);
		if (!p->is_inout)
			continue;
		if (p->pointee != GEN_ONE || p->target_size > 8 || nr == GEN_KEPT_MAX)
			gen_die("%s: %s of %s cannot be inout", api->model->name, p->name, f->name);
		if (!nr)
			fprintf(out,
			        "static void enter_%u(struct af_api_hook *c, const void *args)\n"
			        "{\n\tconst struct args_%u *a = args;\n\n",
			        f->number, f->number);
		fprintf(out, "\taf_api_keep(c, %u, a->a%u, %u);\n", nr++, i, p->target_size);
	}
	if (nr)
		fputs("}\n", out);
	return nr;
}

static void exit_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	uint32_t nr = 0;

	fprintf(out,
	        "static void exit_%u(struct af_api_hook *c, const void *result, const void *args)\n"
	        "{\n\t(void)result;\n",
	        f->number);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		if (!f->params[i].is_inout)
			continue;
		fprintf(out, "\tstruct af_api_before before_%u;\n", i);
		fprintf(out, "\taf_api_kept(c, %u, &before_%u);\n", nr++, i);
	}
	fprintf(out, "\tencode_%u(c", f->number);
	if (f->result_size)
		fprintf(out, ", *(%s const *)result", gen_ctype(api->model, f->result));
	fputs(", args", out);
	gen_kept(f, out);
	fputs(");\n}\n", out);
}

/* For CUPTI: by number, what is done at the entry of a call (if anything), and at its exit. */
static void callbacks_write(const struct gen_api *api, FILE *out)
{
	bool *enters = af_xcalloc(api->nr_functions + 1, sizeof *enters);

	for (uint32_t i = 0; i < api->nr_functions; i++) {
		const struct gen_function *f = &api->functions[i];
		if (!f->number)
			gen_die("%s: %s has the number 0, which is for functions that the model "
			        "does not have",
			        api->model->name, f->name);
		enters[i] = enter_write(api, f, out);
		exit_write(api, f, out);
	}
	fprintf(out, "const struct af_api_callback af_api_%s_callbacks[] = {\n", api->model->name);
	for (uint32_t i = 0; i < api->nr_functions; i++) {
		uint32_t number = api->functions[i].number;
		fprintf(out, "\t[%u] = {", number);
		if (enters[i])
			fprintf(out, "enter_%u", number);
		fprintf(out, "%s, exit_%u},\n", enters[i] ? "" : "NULL", number);
	}
	fputs("};\n", out);
}

void gen_wrappers(const struct gen_api *api, enum gen_way way, const struct gen_ids *ids, FILE *out)
{
	uint32_t last = 0;

	if (way == GEN_CALLBACK) {
		callbacks_write(api, out);
		ids_write(api, ids, out);
		return;
	}
	for (uint32_t i = 0; i < api->nr_functions; i++)
		last = api->functions[i].number > last ? api->functions[i].number : last;
	fprintf(out, "void *af_api_%s_next[%u];\n#define next af_api_%s_next\n\n", api->model->name,
	        last + 1, api->model->name);
	for (uint32_t i = 0; i < api->nr_functions; i++)
		wrapper_write(api, way, &api->functions[i], out);
	if (way == GEN_LAYER)
		layer_table_write(api, out);
	if (way == GEN_PRELOAD) {
		export_table_write(api, out);
		gen_fortran(api, out);
	}
}
