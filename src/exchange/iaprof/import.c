/*
 * iaprof's profile of a GPU as text: what it executed, at which instructions, and why it stalled,
 * under the stack that last launched the kernel. There were three ways to write it, all of lines
 * that are a word and fields behind tabs; numbers are ids of strings unless noted.
 *
 *	string ID TEXT			in all of them, before the id is used; 0 is no string
 *
 * In one line, with texts in the place of ids at first:
 *	interval_start N, interval_end N
 *	eustall COMM PID USTACK KSTACK DEBUG SYSTEM FILE SYMBOL INSN STALL 0xOFFSET COUNT
 *
 * With what stays the same left out:
 *	interval_start N SECONDS, interval_end N
 *	proc_name COMM, pid PID, ustack STACK, kstack STACK, shader_type NUMBER, gpu_file FILE,
 *	gpu_symbol SYMBOL, insn_text INSN
 *	e PATH STALL OFFSET COUNT	the offset in hexadecimal
 *
 * Since 2026:
 *	interval N SECONDS
 *	kernel 0xADDRESS COMM PID STACK FILE SYMBOL
 *	eustall 0xOFFSET INSN COUNT…	ten, of the reasons below, in this order
 *	metric NAME NUMBER		of the whole device; eu-stall-… are sums of all samples
 *
 * A symbol may have its line behind it, "kernel line 12", where the file is known. Counts of an
 * interval are written when it ends, with the time of that moment.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/builder/builder.h"
#include "exchange/iaprof/profile.h"
#include "exchange/source/sniff.h"
#include "exchange/source/source.h"
#include "exchange/text/lines.h"

enum {
	LINE_MAX_BYTES = 1 << 20,
	FIELDS_MAX = 16,
	FIELDS_STALL = 13, /* the word and twelve fields, in both kinds of eustall */
	REASONS = 10,
	METRICS_MAX = 32,
};

static const char *const reasons[REASONS] = {"active", "control", "pipestall",  "send",  "dist_acc",
                                             "sbid",   "sync",    "inst_fetch", "other", "tdr"};

/* Facts about the whole device, which the file repeats. */
struct metric {
	uint32_t name; /* of names */
	uint64_t nr;
	double sum, least, most;
};

struct import_iaprof {
	struct iaprof_profile profile;
	struct metric metrics[METRICS_MAX];
	unsigned nr_metrics;
	uint64_t frames;
	uint32_t reasons[REASONS];
	struct import_line_count count;
	char *fields[FIELDS_MAX];
	unsigned nr;
};

static bool field_number(struct import_iaprof *in, unsigned i, int base, uint64_t *value)
{
	return i < in->nr && iaprof_number(in->fields[i], base, value);
}

/* A name by its id, or spelled out. */
static uint32_t field_name(struct import_iaprof *in, unsigned i)
{
	uint64_t id;

	if (iaprof_number(in->fields[i], 10, &id))
		return iaprof_name(&in->profile.strings, id);
	return af_builder_text(in->profile.builder, in->fields[i], strlen(in->fields[i]));
}

static uint32_t field_stack(struct import_iaprof *in, unsigned i)
{
	uint64_t id;

	return iaprof_number(in->fields[i], 10, &id) ? iaprof_stack(&in->profile.strings, id) : 0;
}

static bool take_interval(struct import_iaprof *in)
{
	uint64_t nth, end_ns;

	if (!field_number(in, 1, 10, &nth) ||
	    (in->nr > 2 && !iaprof_seconds(in->fields[2], &end_ns)))
		return false;
	return iaprof_interval(&in->profile, nth, in->nr > 2 ? &end_ns : NULL);
}

static bool take_string(struct import_iaprof *in)
{
	uint64_t id;

	if (in->nr != 3 || !field_number(in, 1, 10, &id))
		return false;
	/* Another profile begins: nothing from before holds there. */
	if (!iaprof_string_put(&in->profile.strings, id, in->fields[2], strlen(in->fields[2])) &&
	    id == 1)
		in->profile.state = (struct iaprof_state){0};
	return true;
}

