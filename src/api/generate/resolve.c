/* Model and rules become functions with offsets, shapes and lengths. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/generate/generate.h"
#include "base/arena.h"
#include "base/err.h"

static struct af_arena arena;

int gen_param_named(const struct gen_function *f, const char *name)
{
	for (uint32_t i = 0; i < f->nr_params; i++)
		if (!strcmp(f->params[i].name, name))
			return (int)i;
	return -1;
}

static const struct af_model_type *type_of(const struct af_model *m, const char *name,
                                           const char *user)
{
	const struct af_model_type *t = af_model_type(m, name);

	if (!t)
		gen_die("%s: %s has the unknown type %s", m->name, user, name);
	return t;
}

/* "launch" → "LAUNCH" */
static const char *capitals(const char *word)
{
	char *copy = af_arena_strdup(&arena, word, strlen(word));

	for (char *p = copy; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return copy;
}

static bool is_void(const char *type)
{
	return !strcmp(type, "void");
}

static bool is_char(const char *type)
{
	return !strcmp(type, "char");
}

/* The shape of a pointee where no rule says it: a string, or one value. */
static enum af_rule_shape shape_default(const struct af_model_param *p)
{
	if (is_void(p->type) || (is_char(p->type) && p->points == AF_MODEL_OUT))
		return AF_SHAPE_NONE;
	return is_char(p->type) ? AF_SHAPE_STRING : AF_SHAPE_ONE;
}

static enum gen_pointee pointee_of(enum af_rule_shape shape)
{
	switch (shape) {
	case AF_SHAPE_ONE:
		return GEN_ONE;
	case AF_SHAPE_STRING:
		return GEN_STRING;
	case AF_SHAPE_ARRAY:
	case AF_SHAPE_BYTES:
		return GEN_ARRAY;
	case AF_SHAPE_ZERO:
		return GEN_ZERO;
	case AF_SHAPE_PAIRS:
		return GEN_PAIRS;
	default:
		return GEN_NOTHING;
	}
}

static void param_points(const struct af_model *m, const struct af_model_param *is,
                         const struct af_param_rule *rule, struct gen_param *p)
{
	enum af_rule_shape shape = rule->shape ? rule->shape : shape_default(is);
	const char *target = rule->as ? rule->as : is->type;

	p->type = "pointer";
	p->is_text =
	    is_char(is->type) || (is->points == AF_MODEL_OUT && !strcmp(is->type, "pointer"));
	p->is_filled = rule->is_filled;
	p->is_out = is->points == AF_MODEL_OUT && !rule->is_in;
	if (rule->as && !rule->shape)
		shape = AF_SHAPE_ONE;
	p->pointee = pointee_of(shape);
	if (p->pointee == GEN_NOTHING)
		return;
	if (shape == AF_SHAPE_BYTES)
		target = is_char(is->type) ? "char" : "u8";
	const struct af_model_type *t = type_of(m, target, is->name);
	if (!t->size)
		gen_die("%s: what %s points to has no size", m->name, is->name);
	if (rule->as && shape != AF_SHAPE_BYTES && !is_void(is->type) &&
	    type_of(m, is->type, is->name)->size != t->size)
		gen_die("%s: %s is no %s: they have different sizes", m->name, is->name, target);
	p->target = target;
	p->target_size = t->size;
	p->length = &rule->length;
	p->is_inout = rule->is_inout;
}

static bool is_native(const struct af_rules *rules, const char *type)
{
	for (const char *w = rules->native; type && w && *w; w += strlen(w) + 1)
		if (!strcmp(w, type))
			return true;
	return false;
}

static void param_resolve(const struct af_model *m, const struct af_model_param *is,
                          const struct af_param_rule *rule, struct gen_param *p)
{
	*p = (struct gen_param){.name = is->name, .is_c_only = rule->is_c_only};
	if (is->points != AF_MODEL_BY_VALUE || rule->shape > AF_SHAPE_NONE) {
		param_points(m, is, rule, p);
		p->size = p->align = 8;
		return;
	}
	const struct af_model_type *t = type_of(m, is->type, is->name);
	p->size = t->size;
	p->align = t->align;
	p->type = is->type;
	if (rule->as && type_of(m, rule->as, is->name)->size == t->size)
		p->type = rule->as;
	else if (rule->as)
		gen_die("%s: %s is no %s: they have different sizes", m->name, is->name, rule->as);
}

static uint32_t param_room(const struct gen_param *p)
{
	uint32_t least = p->target_size > GEN_ARRAY_MAX ? p->target_size : GEN_ARRAY_MAX;
	uint32_t times = p->is_inout ? 2 : 1;

	switch (p->pointee) {
	case GEN_NOTHING:
		return 0;
	case GEN_ONE:
		return times * p->target_size;
	case GEN_STRING:
		return times * (GEN_STRING_MAX + 1);
	default:
		return times * (2 + least);
	}
}

/* A plain parameter is read where it lies; anything else is computed, behind the result. */
static int plain_bytes(const struct gen_function *f, const struct af_length *l)
{
	if (l->nr_terms != 1 || l->nr_factors[0] != 1 || l->factors[0][0].kind != AF_FACTOR_PARAM)
		return -1;
	return gen_param_named(f, l->factors[0][0].param);
}

static void lengths_check(const struct gen_function *f, const struct af_length *l)
{
	for (uint32_t t = 0; t < l->nr_terms; t++)
		for (uint32_t i = 0; i < l->nr_factors[t]; i++)
			if (l->factors[t][i].param &&
			    gen_param_named(f, l->factors[t][i].param) < 0)
				gen_die("%s has no parameter %s", f->name, l->factors[t][i].param);
}

static void function_layout(struct gen_function *f, struct af_function_rule *rule)
{
	uint32_t at = GEN_HEAD + f->result_size;
	int plain = rule->bytes.nr_terms ? plain_bytes(f, &rule->bytes) : -1;

	if (rule->bytes.nr_terms && plain < 0) {
		f->bytes = &rule->bytes;
		f->bytes_at = at;
		f->bytes_size = 8;
		at += 8;
		lengths_check(f, f->bytes);
	}
	for (uint32_t i = 0; i < f->nr_params; i++) {
		struct gen_param *p = &f->params[i];
		p->at = at;
		at += p->size;
		f->room += param_room(p);
		if (p->length)
			lengths_check(f, p->length);
	}
	if (rule->moves.nr_terms || rule->bytes.nr_terms)
		f->moves = rule->moves.nr_terms ? &rule->moves : &rule->bytes;
	if (f->moves)
		lengths_check(f, f->moves);
	if (plain >= 0) {
		f->bytes_at = f->params[plain].at;
		f->bytes_param = (uint32_t)plain;
		f->bytes_size = f->params[plain].size;
	}
	f->fixed = at;
}

static void function_resolve(struct gen_api *api, const struct af_model_function *is,
                             struct af_rules *rules)
{
	struct af_function_rule *rule = af_arena_alloc(&arena, sizeof *rule);
	struct af_err err = {0};

	if (af_rules_apply(rules, is, rule, &err))
		gen_die("%s", err.msg);
	AF_GROW(api->functions, api->nr_functions, api->cap_functions);
	struct gen_function *f = &api->functions[api->nr_functions++];
	*f = (struct gen_function){
	    .name = is->name,
	    .number = is->number,
	    .result = rule->returns ? rule->returns : is->result,
	    .nr_params = is->nr_params,
	    .params = af_arena_alloc(&arena, (is->nr_params + 1) * sizeof *f->params),
	    .category = capitals(rule->category ? rule->category : "other"),
	    .level = capitals(rule->level ? rule->level : "default"),
	    .blocks = rule->blocks,
	    .is_safe = rule->is_safe,
	    .is_entry = rule->is_entry,
	    .op = rule->op ? capitals(rule->op) : NULL,
	    .is_variadic = rule->is_variadic,
	    .is_fortran = rule->is_fortran,
	    .error = -1,
	};
	if (rules->result && !strcmp(f->result, rules->result))
		f->result = rules->result_as;
	const struct af_model_type *result = type_of(api->model, f->result, f->name);
	f->result_size = is_void(f->result) ? 0 : result->size;
	f->has_native_result = f->result_size && is_native(rules, f->result);
	for (uint32_t i = 0; i < is->nr_params; i++) {
		struct gen_param *p = &f->params[i];
		param_resolve(api->model, &is->params[i], &rule->params[i], p);
		p->is_native = is_native(rules, p->target ? p->target : p->type);
	}
	f->error = rule->error ? gen_param_named(f, rule->error) : -1;
	if (rule->error && f->error < 0 && f->result_size != 4)
		gen_die("%s has no parameter %s", f->name, rule->error);
	f->can_fail = !rule->never_fails && (f->error >= 0 || f->result_size == 4);
	function_layout(f, rule);
}

void gen_resolve(struct gen_api *api, const struct af_model *m, struct af_rules *rules)
{
	*api = (struct gen_api){.model = m, .success = rules->success};
	for (uint32_t i = 0; i < m->nr_functions; i++)
		function_resolve(api, &m->functions[i], rules);
}

const char *gen_ctype(const struct af_model *m, const char *type)
{
	static const struct {
		const char *name, *ctype;
	} plain[] = {
	    {"i8", "int8_t"},    {"i16", "int16_t"},   {"i32", "int32_t"},    {"i64", "int64_t"},
	    {"u8", "uint8_t"},   {"u16", "uint16_t"},  {"u32", "uint32_t"},   {"u64", "uint64_t"},
	    {"x64", "uint64_t"}, {"handle", "void *"}, {"pointer", "void *"}, {"char", "char"},
	    {"f32", "float"},    {"f64", "double"},    {"void", "void"},
	};
	const struct af_model_type *t = type_of(m, type, "a parameter");
	char text[64];

	for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++) {
		if (!strcmp(plain[i].name, type))
			return plain[i].ctype;
	}
	if (t->base)
		return gen_ctype(m, t->base);
	snprintf(text, sizeof text, "struct af_api_bytes_%u_%u", t->size, t->align);
	return af_arena_strdup(&arena, text, strlen(text));
}
