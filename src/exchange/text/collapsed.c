/*
 * Folded text as FlameGraph's stackcollapse-* and many others write it: `process;main;f 12`, the
 * root first. It says neither when nor what it counted. Its first frame is taken for the process,
 * which is what most who write it put there; suffixes of names, `_[k]`, stay and are understood.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/folded_text.h"
#include "base/map.h"
#include "exchange/builder/builder.h"
#include "exchange/source/sniff.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"
#include "exchange/text/weights.h"

enum {
	LINE_MAX_BYTES = 4 << 20,
	PROCESSES = 1000, /* each becomes files */
};

struct collapsed {
	struct af_builder *builder;
	uint32_t space;
	struct import_value_type type;
	int power;             /* its scale is 10^power */
	struct af_map by_root; /* name → thread */
	uint32_t others;       /* thread of the roots that are too many, + 1 */
	struct import_line_count count;
	uint64_t slips; /* counts behind a `;` in place of a blank */
};

/* Where the number at the end of a line begins, behind a blank; NULL: there is none. */
static const char *number_find(const char *p, const char *end)
{
	const char *at = end;

	while (at > p && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
		at--;
	bool digits = at < end && *at != '.' && end[-1] != '.';
	const char *slip = af_folded_slip(p, end);
	return slip ? slip : digits && at > p + 1 && (at[-1] == ' ' || at[-1] == '\t') ? at : NULL;
}

static uint32_t thread_new(struct collapsed *f, uint32_t pid, uint32_t name)
{
	uint32_t process = af_builder_process(f->builder, f->space, pid);

	f->builder->processes[process].exe = name;
	return af_builder_thread(f->builder, process, pid);
}

/* The process with this name; *@whole: it stands for many, so the name belongs to the stack. */
static uint32_t root_thread(struct collapsed *f, uint32_t name, bool *whole)
{
	uint64_t *known = af_map_get(&f->by_root, name);

	*whole = false;
	if (known)
		return (uint32_t)*known;
	if (f->by_root.nr < PROCESSES) {
		uint32_t thread = thread_new(f, (uint32_t)f->by_root.nr + 1, name);
		*af_map_at(&f->by_root, name, NULL) = thread;
		return thread;
	}
	f->builder->unused[AF_BUILDER_ROOTS_UNUSED]++;
	*whole = true;
	if (!f->others)
		f->others =
		    thread_new(f, PROCESSES + 1, af_builder_name(f->builder, "[others]", 8)) + 1;
	return f->others - 1;
}

static uint32_t nobody(struct collapsed *f)
{
	bool whole;

	return root_thread(f, af_builder_name(f->builder, "[unknown process]", 17), &whole);
}

static uint32_t stack_add(struct collapsed *f, const char *p, const char *end, uint32_t *thread)
{
	struct af_builder *d = f->builder;
	uint32_t node = 0;
	bool first = true, whole = false;

	while (p < end) {
		struct af_folded_frame frame = af_folded_frame(p, end);
		uint32_t name = af_builder_text(d, frame.text, frame.len);
		/* A kernel without its launch is of nobody's that is known. */
		bool device = frame.kind == AF_FRAME_GPU || frame.kind == AF_FRAME_GPU_INSN;
		if (first)
			*thread = device ? nobody(f) : root_thread(f, name, &whole);
		whole |= device;
		if (name && (!first || whole))
			node = af_builder_node(d, node, name, AF_BUILDER_NATIVE);
		first = false;
		p += frame.size;
	}
	return node;
}

static uint32_t insn_add(struct af_builder *d, uint32_t above, const char *p, size_t len)
{
	char text[AF_JSON_TEXT_MAX];
	size_t most = sizeof text - sizeof "_[g]";

	len = len < most ? len : most;
	memcpy(text, p, len);
	memcpy(text + len, "_[g]", sizeof "_[g]");
	return af_builder_node(d, above, af_builder_text(d, text, len + 4), AF_BUILDER_NATIVE);
}

/* An instruction with its stalls, each with a count: a sum for each. */
static void stalls_add(struct collapsed *f, const char *p, const char *stalls, const char *end)
{
	const char *semicolon = memrchr(p, ';', (size_t)(stalls - p));
	const char *insn = semicolon ? semicolon + 1 : p;
	struct af_builder_sum sum = {0};
	struct af_folded_stall s;

	if (semicolon)
		sum.node = stack_add(f, p, semicolon, &sum.thread);
	else
		sum.thread = nobody(f);
	uint32_t node = insn_add(f->builder, sum.node, insn, (size_t)(stalls - 1 - insn));
	while (af_folded_stall_next(&stalls, end, &s)) {
		struct af_builder_sum one = {.thread = sum.thread};
		one.node = insn_add(f->builder, node, s.name, s.len);
		import_weight_add(f->builder, &one, &f->type,
		                  s.count > INT64_MAX ? -1 : (int64_t)s.count);
		if (s.count && sum.thread != UINT32_MAX)
			af_builder_sum(f->builder, &one);
	}
}

static bool line_read(struct collapsed *f, const char *p, const char *end)
{
	const char *stalls = af_folded_stalls(p, end);
	struct af_builder_sum sum = {0};
	const char *number = number_find(p, end);
	int64_t value;

	if (stalls)
		stalls_add(f, p, stalls, end);
	if (!number)
		return stalls;
	f->slips += number[-1] == ';';
	if (!af_json_fixed(number, (size_t)(end - number), f->power, &value)) {
		f->builder->unused[AF_BUILDER_VALUES_UNUSED]++;
		return true;
	}
	const char *point = memchr(number, '.', (size_t)(end - number));
	if (point && end - point - 1 > f->power)
		f->builder->unused[AF_BUILDER_FRACTIONS_UNUSED]++;
	end = number - 1;
	while (end > p && end[-1] == ';')
		end--;
	if (end == p)
		return false;
	sum.node = stack_add(f, p, end, &sum.thread);
	import_weight_add(f->builder, &sum, &f->type, value);
	if (value && sum.thread != UINT32_MAX)
		af_builder_sum(f->builder, &sum);
	return true;
}

static void line_take(void *arg, char *p, size_t len, bool cut)
{
	struct collapsed *f = arg;

	f->count.line++;
	if (len && p[len - 1] == '\r')
		len--;
	if (!len || (*p == '#' && (len == 1 || p[1] == ' ')))
		return;
	if (!cut && line_read(f, p, p + len))
		return;
	import_line_bad(&f->count, f->builder);
}

void af_import_collapsed(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size)
{
	struct collapsed f = {.builder = d, .space = number + 1};

	f.type = (struct import_value_type){"numbers", d->unit ? d->unit : "samples"};
	import_weight_of(&f.type);
	for (uint64_t scale = f.type.scale; f.type.weight == IMPORT_WEIGHT_TIME && scale > 1;
	     scale /= 10)
		f.power++;
	f.type.scale = 1; /* with the power it is in the number already */
	ssize_t rc = import_lines(in, LINE_MAX_BYTES, line_take, &f);
	if (f.type.weight == IMPORT_WEIGHT_COUNT)
		af_builder_count_unit(d, f.type.unit);
	af_builder_note(d, "import.weights", "numbers are %s, %s", f.type.unit,
	                d->unit ? "as --unit says" : "because the file names no unit");
	import_lines_complain(&f.count, rc, "are no stack with a number", d, complaint, size);
	size_t len = strlen(complaint);
	if (f.slips)
		snprintf(complaint + len, size - len,
		         "%s%" PRIu64 " counts stand behind a semicolon in place of a blank: taken "
		         "as counts",
		         len ? "; " : "", f.slips);
	af_map_free(&f.by_root);
}

/*
 * Frames with semicolons, and a number; a stack of one frame is one word that is no number, or
 * tables and logs would be stacks as well. gpuperf's lines begin with a time and end in no number.
 */
static bool is_line(const char *p, const char *end, bool cut)
{
	const char *number = number_find(p, end), *stop = number ? number - 1 : end;
	bool frames = memchr(p, ';', (size_t)(stop - p)) != NULL;

	if (af_import_folded_line(p, end))
		return false;
	if (!number && !cut)
		return af_folded_stalls(p, end);
	if (frames)
		return true;
	return number && !memchr(p, ' ', (size_t)(stop - p)) &&
	       strspn(p, "0123456789.+-*x") < (size_t)(stop - p);
}

bool af_import_is_collapsed(const char *text, size_t len)
{
	return import_most_lines(text, len, is_line);
}
