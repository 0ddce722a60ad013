/*
 * A trace builder: it makes a trace from the data of another profiler. Importers add processes,
 * threads, slices, samples and device work in any order. When all is there, af_builder_write()
 * sorts it and writes a trace directory that all commands read. Memory is about 32 bytes an entry.
 *
 *	af_builder_open → { af_builder_… }* → af_builder_write → af_builder_close
 *
 * Most frames of other profilers have names and no addresses (addresses.h is for those that have
 * some); docs/format.md, "Imported traces", describes how they stand in the trace. Times are
 * nanoseconds since 1970 or since the start of whatever clock the file uses. Out of memory ends the
 * program. One thread at a time.
 */
#ifndef AF_EXCHANGE_BUILDER_BUILDER_H
#define AF_EXCHANGE_BUILDER_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strtab.h"
#include "exchange/builder/addresses.h"
#include "exchange/builder/stalls.h"
#include "trace/layout.h"

struct af_err;

enum {
	AF_BUILDER_THREADS = 1 << 14, /* each becomes a file */
	AF_BUILDER_DEPTH = 1024,      /* frames of a stack: inner ones are left out */
};

enum af_builder_frame {
	AF_BUILDER_NATIVE,
	AF_BUILDER_PYTHON,  /* "file.py(12): function" */
	AF_BUILDER_KERNEL,  /* of the operating system */
	AF_BUILDER_INLINED, /* into the native frame outside of it, at one address with it */
};

/* The kind of an interval on a thread. */
enum af_builder_slice_kind {
	AF_BUILDER_OP = AF_BUILDER_NATIVE,       /* is a frame of what it encloses */
	AF_BUILDER_FUNCTION = AF_BUILDER_PYTHON, /* so is this */
	AF_BUILDER_RANGE = 2,                    /* RANGE, no frame */
	AF_BUILDER_CALL = 3, /* CALL of a device API; its name is the function's */
	/* RANGE and frame: its own time is the time outside of all inner frames */
	AF_BUILDER_SPAN = 4,
	/*
	 * Without a length: the start of a RANGE, and its end, which may be on another thread and
	 * in another domain (external is its number); and a moment.
	 */
	AF_BUILDER_START = 5,
	AF_BUILDER_END = 6,
	AF_BUILDER_MARK = 7,
	/* a node was added to a graph; correlation is its index in graph_nodes */
	AF_BUILDER_NODE = 8,
	/*
	 * Without a length: the thread is back on a CPU. busy_ns is the time that it was off
	 * before, correlation the reason (enum af_thread_state), and the enclosing slices tell
	 * where.
	 */
	AF_BUILDER_BACK = 9,
	/* a call of a library without devices: a frame of what it encloses */
	AF_BUILDER_LIBRARY = 10,
};

/* Reasons why data could not be used: D(NAME, what is counted). */
#define AF_BUILDER_UNUSED(D)                                                                       \
	D(OTHER, "events of kinds that have no place in a trace")                                  \
	D(FIELDS, "events without a time, name or thread that could be read")                      \
	D(TIMES, "events with times that cannot be")                                               \
	D(LINES, "lines that are no samples")                                                      \
	D(TEXTS, "names that were cut, as they are longer than 8 kB")                              \
	D(THREADS, "events of threads beyond the first 16384")                                     \
	D(DEPTH, "frames deeper than 1024")                                                        \
	D(OVERLAPS, "slices that end after the one they began in: cut there")                      \
	D(HALVES, "slices of which the file has the beginning or the end only")                    \
	D(NESTED, "calls inside of a call with the same correlation")                              \
	D(UNASKED, "pieces of device work without a call or operator in the file: no stack")       \
	D(CORRELATIONS, "correlations of more than 32 bits")                                       \
	D(STRINGS, "references to strings that the file does not have")                            \
	D(FRAMES, "references to frames that the file does not have")                              \
	D(VALUES, "values below zero, too large, or in no unit that is known")                     \
	D(FRACTIONS, "numbers with a fraction, which was cut off")                                 \
	D(ROOTS, "lines of processes beyond the first 1000: below [others]")                       \
	D(LABELS, "labels that have no place in a trace")                                          \
	D(WEIGHTS, "values of further kinds: a trace has one of time, samples, count, bytes")      \
	D(EVENTS, "samples of other events than the one that is used")                             \
	D(VM, "frames of guests of a virtual machine")                                             \
	D(MAPPINGS, "mappings of a process beyond the first 65536")

enum af_builder_unused {
#define AF_D(NAME, text) AF_BUILDER_##NAME##_UNUSED,
	AF_BUILDER_UNUSED(AF_D)
#undef AF_D
	    AF_BUILDER_UNUSED_END
};

struct af_builder_slice {
	uint64_t start_ns, busy_ns;
	uint32_t name;        /* of names */
	uint32_t thread;      /* index, 24 bits; kind above */
	uint32_t correlation; /* of a call, 0: none; of a range, its domain, of names */
	/*
	 * Id of an operator, 0: none; of a range, see above. Of a call: the known stack of the
	 * call, 0: the enclosing slices. Of spans that begin and end together: the inner one's is
	 * greater.
	 */
	uint32_t external;
};

