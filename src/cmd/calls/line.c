#include "cmd/calls/line.h"

#include <stdio.h>
#include <string.h>

#include "analyse/world/world.h"

enum { INDENT_MOST = 32 };

/* Arguments as words, of calls that no table describes. */
struct words {
	const uint8_t *data;
	uint32_t nr;
};

static bool line_api(const struct af_event *ev, struct af_line *line)
{
	struct af_api_head head;

	if (ev->payload_size < sizeof head)
		return false;
	memcpy(&head, ev->payload, sizeof head);
	line->duration_ns = af_u48_value(head.duration_ns);
	line->depth = head.depth;
	line->flags = head.flags;
	return true;
}

static bool line_open(const struct af_event *ev, struct af_line *line)
{
	struct af_ev_call_open open;

	if (!af_event_decode(ev, &open, sizeof open, NULL))
		return false;
	line->tid = open.tid;
	line->depth = open.depth;
	line->is_open = true;
	line->begin_ns = open.begin_ns;
	return true;
}

static bool line_cuda(const struct af_event *ev, struct af_line *line)
{
	struct af_ev_call call;
	struct af_ev_call_long is;

	if (ev->kind == AF_KIND_CALL && af_event_decode(ev, &call, sizeof call, NULL)) {
		line->duration_ns = af_u24_value(call.duration_ns);
		return true;
	}
	if (ev->kind != AF_KIND_CALL_LONG || !af_event_decode(ev, &is, sizeof is, NULL))
		return false;
	line->duration_ns = is.duration_ns;
	line->flags = is.status ? AF_API_CALL_FAILED : 0;
	return true;
}

bool af_line_read(const struct af_event *ev, struct af_line *line)
{
	*line = (struct af_line){.ev = *ev, .tid = ev->tid};
	bool is = ev->kind >= AF_KIND_API || ev->kind == AF_KIND_API_CALL ? line_api(ev, line)
	          : ev->kind == AF_KIND_CALL_OPEN                         ? line_open(ev, line)
	                                                                  : line_cuda(ev, line);

	if (!line->is_open)
		line->begin_ns =
		    ev->time_ns - (line->duration_ns < ev->time_ns ? line->duration_ns : 0);
	return is;
}

/* The function's number: a kind of the tables, or as the process defined it. */
static uint32_t function_of(const struct af_line *line)
{
	struct af_ev_call call;
	struct af_ev_call_long is;
	struct af_ev_api_call api;
	struct af_ev_call_open open;

	switch (line->ev.kind) {
	case AF_KIND_CALL:
		return af_event_decode(&line->ev, &call, sizeof call, NULL) ? call.function : 0;
	case AF_KIND_CALL_LONG:
		return af_event_decode(&line->ev, &is, sizeof is, NULL) ? is.function : 0;
	case AF_KIND_API_CALL:
		return af_event_decode(&line->ev, &api, sizeof api, NULL) ? api.function : 0;
	case AF_KIND_CALL_OPEN:
		return af_event_decode(&line->ev, &open, sizeof open, NULL) ? open.function : 0;
	default:
		return line->ev.kind;
	}
}

static const struct af_api_function *table_of(uint32_t function)
{
	return function >= AF_KIND_API && function <= UINT16_MAX
	           ? af_api_function((uint16_t)function)
	           : NULL;
}

static void put_function(const struct af_line *line, const struct af_world *w, bool json,
                         struct af_buf *b)
{
	uint32_t number = function_of(line);
	const struct af_api_function *f = table_of(number);
	const struct af_api_table *api =
	    number >= AF_KIND_API && number <= UINT16_MAX ? af_api_of((uint16_t)number) : NULL;
	uint32_t is = f || api ? 0 : af_world_function(w, line->ev.process, number);

	if (is && json) {
		af_buf_json(b, w->functions[is].name, strlen(w->functions[is].name));
		return;
	}
	af_buf_str(b, json ? "\"" : "");
	if (f) {
		af_buf_str(b, f->name);
	} else if (is) {
		af_buf_terminal(b, w->functions[is].name, strlen(w->functions[is].name), "");
	} else {
		af_buf_str(b, api ? api->name : "function");
		af_buf_char(b, '_');
		af_buf_u64(b, api ? number - api->kind : number);
	}
	af_buf_str(b, json ? "\"" : "");
}

