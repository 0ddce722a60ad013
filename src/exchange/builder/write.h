/*
 * Shared by the files that write a builder's trace.
 */
#ifndef AF_EXCHANGE_BUILDER_WRITE_H
#define AF_EXCHANGE_BUILDER_WRITE_H

#include "base/keys.h"
#include "base/map.h"
#include "base/sha256.h"
#include "exchange/builder/builder.h"
#include "trace/write/stream.h"

/* A definition that gets an id in a process when it is first used there. */
struct builder_use {
	uint32_t process, what, id;
};

struct builder_uses {
	struct af_map by_what;   /* process and what → id */
	struct builder_use *all; /* in the order of their ids, within a process */
	uint32_t nr, cap;
	struct af_map last; /* process → last id */
};

struct builder_queue {
	uint32_t device, context, stream;
};

/* Work whose call is not known, while the operator that it belongs to is. */
struct builder_orphan {
	uint32_t space, external, correlation;
	uint32_t process; /* index; UINT32_MAX: there is no such operator */
	uint64_t work;
};

struct builder_writer {
	struct af_builder *builder;
	int dirfd;
	struct af_stream stream; /* the one being written */
	uint32_t nr_streams;     /* so far: also marks the definitions of the current one */
	uint64_t begin_ns, end_ns;
	uint64_t shift_ns; /* added to all times, so that none is 0 */
	int error;
	struct builder_uses frames, functions, kernels, queues, devices, codes, reasons;
	struct builder_queue *queue_list; /* the uses of queues are indexes in it */
	uint32_t nr_queues, cap_queues;
	struct af_keys by_queue;
	uint32_t *descriptor_defined; /* by descriptor: in which stream */
	bool *code_written;
	char listing[AF_SHA256_HEX]; /* object with the listing of all known code */
	uint64_t listing_size;
	uint32_t nr_mappings;           /* written so far */
	struct builder_orphan *orphans; /* by space, operator, correlation */
	uint64_t nr_orphans, cap_orphans;
};

/* The id of @what in @process, from 1. */
uint32_t builder_use(struct builder_uses *u, uint32_t process, uint32_t what);

/* Open a stream, one at a time: @name gets @number appended. */
void builder_stream_open(struct builder_writer *w, const char *name, uint32_t number,
                         uint32_t process, uint32_t tid);
void builder_stream_close(struct builder_writer *w);

/* Put one event with up to two strings behind the fixed part. */
void builder_put(struct builder_writer *w, enum af_kind kind, uint64_t time_ns, const void *fixed,
                 size_t size, const char *first, const char *second);

/* Define the stack of @node in the current stream, of process index @process. */
void builder_define_stack(struct builder_writer *w, uint32_t process, uint32_t node,
                          uint64_t time_ns);
void builder_define_kernel_stack(struct builder_writer *w, uint32_t node, uint64_t time_ns);

/* The same for a stack of addresses, the @kernel's or a process's. */
void builder_define_addresses(struct builder_writer *w, uint32_t node, bool kernel,
                              uint64_t time_ns);

/* Sort the mappings by process, and write those of one process. */
void builder_sort_mappings(struct af_builder *d);
void builder_write_mappings(struct builder_writer *w, uint32_t process);

/* The first orphan of operator @external, or NULL; the operator's other orphans follow it. */
struct builder_orphan *builder_orphans(const struct builder_writer *w, uint32_t space,
                                       uint32_t external);

/* The id of the queue in @process, defined with its device. */
uint32_t builder_queue_use(struct builder_writer *w, uint32_t process,
                           const struct builder_queue *q);

/*
 * Keep the listing of all code as an object of the trace, and define its PROGRAM in a @process that
 * has code.
 */
void builder_write_listing(struct builder_writer *w, uint32_t process);
void builder_write_code(struct builder_writer *w, const struct builder_use *u);
void builder_write_reason(struct builder_writer *w, const struct builder_use *u);

/* Order by thread and time, outer ones first; of equal ones: ranges, Python, operators, calls. */
int builder_slice_order(const void *a, const void *b);

/* Open the stream @file of a thread and define the thread. */
void builder_thread_open(struct builder_writer *w, const char *file, uint32_t thread);

/* The streams of threads, of samples, of device work, of its memory. */
void builder_write_threads(struct builder_writer *w);
void builder_write_samples(struct builder_writer *w);
void builder_write_sums(struct builder_writer *w);
void builder_write_works(struct builder_writer *w);
void builder_write_memories(struct builder_writer *w);
void builder_write_stalls(struct builder_writer *w);

/* The function at whose entry @s was taken, of names; 0: it is a sample. */
uint32_t builder_call_of(const struct af_builder *d, const struct af_builder_sample *s);

/* The call category of the function (enum af_call_category), by its name. */
uint32_t builder_function_category(const char *name);

/* The API that it belongs to, likewise. */
enum af_api builder_function_api(const char *name);

#endif
