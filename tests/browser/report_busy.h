/* Reports with a timeline of several processes, whose order and steps the tests know. */
#ifndef REPORT_BUSY_H
#define REPORT_BUSY_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;
struct af_format;
struct af_render;

/*
 * CPU time in ms: sh 20, make 10, train (main 500, worker 2000, idle 5, helper 6), monitor 1500.
 * Thread main launches 8 gemms of 500,000,123 ns each 600 ms on device 1, the first at
 * 100,000,001 ns, and the first of 5 sums of 200 ms on device 2, which each start a second after
 * the one before, from 1 ms on; worker launches the others. A call takes 20 µs and begins 50 µs
 * before its work. Worker has 10 ranges "iteration K" of 400,000,009 ns each 480 ms, the first at
 * 10,000,007 ns, and in each a mark of no length. The run has 4 steps of 600 ms, the first a
 * warm-up, from the first gemm on. Without @trees it has slices alone.
 */
int make_busy(struct af_render *r, const struct af_format *format, bool trees, struct af_err *err);

/* @nr tracks: a third of them processes, each with a thread that is on the CPU about a second. */
int make_tracks(struct af_render *r, const struct af_format *format, uint32_t nr,
                struct af_err *err);

#endif
