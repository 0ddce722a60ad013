/*
 * Shared by `record` and `run`.
 */
#ifndef AF_CMD_RECORD_RECORD_H
#define AF_CMD_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/options/command.h"
#include "collect/disk/job.h"
#include "collect/ranks/launch.h"
#include "collect/ranks/select.h"

struct af_record_options {
	const char *output;
	bool force;
	const char *api; /* list of APIs with levels, "none", NULL: all that work */
	bool api_stacks; /* a stack for every call */
	bool tally_only;
	bool alloc;         /* allocations, by call path */
	const char *clock;  /* of calls: "system", "tsc", NULL */
	const char *sample; /* "auto", "bpf", "perf", "timer", "none", "xe-eustall", …; a list */
	uint64_t rate;      /* samples a second */
	/*
	 * of `prof`: the command line that the trace has, or NULL; the period exactly, or 0; CPU
	 * samples, and frames of each, that are kept, 0: all
	 */
	const char *command;
	uint64_t period_ns, samples_most;
	uint32_t stack_depth;
	uint64_t duration_ns, delay_ns;
	uint64_t max_bytes, ring_bytes;
	const char *ctl;   /* path of the FIFO */
	const char *steps; /* "100:110@NAME", NULL */
	struct af_rank_selection selection;
	const char *groups;         /* KEY=VALUE,… or a file; NULL: $AFLAME_GROUPS */
	const char *cuda_graphs;    /* "nodes", "whole", NULL */
	const char *cuda_calls;     /* "once", "twice", NULL */
	const char *gpu_samples;    /* a rate, "exact", NULL */
	const char *launch_metrics; /* "GROUP@1/N", NULL */
	const char *launches;       /* "1/N", NULL */
	uint64_t cuda_buffer_bytes; /* 0: as is best */
	const char *telemetry;      /* "NAME=MS,…", NULL */
	bool held;                  /* AF_SESSION_HELD */
	bool no_python, autograd, verify, quiet, live, strict, wall;
	const char *pids;    /* list of running processes */
	bool all;            /* every process there is */
	const char *off_cpu; /* "blocked", "wakers", NULL */
	uint64_t min_block_ns;
	struct af_strings uprobes; /* "LIB:FUNC@1/N", … */
	/* of `record` */
	const char *stage;
	uint64_t grace_ns;
	bool no_symbols;
	const char *format; /* of the trace on standard output, NULL */
	/* of `run` */
	const char *report, *sources;
	bool no_report, report_public, open_report;
};

