/*
 * The profile of a process by itself, for the files of this room. All that takes time runs in the
 * library's own thread (worker.h), which is not sampled.
 */
#ifndef AF_PROF_PRIVATE_H
#define AF_PROF_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aflame/prof.h"
#include "analyse/pass/pass.h"
#include "base/arena.h"
#include "base/system/used.h"
#include "collect/disk/drain.h"
#include "prof/events.h"
#include "prof/symbols.h"
#include "prof/worker.h"
#include "trace/write/session.h"
#include "trace/write/stream.h"

struct af_prof {
	struct af_prof_options o;
	pid_t pid;
	char folder[PATH_MAX]; /* private; has the shared directory `s` and the trace */
	int shm_fd, dir_fd;
	struct af_session *control; /* the recorder's mapping */
	struct af_drain drain;
	struct af_stream stream; /* the recorder's own, in the trace */
	struct prof_events events;
	struct prof_worker worker;
	struct prof_symbols symbols;
	bool started;
	uint64_t paused_ns;         /* since when it is stopped; 0: before the first start */
	struct af_used used, since; /* while it was sampled; the process's when it was started */
	uint64_t lost[3];           /* that the trace has by now: prof_losses() */
	bool has_results;
	struct af_results results; /* of what was collected last */
};

/* In the results: what formats get. */
struct af_prof_data {
	const struct af_results *results;
	const struct af_tree *tree;
	const char *dir;
};

/* The directory, session and trace of @p. Undone by prof_record_close(), also after a failure. */
int prof_record_open(struct af_prof *p, struct af_err *err);
void prof_record_close(struct af_prof *p);

/* The program ends: stop, and leave nothing behind; the worker may still run. */
void prof_record_abandon(struct af_prof *p);

/* In the worker: move full packets; threads that are not sampled yet get a timer. */
void prof_record_poll(struct af_prof *p);

/* In the worker: the trace has all that was recorded until now, with names. 0 or -errno. */
int prof_record_collect(struct af_prof *p, struct af_err *err);

/* In the worker: copy the trace to @dir, which is made. */
int prof_record_save(struct af_prof *p, const char *dir, struct af_err *err);

/* Switch sampling on or off; in the worker. */
int prof_record_start(struct af_prof *p, struct af_err *err);
void prof_record_stop(struct af_prof *p);

/* Samples that are kept, those that were dropped, and the CPU time used. Any thread. */
void prof_record_count(struct af_prof *p, struct af_prof_counters *counters);

/* Read the trace into p->results; in the worker. */
int prof_analyse(struct af_prof *p, struct af_err *err);

/* Let @format write p->results to @sink; in the worker. */
int prof_format(struct af_prof *p, const struct af_prof_format *format,
                const struct af_prof_sink *sink, struct af_err *err);

#endif
