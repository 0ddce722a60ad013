/*
 * Shared by the files of gen_set, which makes a set of traces of a job that never ran:
 *
 *	gen_set.c        options, the loop over ranks, the truth as JSON
 *	gen_set_times.c  when the ranks of the job do what
 *	gen_set_calls.c  payloads of calls of MPI
 *	gen_set_paths.c  call paths and their names
 *	gen_set_trace.c  the trace of one rank
 */
#ifndef AF_TESTS_GEN_SET_H
#define AF_TESTS_GEN_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/stream.h"

enum { SET_LISTED = 64, SET_PATHS = 64, SET_DEPTH = 8, SET_KERNELS = 16, SET_SAMPLES = 4 };

/* Call paths beyond SET_PATHS: of calls, and of what a straggler does more. */
enum set_path { PATH_MPI = SET_PATHS + 1, PATH_CUDA, PATH_SLOW, PATH_DISK, PATH_END };

enum set_call { CALL_INIT, CALL_SEND, CALL_RECV, CALL_ALLREDUCE, CALL_FINALIZE, CALLS };

enum set_slow { SLOW_NOT, SLOW_CPU, SLOW_GPU, SLOW_DISK };

/* Ranks that an option names, each as often as it is given. */
struct set_list {
	uint32_t nr, ranks[SET_LISTED];
};

struct set_options {
	const char *dir;
	uint32_t ranks, hosts, messages;
	uint64_t bytes, seed;
	double offset_ms, drift_ppm, latency_us, jitter_us, asymmetry;
	bool no_messages, no_collectives, no_boot_id;
	enum set_slow slow; /* why stragglers are slow */
	struct set_list stragglers, dead, truncated, version, duplicate;
};

/* A clock: it stands at base_ns + (1 + drift) t at the time t of the job. */
struct set_host {
	char name[32], boot_id[40];
	int64_t base_ns;
	double drift;
	int64_t realtime_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC, at the start */
};

struct set_job {
	struct set_options o;
	struct set_host *hosts;
	uint64_t *steps; /* when the last rank has left the collective before each step */
	uint32_t nr_steps, launches;
};

/* The step of a rank, in the time of the job. */
struct set_step {
	uint64_t begin, computed, cpu_ns, slow_ns, disk_ns, gpu_ns;
	uint64_t send_begin, send_end, receive_begin, receive_end, enter, leave;
	uint32_t to, from;
};

bool set_has(const struct set_list *list, uint32_t rank);
uint32_t set_host_of(const struct set_job *j, uint32_t rank);

/* A number of 64 bits for three others and the seed; one from 0 to 1; a time with a mean. */
uint64_t set_random(const struct set_job *j, uint64_t a, uint64_t b, uint64_t c);
double set_unit(const struct set_job *j, uint64_t a, uint64_t b, uint64_t c);
double set_tail(const struct set_job *j, double mean, uint64_t a, uint64_t b, uint64_t c);

/* Choose clocks, and when each step begins; both are freed with the job. */
void set_job_make(struct set_job *j);
uint64_t set_clock(const struct set_host *h, uint64_t ns);
void set_step_of(const struct set_job *j, uint32_t rank, uint32_t step, struct set_step *is);
uint64_t set_kernel_ns(const struct set_job *j, uint32_t rank, uint64_t launch);

/* Call paths in @s; their functions and names in @names; the function that a path ends in. */
void set_paths_define(struct af_stream *s, uint64_t now);
void set_paths_name(struct af_stream *names, uint64_t now);
void set_path_leaf(uint32_t path, char name[32]);

/* A call of MPI by the clock of the rank. Returns its time. */
struct set_message {
	uint32_t peer, tag, bytes;
};
uint64_t set_call_put(struct af_stream *s, enum set_call call, uint64_t begin, uint64_t end,
                      const struct set_message *m);
const char *set_call_name(enum set_call call);

/* Sums over all ranks, exact. */
struct set_sum {
	uint64_t count, ns;
};
struct set_truth {
	struct set_sum calls[CALLS], launch, wait, kernels[SET_KERNELS], paths[PATH_END];
	uint64_t disk_ns, bytes;
};

/* Write the trace of @rank to the directory @name of @dirfd: 0 or -errno. */
int set_trace_write(const struct set_job *j, uint32_t rank, int dirfd, const char *name,
                    struct set_truth *truth);

#endif
