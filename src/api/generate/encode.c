/* Writes the functions that make the event of a call. */
#include <string.h>

#include "api/generate/generate.h"

void gen_args(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	fprintf(out, "struct args_%u {\n", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "\t%s a%u;\n", gen_ctype(api->model, f->params[i].type), i);
	if (!f->nr_params)
		fputs("\tchar none;\n", out);
	fputs("};\n", out);
}

static void fixed_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	fprintf(out, "struct fixed_%u {\n\tstruct af_api_head head;\n", f->number);
	if (f->result_size)
		fprintf(out, "\t%s result;\n", gen_ctype(api->model, f->result));
	if (f->bytes)
		fputs("\tuint64_t bytes;\n", out);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "\t%s a%u;\n", gen_ctype(api->model, f->params[i].type), i);
	fputs("} __attribute__((packed));\n", out);
	fprintf(out, "_Static_assert(sizeof(struct fixed_%u) == %u, \"%s\");\n", f->number,
	        f->fixed, f->name);
}

static void native_pointee_write(const struct gen_api *api, const struct gen_function *f,
                                 uint32_t i, const char *skip, FILE *out)
{
	const struct gen_param *p = &f->params[i];
	const char *from = p->is_filled ? "filled_" : "a->a";

	if (p->pointee == GEN_ONE) {
		fprintf(out, "\taf_api_put_native(c, %s%u, AF_API_NATIVE(c, %s), %s);\n", from, i,
		        p->target, skip);
		return;
	}
	fprintf(out, "\taf_api_put_natives(c, %s%u, ", from, i);
	gen_length(api, f, p->length, out);
	fprintf(out, ", AF_API_NATIVE(c, %s), %s);\n", p->target, skip);
}

static void pointee_write(const struct gen_api *api, const struct gen_function *f, uint32_t i,
                          FILE *out)
{
	const struct gen_param *p = &f->params[i];
	const char *skip = p->is_out ? "failed" : "false";

	if (p->is_inout)
		fprintf(out, "\taf_api_put_before(c, before_%u, %d, %u);\n", i,
		        p->pointee == GEN_ONE, p->target_size);
	if (p->is_native && p->pointee != GEN_NOTHING) {
		native_pointee_write(api, f, i, skip, out);
		return;
	}
	/* The error itself is what a failed call has stored. */
	if ((int)i == f->error)
		skip = "false";
	switch (p->pointee) {
	case GEN_NOTHING:
		break;
	case GEN_ONE:
		fprintf(out, "\taf_api_put_one(c, a->a%u, %u, %s);\n", i, p->target_size, skip);
		break;
	case GEN_STRING:
		fprintf(out, "\taf_api_put_string(c, a->a%u, %s);\n", i, skip);
		break;
	case GEN_ARRAY:
		fprintf(out, "\taf_api_put_array(c, a->a%u, ", i);
		gen_length(api, f, p->length, out);
		fprintf(out, ", %u, %s);\n", p->target_size, skip);
		break;
	case GEN_ZERO:
		fprintf(out, "\taf_api_put_zero(c, a->a%u, %u, 1);\n", i, p->target_size);
		break;
	case GEN_PAIRS:
		fprintf(out, "\taf_api_put_zero(c, a->a%u, %u, 2);\n", i, p->target_size);
		break;
	}
}

void gen_before(const struct gen_api *api, const struct gen_function *f, uint32_t i, FILE *out)
{
	const struct gen_param *p = &f->params[i];

	fprintf(out, "\taf_api_before%s(c, &before_%u, a->a%u, ", p->is_native ? "_native" : "", i,
	        i);
	if (p->pointee == GEN_ARRAY)
		gen_length(api, f, p->length, out);
	else
		fputs("1", out);
	if (p->is_native)
		fprintf(out, ", AF_API_NATIVE(c, %s));\n", p->target);
	else
		fprintf(out, ", %u);\n", p->target_size);
}

static void failed_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	if (!f->can_fail)
		fputs("\tbool failed = false;\n", out);
	else if (f->error >= 0)
		fprintf(out, "\tbool failed = a->a%d && af_api_at(c, a->a%d, 4) != %lld;\n",
		        f->error, f->error, (long long)api->success);
	else
		fprintf(out, "\tbool failed = result != %lld;\n", (long long)api->success);
}