/* An operator that runs backwards for one that ran forwards. The times identify both operators. */
struct af_builder_link {
	uint64_t forward_ns, backward_ns;
	uint32_t forward_thread, backward_thread;
};

struct af_builder_work {
	uint64_t start_ns, busy_ns;
	uint32_t descriptor; /* index in descriptors */
	uint32_t correlation;
	uint32_t space; /* of ids; once written: index of its process */
	/* Correlation of the operator that it belongs to, where its call is not known; 0: none */
	uint32_t external;
	uint32_t node; /* of the graph that was launched: index in graph_nodes + 1; 0: none */
};

/* Memory of a device was allocated or freed. */
struct af_builder_memory {
	uint64_t time_ns, address, bytes;
	uint32_t process, device; /* index; number */
	uint32_t correlation;
	uint8_t category, memory; /* enum af_call_category: ALLOC or FREE; enum af_memory */
};

struct af_builder_device_note {
	uint32_t key, value; /* of names */
	uint32_t before;     /* of the same device: index + 1; 0: it is the first */
};

struct af_builder_graph_node {
	uint32_t graph;    /* as the runtime numbers them */
	uint32_t original; /* node it is a clone of: index in graph_nodes + 1; 0: none */
};

struct af_builder_sample {
	uint64_t time_ns;
	uint64_t weight_ns;                 /* 0: the weight of all samples of the import */
	uint64_t count;                     /* of a counted sample */
	uint32_t thread, node, kernel_node; /* 0: none */
	uint32_t cpu;
	/* Taken at the entry of the leaf, which launches kernels: it is a call, not a sample. */
	bool at_launch;
	/* private: name of the function that it is a call of; 0: it is a sample */
	uint32_t function;
	/*
	 * Taken by an event that is not a clock. It weighs @count of af_builder_count_unit() (0:
	 * not known), and weight_ns is the time between two samples (0: not known), not a weight.
	 */
	bool counted;
};

/* Sums for a stack, without a moment of their own: @time_ns is when they were added up. */
struct af_builder_sum {
	uint64_t time_ns;
	uint64_t busy_ns, samples, count, bytes, off_cpu_ns;
	uint32_t thread, node;
};

/* A frame of a stack. Texts are of names, 0: not known. */
struct af_builder_frame_of {
	uint32_t name, kind; /* enum af_builder_frame */
	uint32_t module, file, line;
	uint32_t outer; /* private: of an INLINED frame, index in frames of the one outside */
};

/* A work descriptor. Without padding, because it is compared as bytes. */
struct af_builder_descriptor {
	uint64_t bytes;
	uint64_t global[3];
	uint32_t local[3];
	uint32_t op, kernel; /* kernel: of names, 0 for none */
	uint32_t device, context, stream;
	uint32_t registers, shared; /* bytes of a block, static and dynamic */
};

struct af_builder_process {
	uint32_t space; /* the file it comes from; correlations are unique in a space */
	uint32_t pid;
	uint32_t exe;     /* of names */
	uint32_t threads; /* how many */
	uint32_t api;     /* enum af_api of its devices, 0: CUDA */
	uint32_t parent;  /* index + 1 of the process that forked it, whose code it has; 0: none */
};

struct af_builder_thread {
	uint32_t process; /* index */
	uint32_t tid;
	uint32_t name; /* of names */
};

struct af_builder_node {
	uint32_t parent, frame; /* frame: index in frames */
	uint32_t depth;
	uint32_t defined; /* private to the writer: the stream in which it is defined */
};

struct af_builder {
	struct af_strtab names;
	struct af_builder_process *processes;
	struct af_builder_thread *threads;
	struct af_builder_slice *slices;
	struct af_builder_work *works;
	struct af_builder_sample *samples;
	struct af_builder_link *links;
	struct af_builder_descriptor *descriptors;
	struct af_builder_node *nodes; /* 0: none */
	struct af_builder_frame_of *frames;
	struct af_builder_sum *sums;
	struct af_builder_graph_node *graph_nodes;
	struct af_builder_memory *memories;
	struct af_builder_device_note *device_notes;
	uint64_t nr_slices, cap_slices, nr_works, cap_works, nr_samples, cap_samples;
	uint64_t nr_links, cap_links, nr_sums, cap_sums, nr_memories, cap_memories;
	uint32_t nr_processes, cap_processes, nr_threads, cap_threads, nr_descriptors,
	    cap_descriptors;
	uint32_t nr_nodes, cap_nodes, nr_frames, cap_frames;
	uint32_t nr_graph_nodes, cap_graph_nodes, nr_device_notes, cap_device_notes;
	struct af_map by_process, by_thread, by_descriptor, by_node, by_frame;
	struct af_map device_names; /* space and device → name */
	struct af_map noted;        /* the same → its last note: index + 1 */
	struct af_map ranks;        /* space → rank of its processes, of names */
	struct af_builder_stalls stalls;
	struct af_builder_addresses addresses;
	/* The event asked for: only its samples are used; NULL: the best event */
	const char *event;
	/* Added to the times gives the epoch's, 0: they are already, or it is not known */
	uint64_t epoch_ns;
	uint64_t lost;    /* samples that the kernel lost */
	const char *unit; /* unit of the numbers of folded text; NULL: samples */
	uint64_t sample_weight_ns;
	/* When the recorded time begins, if the files tell it; 0: at the first event. */
	uint64_t begin_ns;
	bool calls;        /* samples at the entry of a function of CUDA are calls of it */
	uint64_t nr_calls; /* of the samples: those that are calls */
	uint64_t unused[AF_BUILDER_UNUSED_END];
	uint64_t damaged; /* places where a file could not be understood */
	bool unparsed;    /* most lines of a file are not of its format */
	struct af_builder_note {
		char *key, *value;
	} * notes;
	uint32_t nr_notes, cap_notes;
};

