/*
 * The output of `perf script`, a line at a time:
 *
 *	comm pid[/tid] [[cpu]] seconds: [period] event:
 *		address function+0xoffset (module)
 *		…
 *	(an empty line)
 *
 * Where there are no call chains, a stack of one frame follows the event on the same line. Each
 * column may be missing (perf script -F): a line that frames follow is a header whichever columns
 * it has, and the header may be missing altogether. The reader tidies frames by the rules that
 * folded text of perf has used since 2011 (docs/import.md). It uses one event: the one asked for,
 * or else the first one seen.
 *
 *	perf_text_open → { perf_text_line }* → perf_text_end → perf_text_close
 *
 * A line that was seen before costs one hash of it.
 */
#ifndef AF_EXCHANGE_PERF_TEXT_H
#define AF_EXCHANGE_PERF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"

enum perf_text_kind {
	PERF_TEXT_NATIVE,
	PERF_TEXT_KERNEL,
	PERF_TEXT_INLINED,
	PERF_TEXT_JIT,
	PERF_TEXT_UNKNOWN,
};

struct perf_text_sample {
	const char *comm;
	size_t comm_len;
	uint32_t pid, tid, cpu;
	bool has_pid; /* perf may not have printed it: then it is the tid */
	bool has_time, has_period;
	uint64_t time_ns, period;
	const uint32_t *frames; /* as the sink numbers them, leaf first */
	uint32_t nr;
};

struct perf_text_sink {
	/* A frame not seen before: its number. @text, and the module that perf printed with it, of
	 * no length where it did not, are only there during the call. */
	uint32_t (*frame)(void *arg, const char *text, size_t len, enum perf_text_kind kind,
	                  const char *module, size_t module_len);
	void (*sample)(void *arg, const struct perf_text_sample *s);
	void *arg;
};

struct perf_text_options {
	const char *event; /* NULL: the first one seen */
	bool addresses;    /* of functions without a name */
	bool lines;        /* perf script -F +srcline */
};

struct perf_text {
	struct perf_text_options options;
	struct perf_text_sink sink;
	uint64_t line, bad, first_bad, samples, others;
	bool periods; /* they were printed */
	char event[128];
	char other[128]; /* the first event that is not used */

	/* private */
	struct perf_text_sample sample;
	char comm[256];
	bool in_sample, skip, java;
	bool loose;          /* it is a header only if frames follow */
	uint64_t loose_line; /* where that header is */
	/* Line, and its place behind a newline → index in stored, how many; [1]: of Java */
	struct af_keys seen[2];
	uint32_t *stored, *frames;
	uint32_t nr_stored, cap_stored, cap_frames;
	struct af_buf text;  /* of a frame */
	struct af_buf both;  /* a line and its place */
	struct af_buf place; /* options.lines: the frame whose line is still to come */
	bool waiting;
};

/* Does the event count CPU time, by its name? */
bool perf_event_is_time(const char *name);

/*
 * The length of an event's name without modifiers: cycles of cycles:u, all of sched:sched_switch.
 */
size_t perf_event_unit(const char *name, size_t len);

/* Is text that begins so the output of perf script? */
bool perf_text_is(const char *text, size_t len);

/*
 * Feed each line, without its newline, between open and end. @o and @sink are copied; the sink is
 * called during perf_text_line() and perf_text_end().
 */
void perf_text_open(struct perf_text *p, const struct perf_text_options *o,
                    const struct perf_text_sink *sink);
void perf_text_line(struct perf_text *p, const char *line, size_t len);
void perf_text_end(struct perf_text *p); /* the last sample may have no empty line behind it */
void perf_text_close(struct perf_text *p);

/* The event in a header, and the rest of the line: the only frame, or a tracepoint's fields. */
struct perf_text_event {
	const char *name, *rest; /* name: NULL where it is not printed */
	size_t len, rest_len;
};

/*
 * Parse the header of a sample, without its frames. Columns that perf did not print are left out.
 * False unless a name, ids, a time and an event are there; in that case only the frames that follow
 * show whether it is a header.
 */
bool perf_text_header(const char *line, size_t len, struct perf_text_sample *s,
                      struct perf_text_event *e);

/* ADDRESS FUNCTION (MODULE), in parts. */
struct perf_text_frame {
	const char *address, *function, *module;
	size_t address_len, function_len, module_len;
};

/* Split the line of a frame. The parts point into @line. False: it is not a frame. */
bool perf_text_frame(const char *line, size_t len, struct perf_text_frame *f);

/*
 * Put the names of @f's functions into @b, by the rules, the outermost first, and call @take for
 * each. @place: the source line, or NULL.
 */
void perf_text_functions(const struct perf_text_frame *f, bool java, bool addresses,
                         const char *place, size_t place_len, struct af_buf *b,
                         void (*take)(void *arg, const char *text, size_t len,
                                      enum perf_text_kind kind),
                         void *arg);

#endif
