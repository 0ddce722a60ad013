/*
 * Shared by the files of `aflame print`: one trace on its way out, and the traces of a set.
 */
#ifndef AF_CMD_PRINT_PRIVATE_H
#define AF_CMD_PRINT_PRIVATE_H

#include "analyse/clocks/times.h"
#include "analyse/world/world.h"
#include "cmd/calls/calls.h"
#include "cmd/calls/choice.h"
#include "cmd/options/command.h"
#include "cmd/output/atomic_write.h"
#include "cmd/print/event.h"
#include "trace/read/reader.h"

struct print {
	struct af_output output;
	bool json, count, raw, calls, follow;
	const char *rank;
	struct af_strings kinds;
	uint64_t process, pid, tid, stream;
	uint64_t from_ns, to_ns;
	uint64_t limit;
};

#define PRINT_ANY UINT64_MAX /* a number no stream, process, pid or tid can have */

/* The events to print, of one trace or of many. */
struct print_query {
	const struct print *options;
	uint64_t wanted; /* mask of the kinds to print; 0 for all, those not known included */
	uint64_t late;   /* of kinds that share bits of it, which: from AF_KIND_LATE on */
	struct af_call_choice choice; /* of functions, where calls of APIs are among them */
	bool ordered;                 /* calls alone, in the order in which they began */
	bool placing;                 /* stamps of device work are made times of the trace */
	struct af_event_printer printer;
	uint64_t nr; /* events printed */
};

/* A trace on its way out. */
struct printing {
	struct print_query *query;
	const char *dir;
	struct af_trace *trace; /* NULL: it is not open */
	struct af_calls calls;
	struct af_world world; /* of it only what @placing and calls take */
	/* A recording that is followed: events of each stream that were read, by instance. */
	struct af_map seen;
	uint64_t nr_fresh; /* events that were in no earlier one */
	uint64_t *read;    /* of this copy, by stream */
	uint32_t cap_read;
	/* In a set: its times, which member it is, and the column of lines for it; or NULL. */
	const struct af_set_times *times;
	uint32_t member;
	const char *label;
};

/* Many of them, merged by the set's time. */
struct print_set;

/* events.c */

/* Find out what the options of @q->options ask for. */
int print_choose(struct print_query *q, struct af_err *err);
int print_open(struct printing *now, const char *dir, struct af_err *err);
/* Close the trace, which may be read again. */
void print_shut(struct printing *now);
void print_free(struct printing *now);
/* The next event that is query for; false: there is none. Its time is that of the set. */
bool print_next(struct printing *now, struct af_event *ev);
/*
 * Print all events, or as many as the limit leaves, of @set or, where that is NULL, of @one. With
 * @last no more will come.
 */
int print_events(struct print_query *q, struct printing *one, struct print_set *set, int fd,
                 bool last);
/* Print how many events of each kind there are. */
int print_counts(struct print_query *q, struct printing *one, struct print_set *set, int fd);
bool print_is_damaged(const struct printing *now);
/* Report damage. An error only when damage is all there is. */
int print_damage(const struct printing *now, struct af_err *err);

/* set.c */

/* Begin with the set at @dir. The caller closes it, also after a failure. */
int print_set_open(struct print_set **out, struct print_query *q, const char *dir, bool colour,
                   struct af_err *err);
/* How many calls stand before the call around them. */
uint64_t print_set_close(struct print_set *set);
/*
 * The next event of all, in the order of time, and the trace that it is of. NULL: none is left.
 * Calls that are held of a trace that ends are appended to @b, if it is not NULL.
 */
struct printing *print_set_next(struct print_set *set, struct af_event *ev, struct af_buf *b);
/* When the set began, on the clock of its events. */
uint64_t print_set_start_ns(const struct print_set *set);
/* Append what calls are held of all traces; close them. */
void print_set_end(struct print_set *set, struct af_buf *b);
/* Report which ranks are missing or damaged, and how far clocks may be off. -EIO: none was read. */
int print_set_report(struct print_set *set, struct af_err *err);

#endif
