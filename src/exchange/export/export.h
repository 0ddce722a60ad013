/*
 * A trace in the formats of other tools. Each format is one row of the table; a writer reads the
 * trace as often as it has to and holds the unique definitions in memory, not the events.
 *
 *	gpuperf-cpu     gpuperf's extended folded text, in order of time as far as the trace has
 *	                it: a line for each CPU sample, and a line for each launch of a kernel,
 *	                which ends in the function: `timestamp_ns comm pid tid cpu f1;f2;…`.
 *	                A blank in a comm becomes `_`, as gpuperf's own reader wants it; `;` in
 *	                a name becomes `:`; the cpu is 0 where the sampler did not record it.
 *	gpuperf-gpu     gpuperf's GPU trace in Trace Event Format. It has no cbid, which traces
 *	                do not keep, and no fills, which the format does not know.
 *	gpuperf-folded  gpuperf's merged text: `f1;…;cudaLaunchKernel;[GPU_Kernel]name µs`, but
 *	                joined by correlation. Work other than kernels is `[GPU_MemCopy]name`.
 *	iaprof          samples of device instructions as iaprof's profile: see
 *	                exchange/iaprof/import.c
 *	iaprof-folded   the output of iaprof's `flame` for that profile:
 *	                `comm;pid;f1;…;-;file_[G];kernel_[G];insn_[g];stall_[g];0xoffset_[g] n`;
 *	                a sample without a reason has no frame for one
 */
#ifndef AF_EXCHANGE_EXPORT_EXPORT_H
#define AF_EXCHANGE_EXPORT_EXPORT_H

#include <stdint.h>

struct af_err;

/* Counts of what was written, and of what the format cannot express. */
struct af_export_count {
	uint64_t written;
	uint64_t left_out;
};

/* The part of a trace that is written, and the file to write to. */
struct af_export_request {
	const char *dir;
	uint64_t from_ns, to_ns; /* since the trace began, as time_range.h cuts; to 0: to its end */
	int fd;
};

struct af_export_format {
	const char *name;
	const char *unit;     /* "CPU samples" */
	const char *left_out; /* "pieces of device work that are fills or have no times" */
	/* 0 or -errno with a message. */
	int (*write)(const struct af_export_request *request, struct af_export_count *count,
	             struct af_err *err);
};

#define AF_EXPORT_NAMES "gpuperf-cpu|gpuperf-gpu|gpuperf-folded|iaprof|iaprof-folded"

extern const struct af_export_format af_export_formats[]; /* ended by a NULL name */

/*
 * The writers of the table above, each in a file of its own. All read request->dir and write to
 * request->fd. 0, or -errno with a message.
 */
int af_export_samples(const struct af_export_request *request, struct af_export_count *count,
                      struct af_err *err);
int af_export_events(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err);
int af_export_merged(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err);
int af_export_iaprof(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err);
int af_export_iaprof_folded(const struct af_export_request *request, struct af_export_count *count,
                            struct af_err *err);

#endif