static void put_pairs(struct af_values *v, const struct af_api_type *t,
                      const struct af_api_view *view, struct af_buf *b)
{
	af_buf_char(b, v->json ? '{' : '[');
	for (uint32_t i = 0; i + 1 < view->nr; i += 2) {
		const uint8_t *at = view->data + (size_t)i * t->size;
		uint64_t value = af_api_unsigned(t, at + t->size);
		af_buf_str(b, i ? v->json ? "," : ", " : "");
		if (v->json && t->form != AF_API_ENUM && t->form != AF_API_FLAGS)
			af_buf_char(b, '"');
		af_value_put(v, t, at, b);
		if (v->json && t->form != AF_API_ENUM && t->form != AF_API_FLAGS)
			af_buf_char(b, '"');
		af_buf_str(b, v->json ? ":" : ": ");
		/* Large values are addresses, mostly. */
		if (!v->json && value > UINT32_MAX)
			af_buf_fmt(b, "0x%llx", (unsigned long long)value);
		else
			af_buf_u64(b, value);
	}
	af_buf_char(b, v->json ? '}' : ']');
}

static void put_view(struct af_values *v, const struct af_api_param *p,
                     const struct af_api_view *view, struct af_buf *b)
{
	switch (p->pointee) {
	case AF_API_ONE:
		af_value_put(v, p->target, view->data, b);
		break;
	case AF_API_STRING:
		af_value_string(v, view->data, view->nr, b);
		break;
	case AF_API_PAIRS:
		put_pairs(v, p->target, view, b);
		break;
	default:
		af_values_put(v, p->target, view->data, view->nr, b);
	}
}

static void put_target(struct af_values *v, const struct af_api_arg *arg, struct af_buf *b)
{
	const struct af_api_param *p = arg->param;
	bool both = p->is_inout && arg->before.data;

	if (both) {
		af_buf_str(b, v->json ? "{\"before\":" : "");
		put_view(v, p, &arg->before, b);
		af_buf_str(b, v->json ? ",\"after\":" : " → ");
	} else if (p->is_out && !v->json) {
		af_buf_str(b, "→ ");
	}
	put_view(v, p, &arg->target, b);
	if (both && v->json)
		af_buf_char(b, '}');
}

static void put_arg(struct af_values *v, const struct af_api_call *call,
                    const struct af_api_arg *arg, struct af_buf *b)
{
	const struct af_api_param *p = arg->param;

	if (p->pointee != AF_API_NOTHING && af_api_is_zero(arg->value, p->type->size))
		af_buf_str(b, v->json ? "null" : "NULL");
	else if (p->pointee != AF_API_NOTHING && af_api_has_target(call, arg))
		put_target(v, arg, b);
	else
		af_value_put(v, p->type, arg->value, b);
}

/* The arguments of a call under way: words that hold a C struct of its parameters. */
static void put_open_args(struct af_values *v, const struct af_api_function *f,
                          const struct words *words, struct af_buf *b)
{
	size_t at = 0, size = words->nr * sizeof(uint64_t);
	uint32_t i = 0;

	for (; i < f->nr_params; i++) {
		const struct af_api_type *t = f->params[i].type;
		/* How a struct that is passed by value is aligned, the tables do not say. */
		if (!t->size || t->size > sizeof(uint64_t) || t->size & (t->size - 1))
			break;
		at = (at + t->size - 1) & ~(size_t)(t->size - 1);
		if (at + t->size > size)
			break;
		af_value_name(v, f->params[i].name, !i, b);
		af_value_put(v, t, words->data + at, b);
		at += t->size;
	}
	if (!v->json && i < f->nr_params)
		af_buf_str(b, i ? ", …" : "…");
}

/* Arguments as words of 64 bits, by the parameters of @f if there is a table. */
static void put_words(struct af_values *v, const struct af_api_function *f,
                      const struct words *words, struct af_buf *b)
{
	static const struct af_api_type word = {
	    .name = "x64", .form = AF_API_ADDRESS, .size = sizeof(uint64_t)};
	char name[16];

	for (uint32_t i = 0; i < words->nr; i++) {
		const struct af_api_param *p = f && i < f->nr_params ? &f->params[i] : NULL;
		bool fits = p && p->type->size && p->type->size <= sizeof(uint64_t);
		snprintf(name, sizeof name, "arg%u", i + 1);
		if (p || v->json)
			af_value_name(v, p ? p->name : name, !i, b);
		else
			af_buf_str(b, i ? ", " : "");
		af_value_put(v, fits ? p->type : &word, words->data + (size_t)i * sizeof(uint64_t),
		             b);
	}
	if (!v->json && f && words->nr < f->nr_params)
		af_buf_str(b, words->nr ? ", …" : "…");
}

