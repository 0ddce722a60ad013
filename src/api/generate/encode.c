/* Writes the functions that make the event of a call. */
#include <string.h>

#include "api/generate/generate.h"

static void args_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
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

static const struct af_model_member *member_of(const struct gen_api *api, const struct gen_param *p,
                                               const char *name)
{
	const struct af_model_type *t = p->target ? af_model_type(api->model, p->target) : NULL;

	while (t && t->form == AF_MODEL_ALIAS && t->base)
		t = af_model_type(api->model, t->base);
	for (uint32_t i = 0; t && i < t->nr_members; i++)
		if (!strcmp(t->members[i].name, name))
			return &t->members[i];
	gen_die("%s: %s has no member %s", api->model->name, p->name, name);
}

static bool is_signed_type(const struct gen_api *api, const char *type)
{
	const struct af_model_type *t = af_model_type(api->model, type);

	while (t && t->base && strcmp(t->base, t->name))
		t = af_model_type(api->model, t->base);
	return t && t->name[0] == 'i';
}

static void factor_write(const struct gen_api *api, const struct gen_function *f,
                         const struct af_factor *x, bool least, FILE *out)
{
	int i = x->param ? gen_param_named(f, x->param) : 0;
	const struct gen_param *p = x->param ? &f->params[i] : NULL;
	const struct af_model_member *m;

	switch (x->kind) {
	case AF_FACTOR_NUMBER:
		fprintf(out, "%llu", (unsigned long long)x->number);
		break;
	case AF_FACTOR_PARAM:
		if (is_signed_type(api, p->type))
			fprintf(out, "af_api_count(a->a%d)", i);
		else
			fprintf(out, "(uint64_t)a->a%d", i);
		break;
	case AF_FACTOR_AT:
		fprintf(out, "%s(c, a->a%d, %u)", least ? "af_api_limit" : "af_api_at", i,
		        p->target_size);
		break;
	case AF_FACTOR_MEMBER:
		m = member_of(api, p, x->member);
		fprintf(out, "af_api_at(c, af_api_behind(a->a%d, %u), %u)", i, m->offset,
		        af_model_type(api->model, m->type)->size);
		break;
	case AF_FACTOR_RANKS:
		fprintf(out, "af_api_ranks(a->a%d)", i);
		break;
	case AF_FACTOR_SIZE:
		fprintf(out, "af_api_datatype_size(a->a%d)", i);
		break;
	}
}

static void length_write(const struct gen_api *api, const struct gen_function *f,
                         const struct af_length *l, FILE *out)
{
	for (uint32_t t = 1; t < l->nr_terms; t++)
		fputs("af_api_least(", out);
	for (uint32_t t = 0; t < l->nr_terms; t++) {
		fputs(t ? ", " : "", out);
		for (uint32_t i = 0; i < l->nr_factors[t]; i++) {
			fputs(i ? " * " : "", out);
			factor_write(api, f, &l->factors[t][i], l->nr_terms > 1, out);
		}
		fputs(t ? ")" : "", out);
	}
}

static void pointee_write(const struct gen_api *api, const struct gen_function *f, uint32_t i,
                          FILE *out)
{
	const struct gen_param *p = &f->params[i];
	const char *skip = p->is_out ? "failed" : "false";

	if (p->is_inout)
		fprintf(out, "\taf_api_put_before(c, before_%u, %d, %u);\n", i,
		        p->pointee == GEN_ONE, p->target_size);
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
		length_write(api, f, p->length, out);
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

	fprintf(out, "\taf_api_before(c, &before_%u, a->a%u, ", i, i);
	if (p->pointee == GEN_ARRAY)
		length_write(api, f, p->length, out);
	else
		fputs("1", out);
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
	fprintf(
	    out,
	    "\tif (__builtin_expect(c->how & AF_HOW_SUM, 0)) {\n\t\taf_api_sum(c, 0x%x, failed, ",
	    api->model->kind + f->number);
	if (f->bytes)
		length_write(api, f, f->bytes, out);
	else if (f->bytes_size)
		fprintf(out, "(uint64_t)a->a%u", f->bytes_param);
	else
		fputc('0', out);
	fputs(");\n\t\treturn;\n\t}\n", out);
}

static void function_write(const struct gen_api *api, const struct gen_function *f, FILE *out)
{
	args_write(api, f, out);
	fixed_write(api, f, out);
	fprintf(out, "static void encode_%u(struct af_api_hook *c", f->number);
	if (f->result_size)
		fprintf(out, ", %s result", gen_ctype(api->model, f->result));
	fprintf(out, ", const struct args_%u *a", f->number);
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (f->params[i].is_inout)
			fprintf(out, ", const struct af_api_before *before_%u", i);
	fputs(")\n{\n", out);
	failed_write(api, f, out);
	sum_write(api, f, out);
	fprintf(out,
	        "\tstruct fixed_%u *f = af_api_end(c, 0x%x, failed, sizeof *f, %u);\n"
	        "\n\t(void)a;\n\tif (!f)\n\t\treturn;\n",
	        f->number, api->model->kind + f->number, f->room);
	if (f->result_size)
		fputs("\tf->result = result;\n", out);
	for (uint32_t i = 0; i < f->nr_params; i++)
		fprintf(out, "\tf->a%u = a->a%u;\n", i, i);
	if (f->bytes) {
		fputs("\tf->bytes = failed ? 0 : ", out);
		length_write(api, f, f->bytes, out);
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
