/*
 * Calls of traced APIs in a trace as JSON, a line a call, with all values as bytes: what
 * tests/api/coverage compares with what a program noted of its own calls.
 */
#include <stdio.h>

#include "aflame/trace.h"
#include "api/tables/decode.h"
#include "api/tables/tables.h"

static void hex(const char *key, const uint8_t *from, size_t size)
{
	if (!from)
		return;
	printf(", \"%s\": \"", key);
	for (size_t i = 0; i < size; i++)
		printf("%02x", from[i]);
	putchar('"');
}

static void view(const char *key, const struct af_api_view *v, const struct af_api_param *p)
{
	if (v->data)
		hex(key, v->data,
		    (size_t)v->nr * (p->pointee == AF_API_STRING ? 1 : p->target->size));
}

static void argument(const struct af_api_arg *a)
{
	static const char *const pointees[] = {"", "one", "array", "pairs", "string"};
	const struct af_api_param *p = a->param;

	printf("{\"name\": \"%s\", \"pointee\": \"%s\", \"out\": %d, \"inout\": %d", p->name,
	       pointees[p->pointee], p->is_out, p->is_inout);
	if (p->target)
		printf(", \"element\": %u, \"target\": \"%s\", \"nr\": %u", p->target->size,
		       p->target->name, a->target.nr);
	hex("value", a->value, p->type->size);
	if (p->is_inout)
		view("before", &a->before, p);
	if (p->pointee)
		view("after", &a->target, p);
	putchar('}');
}

static void call(const struct af_event *ev, const struct af_api_function *f)
{
	struct af_api_call c;

	if (!af_api_decode(f, ev->payload, ev->payload_size, &c)) {
		printf("{\"function\": \"%s\", \"pid\": %u, \"broken\": 1}\n", f->name, ev->pid);
		return;
	}
	printf("{\"function\": \"%s\", \"pid\": %u, \"tid\": %u, \"time\": %llu, \"flags\": %u, "
	       "\"depth\": %u, \"correlation\": %u, \"cut\": %d",
	       f->name, ev->pid, ev->tid, (unsigned long long)ev->time_ns, c.head.flags,
	       c.head.depth, c.head.correlation, c.is_cut);
	if (c.has_bytes)
		printf(", \"bytes\": %llu", (unsigned long long)c.bytes);
	hex("result", c.result, f->result->size);
	fputs(", \"args\": [", stdout);
	for (uint32_t i = 0; i < c.nr_args; i++) {
		fputs(i ? ", " : "", stdout);
		argument(&c.args[i]);
	}
	puts("]}");
}

int main(int argc, char **argv)
{
	struct af_trace *t;
	struct af_event ev;
	struct af_err err = {0};

	if (argc != 2 || af_trace_open(&t, argv[1], 0, &err)) {
		fprintf(stderr, "dump: %s\n", argc == 2 ? err.msg : "usage: dump TRACE");
		return 1;
	}
	while (af_trace_next(t, &ev)) {
		const struct af_api_function *f = af_api_function(ev.kind);
		if (f)
			call(&ev, f);
	}
	char text[300];
	if (af_trace_damage_text(af_trace_damage(t), text, sizeof text))
		printf("{\"damage\": \"%s\"}\n", text);
	af_trace_close(t);
	return 0;
}