static void put_args(struct af_values *v, const struct af_api_call *call, struct af_buf *b)
{
	for (uint32_t i = 0; i < call->nr_args; i++) {
		af_value_name(v, call->args[i].param->name, !i, b);
		put_arg(v, call, &call->args[i], b);
	}
}

/* Three digits and a unit. */
static void put_duration(struct af_buf *b, uint64_t ns)
{
	static const char *const units[] = {" ns", " us", " ms", " s"};
	uint64_t size = 1;
	unsigned unit = 0;

	while (unit < 3 && ns >= size * 1000) {
		size *= 1000;
		unit++;
	}
	uint64_t whole = ns / size, part = ns % size * 100 / size;
	af_buf_u64(b, whole);
	if (unit && whole < 100) {
		af_buf_char(b, '.');
		af_buf_char(b, (char)('0' + part / 10));
		if (whole < 10)
			af_buf_char(b, (char)('0' + part % 10));
	}
	af_buf_str(b, units[unit]);
}

/* A call of which there is more than its head. */
struct whole {
	struct af_api_call call;
	bool is_decoded;
	const struct af_api_function *f;
	struct words words;
	bool has_result;
	uint64_t result;
};

static void whole_read(const struct af_line *line, struct whole *is)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_api_call api;
	struct af_ev_call_open open;
	struct af_ev_call_long cuda;

	is->f = table_of(function_of(line));
	is->is_decoded = false;
	is->has_result = false;
	is->words = (struct words){0};
	if (line->ev.kind >= AF_KIND_API) {
		is->is_decoded = is->f && af_api_decode(is->f, line->ev.payload,
		                                        line->ev.payload_size, &is->call);
	} else if (line->is_open) {
		if (af_event_decode(&line->ev, &open, sizeof open, tails))
			is->words = (struct words){tails[0].data, tails[0].len};
	} else if (line->ev.kind == AF_KIND_API_CALL) {
		is->has_result = af_event_decode(&line->ev, &api, sizeof api, tails);
		is->result = is->has_result ? api.result : 0;
		if (is->has_result)
			is->words = (struct words){tails[0].data, tails[0].len};
	} else if (line->ev.kind == AF_KIND_CALL_LONG) {
		is->has_result = af_event_decode(&line->ev, &cuda, sizeof cuda, NULL);
		is->result = is->has_result ? (uint32_t)cuda.status : 0;
	}
}

static void put_result(struct af_values *v, const struct whole *is, struct af_buf *b)
{
	if (is->is_decoded && is->call.result) {
		af_buf_str(b, v->json ? ",\"result\":" : " = ");
		af_value_put(v, is->f->result, is->call.result, b);
	} else if (is->has_result) {
		af_buf_fmt(b,
		           v->json      ? ",\"result\":\"0x%llx\""
		           : is->result ? " = 0x%llx"
		                        : " = 0",
		           (unsigned long long)is->result);
	}
}

static void put_marks(const struct af_line *line, const struct whole *is, struct af_buf *b)
{
	bool unknown = line->ev.kind >= AF_KIND_API && !is->is_decoded;

	if (line->is_open)
		af_buf_str(b, "  not returned");
	if (line->flags & AF_API_CALL_TRUNCATED)
		af_buf_str(b, "  (truncated)");
	if (line->flags & AF_API_CALL_UNREADABLE)
		af_buf_str(b, "  (unreadable)");
	if (unknown || (is->is_decoded && is->call.is_cut))
		af_buf_str(b, is->f ? "  (damaged)" : "  (unknown function)");
}

void af_line_call(const struct af_line *line, const struct af_world *w, struct af_values *v,
                  struct af_buf *b)
{
	struct whole is;

	whole_read(line, &is);
	v->process = line->ev.process;
	put_function(line, w, false, b);
	af_buf_char(b, '(');
	if (is.is_decoded)
		put_args(v, &is.call, b);
	else if (line->is_open && is.f)
		put_open_args(v, is.f, &is.words, b);
	else if (is.words.nr || line->is_open)
		put_words(v, is.f, &is.words, b);
	else
		af_buf_str(b, "…");
	af_buf_char(b, ')');
	put_result(v, &is, b);
	if (!line->is_open) {
		af_buf_str(b, "  ");
		put_duration(b, line->duration_ns);
	}
	put_marks(line, &is, b);
}

