/*
 * Shared by the files that read Nsight Systems' SQLite export: the names of its schema for rows of
 * a table, and the processes and threads they belong to. Ids of threads are serialized there: 24
 * bits of the process above 24 of the thread.
 */
#ifndef AF_EXCHANGE_NSYS_NSYS_H
#define AF_EXCHANGE_NSYS_NSYS_H

#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"
#include "exchange/builder/builder.h"
#include "exchange/nsys/sqlite_read.h"

enum { NSYS_GLOBAL_BITS = 24 };
#define NSYS_ID_MASK ((INT64_C(1) << NSYS_GLOBAL_BITS) - 1)

struct import_nsys {
	struct af_builder *builder;
	struct sqlite_db *db;
	uint32_t number;              /* of the file */
	uint32_t first_space;         /* of its processes, 0: none yet */
	uint64_t epoch_ns;            /* added to all times */
	struct af_map strings;        /* id → name of the builder */
	struct af_map spaces;         /* pid → where its correlations mean something */
	struct af_map chains;         /* of calls: id → stack */
	struct af_keys unwound;       /* process and correlation of a call → id of its stack */
	struct af_keys called;        /* the same → that there is the call itself */
	uint64_t last_chain;          /* greatest id of a call's stack */
	uint64_t last_called;         /* greatest that a call has */
	bool calls_first_chain;       /* one has the id 0 */
	struct af_keys graph_nodes;   /* process and id → index + 1 */
	struct nsys_samples *samples; /* while these are read */
	struct nsys_waits *waits;     /* the same */
	struct nsys_devices *devices; /* the same */
	struct af_map domains;        /* of NVTX: process and id → name */
	uint32_t nr_started;          /* ranges of NVTX that begin and end by themselves */
	struct af_buf unused;         /* tables, with their rows */
	char *complaint;
	size_t complaint_size;
};

/* Give the rows of @table to @take; errors in it are described in the complaint. */
void nsys_table(struct import_nsys *in, const char *table, const char *order,
                const char *const *columns,
                void (*take)(struct import_nsys *in, const struct sqlite_rows *rows));

/*
 * The builder's name for the string id in @column of the row; 0 when it is NULL or unknown, and an
 * unknown id is counted.
 */
uint32_t nsys_string(struct import_nsys *in, const struct sqlite_rows *rows, int column);
/* The builder's process or thread of a serialized id. UINT32_MAX: too many threads. */
uint32_t nsys_space(struct import_nsys *in, int64_t global);
uint32_t nsys_thread(struct import_nsys *in, int64_t global);
void nsys_main_thread(struct import_nsys *in, int64_t global_pid);
/* Columns 0 and 1 as times of the trace. False, and counted: they are invalid. */
bool nsys_times(struct import_nsys *in, const struct sqlite_rows *rows, uint64_t *start_ns,
                uint64_t *busy_ns);
/* Column 0 alone. */
bool nsys_time(struct import_nsys *in, const struct sqlite_rows *rows, uint64_t *time_ns);

/* Read the stacks of CUDA calls, then the calls, then the device work. */
void nsys_cuda(struct import_nsys *in);
/* Read which calls made the nodes of graphs. */
void nsys_graphs(struct import_nsys *in);
/* The node of a graph with that id in the process of @space, as af_builder_work has it. */
uint32_t nsys_graph_node(struct import_nsys *in, uint32_t space, int64_t id);
/* The id that stands for the whole graph in @column, 0: none. */
int64_t nsys_graph_whole(const struct sqlite_rows *rows, int column);
/* Ranges and marks that the program named. */
void nsys_nvtx(struct import_nsys *in);
/* Samples of threads, with their stacks. */
void nsys_samples(struct import_nsys *in);
/* Read the names of the devices that the processes used. */
void nsys_devices(struct import_nsys *in);
/* Read when threads were off the CPUs, and in which calls. */
void nsys_waits(struct import_nsys *in);

/* Stacks by their ids: in this order of rows they grow from the root. */
#define NSYS_CHAIN_ORDER "id, stackDepth DESC"
extern const char *const nsys_chain_columns[];
/*
 * Put the frame of a row of the columns above inside the stack of its id, in @stacks: id → node of
 * the builder.
 */
void nsys_chain_add(struct import_nsys *in, struct af_map *stacks, const struct sqlite_rows *rows);
/*
 * The part of @stack that called @function, which @stack ends in, without frames that the function
 * itself called; all of @stack if it has no such frame.
 */
uint32_t nsys_stack_to(const struct import_nsys *in, uint32_t stack, uint32_t function);

#endif
