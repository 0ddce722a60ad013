/*
 * Processes of the whole machine that map code, fork, run another program or end, from perf's
 * side-band events (perf_event_open(2): MMAP2 with build ids, COMM, FORK), in order of time.
 *
 *	af_sideband_open(); { af_sideband_read(); while ((e = af_sideband_next())) …; }*
 *	af_sideband_close()
 */
#ifndef AF_COLLECT_PERF_SIDEBAND_H
#define AF_COLLECT_PERF_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/perf/perf_rings.h"

struct af_err;
struct perf_event_attr;
struct perf_event_header;

enum af_sideband_kind {
	AF_SIDEBAND_FORK = 1, /* of a process, not of a thread */
	AF_SIDEBAND_EXEC = 2, /* the moment after which mappings are the new program's */
	AF_SIDEBAND_MMAP = 3, /* of executable code */
	/* With names: */
	AF_SIDEBAND_THREAD = 4, /* @tid begins, with the name of @parent, a thread too */
	AF_SIDEBAND_COMM = 5,   /* @tid has another name */
};

struct af_sideband_event {
	enum af_sideband_kind kind;
	uint32_t pid, parent; /* in our namespace; @parent of FORK */
	uint32_t tid;         /* of THREAD and COMM */
	uint64_t time_ns;     /* CLOCK_MONOTONIC */
	uint64_t start, size, offset;
	uint8_t build_id[20];
	uint32_t build_id_size; /* 0: not known */
	size_t text; /* file name of MMAP, comm of EXEC and COMM: see af_sideband_text() */
};

struct af_sideband {
	struct af_perf_rings rings;
	bool names;                       /* of threads are wanted */
	struct af_sideband_event *events; /* [next, nr) are to come */
	size_t nr, cap, next;
	struct af_buf text;
	uint64_t lost; /* events, so far */
};

/* An event on each CPU. Needs CAP_PERFMON. */
int af_sideband_open(struct af_sideband *s, struct af_err *err);

/*
 * Take over the events that the kernel has written. Events of earlier reads that af_sideband_next()
 * has not returned stay.
 */
void af_sideband_read(struct af_sideband *s);

/*
 * The same for records that the caller has read, of events opened with the attributes that ask()
 * adds: begin(), take() each, sort().
 */
void af_sideband_ask(struct perf_event_attr *attr);
uint64_t af_sideband_time(const struct perf_event_header *h); /* of any record but a sample */
void af_sideband_begin(struct af_sideband *s);
void af_sideband_take(struct af_sideband *s, const struct perf_event_header *h);
void af_sideband_sort(struct af_sideband *s);

/* The next event of at most @until_ns, NULL when there is none. Valid until the next read. */
const struct af_sideband_event *af_sideband_next(struct af_sideband *s, uint64_t until_ns);

/* The text of @e: a path or a comm, NUL-terminated. Valid as long as @e. */
const char *af_sideband_text(const struct af_sideband *s, const struct af_sideband_event *e);

/* Close the events and free their memory. A zeroed struct is fine. */
void af_sideband_close(struct af_sideband *s);

#endif