static void put_flags_json(const struct af_line *line, struct af_buf *b)
{
	static const char *const names[] = {"FAILED", "TRUNCATED", "UNREADABLE"};
	bool first = true;

	af_buf_str(b, ",\"flags\":\"");
	for (unsigned i = 0; i < 3; i++) {
		if (!(line->flags >> i & 1))
			continue;
		af_buf_str(b, first ? "" : "|");
		af_buf_str(b, names[i]);
		first = false;
	}
	af_buf_str(b, first ? "0\"" : "\"");
}

static void put_member(struct af_buf *b, const char *name, uint64_t value)
{
	af_buf_str(b, name);
	af_buf_u64(b, value);
}

/* OpenMP has functions and no table. */
static const char *api_name(const struct af_line *line, const struct af_world *w)
{
	uint32_t number = function_of(line);
	const struct af_api_table *api =
	    number >= AF_KIND_API && number <= UINT16_MAX ? af_api_of((uint16_t)number) : NULL;
	uint32_t is = api ? 0 : af_world_function(w, line->ev.process, number);

	return api ? api->name : is && w->functions[is].api == AF_API_OPENMP ? "openmp" : "";
}

static void line_json(const struct af_line *line, const char *of, const struct af_world *w,
                      struct af_values *v, struct af_buf *b)
{
	struct whole is;

	whole_read(line, &is);
	af_buf_char(b, '{');
	af_buf_str(b, of ? of : "");
	put_member(b, "\"time_ns\":", line->ev.time_ns);
	put_member(b, ",\"stream\":", line->ev.stream);
	put_member(b, ",\"process\":", line->ev.process);
	put_member(b, ",\"pid\":", line->ev.pid);
	put_member(b, ",\"tid\":", line->tid);
	af_buf_str(b, ",\"kind\":");
	put_function(line, w, true, b);
	af_buf_str(b, ",\"fields\":{\"api\":\"");
	af_buf_str(b, api_name(line, w));
	put_member(b, "\",\"begin_ns\":", line->begin_ns);
	if (line->is_open)
		af_buf_str(b, ",\"duration_ns\":null");
	else
		put_member(b, ",\"duration_ns\":", line->duration_ns);
	put_member(b, ",\"depth\":", line->depth);
	if (is.is_decoded) {
		put_member(b, ",\"callpath\":", is.call.head.callpath);
		put_member(b, ",\"correlation\":", is.call.head.correlation);
	}
	put_flags_json(line, b);
	put_result(v, &is, b);
	if (is.is_decoded && is.call.has_bytes)
		put_member(b, ",\"bytes\":", is.call.bytes);
	af_buf_str(b, ",\"args\":{");
	if (is.is_decoded)
		put_args(v, &is.call, b);
	else if (line->is_open && is.f)
		put_open_args(v, is.f, &is.words, b);
	else
		put_words(v, is.f, &is.words, b);
	af_buf_str(b, "}}}\n");
}

/* @n blanks; a line has room for few. */
static void put_blanks(struct af_buf *b, size_t n)
{
	static const char blanks[] = "                                                        "
				     "                ";

	af_buf_add(b, blanks, n < sizeof blanks - 1 ? n : sizeof blanks - 1);
}

void af_line_put(const struct af_line *line, const struct af_line_style *style,
                 const struct af_world *w, struct af_values *v, struct af_buf *b)
{
	uint64_t ns = line->begin_ns > style->start_ns ? line->begin_ns - style->start_ns : 0;
	bool red = style->colour && line->flags & AF_API_CALL_FAILED;

	v->process = line->ev.process;
	if (v->json) {
		line_json(line, style->of, w, v, b);
		return;
	}
	af_buf_str(b, red ? "\033[31m" : "");
	af_buf_seconds(b, ns, 14);
	af_buf_char(b, ' ');
	size_t from = b->len;
	if (style->of) {
		af_buf_str(b, style->of);
		put_blanks(b, b->len - from < 5 ? 5 - (b->len - from) : 0);
		af_buf_char(b, ' ');
		from = b->len;
	}
	af_buf_u64(b, line->ev.pid);
	af_buf_char(b, '/');
	af_buf_u64(b, line->tid);
	if (b->len - from < 13)
		put_blanks(b, 13 - (b->len - from));
	put_blanks(b, 2 + 2 * (size_t)(line->depth < INDENT_MOST ? line->depth : INDENT_MOST));
	af_line_call(line, w, v, b);
	af_buf_str(b, red ? "\033[0m\n" : "\n");
}
