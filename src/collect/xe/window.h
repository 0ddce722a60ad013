/*
 * Windows of samples of Intel's GPUs as events of process 0, the recorder: DEVICE, STALL,
 * GPU_WINDOW and ADDRESS_SAMPLE, whoever reads them. One thread. Calls in order:
 *
 *	af_xe_writer_open()
 *	{ af_xe_writer_define() → af_xe_window_write()* }*
 *	af_xe_writer_close()
 */
#ifndef AF_COLLECT_XE_WINDOW_H
#define AF_COLLECT_XE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/xe/cards.h"
#include "trace/write/stream.h"

struct af_recording;

/* Writes into a stream of its own. */
struct af_xe_writer {
	struct af_recording *r;
	struct af_stream stream;
	bool is_open;
	bool beside; /* events are written by another thread than the recorder's */
	uint32_t finish_as, epoch;
	uint32_t nr_windows;
	uint64_t written; /* bytes, about, since the recorder last drained */
	uint64_t nr_samples;
};

/* False: there is no room for a stream, which is counted. */
bool af_xe_writer_open(struct af_xe_writer *w, struct af_recording *r);

/* Hand what was written to the trace. Without effect where it is not open. */
void af_xe_writer_close(struct af_xe_writer *w);

/*
 * DEVICE and its notes for each card, with its place in @cards from 1 as its number, and the
 * reasons, when they are not in the stream yet.
 */
void af_xe_writer_define(struct af_xe_writer *w, const struct af_xe_cards *cards);

struct af_xe_window {
	uint32_t device, flags, dropped;
	uint64_t start_ns, end_ns, period_cycles;
	const struct af_xe_rows *rows;
};

/* Write the GPU_WINDOW, with LOST where rows were dropped, and its samples. */
void af_xe_window_write(struct af_xe_writer *w, const struct af_xe_window *window);

#endif