/* An empty builder. */
void af_builder_open(struct af_builder *d);
void af_builder_close(struct af_builder *d); /* a zeroed one is fine */

/* A fact about the import for people, as a NOTE. */
void af_builder_note(struct af_builder *d, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The unit of the count of samples and sums: "cycles", "contentions". Where files have several, it
 * is "events", since counts are added up.
 */
void af_builder_count_unit(struct af_builder *d, const char *unit);

/* The id of a name; a byte that a trace cannot hold in a string ends it. */
uint32_t af_builder_name(struct af_builder *d, const char *text, size_t len);

/* A new process, even if an earlier one had the same pid. */
uint32_t af_builder_process_new(struct af_builder *d, uint32_t space, uint32_t pid);

/* The id of a text of any length: cut where it is too long, which is counted. */
uint32_t af_builder_text(struct af_builder *d, const char *text, size_t len);

/* Indexes, made when new. UINT32_MAX: one thread too many, which is counted. */
uint32_t af_builder_process(struct af_builder *d, uint32_t space, uint32_t pid);
uint32_t af_builder_thread(struct af_builder *d, uint32_t process, uint32_t tid);

/* Can a trace hold these times? Counted when not. */
bool af_builder_times(struct af_builder *d, uint64_t start_ns, uint64_t busy_ns);

/* The stack @parent (0: empty) and @name inside of it; @parent itself when that is too deep. */
uint32_t af_builder_node(struct af_builder *d, uint32_t parent, uint32_t name,
                         enum af_builder_frame kind);
/*
 * The same with all that is known of the frame; INLINED is NATIVE where nothing native is outside.
 */
uint32_t af_builder_node_of(struct af_builder *d, uint32_t parent,
                            const struct af_builder_frame_of *frame);

/*
 * Add an entry: it is copied. An entry whose times a trace cannot hold is left out and counted. An
 * equal @descriptor is kept once.
 */
void af_builder_slice(struct af_builder *d, enum af_builder_slice_kind kind,
                      const struct af_builder_slice *s);
void af_builder_work(struct af_builder *d, const struct af_builder_work *w,
                     const struct af_builder_descriptor *descriptor);
void af_builder_sample(struct af_builder *d, const struct af_builder_sample *s);
void af_builder_sum(struct af_builder *d, const struct af_builder_sum *s);
void af_builder_link(struct af_builder *d, const struct af_builder_link *l);
void af_builder_memory(struct af_builder *d, const struct af_builder_memory *m);
/* Name device number @device of all processes of @space. */
void af_builder_device(struct af_builder *d, uint32_t space, uint32_t device, const char *name,
                       size_t len);

/* A fact about a device, as DEVICE_NOTE has them. */
void af_builder_device_note(struct af_builder *d, uint32_t space, uint32_t device, const char *key,
                            const char *value);

/* All processes of @space have this rank of a parallel job. */
void af_builder_rank(struct af_builder *d, uint32_t space, uint32_t rank);

/*
 * Split a Python frame's name, "file.py(12): function", as Kineto writes it. False: it has no such
 * parts (a built-in function, a module of torch.nn).
 */
bool af_builder_python(const char *name, size_t *file_len, int32_t *line, const char **function);

/* The number of events from the files that the trace will have. */
static inline uint64_t af_builder_nr(const struct af_builder *d)
{
	return d->nr_slices + d->nr_works + d->nr_samples + d->nr_sums + d->nr_memories +
	       d->stalls.nr;
}

/*
 * Write the trace into the directory @dirfd, which is empty. Data that turns out to be unusable is
 * counted meanwhile. Uses up the builder: only af_builder_close() may follow. 0, or -errno with a
 * message.
 */
int af_builder_write(struct af_builder *d, int dirfd, struct af_err *err);

/* The text of a reason, for people. */
const char *af_builder_unused_text(enum af_builder_unused unused);

#endif