/* The rows of the option table for these. */
#define AF_RECORD_OPTIONS(type)                                                                      \
	{AF_OPT_STRING,                                                                              \
	 "output",                                                                                   \
	 'o',                                                                                        \
	 "DIR",                                                                                      \
	 "trace to make, see above, - for standard output; an old one is kept as DIR.old "           \
	 "(aflame.data)",                                                                            \
	 offsetof(type, output)},                                                                    \
	    {AF_OPT_FLAG,          "force", 'f', NULL, "replace an old trace instead of keeping it", \
	     offsetof(type, force)},                                                                 \
	    {AF_OPT_FLAG,                                                                            \
	     "strict",                                                                               \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "fail where the program cannot be recorded, instead of running it",                     \
	     offsetof(type, strict)},                                                                \
	    {AF_OPT_STRING,                                                                          \
	     "api",                                                                                  \
	     0,                                                                                      \
	     "LIST",                                                                                 \
	     "APIs to record: cuda, opencl, mpi, ze, hip, omp, kokkos, itt, none (all that "         \
	     "work); "                                                                               \
	     "NAME:default also "                                                                    \
	     "calls "                                                                                \
	     "that "                                                                                 \
	     "do something, with their arguments, NAME:full all calls",                              \
	     offsetof(type, api),                                                                    \
	     "cuda|cuda:default|cuda:full|opencl|opencl:default|opencl:full|mpi|mpi:default|mpi:"    \
	     "full|ze|ze:default|ze:full|hip|hip:default|hip:full|omp|kokkos|itt|itt:full|all|"      \
	     "none"},                                                                                \
	    {AF_OPT_FLAG,                                                                            \
	     "api-stacks",                                                                           \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "a stack with every call that --api records with arguments",                            \
	     offsetof(type, api_stacks)},                                                            \
	    {AF_OPT_FLAG,                                                                            \
	     "tally-only",                                                                           \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "add calls and device work up in the program, for `aflame tally` alone: memory and "    \
	     "disk stay as they are however long it runs",                                           \
	     offsetof(type, tally_only)},                                                            \
	    {AF_OPT_CHOICE,                                                                          \
	     "call-clock",                                                                           \
	     0,                                                                                      \
	     "CLOCK",                                                                                \
	     "what calls are timed by: the processor's counter, which each thread compares with "    \
	     "the system's clock once a millisecond (tsc), or that clock alone (system)",            \
	     offsetof(type, clock),                                                                  \
	     "system|tsc"},                                                                          \
	    {AF_OPT_CHOICE,                                                                          \
	     "cuda-graphs",                                                                          \
	     0,                                                                                      \
	     "HOW",                                                                                  \
	     "time each node of CUDA graphs (nodes), or each launch as a whole (cheaper)",           \
	     offsetof(type, cuda_graphs),                                                            \
	     "nodes|whole"},                                                                         \
	    {AF_OPT_CHOICE,                                                                          \
	     "cuda-calls",                                                                           \
	     0,                                                                                      \
	     "HOW",                                                                                  \
	     "twice: the kernel records the calls, too, so that a call whose own record was lost "   \
	     "keeps its stack; 1 to 4 us a call",                                                    \
	     offsetof(type, cuda_calls),                                                             \
	     "once|twice"},                                                                          \
	    {AF_OPT_OPTIONAL,                                                                        \
	     "gpu-samples",                                                                          \
	     0,                                                                                      \
	     "RATE",                                                                                 \
	     "sample the instructions that GPUs execute, and why they stall: about RATE samples "    \
	     "a "                                                                                    \
	     "second and GPU (100k); exact: with the launch of each sample, for which kernels "      \
	     "run "                                                                                  \
	     "one by one for 20 ms of every 200",                                                    \
	     offsetof(type, gpu_samples),                                                            \
	     "100k|exact",                                                                           \
	     true},                                                                                  \
	    {AF_OPT_STRING,                                                                          \
	     "launch-metrics",                                                                       \
	     0,                                                                                      \
	     "GROUP",                                                                                \
	     "Intel GPUs: read a metric group (see `aflame doctor --metrics`: event-based) over "    \
	     "every launch of Level Zero, which then runs alone; GROUP@1/N: over one in N",          \
	     offsetof(type, launch_metrics)},                                                        \
	    {AF_OPT_STRING,                                                                          \
	     "launches",                                                                             \
	     0,                                                                                      \
	     "1/N",                                                                                  \
	     "take the stack of one launch in N, by chance; all launches are recorded, and work "    \
	     "without a stack is shared among the stacks of the same kernel",                        \
	     offsetof(type, launches)},                                                              \
	    {AF_OPT_SIZE,                                                                            \
	     "cuda-buffer",                                                                          \
	     0,                                                                                      \
	     "SIZE",                                                                                 \
	     "size of the buffers that CUPTI fills with records of device work, 16K to 16M "         \
	     "(256K); "                                                                              \
	     "together they take at most 48M of the program's memory",                               \
	     offsetof(type, cuda_buffer_bytes)},                                                     \
	    {AF_OPT_STRING,                                                                          \
	     "telemetry",                                                                            \
	     0,                                                                                      \
	     "NAME",                                                                                 \
	     "read counters of the machine over time, each 100 ms or NAME=MS; several with "         \
	     "commas, "                                                                              \
	     "or all: `aflame doctor` lists them",                                                   \
	     offsetof(type, telemetry)},                                                             \
	    {AF_OPT_FLAG,                                                                            \
	     "autograd",                                                                             \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "PyTorch: show backward work under its forward operation; turns on emit_nvtx() in "     \
	     "the program",                                                                          \
	     offsetof(type, autograd)},                                                              \
	    {AF_OPT_CHOICE,                                                                          \
	     "sample",                                                                               \
	     0,                                                                                      \
	     "HOW",                                                                                  \
	     "how to sample the CPU; xe-eustall, i915-eustall, zet-stall: Intel GPUs by the "        \
	     "driver "                                                                               \
	     "named; xe-oa[=MS], zet-metrics=GROUP[@PERIOD]: their counters over time; several "     \
	     "with commas",                                                                          \
	     offsetof(type, sample),                                                                 \
	     "auto|bpf|perf|timer|none|xe-eustall|i915-eustall|zet-stall|xe-oa|zet-metrics",         \
	     true},                                                                                  \
	    {AF_OPT_FLAG,                                                                            \
	     "wall",                                                                                 \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "sample by the wall clock: threads that wait, too",                                     \
	     offsetof(type, wall)},                                                                  \
	    {AF_OPT_U64,          "rate", 'F', "HZ", "CPU samples a second and thread (99)",         \
	     offsetof(type, rate)},                                                                  \
	    {AF_OPT_TIME,                                                                            \
	     "duration",                                                                             \
	     'd',                                                                                    \
	     "TIME",                                                                                 \
	     "stop recording after this long; the program "                                          \
	     "goes on",                                                                              \
	     offsetof(type, duration_ns)},                                                           \
	    {AF_OPT_TIME,                                                                            \
	     "delay",                                                                                \
	     0,                                                                                      \
	     "TIME",                                                                                 \
	     "start recording after this long",                                                      \
	     offsetof(type, delay_ns)},                                                              \
	    {AF_OPT_STRING,                                                                          \
	     "steps",                                                                                \
	     0,                                                                                      \
	     "FIRST:LAST",                                                                           \
	     "record these steps of the program alone, counted from 1 by its NVTX ranges or "        \
	     "markers; FIRST:LAST@NAME: by those of this name",                                      \
	     offsetof(type, steps)},                                                                 \
	    {AF_OPT_SIZE,                                                                            \
	     "max-size",                                                                             \
	     0,                                                                                      \
	     "SIZE",                                                                                 \
	     "stop recording when the trace has this size: 10M, 1G; "                                \
	     "the program goes on",                                                                  \
	     offsetof(type, max_bytes)},                                                             \
	    {AF_OPT_SIZE,                                                                            \
	     "ring",                                                                                 \
	     0,                                                                                      \
	     "SIZE",                                                                                 \
	     "keep only the newest events, within this size",                                        \
	     offsetof(type, ring_bytes)},                                                            \
	    {AF_OPT_STRING,                                                                          \
	     "ctl",                                                                                  \
	     0,                                                                                      \
	     "FIFO",                                                                                 \
	     "read commands from FIFO: on, off, snapshot [DIR], stop, "                              \
	     "status; answers are in FIFO.ack",                                                      \
	     offsetof(type, ctl)},                                                                   \
	    {AF_OPT_STRING,                                                                          \
	     "ranks",                                                                                \
	     0,                                                                                      \
	     "LIST",                                                                                 \
	     "record these ranks of the job, 0-3,64; the others run as without aflame",              \
	     offsetof(type, selection.ranks)},                                                       \
	    {AF_OPT_STRING,                                                                          \
	     "hosts",                                                                                \
	     0,                                                                                      \
	     "HOSTS",                                                                                \
	     "record the ranks of one host, the first (one), or of these: NAME,NAME",                \
	     offsetof(type, selection.hosts),                                                        \
	     "one"},                                                                                 \
	    {AF_OPT_U64,                                                                             \
	     "every",                                                                                \
	     0,                                                                                      \
	     "N",                                                                                    \
	     "record every Nth rank, from 0 on",                                                     \
	     offsetof(type, selection.every)},                                                       \
	    {AF_OPT_STRING,                                                                          \
	     "groups",                                                                               \
	     0,                                                                                      \
	     "FILE",                                                                                 \
	     "groups of ranks for reports: dp=3,tp=0, or FILE with lines `RANKS KEY=VALUE…` or "   \
	     "`HOST KEY=VALUE…` ($AFLAME_GROUPS)",                                                   \
	     offsetof(type, groups)},                                                                \
	    {AF_OPT_STRING,                                                                          \
	     "pid",                                                                                  \
	     'p',                                                                                    \
	     "PID[,PID]",                                                                            \
	     "record running processes and their later children",                                    \
	     offsetof(type, pids)},                                                                  \
	    {AF_OPT_FLAG, "all", 'a', NULL, "record all processes", offsetof(type, all)},            \
	    {AF_OPT_OPTIONAL,                                                                        \
	     "off-cpu",                                                                              \
	     0,                                                                                      \
	     "WHAT",                                                                                 \
	     "also record where threads were off the CPU; wakers: and who woke them",                \
	     offsetof(type, off_cpu),                                                                \
	     "blocked|wakers"},                                                                      \
	    {AF_OPT_LIST,                                                                            \
	     "uprobe",                                                                               \
	     0,                                                                                      \
	     "LIB:FUNC",                                                                             \
	     "also record the calls of a function, or of all that match a pattern, with stacks: "    \
	     "libz.so.1:deflate, -:my_function (- is the program); with times, "                     \
	     "LIB:FUNC+RETURN; with a stack for one call in N of a thread, LIB:FUNC@1/N, "           \
	     "LIB:FUNC+RETURN@1/N; may be given again",                                              \
	     offsetof(type, uprobes)},                                                               \
	    {AF_OPT_FLAG,                                                                            \
	     "alloc",                                                                                \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "also record where the program allocates memory, and which of it is in use at the "     \
	     "end",                                                                                  \
	     offsetof(type, alloc)},                                                                 \
	    {AF_OPT_TIME,                                                                            \
	     "min-block",                                                                            \
	     0,                                                                                      \
	     "TIME",                                                                                 \
	     "leave out times off the CPU that are shorter",                                         \
	     offsetof(type, min_block_ns)},                                                          \
	    {AF_OPT_FLAG,                                                                            \
	     "no-python",                                                                            \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "do not read Python frames",                                                            \
	     offsetof(type, no_python)},                                                             \
	    {AF_OPT_FLAG,                                                                            \
	     "verify",                                                                               \
	     0,                                                                                      \
	     NULL,                                                                                   \
	     "walk every replayed stack again and compare (slow)",                                   \
	     offsetof(type, verify)},                                                                \
	    {AF_OPT_FLAG, "quiet", 'q', NULL, "no summary", offsetof(type, quiet)},                  \
	{                                                                                            \
		AF_OPT_FLAG, "live", 0, NULL, "show the hottest functions while recording",          \
		    offsetof(type, live)                                                             \
	}

