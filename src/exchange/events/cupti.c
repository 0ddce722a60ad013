/*
 * CUPTI's activity records as its samples print them (cupti_trace_injection and others), which
 * gpuperf reads too: a record a line, times in nanoseconds.
 *
 *	RUNTIME [ start, end ] duration D, "cudaLaunchKernel", cbid N, processId N, threadId N,
 *		correlationId N
 *	DRIVER the same
 *	CONCURRENT_KERNEL [ start, end ] duration D, "name", correlationId N
 *	MEMCPY "HtoD" [ start, end ] duration D, size N, …, correlationId N
 *	MEMSET [ start, end ] duration D, value N, size N, correlationId N
 *
 * A line that begins with a blank continues the record before it: grid [ x, y, z ], block [ x, y, z
 * ], sharedMemory (static N, dynamic N), deviceId N, contextId N, streamId N. Records of other
 * kinds are counted. All files of gpuperf describe the same processes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/builder/builder.h"
#include "exchange/events/event.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"

enum { LINE_MAX_BYTES = 64 << 10, DEVICES_MAX = 4096 };

enum record_kind { RECORD_NONE, RECORD_CALL, RECORD_KERNEL, RECORD_COPY, RECORD_FILL };

static const struct record_word {
	const char *word;
	enum record_kind kind;
} words[] = {
    {"CONCURRENT_KERNEL", RECORD_KERNEL},
    {"KERNEL", RECORD_KERNEL},
    {"RUNTIME", RECORD_CALL},
    {"DRIVER", RECORD_CALL},
    {"MEMCPY", RECORD_COPY},
    {"MEMCPY2", RECORD_COPY},
    {"PEER2PEER", RECORD_COPY},
    {"MEMSET", RECORD_FILL},
};

struct import_cupti {
	struct af_builder *builder;
	enum record_kind kind; /* of the record at hand, of which more lines may come */
	uint64_t start_ns, end_ns, correlation;
	uint64_t process, thread;
	uint32_t name; /* of the builder */
	struct af_builder_descriptor descriptor;
	uint64_t grid[3];
	struct import_line_count count;
};

static const char *blanks_skip(const char *p)
{
	return p + strspn(p, " \t");
}

/* A number of 64 bits; NULL: there is none. */
static const char *number_take(const char *p, uint64_t *value)
{
	uint64_t v = 0;
	const char *at = p = blanks_skip(p);

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return NULL;
	*value = v;
	return at > p ? at : NULL;
}

/* "[ a, b ]" or "[ a, b, c ]". */
static const char *list_take(const char *p, uint64_t *values, unsigned nr)
{
	p = blanks_skip(p);
	if (*p++ != '[')
		return NULL;
	for (unsigned i = 0; p && i < nr; i++) {
		p = number_take(p, &values[i]);
		p = p ? blanks_skip(p) : NULL;
		if (p && *p++ != (i + 1 < nr ? ',' : ']'))
			return NULL;
	}
	return p;
}

static uint32_t fits(uint64_t value)
{
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void call_add(struct import_cupti *in)
{
	struct af_builder *d = in->builder;
	uint32_t process = af_builder_process(d, 0, fits(in->process));
	uint32_t thread =
	    af_builder_thread(d, process, fits(in->thread ? in->thread : in->process));

	if (!in->process && !d->processes[process].exe)
		d->processes[process].exe = af_builder_name(d, "[unknown process]", 17);
	if (thread == UINT32_MAX)
		return;
	af_builder_slice(d, AF_BUILDER_CALL,
	                 &(struct af_builder_slice){.start_ns = in->start_ns,
	                                            .busy_ns = in->end_ns - in->start_ns,
	                                            .name = in->name,
	                                            .thread = thread,
	                                            .correlation = fits(in->correlation)});
}

static void work_add(struct import_cupti *in)
{
	struct af_builder_descriptor *s = &in->descriptor;
	const struct af_builder_work work = {.start_ns = in->start_ns,
	                                     .busy_ns = in->end_ns - in->start_ns,
	                                     .correlation = fits(in->correlation)};

	if (in->kind == RECORD_KERNEL) {
		s->op = AF_OP_KERNEL;
		s->kernel = in->name;
		for (int i = 0; i < 3; i++)
			s->global[i] = fits(in->grid[i]) * (uint64_t)s->local[i];
	} else if (in->kind == RECORD_FILL) {
		s->op = AF_OP_FILL;
	} else {
		s->op = import_copy_op(af_strtab_get(&in->builder->names, in->name));
	}
	af_builder_work(in->builder, &work, s);
}

/* The record is whole: the next one begins, or the file has ended. */
static void record_end(struct import_cupti *in)
{
	if (in->kind == RECORD_CALL)
		call_add(in);
	else if (in->kind != RECORD_NONE)
		work_add(in);
	in->kind = RECORD_NONE;
}

/* The text in quotes; a C++ name may have quotes itself. */
static void quoted_take(struct import_cupti *in, const char *line)
{
	const char *from = strchr(line, '"'), *to = strrchr(line, '"');

	if (!from || to == from)
		return;
	size_t len = (size_t)(to - from) - 1;
	if (in->kind == RECORD_CALL)
		len = import_function_len(from + 1, len);
	in->name = af_builder_text(in->builder, from + 1, len);
}

/* A word and its number: "streamId 7". */
static void field_take(struct import_cupti *in, const char *word, size_t len, const char *behind)
{
	struct af_builder_descriptor *s = &in->descriptor;
	uint64_t value, three[3], small = 0;
	const struct {
		const char *word;
		uint64_t *wide;
		uint32_t *to;
	} fields[] = {
	    {"processId", &in->process, NULL}, {"threadId", &in->thread, NULL},
	    {"deviceId", &small, &s->device},  {"contextId", &small, &s->context},
	    {"streamId", &small, &s->stream},  {"registersPerThread", &small, &s->registers},
	    {"size", &s->bytes, NULL},         {"correlationId", &in->correlation, NULL},
	    {"static", &small, NULL},          {"dynamic", &small, NULL},
	};

	if (len == 4 && !memcmp(word, "grid", 4) && list_take(behind, three, 3))
		memcpy(in->grid, three, sizeof three);
	if (len == 5 && !memcmp(word, "block", 5) && list_take(behind, three, 3))
		for (int i = 0; i < 3; i++)
			s->local[i] = fits(three[i]);
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].word) != len || memcmp(word, fields[i].word, len) != 0 ||
		    !number_take(behind, &value))
			continue;
		*fields[i].wide = value;
		if (fields[i].to)
			*fields[i].to = fits(value);
		else if (fields[i].wide == &small)
			s->shared += fits(value);
	}
	if (s->device >= DEVICES_MAX)
		s->device = 0;
}