/* A line that says what is other than before. */
static bool take_state(struct import_iaprof *in)
{
	static const struct {
		const char *word;
		size_t at;
	} names[] = {{"proc_name", offsetof(struct iaprof_state, comm)},
	             {"gpu_file", offsetof(struct iaprof_state, file)},
	             {"insn_text", offsetof(struct iaprof_state, insn)}},
	  stacks[] = {{"ustack", offsetof(struct iaprof_state, ustack)},
	              {"kstack", offsetof(struct iaprof_state, kstack)}};
	uint64_t n;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(in->fields[0], names[i].word) && field_number(in, 1, 10, &n)) {
			*(uint32_t *)((char *)&in->profile.state + names[i].at) =
			    iaprof_known(&in->profile, iaprof_name(&in->profile.strings, n));
			return true;
		}
	for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++)
		if (!strcmp(in->fields[0], stacks[i].word) && field_number(in, 1, 10, &n)) {
			*(uint32_t *)((char *)&in->profile.state + stacks[i].at) =
			    iaprof_stack(&in->profile.strings, n);
			return true;
		}
	if (!strcmp(in->fields[0], "gpu_symbol") && field_number(in, 1, 10, &n)) {
		iaprof_symbol(&in->profile, iaprof_name(&in->profile.strings, n));
		return true;
	}
	if (strcmp(in->fields[0], "pid") != 0 || !field_number(in, 1, 10, &n) || n > UINT32_MAX)
		return false;
	in->profile.state.pid = (uint32_t)n;
	return true;
}

static bool take_e(struct import_iaprof *in)
{
	uint64_t reason, offset, count;

	if (!field_number(in, 2, 10, &reason) || !field_number(in, 3, 16, &offset) ||
	    !field_number(in, 4, 10, &count))
		return false;
	iaprof_stall(&in->profile, offset, iaprof_name(&in->profile.strings, reason), count);
	return true;
}

static bool take_kernel(struct import_iaprof *in)
{
	struct iaprof_state *s = &in->profile.state;
	uint64_t address, pid;

	if (in->nr < 7 || !field_number(in, 1, 16, &address) || !field_number(in, 3, 10, &pid) ||
	    pid > UINT32_MAX)
		return false;
	*s = (struct iaprof_state){
	    .comm = field_name(in, 2),
	    .pid = (uint32_t)pid,
	    .ustack = field_stack(in, 4),
	    .file = iaprof_known(&in->profile, field_name(in, 5)),
	};
	iaprof_symbol(&in->profile, field_name(in, 6));
	/* Without a symbol it goes by its address, as it did before 2026. */
	if (!s->symbol)
		s->symbol =
		    af_builder_text(in->profile.builder, in->fields[1], strlen(in->fields[1]));
	return true;
}

/* All that is known of a sample, in one line. */
static bool take_wide(struct import_iaprof *in)
{
	uint64_t pid, offset, count;

	if (!field_number(in, 2, 10, &pid) || pid > UINT32_MAX ||
	    !field_number(in, 11, 16, &offset) || !field_number(in, 12, 10, &count))
		return false;
	in->profile.state = (struct iaprof_state){
	    .comm = field_name(in, 1),
	    .pid = (uint32_t)pid,
	    .ustack = field_stack(in, 3),
	    .kstack = field_stack(in, 4),
	    .file = iaprof_known(&in->profile, field_name(in, 7)),
	    .insn = iaprof_known(&in->profile, field_name(in, 9)),
	};
	iaprof_symbol(&in->profile, field_name(in, 8));
	iaprof_stall(&in->profile, offset, field_name(in, 10), count);
	return true;
}

static bool take_eustall(struct import_iaprof *in)
{
	uint64_t offset, counts[REASONS];

	if (in->nr != FIELDS_STALL)
		return false;
	if (strncmp(in->fields[1], "0x", 2) != 0 || !strncmp(in->fields[11], "0x", 2))
		return take_wide(in);
	bool good = field_number(in, 1, 16, &offset);
	for (unsigned i = 0; i < REASONS; i++)
		good = good && field_number(in, 3 + i, 10, &counts[i]);
	if (!good)
		return false;
	in->profile.state.insn = iaprof_known(&in->profile, field_name(in, 2));
	for (unsigned i = 0; i < REASONS; i++)
		iaprof_stall(&in->profile, offset, in->reasons[i], counts[i]);
	return true;
}

/* Frequency, how busy the device was, and what else there may be: a fact about the device. */
static bool metric_add(struct import_iaprof *in)
{
	uint32_t name = field_name(in, 1);
	struct metric *m = in->metrics;
	char *end;
	double value = strtod(in->fields[2], &end);

	if (end == in->fields[2] || *end || !isfinite(value))
		return false;
	while (m < in->metrics + in->nr_metrics && m->name != name)
		m++;
	if (m == in->metrics + METRICS_MAX) {
		in->profile.builder->unused[AF_BUILDER_OTHER_UNUSED]++;
		return true;
	}
	if (m == in->metrics + in->nr_metrics) {
		in->nr_metrics++;
		*m = (struct metric){.name = name, .least = value, .most = value};
	}
	m->nr++;
	m->sum += value;
	m->least = value < m->least ? value : m->least;
	m->most = value > m->most ? value : m->most;
	return true;
}

