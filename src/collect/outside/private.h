/*
 * Shared by the files that sample from outside:
 *
 *	outside.c   on which processes events are opened and closed; its place in the recorder
 *	look.c      looks at processes and threads: which are to be watched
 *	samples.c   the records of the events: samples, forks, execs and mappings
 *	events.c    the perf events
 *	once.c      counts every moment of a thread once
 *	names.c     names of threads
 */
#ifndef AF_COLLECT_OUTSIDE_PRIVATE_H
#define AF_COLLECT_OUTSIDE_PRIVATE_H

#include "base/system/used.h"
#include "collect/bpf/private.h"
#include "collect/outside/events.h"
#include "collect/outside/names.h"
#include "collect/outside/once.h"
#include "collect/outside/outside.h"

/* A thread that events of ours are on. */
struct outside_watched {
	uint32_t pid, tid;
	/* With all threads that it makes; else one thread of a process that samples itself */
	bool whole;
	bool looked_at, blocks; /* the single thread, since the samples that were read last */
	uint32_t watch;
	int *fds;
};

/* A process that is sampled from outside as a whole, and its CPU time at the last look. */
struct outside_process {
	uint32_t pid;
	bool seen;
	struct af_used own, children; /* of those that it waited for */
	uint64_t max_rss_bytes;
};

/* A child that has not registered yet, or a thread that blocked the signal at the last look. */
struct outside_suspect {
	uint32_t id;
	bool reported;            /* reported as not sampled */
	uint64_t seen_ns, ran_ns; /* by then */
};

struct af_outside {
	struct af_bpf b; /* its images, mappings, streams and unwinder; it has no programs */
	struct af_watch_options options;
	struct af_perf_rings rings;
	struct af_outside_names names;
	struct af_outside_once once;
	bool refused; /* the kernel grants no such events */
	struct outside_watched *watched;
	uint32_t nr_watched, cap_watched;
	struct outside_process *processes;
	uint32_t nr_processes, cap_processes, next_process;
	struct outside_suspect *children, *threads;
	uint32_t nr_children, cap_children, nr_threads, cap_threads;
	uint32_t next_client; /* client whose threads are looked at next */
	uint64_t poll_ns;     /* not before */
	/* Samples of one read, which come ring by ring. */
	struct outside_sample {
		struct af_bpf_stacks *stacks;
		uint64_t event;
	} * samples;
	uint32_t nr_samples, cap_samples;
};

/* The watch that is on this thread alone, or NULL. */
struct outside_watched *outside_watched_alone(const struct af_outside *o, uint32_t pid,
                                              uint32_t tid);

/* Is @pid watched as a whole? */
bool outside_is_watched(const struct af_outside *o, uint32_t pid);

/* Is @pid watched, or descended from a watched process? */
bool outside_is_known(const struct af_outside *o, uint32_t pid);

/* Open events on thread @tid, with @whole also on all that it makes. False: not possible. */
bool outside_watch(struct af_outside *o, uint32_t pid, uint32_t tid, bool whole);

/* Watch all threads that @pid has, and those that they will make. */
bool outside_watch_process(struct af_outside *o, uint32_t pid);
void outside_leave(struct af_outside *o, struct outside_watched *w);

/* @pid is sampled as a whole: follow its CPU time. */
void outside_follow(struct af_outside *o, uint32_t pid);
void outside_write_usage(struct af_outside *o, const struct outside_process *p);

/* Does thread @tid of @pid block the signal of samples? */
enum outside_blocks { OUTSIDE_BLOCKS_NOT, OUTSIDE_BLOCKS, OUTSIDE_BLOCKS_GONE };
enum outside_blocks outside_blocking(const struct af_outside *o, uint32_t pid, uint32_t tid);

/* Look for processes and threads to watch, if it is time. */
void outside_poll(struct af_outside *o, uint64_t now);

/* Take the records written until @until_ns into the queue of samples. */
void outside_read(struct af_outside *o, uint64_t until_ns);

#endif