static void fields_take(struct import_cupti *in, const char *p)
{
	while (*p) {
		p += strcspn(p, "\"abcdefghijklmnopqrstuvwxyz");
		if (*p == '"') { /* names have words too */
			const char *end = strrchr(p, '"');
			p = end > p ? end + 1 : p + 1;
			continue;
		}
		size_t len =
		    strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		if (len)
			field_take(in, p, len, p + len);
		p += len;
	}
}

/* The word that a record begins with; NULL: the line begins with none. */
static size_t word_len(const char *p)
{
	size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len > 2 && *p >= 'A' && p[len] == ' ' ? len : 0;
}

/* Where "[ start, end ]" is: further words or a name in quotes may stand before it. */
static bool times_take(const char *p, uint64_t times[2], const char **behind)
{
	const char *open = strstr(p, "[ ");

	*behind = open ? list_take(open, times, 2) : NULL;
	return *behind != NULL;
}

/* False: the line is no record. Records of kinds that are not used are none of @in's. */
static bool record_begin(struct import_cupti *in, const char *p)
{
	size_t len = word_len(p);
	uint64_t times[2];
	const char *behind;

	if (!len || !times_take(p + len, times, &behind))
		return false;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, p, len))
			in->kind = words[i].kind;
	if (in->kind == RECORD_NONE) {
		in->builder->unused[AF_BUILDER_OTHER_UNUSED]++;
		return true;
	}
	in->start_ns = times[0];
	in->end_ns = times[1];
	if (times[1] < times[0] || !af_builder_times(in->builder, times[0], times[1] - times[0])) {
		in->builder->unused[AF_BUILDER_TIMES_UNUSED] += times[1] < times[0];
		in->kind = RECORD_NONE;
		return true;
	}
	in->correlation = in->process = in->thread = 0;
	in->name = 0;
	in->descriptor = (struct af_builder_descriptor){0};
	memset(in->grid, 0, sizeof in->grid);
	quoted_take(in, p + len);
	fields_take(in, behind);
	return true;
}

static void line_take(void *arg, char *p, size_t len, bool cut)
{
	struct import_cupti *in = arg;

	in->count.line++;
	in->builder->unused[AF_BUILDER_TEXTS_UNUSED] += cut;
	if (len && p[len - 1] == '\r')
		p[--len] = 0;
	if (!len)
		return;
	if (*p == ' ' || *p == '\t') {
		if (in->kind != RECORD_NONE)
			fields_take(in, p);
		return;
	}
	record_end(in);
	if (record_begin(in, p))
		return;
	import_line_bad(&in->count, in->builder);
}

bool af_import_is_cupti(const char *text, size_t len)
{
	const char *end = text + len, *next;
	char line[512];

	for (const char *at = text; at < end; at = next + 1) {
		const char *behind;
		uint64_t times[2];
		next = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((next ? next : end) - at);
		n = n < sizeof line - 1 ? n : sizeof line - 1;
		memcpy(line, at, n);
		line[n] = 0;
		size_t word = word_len(line);
		if (word && times_take(line + word, times, &behind))
			return true;
		if (!next)
			break;
	}
	return false;
}

void af_import_cupti(struct af_builder *d, const struct af_import_source *source, uint32_t number,
                     char *complaint, size_t size)
{
	struct import_cupti in = {.builder = d};

	(void)number;
	ssize_t rc = import_lines(source, LINE_MAX_BYTES, line_take, &in);
	record_end(&in);
	import_lines_complain(&in.count, rc, "are no records of CUPTI's", d, complaint, size);
}
