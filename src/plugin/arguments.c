/* The host's functions by which a plug-in gets arguments of traced calls by their names. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "api/tables/decode.h"
#include "plugin/private.h"

uint16_t plugin_function_find(const char *name)
{
	for (const struct af_api_table *const *api = af_apis; *api; api++)
		for (uint16_t i = 0; i < (*api)->nr_functions; i++) {
			const char *is = (*api)->functions[i].name;
			if (is && !strcmp(is, name))
				return (uint16_t)((*api)->kind + i);
		}
	return 0;
}

bool plugin_functions_want(struct plugin_host *h, const char *pattern)
{
	bool found = false;

	for (const struct af_api_table *const *api = af_apis; *api; api++)
		for (uint16_t i = 0; i < (*api)->nr_functions; i++) {
			const char *is = (*api)->functions[i].name;
			uint16_t kind = (uint16_t)((*api)->kind + i);
			if (!is || fnmatch(pattern, is, 0))
				continue;
			h->wanted |= af_kind_bit(kind);
			h->kinds[kind / 8] |= (uint8_t)(1u << kind % 8);
			found = true;
		}
	return found;
}

/* Values of one type that follow each other in a payload. */
struct place {
	const struct af_api_type *type;
	const uint8_t *at; /* NULL: not recorded */
	uint32_t nr;       /* elements; bytes of a string */
	bool is_array, is_string;
	const char *name;
	const struct af_api_param *param; /* whose own value it is; NULL: it is another one */
};

static struct place place_of_target(const struct af_api_call *call, const struct af_api_arg *arg,
                                    bool before)
{
	const struct af_api_view *view = before ? &arg->before : &arg->target;
	struct place p = {.type = arg->param->target, .name = arg->param->name};

	if (!p.type || (!before && !af_api_has_target(call, arg)))
		return p;
	p.at = view->data;
	p.nr = view->nr;
	p.is_array = arg->param->pointee != AF_API_ONE;
	p.is_string = arg->param->pointee == AF_API_STRING;
	return p;
}

static struct place place_of_value(const struct af_api_arg *arg)
{
	return (struct place){.type = arg->param->type,
	                      .at = arg->value,
	                      .nr = 1,
	                      .name = arg->param->name,
	                      .param = arg->param};
}

static struct place place_of_result(const struct af_api_call *call)
{
	return (struct place){
	    .type = call->function->result, .at = call->result, .nr = 1, .name = "return"};
}

/* "[2]": the step to an element. False: there is none. */
static bool step_element(struct place *p, const char **path)
{
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);

	if (end == *path + 1 || (*path)[1] < '0' || (*path)[1] > '9' || *end != ']' || i >= p->nr ||
	    p->is_string || p->param)
		return false;
	*path = end + 1;
	p->at += i * p->type->size;
	p->nr = 1;
	p->is_array = false;
	return true;
}

/* ".Width": the step to a member of a struct. */
static bool step_member(struct place *p, const char **path)
{
	const char *name = *path + 1;
	size_t len = strcspn(name, ".[");

	if (p->is_array || p->type->form != AF_API_STRUCT)
		return false;
	for (uint16_t i = 0; i < p->type->nr; i++) {
		const struct af_api_member *m = &p->type->members[i];
		if (strncmp(m->name, name, len) != 0 || m->name[len])
			continue;
		*path = name + len;
		*p = (struct place){.type = m->type,
		                    .at = p->at + m->offset,
		                    .nr = m->nr,
		                    .is_array = m->nr != 1,
		                    .name = m->name};
		return true;
	}
	return false;
}

static bool steps(struct place *p, const char *path)
{
	bool is = p->type && p->at;

	while (is && *path)
		is = *path == '[' ? step_element(p, &path) : *path == '.' && step_member(p, &path);
	return is;
}

static const struct af_api_arg *arg_named(const struct af_api_call *call, const char *name,
                                          size_t len)
{
	for (uint32_t i = 0; i < call->nr_args; i++) {
		const char *is = call->args[i].param->name;
		if (!strncmp(is, name, len) && !is[len])
			return &call->args[i];
	}
	return NULL;
}

static bool place_find(const struct af_api_call *call, const char *name, struct place *p)
{
	static const char before[] = "@before";
	bool is_target = *name == '*';
	const char *word = name + is_target, *path = word + strcspn(word, ".[@");
	const struct af_api_arg *arg = arg_named(call, word, (size_t)(path - word));

	if (!arg && !is_target && path - word == 6 && !strncmp(word, "return", 6)) {
		*p = place_of_result(call);
		return steps(p, path);
	}
	if (!arg)
		return false;
	bool is_before = !strncmp(path, before, sizeof before - 1);
	path += is_before ? sizeof before - 1 : 0;
	if (is_target && *path)
		return false;
	if (is_target || is_before || (*path && arg->param->target))
		*p = place_of_target(call, arg, is_before);
	else
		*p = place_of_value(arg);
	return steps(p, path);
}