static void tables_note(struct import_iaprof *in)
{
	struct af_builder *d = in->profile.builder;
	char text[128];

	for (unsigned i = 0; i < in->nr_metrics; i++) {
		const struct metric *m = &in->metrics[i];
		snprintf(text, sizeof text, "%.10g to %.10g, %.10g on average of %llu", m->least,
		         m->most, m->sum / (double)m->nr, (unsigned long long)m->nr);
		iaprof_device_note(&in->profile, m->name, text);
	}
	if (in->frames)
		af_builder_note(d, "import.frames", "%llu frames were shown, says iaprof",
		                (unsigned long long)in->frames);
}

/* Sums of samples are read for those that no line has. */
static bool take_metric(struct import_iaprof *in)
{
	uint64_t value;

	if (in->nr < 3)
		return false;
	if (strncmp(in->fields[1], "eu-stall-", 9) != 0)
		return metric_add(in);
	if (!field_number(in, 2, 10, &value) ||
	    __builtin_add_overflow(in->profile.metered, value, &in->profile.metered))
		return false;
	return true;
}

static bool take_nothing(struct import_iaprof *in)
{
	(void)in;
	return true;
}

/* A frame was shown. */
static bool take_frame(struct import_iaprof *in)
{
	in->frames++;
	return true;
}

static const struct {
	const char *word;
	bool (*take)(struct import_iaprof *in);
} lines[] = {
    {"e", take_e},
    {"string", take_string},
    {"proc_name", take_state},
    {"pid", take_state},
    {"ustack", take_state},
    {"kstack", take_state},
    {"gpu_file", take_state},
    {"gpu_symbol", take_state},
    {"insn_text", take_state},
    {"shader_type", take_nothing}, /* the symbol says it */
    {"eustall", take_eustall},
    {"kernel", take_kernel},
    {"interval", take_interval},
    {"interval_start", take_interval},
    {"interval_end", take_nothing},
    {"metric", take_metric},
    {"frame", take_frame},
};

static bool is_line(const char *p, const char *end, bool cut)
{
	(void)cut;
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		size_t n = strlen(lines[i].word);
		if ((size_t)(end - p) > n && !memcmp(p, lines[i].word, n) && p[n] == '\t')
			return true;
	}
	return false;
}

bool af_import_is_iaprof(const char *text, size_t len)
{
	return import_most_lines(text, len, is_line);
}

static void line_split(struct import_iaprof *in, char *p)
{
	/* The text of a string may have tabs. */
	unsigned most = !strncmp(p, "string\t", 7) ? 3 : FIELDS_MAX;

	for (in->nr = 0; p && in->nr < most;) {
		in->fields[in->nr++] = p;
		p = in->nr < most ? strchr(p, '\t') : NULL;
		if (p)
			*p++ = 0;
	}
}

static bool line_read(struct import_iaprof *in, char *p)
{
	line_split(in, p);
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strcmp(in->fields[0], lines[i].word))
			return lines[i].take(in);
	return false;
}

static void line_take(void *arg, char *p, size_t len, bool cut)
{
	struct import_iaprof *in = arg;

	in->count.line++;
	in->profile.builder->unused[AF_BUILDER_TEXTS_UNUSED] += cut;
	if (len && p[len - 1] == '\r')
		p[--len] = 0;
	if (!len || line_read(in, p))
		return;
	import_line_bad(&in->count, in->profile.builder);
}

void af_import_iaprof(struct af_builder *d, const struct af_import_source *source, uint32_t number,
                      char *complaint, size_t size)
{
	struct import_iaprof in = {0};

	iaprof_profile_open(&in.profile, d, number);
	for (unsigned i = 0; i < REASONS; i++)
		in.reasons[i] = af_builder_name(d, reasons[i], strlen(reasons[i]));
	ssize_t rc = import_lines(source, LINE_MAX_BYTES, line_take, &in);

	iaprof_profile_close(&in.profile);
	tables_note(&in);
	af_builder_note(d, "import.stacks",
	                "of each kernel's last launch, as iaprof keeps no others");
	import_lines_complain(&in.count, rc, "are none of iaprof's", d, complaint, size);
}
