/*
 * Shared by the files that write a draft.
 */
#ifndef AF_EXCHANGE_BUILDER_WRITE_H
#define AF_EXCHANGE_BUILDER_WRITE_H

#include "base/keys.h"
#include "base/map.h"
#include "base/sha256.h"
#include "exchange/builder/builder.h"
#include "trace/write/stream.h"

/* A definition that gets an id in a process when it is first used there. */
struct draft_use {
	uint32_t process, what, id;
};

struct draft_uses {
	struct af_map by_what; /* process and what → id */
	struct draft_use *all; /* in the order of their ids, within a process */
	uint32_t nr, cap;
	struct af_map last; /* process → last id */
};

struct draft_queue {
	uint32_t device, context, stream;
};

/* Work whose call is not known, while the operator that it belongs to is. */
struct draft_orphan {
	uint32_t space, external, correlation;
	uint32_t process; /* index; UINT32_MAX: there is no such operator */
	uint64_t work;
};

struct draft_writer {
	struct af_draft *draft;
	int dirfd;
	struct af_stream stream; /* the one being written */
	uint32_t nr_streams;     /* so far: also marks the definitions of the current one */
	uint64_t begin_ns, end_ns;
	uint64_t shift_ns; /* added to all times, so that none is 0 */
	int error;
	struct draft_uses frames, functions, kernels, queues, devices, codes, reasons;
	struct draft_queue *queue_list; /* the uses of queues are indexes in it */
	uint32_t nr_queues, cap_queues;
	struct af_keys by_queue;
	uint32_t *shape_defined; /* by shape: in which stream */
	bool *code_written;
	char listing[AF_SHA256_HEX]; /* object with the listing of all known code */
	uint64_t listing_size;
	uint32_t nr_mappings;         /* written so far */
	struct draft_orphan *orphans; /* by space, operator, correlation */
	uint64_t nr_orphans, cap_orphans;
};

/* The id of @what in @process, from 1. */
uint32_t draft_use(struct draft_uses *u, uint32_t process, uint32_t what);

/* Open a stream, one at a time: @name gets @number appended. */
void draft_stream_open(struct draft_writer *w, const char *name, uint32_t number, uint32_t process,
                       uint32_t tid);
void draft_stream_close(struct draft_writer *w);

/* Put one event with up to two strings behind the fixed part. */
void draft_put(struct draft_writer *w, enum af_kind kind, uint64_t time_ns, const void *fixed,
               size_t size, const char *first, const char *second);

/* Define the stack of @node in the current stream, of process index @process. */
void draft_define_stack(struct draft_writer *w, uint32_t process, uint32_t node, uint64_t time_ns);
void draft_define_kernel_stack(struct draft_writer *w, uint32_t node, uint64_t time_ns);

/* The same for a stack of addresses, the @kernel's or a process's. */
void draft_define_addresses(struct draft_writer *w, uint32_t node, bool kernel, uint64_t time_ns);

/* Sort the mappings by process, and write those of one process. */
void draft_sort_mappings(struct af_draft *d);
void draft_write_mappings(struct draft_writer *w, uint32_t process);

/* The first orphan of operator @external, or NULL; the operator's other orphans follow it. */
struct draft_orphan *draft_orphans(const struct draft_writer *w, uint32_t space, uint32_t external);

/* The id of the queue in @process, defined with its device. */
uint32_t draft_queue_use(struct draft_writer *w, uint32_t process, const struct draft_queue *q);

/*
 * Keep the listing of all code as an object of the trace, and define its PROGRAM in a @process that
 * has code.
 */
void draft_write_listing(struct draft_writer *w, uint32_t process);
void draft_write_code(struct draft_writer *w, const struct draft_use *u);
void draft_write_reason(struct draft_writer *w, const struct draft_use *u);

/* Order by thread and time, outer ones first; of equal ones: ranges, Python, operators, calls. */
int draft_slice_order(const void *a, const void *b);

/* Open the stream @file of a thread and define the thread. */
void draft_thread_open(struct draft_writer *w, const char *file, uint32_t thread);

/* The streams of threads, of samples, of device work, of its memory. */
void draft_write_threads(struct draft_writer *w);
void draft_write_samples(struct draft_writer *w);
void draft_write_sums(struct draft_writer *w);
void draft_write_works(struct draft_writer *w);
void draft_write_memories(struct draft_writer *w);
void draft_write_stalls(struct draft_writer *w);

/* The function at whose entry @s was taken, of names; 0: it is a sample. */
uint32_t draft_call_of(const struct af_draft *d, const struct af_draft_sample *s);

/* The call category of the function (enum af_does), by its name. */
uint32_t draft_function_does(const char *name);

#endif
