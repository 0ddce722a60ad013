/*
 * iaprof's profile of a GPU as its documentation describes it: a record a line, a word in capitals
 * and fields behind semicolons.
 *
 *	STRING;id;text		PROC_NAME;name_id;pid
 *	USTACK;id;0xaddr;…	KSTACK;id;0xaddr;…
 *	GPU_FILE;id;name	GPU_SYMBOL;id;name	INSN_TEXT;id;text
 *	EUSTALL;name_id;pid;ustack;kstack;file;symbol;insn;stall;0xoffset;count
 *	INTERVAL;number[;seconds]		what follows is of another interval
 *
 * Id 0 is none. Within an interval lines come in any order, so samples are kept until it ends.
 * Addresses stay what they are: nothing says which files they are of. A stall type of 0 is none,
 * 1 and more are the reasons below.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "exchange/iaprof/profile.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"

enum { LINE_MAX_BYTES = 1 << 20 };

static const char *const reasons[] = {"",          "active",     "other",    "control",
                                      "pipestall", "send",       "dist_acc", "sbid",
                                      "sync",      "inst_fetch", "tdr"};

enum id_kind { ID_STRING, ID_PID, ID_USTACK, ID_KSTACK, ID_FILE, ID_SYMBOL, ID_INSN };

/* The fields of an EUSTALL, in their order. */
enum {
	STALL_NAME,
	STALL_PID,
	STALL_USTACK,
	STALL_KSTACK,
	STALL_FILE,
	STALL_SYMBOL,
	STALL_INSN,
	STALL_TYPE,
	STALL_OFFSET,
	STALL_COUNT,
	STALL_FIELDS
};

struct stall_line {
	uint32_t ids[STALL_OFFSET];
	uint64_t offset, count;
};

struct import_records {
	struct iaprof_profile profile;
	struct af_map by_id; /* kind and id → name or node */
	struct stall_line *stalls;
	uint64_t nr, cap;
	struct import_line_count count;
};

static bool id_take(char **p, uint64_t *id)
{
	char *field = *p, *end = field ? strchr(field, ';') : NULL;

	if (!field)
		return false;
	if (end)
		*end++ = 0;
	*p = end;
	return iaprof_number(field, 10, id) && *id <= UINT32_MAX;
}

static uint64_t *slot_of(struct import_records *in, enum id_kind kind, uint64_t id)
{
	return af_map_at(&in->by_id, (uint64_t)kind << 32 | id, NULL);
}

static bool take_text(struct import_records *in, enum id_kind kind, char *p)
{
	uint64_t id;

	if (!id_take(&p, &id) || !p)
		return false;
	*slot_of(in, kind, id) = af_builder_text(in->profile.builder, p, strlen(p));
	return true;
}

static bool take_stack(struct import_records *in, enum id_kind kind, char *p)
{
	uint64_t id;

	if (!id_take(&p, &id) || !p)
		return false;
	*slot_of(in, kind, id) = iaprof_stack_of(
	    in->profile.builder, p, kind == ID_KSTACK ? AF_BUILDER_KERNEL : AF_BUILDER_NATIVE);
	return true;
}

static bool take_pid(struct import_records *in, enum id_kind kind, char *p)
{
	uint64_t name, pid;

	if (!id_take(&p, &name) || !id_take(&p, &pid) || p)
		return false;
	*slot_of(in, kind, pid) = name;
	return true;
}

static bool take_stall(struct import_records *in, enum id_kind kind, char *p)
{
	struct stall_line s;
	uint64_t id;

	(void)kind;
	for (int i = 0; i < STALL_OFFSET; i++) {
		if (!id_take(&p, &id))
			return false;
		s.ids[i] = (uint32_t)id;
	}
	char *count = p ? strchr(p, ';') : NULL;
	if (!count)
		return false;
	*count++ = 0;
	if (!iaprof_number(p, 16, &s.offset) || !iaprof_number(count, 10, &s.count))
		return false;
	AF_GROW(in->stalls, in->nr, in->cap);
	in->stalls[in->nr++] = s;
	return true;
}

/* The string of @id in the file; 0, and counted, where there is none. */
static uint32_t known(struct import_records *in, enum id_kind kind, uint32_t id)
{
	const uint64_t *at = id ? af_map_get(&in->by_id, (uint64_t)kind << 32 | id) : NULL;

	/* All names are strings, in some versions by those ids alone. */
	if (id && !at && kind >= ID_FILE)
		at = af_map_get(&in->by_id, (uint64_t)ID_STRING << 32 | id);
	if (id && !at)
		in->profile.builder->unused[AF_BUILDER_STRINGS_UNUSED]++;
	return at ? (uint32_t)*at : 0;
}

