/*
 * Windows of samples of Intel's GPUs as events of process 0, the recorder: DEVICE, STALL,
 * GPU_WINDOW and ADDRESS_SAMPLE, whoever reads them. One thread. Calls in order:
 *
 *	af_event_writer_open(&w.to)
 *	{ af_xe_writer_define() → af_xe_window_write()* }*
 *	af_event_writer_close(&w.to)
 */
#ifndef AF_COLLECT_XE_WINDOW_H
#define AF_COLLECT_XE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/writer/writer.h"
#include "collect/xe/cards.h"

struct af_xe_writer {
	struct af_event_writer to;
	uint32_t nr_windows;
	uint64_t nr_samples;
};

/*
 * DEVICE and its notes for each card, with its place in @cards from 1 as its number, and the
 * reasons, when they are not in the stream yet.
 */
void af_xe_writer_define(struct af_xe_writer *w, const struct af_xe_cards *cards);

/* DEVICE and its notes alone, with numbers from @before plus 1. */
void af_xe_devices_write(struct af_event_writer *w, const struct af_xe_cards *cards,
                         uint32_t before);

struct af_xe_window {
	uint32_t device, flags, dropped;
	uint64_t start_ns, end_ns, period_cycles;
	const struct af_xe_rows *rows;
};

/* Write the GPU_WINDOW, with LOST where rows were dropped, and its samples. */
void af_xe_window_write(struct af_xe_writer *w, const struct af_xe_window *window);

#endif