extern const struct af_record_options af_record_defaults;

/* The recording command, and the result of a recording. */
struct af_recorded {
	const char *who; /* the command, for messages */
	struct af_job_rank job;
	struct af_launch launch;
	char dir[1024]; /* the trace, "" when there is no whole one */
	bool unnamed;   /* it has no names yet */
	int pid;        /* that the program had; 0: it was not started */
};

/*
 * Record @words as a program. When this returns, the trace is symbolized and closed. Returns the
 * exit status that the program would have given to a shell, or < 0 when it could not be run. When
 * the program cannot be recorded this does not return: the program takes this process's place. When
 * the trace is not complete, a line on standard error tells why. With o->strict, or without a
 * program, both are failures.
 */
int af_record(const struct af_record_options *o, int nr_words, char **words,
              struct af_recorded *done, struct af_err *err);

struct af_recording;

/*
 * The end of af_record(): the program has ended, or with r->hurry.left is still to be waited for.
 * Completes the trace and closes the recording. Returns as af_record() does.
 */
int af_record_end(const struct af_record_options *o, struct af_recording *r, char **words,
                  struct af_recorded *done, struct af_err *err);

/*
 * The program has ended with @status, and the use of its trace failed with @rc < 0: with o->strict
 * that is the result; otherwise the failure is printed, and @status is the result.
 */
int af_record_failed(const struct af_record_options *o, const char *who, int status, int rc,
                     const struct af_err *err);

/*
 * Give the trace in @dir, which is complete, to the user that sudo(8) names in SUDO_UID and
 * SUDO_GID, if we are root and there is one. Only what root owns changes hands, no link is
 * followed, and what cannot be given stays root's.
 */
void af_sudo_owner_give(const char *dir);

/* @dir, an absolute path, as the user would write it from the working directory. */
const char *af_record_shown(const char *dir);

#endif
