#include "api/model/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/model/model.h"
#include "base/buf.h"

struct comparison {
	const struct af_model *before, *after;
	af_model_changed *changed;
	void *arg;
};

/* Two texts of one thing, NULL where it is not there. */
static void compare_texts(const struct comparison *c, const char *what, const char *name,
                          const char *before, const char *after)
{
	const struct af_model_change change = {what, name, before, after};

	if (!before || !after || strcmp(before, after) != 0)
		c->changed(&change, c->arg);
}

static void function_text(const struct af_model_function *f, struct af_buf *b)
{
	static const char *const words[] = {
	    [AF_MODEL_BY_VALUE] = "", [AF_MODEL_IN] = "in ", [AF_MODEL_OUT] = "out "};

	af_buf_fmt(b, "%s (", f->result);
	for (uint32_t i = 0; i < f->nr_params; i++)
		af_buf_fmt(b, "%s%s %s%s", i ? ", " : "", f->params[i].name,
		           words[f->params[i].points], f->params[i].type);
	af_buf_char(b, ')');
}

static void type_text(const struct af_model_type *t, struct af_buf *b)
{
	if (t->form != AF_MODEL_STRUCT) {
		af_buf_str(b, t->base);
		return;
	}
	af_buf_fmt(b, "%u bytes aligned to %u:", t->size, t->align);
	for (uint32_t i = 0; i < t->nr_members; i++) {
		const struct af_model_member *m = &t->members[i];

		af_buf_fmt(b, "%s %u %s %s", i ? "," : "", m->offset, m->name, m->type);
		if (m->nr != 1)
			af_buf_fmt(b, " %u", m->nr);
	}
}

static void compare_function(const struct comparison *c, const struct af_model_function *a,
                             const struct af_model_function *b)
{
	const struct af_model_function *one = b ? b : a;
	struct af_buf before = {0}, after = {0};

	if (a)
		function_text(a, &before);
	if (b)
		function_text(b, &after);
	compare_texts(c, "function", one->name, before.data, after.data);
	af_buf_free(&before);
	af_buf_free(&after);
}

static const struct af_model_value *value_find(const struct af_model_type *t, const char *name)
{
	for (uint32_t i = 0; t && i < t->nr_values; i++)
		if (!strcmp(t->values[i].name, name))
			return &t->values[i];
	return NULL;
}

static void compare_value(const struct comparison *c, const struct af_model_type *type,
                          const char *value, const struct af_model_value *a,
                          const struct af_model_value *b)
{
	char name[512], before[32] = "", after[32] = "";

	snprintf(name, sizeof name, "%s.%s", type->name, value);
	if (a)
		snprintf(before, sizeof before, "%" PRId64, a->value);
	if (b)
		snprintf(after, sizeof after, "%" PRId64, b->value);
	compare_texts(c, "value", name, a ? before : NULL, b ? after : NULL);
}

static void compare_type(const struct comparison *c, const struct af_model_type *a,
                         const struct af_model_type *b)
{
	const struct af_model_type *one = b ? b : a;
	struct af_buf before = {0}, after = {0};

	if (a)
		type_text(a, &before);
	if (b)
		type_text(b, &after);
	compare_texts(c, one->form == AF_MODEL_STRUCT ? "struct" : "type", one->name, before.data,
	              after.data);
	af_buf_free(&before);
	af_buf_free(&after);
	for (uint32_t i = 0; b && i < b->nr_values; i++)
		compare_value(c, b, b->values[i].name, value_find(a, b->values[i].name),
		              &b->values[i]);
	for (uint32_t i = 0; a && i < a->nr_values; i++)
		if (!value_find(b, a->values[i].name))
			compare_value(c, a, a->values[i].name, &a->values[i], NULL);
}

void af_model_compare(const struct af_model *before, const struct af_model *after,
                      af_model_changed *changed, void *arg)
{
	const struct comparison c = {before, after, changed, arg};

	for (uint32_t i = 0; i < after->nr_functions; i++)
		compare_function(&c, af_model_function(before, after->functions[i].name),
		                 &after->functions[i]);
	for (uint32_t i = 0; i < before->nr_functions; i++)
		if (!af_model_function(after, before->functions[i].name))
			compare_function(&c, &before->functions[i], NULL);
	for (uint32_t i = 0; i < after->nr_types; i++)
		compare_type(&c, af_model_type(before, after->types[i].name), &after->types[i]);
	for (uint32_t i = 0; i < before->nr_types; i++)
		if (!af_model_type(after, before->types[i].name))
			compare_type(&c, &before->types[i], NULL);
}