static uint32_t reason_name(struct import_records *in, uint32_t type)
{
	char text[24];

	if (type < sizeof reasons / sizeof *reasons)
		return af_builder_name(in->profile.builder, reasons[type], strlen(reasons[type]));
	int n = snprintf(text, sizeof text, "stall %u", type);
	return af_builder_name(in->profile.builder, text, (size_t)n);
}

static void stall_use(struct import_records *in, const struct stall_line *s)
{
	struct iaprof_profile *p = &in->profile;
	const uint64_t *named = af_map_get(&in->by_id, (uint64_t)ID_PID << 32 | s->ids[STALL_PID]);
	uint32_t name = s->ids[STALL_NAME] || !named ? s->ids[STALL_NAME] : (uint32_t)*named;

	p->state = (struct iaprof_state){
	    .comm = known(in, ID_STRING, name),
	    .pid = s->ids[STALL_PID],
	    .ustack = known(in, ID_USTACK, s->ids[STALL_USTACK]),
	    .kstack = known(in, ID_KSTACK, s->ids[STALL_KSTACK]),
	    .file = iaprof_known(p, known(in, ID_FILE, s->ids[STALL_FILE])),
	    .insn = iaprof_known(p, known(in, ID_INSN, s->ids[STALL_INSN])),
	};
	iaprof_symbol(p, known(in, ID_SYMBOL, s->ids[STALL_SYMBOL]));
	if (!p->state.symbol)
		p->state.symbol = af_builder_name(p->builder, "[unknown kernel]", 16);
	iaprof_stall(p, s->offset, reason_name(in, s->ids[STALL_TYPE]), s->count);
}

static void interval_end(struct import_records *in)
{
	for (uint64_t i = 0; i < in->nr; i++)
		stall_use(in, &in->stalls[i]);
	in->nr = 0;
}

/* Windows are made where an interval begins: what was kept is of the one before. */
static bool take_interval(struct import_records *in, enum id_kind kind, char *p)
{
	uint64_t nth, end_ns;

	(void)kind;
	if (!id_take(&p, &nth) || (p && !iaprof_seconds(p, &end_ns)))
		return false;
	interval_end(in);
	return iaprof_interval(&in->profile, nth, p ? &end_ns : NULL);
}

static const struct {
	const char *word;
	enum id_kind kind;
	bool (*take)(struct import_records *in, enum id_kind kind, char *p);
} lines[] = {
    {"STRING;", ID_STRING, take_text},       {"PROC_NAME;", ID_PID, take_pid},
    {"USTACK;", ID_USTACK, take_stack},      {"KSTACK;", ID_KSTACK, take_stack},
    {"GPU_FILE;", ID_FILE, take_text},       {"GPU_SYMBOL;", ID_SYMBOL, take_text},
    {"INSN_TEXT;", ID_INSN, take_text},      {"EUSTALL;", ID_STRING, take_stall},
    {"INTERVAL;", ID_STRING, take_interval},
};

static void line_take(void *arg, char *p, size_t len, bool cut)
{
	struct import_records *in = arg;

	in->count.line++;
	in->profile.builder->unused[AF_BUILDER_TEXTS_UNUSED] += cut;
	if (len && p[len - 1] == '\r')
		p[--len] = 0;
	if (!len)
		return;
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		size_t n = strlen(lines[i].word);
		if (strncmp(p, lines[i].word, n) != 0)
			continue;
		if (lines[i].take(in, lines[i].kind, p + n))
			return;
	}
	import_line_bad(&in->count, in->profile.builder);
}

bool af_import_is_iaprof_records(const char *text, size_t len)
{
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		size_t n = strlen(lines[i].word);
		/*
		 * Folded text may have a first frame with that name; in these records all fields
		 * are ids.
		 */
		if (len > n && !memcmp(text, lines[i].word, n) && text[n] >= '0' && text[n] <= '9')
			return true;
	}
	return false;
}

void af_import_iaprof_records(struct af_builder *d, const struct af_import_source *source,
                              uint32_t number, char *complaint, size_t size)
{
	struct import_records in = {0};

	iaprof_profile_open(&in.profile, d, number);
	ssize_t rc = import_lines(source, LINE_MAX_BYTES, line_take, &in);
	interval_end(&in);
	iaprof_profile_close(&in.profile);
	af_map_free(&in.by_id);
	free(in.stalls);
	af_builder_note(d, "import.stacks",
	                "of each kernel's last launch, as iaprof keeps no others");
	import_lines_complain(&in.count, rc, "are no records of iaprof's", d, complaint, size);
}
