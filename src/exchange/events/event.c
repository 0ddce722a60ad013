#include "exchange/events/event.h"

#include <string.h>

#include "trace/layout.h"

bool import_is(const struct af_json *j, const char *text)
{
	size_t len = strlen(text);

	return j->len == len && !memcmp(j->text, text, len);
}

bool import_take_number(struct af_json *j, int power, struct import_number *n)
{
	enum af_json_token token = af_json_next(j);

	if (token == AF_JSON_NUMBER || token == AF_JSON_STRING) {
		n->given = !j->cut && af_json_fixed(j->text, j->len, power, &n->value);
		return true;
	}
	return af_json_skip(j, token);
}

/*
 * A thread or a device may be a number or have one at its end: GPU0_Stream7. What has none at all
 * is a word.
 */
static bool take_id(struct af_json *j, struct import_number *n, char word[64])
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_NUMBER && token != AF_JSON_STRING)
		return af_json_skip(j, token);
	size_t from = j->len;
	while (from && j->text[from - 1] >= '0' && j->text[from - 1] <= '9')
		from--;
	if (token == AF_JSON_NUMBER || (from == 1 && *j->text == '-'))
		from = 0;
	n->given = !j->cut && af_json_fixed(j->text + from, j->len - from, 0, &n->value);
	if (token == AF_JSON_STRING && j->len && from == j->len) {
		size_t len = j->len < 63 ? j->len : 63;
		memcpy(word, j->text, len);
		word[len] = 0;
	}
	return true;
}

bool import_take_text(struct af_json *j, char *to, size_t size, size_t *len, uint64_t *cut)
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_STRING)
		return af_json_skip(j, token);
	*len = j->len < size ? j->len : size - 1;
	memcpy(to, j->text, *len);
	to[*len] = 0;
	*cut += j->cut;
	return true;
}

static bool take_three(struct af_json *j, struct import_number n[3])
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_ARRAY)
		return af_json_skip(j, token);
	for (int i = 0; (token = af_json_next(j)) != AF_JSON_ARRAY_END; i++) {
		if (token == AF_JSON_NUMBER && i < 3)
			n[i].given = !j->cut && af_json_fixed(j->text, j->len, 0, &n[i].value);
		else if (!af_json_skip(j, token))
			return false;
	}
	return true;
}

static bool take_arg(struct af_json *j, struct import_event *e)
{
	const struct {
		const char *name;
		struct import_number *to;
	} numbers[] = {
	    {"correlation", &e->correlation},
	    {"correlationId", &e->correlation},
	    {"External id", &e->external},
	    {"device", &e->device},
	    {"deviceId", &e->device},
	    {"context", &e->context},
	    {"contextId", &e->context},
	    {"stream", &e->stream},
	    {"streamId", &e->stream},
	    {"bytes", &e->bytes},
	    {"size", &e->bytes},
	    {"registers per thread", &e->registers},
	    {"shared memory", &e->shared},
	};

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (import_is(j, numbers[i].name))
			return import_take_number(j, 0, numbers[i].to);
	if (import_is(j, "grid"))
		return take_three(j, e->grid);
	if (import_is(j, "block"))
		return take_three(j, e->block);
	if (import_is(j, "name"))
		return import_take_text(j, e->label, sizeof e->label, &e->label_len, &e->cut);
	return af_json_skip(j, af_json_next(j));
}

static bool take_args(struct af_json *j, struct import_event *e)
{
	enum af_json_token token = af_json_next(j);

	if (token != AF_JSON_OBJECT)
		return af_json_skip(j, token);
	while ((token = af_json_next(j)) == AF_JSON_KEY)
		if (!take_arg(j, e))
			return false;
	return token == AF_JSON_OBJECT_END;
}

static bool take_member(struct af_json *j, struct import_event *e)
{
	size_t len;
	char phase[4] = "";

	if (import_is(j, "name"))
		return import_take_text(j, e->name, sizeof e->name, &e->name_len, &e->cut);
	if (import_is(j, "cat"))
		return import_take_text(j, e->category, sizeof e->category, &len, &e->cut);
	if (import_is(j, "args"))
		return take_args(j, e);
	if (import_is(j, "ts"))
		return import_take_number(j, 3, &e->ts_ns);
	if (import_is(j, "dur"))
		return import_take_number(j, 3, &e->dur_ns);
	if (import_is(j, "id"))
		return import_take_number(j, 0, &e->id);
	if (import_is(j, "pid"))
		return take_id(j, &e->pid, e->pid_word);
	if (import_is(j, "tid"))
		return take_id(j, &e->tid, e->tid_word);
	if (!import_is(j, "ph"))
		return af_json_skip(j, af_json_next(j));
	if (!import_take_text(j, phase, sizeof phase, &len, &e->cut))
		return false;
	e->phase = phase[0];
	return true;
}

bool import_event_read(struct af_json *j, struct import_event *e)
{
	enum af_json_token token;

	e->phase = e->category[0] = e->name[0] = e->label[0] = 0;
	e->pid_word[0] = e->tid_word[0] = 0;
	e->name_len = e->label_len = 0;
	memset(&e->cut, 0, sizeof *e - offsetof(struct import_event, cut));
	while ((token = af_json_next(j)) == AF_JSON_KEY)
		if (!take_member(j, e))
			return false;
	return token == AF_JSON_OBJECT_END;
}

uint32_t import_copy_op(const char *name)
{
	static const struct {
		const char *part;
		enum af_op op;
	} parts[] = {{"HtoD", AF_OP_WRITE}, {"DtoH", AF_OP_READ},  {"HtoH", AF_OP_HOST},
	             {"PtoP", AF_OP_PEER},  {"HtoA", AF_OP_WRITE}, {"AtoH", AF_OP_READ}};

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i].part))
			return parts[i].op;
	return AF_OP_COPY;
}

size_t import_function_len(const char *name, size_t len)
{
	size_t at = len;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	bool version =
	    at < len && at > 6 && !memcmp(name, "cuda", 4) && !memcmp(name + at - 2, "_v", 2);
	return version ? at - 2 : len;
}
