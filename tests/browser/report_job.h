/* A job of several ranks, whose kernels were sampled. */
#ifndef REPORT_JOB_H
#define REPORT_JOB_H

struct af_err;
struct af_format;
struct af_render;

/*
 * A second of mpirun, which has no rank and 10 ms of samples, of ranks 0 and 1, which work for
 * 300 ms and 100 ms, and of a loader that rank 1 started: 200 ms from 0.5 s on. Rank 0's device
 * runs gemm until 0.4 s, rank 1's gemm from 0.4 s to 0.5 s and tree from 0.6 s to 0.8 s. Of a gemm
 * 60 % are long scoreboard and 10 % issued at one instruction, 30 % fixed latency at another; of
 * tree, which walk() called from walk(), 60 % are issued and 40 % barrier.
 */
int make_job(struct af_render *r, const struct af_format *format, struct af_err *err);

#endif
