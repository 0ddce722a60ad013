#include "api/model/merge.h"

#include <stdlib.h>

#include "api/model/model.h"
#include "base/arena.h"

static const struct af_model_function *number_find(const struct af_model *of, uint32_t nr_of,
                                                   const char *name)
{
	for (uint32_t i = 0; i < nr_of; i++) {
		const struct af_model_function *f = af_model_function(&of[i], name);

		if (f)
			return f;
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct af_model_function *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void af_model_number(struct af_model *m, const struct af_model *of, uint32_t nr_of)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < nr_of; i++)
		if (of[i].nr_functions && of[i].functions[of[i].nr_functions - 1].number >= next)
			next = of[i].functions[of[i].nr_functions - 1].number + 1;
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		struct af_model_function *f = &m->functions[i];
		const struct af_model_function *old = number_find(of, nr_of, f->name);

		f->number = old ? old->number : next++;
	}
	AF_SORT(m->functions, m->nr_functions, by_number);
}

static void keep_type(struct af_model *m, const struct af_model *old, const char *name)
{
	const struct af_model_type *from = af_model_type(old, name);

	if (af_model_type(m, name) || !from || from->form == AF_MODEL_BUILTIN)
		return;
	for (uint32_t i = 0; i < from->nr_members; i++)
		keep_type(m, old, from->members[i].type);
	struct af_model_type *t = af_model_add_type(m, name, from->form, from->base);
	t->size = from->size;
	t->align = from->align;
	for (uint32_t i = 0; i < from->nr_values; i++)
		af_model_add_value(m, t, from->values[i].value, from->values[i].name);
	for (uint32_t i = 0; i < from->nr_members; i++) {
		const struct af_model_member *v = &from->members[i];

		af_model_add_member(m, t, v->offset, v->name, v->type, v->nr);
	}
}

static void keep_function(struct af_model *m, const struct af_model *old,
                          const struct af_model_function *from)
{
	keep_type(m, old, from->result);
	for (uint32_t i = 0; i < from->nr_params; i++)
		keep_type(m, old, from->params[i].type);
	struct af_model_function *f =
	    af_model_add_function(m, from->number, from->name, from->result);
	for (uint32_t i = 0; i < from->nr_params; i++)
		af_model_add_param(m, f, from->params[i].name, from->params[i].points,
		                   from->params[i].type);
}

void af_model_keep(struct af_model *m, const struct af_model *old)
{
	for (uint32_t i = 0; i < old->nr_types; i++)
		if (old->types[i].nr_values)
			keep_type(m, old, old->types[i].name);
	for (uint32_t i = 0; i < old->nr_functions; i++)
		if (!af_model_function(m, old->functions[i].name))
			keep_function(m, old, &old->functions[i]);
}
