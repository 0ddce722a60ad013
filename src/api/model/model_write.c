/* A model as text, in the order in which it is read. */
#include "api/model/model.h"

#include <inttypes.h>

#include "base/buf.h"

static void write_type(const struct af_model_type *t, struct af_buf *b)
{
	static const char *const words[] = {
	    [AF_MODEL_ALIAS] = "", [AF_MODEL_ENUM] = "enum ", [AF_MODEL_FLAGS] = "flags "};

	if (t->form == AF_MODEL_STRUCT)
		af_buf_fmt(b, "type %s struct %u %u\n", t->name, t->size, t->align);
	else
		af_buf_fmt(b, "type %s %s%s\n", t->name, words[t->form], t->base);
	for (uint32_t i = 0; i < t->nr_values; i++)
		af_buf_fmt(b, "\t%" PRId64 " %s\n", t->values[i].value, t->values[i].name);
	for (uint32_t i = 0; i < t->nr_members; i++) {
		const struct af_model_member *v = &t->members[i];

		af_buf_fmt(b, "\t%u %s %s", v->offset, v->name, v->type);
		if (v->nr != 1)
			af_buf_fmt(b, " %u", v->nr);
		af_buf_char(b, '\n');
	}
}

static void write_function(const struct af_model_function *f, struct af_buf *b)
{
	static const char *const words[] = {
	    [AF_MODEL_BY_VALUE] = "", [AF_MODEL_IN] = "in ", [AF_MODEL_OUT] = "out "};

	af_buf_fmt(b, "fn %u %s %s\n", f->number, f->name, f->result);
	for (uint32_t i = 0; i < f->nr_params; i++) {
		const struct af_model_param *p = &f->params[i];

		af_buf_fmt(b, "\t%s %s%s\n", p->name, words[p->points], p->type);
	}
}

void af_model_write(const struct af_model *m, struct af_buf *b)
{
	af_buf_fmt(b, "api %s 0x%04x %s\n", m->name, m->kind, m->title);
	for (uint32_t i = 0; i < m->nr_sources; i++) {
		const struct af_model_source *s = &m->sources[i];

		af_buf_fmt(b, s->version ? "source %s %s\n" : "source %s\n", s->header, s->version);
	}
	for (uint32_t i = 0; i < m->nr_types; i++)
		write_type(&m->types[i], b);
	for (uint32_t i = 0; i < m->nr_functions; i++)
		write_function(&m->functions[i], b);
}
