/* Reports with a timeline, whose numbers the tests know. */
#ifndef REPORT_TIMED_H
#define REPORT_TIMED_H

#include <stdint.h>

struct af_err;
struct af_format;
struct af_render;

/*
 * Four seconds of one process. Thread 101 does per 300 ms 100 ms of work;leaf, 100 ms of
 * work;sys_read (kernel), and waits; samples are 10 ms apart, ten of them one slice. Thread 102
 * decodes in every second from 0.2 s to 0.5 s, a slice a sample. Every 20 ms thread 101 launches a
 * gemm, which takes 8 ms on stream 7; for each fifth it copies instead, 3 ms on stream 8. NVTX has
 * a "step" of 180 ms each 200 ms, and in it "forward" of 100 ms. Memory of the device grows by 1 MB
 * a step, ten times, and is freed. A sample is lost at 2.5 s.
 */
int make_timed(struct af_render *r, const struct af_format *format, struct af_err *err);

/*
 * Four seconds of leaf, and counters: "GPU busy" is 50 % from 1 s to 1.5 s, 100 % up to 2 s, not
 * known up to 3 s and 0 up to 4 s; "Bytes read" is 3 MiB/s, and "Package <power>" 20 W in 40,000
 * points, but for one peak of 99 W and one gap.
 */
int make_counted(struct af_render *r, const struct af_format *format, struct af_err *err);

/* About @nr slices: launches on 4 threads, kernels on 8 streams, samples of 8 threads. */
int make_slices(struct af_render *r, const struct af_format *format, uint64_t nr,
                struct af_err *err);

#endif
