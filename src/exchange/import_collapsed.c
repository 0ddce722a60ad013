/*
 * Folded text as FlameGraph's stackcollapse-* and many others write it: `process;main;f 12`, the
 * root first. It says neither when nor what it counted. Its first frame is taken for the process,
 * which is what most who write it put there; suffixes of names, `_[k]`, stay and are understood.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "exchange/draft.h"
#include "exchange/import.h"
#include "exchange/import_lines.h"
#include "exchange/import_weights.h"

enum {
	LINE_MAX_BYTES = 4 << 20,
	PROCESSES = 1000, /* each becomes files */
};

struct collapsed {
	struct af_draft *draft;
	uint32_t space;
	struct import_value_type type;
	int power;             /* its scale is 10^power */
	struct af_map by_root; /* name → thread */
	uint32_t others;       /* thread of the roots that are too many, + 1 */
	struct import_line_count count;
};

/* Where the number at the end of a line begins, behind a blank; NULL: there is none. */
static const char *number_find(const char *p, const char *end)
{
	const char *at = end;

	while (at > p && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
		at--;
	bool digits = at < end && *at != '.' && end[-1] != '.';
	return digits && at > p + 1 && (at[-1] == ' ' || at[-1] == '\t') ? at : NULL;
}

static uint32_t thread_new(struct collapsed *f, uint32_t pid, uint32_t name)
{
	uint32_t process = af_draft_process(f->draft, f->space, pid);

	f->draft->processes[process].exe = name;
	return af_draft_thread(f->draft, process, pid);
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
	f->draft->unused[AF_DRAFT_ROOTS_UNUSED]++;
	*whole = true;
	if (!f->others)
		f->others =
		    thread_new(f, PROCESSES + 1, af_draft_name(f->draft, "[others]", 8)) + 1;
	return f->others - 1;
}

static uint32_t stack_add(struct collapsed *f, const char *p, const char *end, uint32_t *thread)
{
	struct af_draft *d = f->draft;
	uint32_t node = 0;
	bool first = true, whole = false;

	while (p < end) {
		const char *stop = memchr(p, ';', (size_t)(end - p));
		uint32_t name = af_draft_text(d, p, (size_t)((stop ? stop : end) - p));
		if (first)
			*thread = root_thread(f, name, &whole);
		if (name && (!first || whole))
			node = af_draft_node(d, node, name, AF_DRAFT_NATIVE);
		first = false;
		p = stop ? stop + 1 : end;
	}
	return node;
}

static bool line_read(struct collapsed *f, const char *p, const char *end)
{
	struct af_draft_sum sum = {0};
	const char *number = number_find(p, end);
	int64_t value;

	if (!number)
		return false;
	if (!af_json_fixed(number, (size_t)(end - number), f->power, &value)) {
		f->draft->unused[AF_DRAFT_VALUES_UNUSED]++;
		return true;
	}
	const char *point = memchr(number, '.', (size_t)(end - number));
	if (point && end - point - 1 > f->power)
		f->draft->unused[AF_DRAFT_FRACTIONS_UNUSED]++;
	end = number - 1;
	while (end > p && end[-1] == ';')
		end--;
	if (end == p)
		return false;
	sum.node = stack_add(f, p, end, &sum.thread);
	import_weight_add(f->draft, &sum, &f->type, value);
	if (value && sum.thread != UINT32_MAX)
		af_draft_sum(f->draft, &sum);
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
	import_line_bad(&f->count, f->draft);
}

void af_import_collapsed(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size)
{
	struct collapsed f = {.draft = d, .space = number + 1};

	f.type = (struct import_value_type){"numbers", d->unit ? d->unit : "samples"};
	import_weight_of(&f.type);
	for (uint64_t scale = f.type.scale; f.type.weight == IMPORT_WEIGHT_TIME && scale > 1;
	     scale /= 10)
		f.power++;
	f.type.scale = 1; /* with the power it is in the number already */
	ssize_t rc = import_lines(in, LINE_MAX_BYTES, line_take, &f);
	af_draft_note(d, "import.weights", "numbers are %s, as %s", f.type.unit,
	              d->unit ? "--unit says" : "nothing else is said");
	import_lines_complain(&f.count, rc, "are no stack with a number", d, complaint, size);
	af_map_free(&f.by_root);
}

/* gpuperf's lines begin with a time, and end in no number. */
static bool is_timed(const char *p, const char *end)
{
	const char *at = p;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at - p > 8 && at < end && *at == ' ';
}

bool af_import_is_collapsed(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p)), *last = stop ? stop : end;
		bool seen = stop != NULL;
		if (last > p && last[-1] == '\r')
			last--;
		if (last > p && !(*p == '#' && (last == p + 1 || p[1] == ' '))) {
			if (is_timed(p, last))
				return false;
			/* Of a long line only the beginning is in sight. */
			return number_find(p, last) ||
			       (!seen && memchr(p, ';', (size_t)(last - p)));
		}
		p = stop ? stop + 1 : end;
	}
	return false;
}
