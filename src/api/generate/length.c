/* Writes how much a call moves and how long its arrays are, as expressions of C. */
#include <string.h>

#include "api/generate/generate.h"

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

static void member_write(const struct gen_api *api, const struct gen_param *p, int i,
                         const struct af_model_member *m, FILE *out)
{
	uint32_t size = af_model_type(api->model, m->type)->size;
	const char *from = p->is_filled ? "filled_" : "a->a";

	if (p->is_native)
		fprintf(out, "af_api_native_at(c, AF_API_NATIVE(c, %s), %s%d, %u, %u)", p->target,
		        from, i, m->offset, size);
	else
		fprintf(out, "af_api_at(c, af_api_behind(a->a%d, %u), %u)", i, m->offset, size);
}

static void factor_write(const struct gen_api *api, const struct gen_function *f,
                         const struct af_factor *x, bool least, FILE *out)
{
	if (x->kind == AF_FACTOR_NUMBER) {
		fprintf(out, "%llu", (unsigned long long)x->number);
		return;
	}
	int i = gen_param_named(f, x->param);
	const struct gen_param *p = &f->params[i];

	switch (x->kind) {
	case AF_FACTOR_NUMBER:
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
		member_write(api, p, i, member_of(api, p, x->member), out);
		break;
	case AF_FACTOR_RANKS:
		fprintf(out, "af_api_ranks(c, a->a%d)", i);
		break;
	case AF_FACTOR_SIZE:
		fprintf(out, "af_api_datatype_size(c, a->a%d)", i);
		break;
	case AF_FACTOR_SUM:
		fprintf(out, "af_api_sum(c, a->a%d, ", i);
		gen_length(api, f, p->length, out);
		fprintf(out, ", %u)", p->target_size);
		break;
	case AF_FACTOR_VOLUME:
		fprintf(out, "af_api_volume(c, a->a%d)", i);
		break;
	case AF_FACTOR_PIXEL:
		fprintf(out, "af_opencl_pixel(a->a%d)", i);
		break;
	case AF_FACTOR_MEMORY:
		fprintf(out, "af_opencl_memory(c, a->a%d, ", i);
		gen_length(api, f, p->length, out);
		fputc(')', out);
		break;
	case AF_FACTOR_GIVEN:
		fprintf(out, "af_api_given(c, a->a%d)", i);
		break;
	}
}

static void product_write(const struct gen_api *api, const struct gen_function *f,
                          const struct af_length *l, uint32_t term, FILE *out)
{
	for (uint32_t i = 0; i < l->nr_factors[term]; i++) {
		const struct af_factor *x = &l->factors[term][i];
		factor_write(api, f, x, l->nr_terms > 1, out);
		/* Where the buffer is not given, the rest has no meaning. */
		if (i + 1 < l->nr_factors[term])
			fputs(x->kind == AF_FACTOR_GIVEN ? " == 0 ? 0 : " : " * ", out);
	}
}

void gen_length(const struct gen_api *api, const struct gen_function *f, const struct af_length *l,
                FILE *out)
{
	for (uint32_t t = 1; t < l->nr_terms; t++)
		fputs("af_api_least(", out);
	for (uint32_t t = 0; t < l->nr_terms; t++) {
		fputs(t ? ", " : "", out);
		product_write(api, f, l, t, out);
		fputs(t ? ")" : "", out);
	}
}
