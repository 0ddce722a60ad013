/* Inside src/collect/xe. */
#ifndef AF_COLLECT_XE_PRIVATE_H
#define AF_COLLECT_XE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "collect/xe/cards.h"
#include "collect/xe/window.h"

struct af_recording;

/* ioctl(2) until it is neither interrupted nor to be repeated: its result, or -errno. */
int xe_ioctl(int fd, unsigned long call, void *argument);

/* Ask the driver of an open card for all that af_xe_card has; card->error says what it lacks. */
void xe_card_query(struct af_xe_card *card);
void xe_card_i915(struct af_xe_card *card);

/* Take what an answer of DRM_IOCTL_XE_DEVICE_QUERY has; @answer lies as malloc(3) places it. */
void xe_answer_take(struct af_xe_card *card, uint32_t query, const void *answer, size_t size);
void xe_clock_read(struct af_xe_card *card, const struct af_xe_roots *roots);

/*
 * Make a stream that does not block, and that programs which are started do not inherit: the kernel
 * makes it without either. Returns @fd, which may be an error already, or -errno.
 */
int xe_stream_adopt(int fd);

/*
 * Open the stall stream of @gt, off, not blocking and closed by exec: its descriptor, or -errno.
 * CAP_PERFMON is put into effect where we have it. Interfaces: DRM_IOCTL_XE_OBSERVATION,
 * DRM_IOCTL_I915_PERF_OPEN.
 */
int xe_stream_open(const struct af_xe_card *card, const struct af_xe_gt *gt,
                   uint64_t period_cycles);
int xe_i915_open(const struct af_xe_card *card, const struct af_xe_gt *gt, uint64_t period_cycles,
                 uint32_t wait_rows);

/* Why it failed with @rc, and the line that fixes it. */
void xe_stream_why(const struct af_xe_card *card, const struct af_xe_roots *roots, int rc,
                   char *why, size_t size);

/* One GT that is sampled. What the reading thread changes is under its lock. */
struct xe_stream {
	const struct af_xe_card *card;
	const struct af_xe_gt *gt;
	uint32_t device;
	uint64_t period_cycles;

	int fd;                  /* -1: closed. The reading thread alone closes it while it runs */
	bool enabled;            /* samples are taken */
	int error;               /* errno by which it was closed */
	struct af_xe_rows *rows; /* since the last window */
	uint32_t dropped;        /* how often since then the device dropped rows: EIO, or marks */
	uint64_t since_ns;       /* no sample of @rows is older */
	uint64_t emptied_ns;     /* when a read began that found no more */
	uint64_t read_ns;        /* when the last read ended */
	uint64_t nr_rows, nr_dropped, nr_cut, nr_resets; /* in all */

	struct af_xe_rows *spare; /* the writer's: what @rows was before */
	uint32_t nr_reopens, nr_tries;
	uint64_t tried_ns;
};

/* Reads streams into their tables. */
struct xe_reader {
	struct xe_stream *streams;
	uint32_t nr;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;
	_Atomic uint32_t waiting; /* for the lock: the thread gives way */
	_Atomic bool stop;
	int wake; /* an eventfd */
	uint8_t *buffer;
};

/* Prepare for @nr streams. _start: begin to read; -errno where there can be no thread. */
int xe_reader_open(struct xe_reader *r, struct xe_stream *streams, uint32_t nr);
int xe_reader_start(struct xe_reader *r);

/* The streams are the caller's until _unlock. _wake: the thread sees other streams to read. */
void xe_reader_lock(struct xe_reader *r);
void xe_reader_unlock(struct xe_reader *r);
void xe_reader_wake(struct xe_reader *r);

/* End the thread; then read what is left, at most some buffers. */
void xe_reader_stop(struct xe_reader *r);
void xe_reader_close(struct xe_reader *r);

/* One chunk of @s. True: there may be more. */
bool xe_stream_read(struct xe_reader *r, struct xe_stream *s);

#endif