static void fill_real(const struct place *p, struct af_pass_argument *to)
{
	float single;

	to->type = AF_PASS_REAL;
	if (p->type->size == sizeof single) {
		memcpy(&single, p->at, sizeof single);
		to->real = single;
	} else {
		memcpy(&to->real, p->at, sizeof to->real);
	}
}

static void fill_seq(const struct place *p, struct af_pass_argument *to)
{
	to->type = AF_PASS_SEQ;
	to->values = p->at;
	to->nr = p->is_array ? p->nr : p->type->size;
	to->width = p->is_array ? p->type->size : 1;
}

static void fill_number(const struct place *p, struct af_pass_argument *to)
{
	const struct af_api_type *t = p->type;
	bool is_hex = t->form == AF_API_ADDRESS || t->form == AF_API_HANDLE;

	to->number = (uint64_t)af_api_number(t, p->at);
	to->type = is_hex ? AF_PASS_HEX : t->is_signed ? AF_PASS_SIGNED : AF_PASS_NUMBER;
	if (t->form == AF_API_ENUM || t->form == AF_API_FLAGS)
		to->value_name = af_api_value_name(t, (int64_t)to->number);
}

static void fill_text(struct plugin_host *h, const struct place *p, struct af_pass_argument *to)
{
	const char *text = (const char *)p->at;
	uint32_t id = af_strtab_id(&h->texts, text, strnlen(text, p->nr));

	to->type = AF_PASS_TEXT;
	to->text = af_strtab_get(&h->texts, id);
}

static int place_give(struct plugin_host *h, const struct place *p, struct af_pass_argument *to)
{
	const struct af_api_type *t = p->type;
	struct af_pass_argument is = {
	    .text = "", .name = p->name, .type_name = t->name ? t->name : ""};

	if (t->form == AF_API_VOID || !t->size)
		return -1;
	if (p->is_string || (p->is_array && t->form == AF_API_CHAR))
		fill_text(h, p, &is);
	else if (p->is_array || t->form == AF_API_STRUCT || t->form == AF_API_BYTES ||
	         t->size > sizeof is.number)
		fill_seq(p, &is);
	else if (t->form == AF_API_FLOAT && t->size >= sizeof(float))
		fill_real(p, &is);
	else
		fill_number(p, &is);
	if (p->param) {
		is.target = p->param->pointee;
		is.is_written = p->param->is_out;
	}
	return plugin_give(h, to, &is, sizeof is);
}

/* The call that @ev is, with arguments. */
static bool call_of(const struct af_pass_event *ev, struct af_api_call *call)
{
	const struct af_api_function *f =
	    ev->kind <= UINT16_MAX ? af_api_function((uint16_t)ev->kind) : NULL;

	return f && af_api_decode(f, ev->payload, ev->payload_size, call);
}

static int argument(const struct af_pass_host *api, const struct af_pass_event *ev,
                    const char *name, struct af_pass_argument *to)
{
	struct af_api_call call;
	struct place p;

	if (!call_of(ev, &call) || !place_find(&call, name, &p))
		return -1;
	return place_give(plugin_host_of(api), &p, to);
}

static int argument_at(const struct af_pass_host *api, const struct af_pass_event *ev, uint32_t i,
                       struct af_pass_argument *to)
{
	struct af_api_call call;

	if (!call_of(ev, &call) || i >= call.nr_args)
		return -1;
	const struct place p = place_of_value(&call.args[i]);
	return place_give(plugin_host_of(api), &p, to);
}

void plugin_arguments_open(struct plugin_host *h)
{
	_Static_assert((int)AF_PASS_TARGET_NONE == AF_API_NOTHING &&
	                   (int)AF_PASS_TARGET_VALUE == AF_API_ONE &&
	                   (int)AF_PASS_TARGET_ARRAY == AF_API_ARRAY &&
	                   (int)AF_PASS_TARGET_PAIRS == AF_API_PAIRS &&
	                   (int)AF_PASS_TARGET_STRING == AF_API_STRING,
	               "plug-ins get the numbers of enum af_api_pointee");

	h->api.argument = argument;
	h->api.argument_at = argument_at;
}