/* Where calls are added up, the encoder only says how much this one moved. */
static void sum_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	fprintf(out,
	        "\tc->failed = failed;\n\tif (__builtin_expect(c->how & AF_HOW_SUM, 0)) {\n"
	        "\t\taf_api_tally(c, 0x%x, failed, %s",
	        api->model->kind + f->number, f->bytes ? "failed ? 0 : " : "");
	if (f->bytes)
		gen_length(api, f, f->bytes, out);
	else if (f->bytes_size)
		fprintf(out, "(uint64_t)a->a%u", f->bytes_param);
	else
		fputc('0', out);
	fputs(");\n\t\treturn;\n\t}\n", out);
}

void gen_kept(const struct gen_function *f, FILE *out)
{
	for (uint32_t i = 0; i < f->nr_params; i++) {
		if (f->params[i].is_inout)
			fprintf(out, ", &before_%u", i);
		if (f->params[i].is_filled)
			fprintf(out, ", filled_%u", i);
	}
}

static void values_write(const struct gen_function *f, FILE *out)
{
	if (f->has_native_result)
		fprintf(out, "\tf->result = AF_API_STORED(%s, result);\n", f->result);
	else if (f->result_size)
		fputs("\tf->result = result;\n", out);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		if (f->params[i].is_native && !f->params[i].target)
			fprintf(out, "\tf->a%u = AF_API_STORED(%s, a->a%u);\n", i,
			        f->params[i].type, i);
		else
			fprintf(out, "\tf->a%u = a->a%u;\n", i, i);
	}
}

static void function_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	gen_args(api, f, out);
	fixed_write(api, f, out);
	fprintf(out, "static void encode_%u(struct af_api_hook *c", f->number);
	if (f->result_size)
		fprintf(out, ", %s result", gen_ctype(api->model, f->result));
	fprintf(out, ", const struct args_%u *a", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		if (f->params[i].is_inout)
			fprintf(out, ", const struct af_api_before *before_%u", i);
		if (f->params[i].is_filled)
			fprintf(out, ", const void *filled_%u", i);
	}
	fputs(")\n{\n", out);
	failed_write(api, f, out);
	sum_write(api, f, out);
	fprintf(out,
	        "\tstruct fixed_%u *f = af_api_end(c, 0x%x, failed, sizeof *f, %u);\n"
	        "\n\t(void)a;\n\tif (!f)\n\t\treturn;\n",
	        f->number, api->model->kind + f->number, f->room);
	values_write(f, out);
	if (f->bytes) {
		fputs("\tf->bytes = failed ? 0 : ", out);
		gen_length(api, f, f->bytes, out);
		fputs(";\n", out);
	}
	for (uint32_t i = 0; i < f->nr_params; i++)
		pointee_write(api, f, i, out);
	fprintf(out, "\taf_api_done%s(c);\n}\n\n", f->room ? "_trimmed" : "");
}

/* Structs that are passed by value, as many bytes. */
static void bytes_write(const struct gen_api *api, FILE *out)
{
	const struct af_model *m = api->model;
	uint32_t done[64][2], nr = 0;

	for (uint32_t k = 0; k < api->nr_functions; k++) {
		const struct gen_function *f = &api->functions[k];
		for (uint32_t i = 0; i <= f->nr_params; i++) {
			const char *type = i < f->nr_params ? f->params[i].type : f->result;
			const char *ctype = gen_ctype(m, type);
			const struct af_model_type *t = af_model_type(m, type);
			uint32_t n = 0;
			if (strncmp(ctype, "struct ", 7))
				continue;
			while (n < nr && (done[n][0] != t->size || done[n][1] != t->align))
				n++;
			if (n < nr)
				continue;
			if (nr == 64)
				gen_die("%s: too many structs are passed by value", m->name);
			done[nr][0] = t->size;
			done[nr++][1] = t->align;
			fprintf(out,
			        "%s {\n\tunsigned char b[%u] __attribute__((aligned(%u)));\n};\n",
			        ctype, t->size, t->align);
		}
	}
}

void gen_encode(const struct gen_api *api, FILE *out)
{
	bytes_write(api, out);
	for (uint32_t i = 0; i < api->nr_functions; i++)
		function_write(api, &api->functions[i], out);
}
