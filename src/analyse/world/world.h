/*
 * The definitions of a trace so far: processes, call paths, devices, names. Feed it every event
 * before the passes see it; passes look things up here. All memory is the world's and lives until
 * af_world_close().
 *
 * Ids of a stream become global here: a call path, a stack, a work descriptor has one dense index
 * in the world, from 1; 0 means not known.
 */
#ifndef AF_ANALYSE_WORLD_WORLD_H
#define AF_ANALYSE_WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/names/regions.h"
#include "analyse/world/annotations.h"
#include "analyse/world/time_range.h"
#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "trace/read/clock.h"
#include "trace/read/reader.h"

struct af_call;
struct af_err;
struct af_near;

struct af_note {
	const char *key, *value;
	struct af_note *next;
};

struct af_process {
	uint32_t ordinal, pid, ppid, parent;
	const char *exe, *cmdline;
	const char *comm;          /* the first one of its first thread, or "" */
	const char *name;          /* for people: see process_name() in who.c; or "" */
	const char *rank;          /* " rank 3", to be appended to its name and pid; or "" */
	struct af_note *notes;     /* cgroup, container, …; the latest first */
	uint32_t before;           /* the ordinal that had its pid earlier, 0: none */
	uint64_t start_ns, end_ns; /* 0: not in the trace */
	bool has_usage;
	uint32_t usage_source; /* enum af_usage_source: the best seen */
	int32_t status;
	uint64_t user_ns, kernel_ns, max_rss_bytes;
	bool has_own_peak; /* max_rss_bytes is the process's own figure */
};

/*
 * Of two images with one pid, was @next exec'd by @was? An image that did not end continues as the
 * next one, unless that one was forked, or began at the same time: several imported files may have
 * the same pid.
 */
static inline bool af_process_goes_on(const struct af_process *was, const struct af_process *next)
{
	return !next->parent && was->start_ns && was->start_ns < next->start_ns &&
	       (!was->end_ns || was->end_ns > next->start_ns);
}

struct af_thread {
	uint32_t process, tid;
	const char *name; /* its comm, the latest */
};

struct af_stack {
	uint32_t process, epoch;
	uint32_t stop; /* enum af_stop */
	uint32_t nr;
	const uint64_t *pcs; /* leaf first */
	uint64_t at_ns;      /* its addresses have the names of that time; 0: the first ones */
};

struct af_path {
	uint32_t stack, py_stack; /* world indexes, 0: none */
	uint32_t process;
	/* The same addresses with later names: so many paths from this index on, by time. */
	uint32_t later, nr_later;
};

struct af_symbol {
	uint32_t epoch;
	uint32_t module, source; /* module: string of the world */
	uint64_t offset;
	uint32_t nr_frames;
	const uint32_t *frames; /* function string, file string, line; innermost first */
	uint64_t from_ns;       /* it holds from then on, whatever the epoch; 0: a SYMBOL */
	struct af_symbol *next; /* of the same address, another epoch or time */
};

/* Where a function begins. */
struct af_function_source {
	uint64_t start;   /* of it or of a part of it, as offset above; 0: inlined, or not known */
	const char *file; /* of the source, or NULL */
	uint32_t line;
	uint32_t nr;                           /* with those that follow */
	const struct af_function_source *next; /* of the same module and name */
};

struct af_py_code {
	uint32_t version;
	int32_t first_line;
	const char *name, *file;
	const uint8_t *lines;
	uint32_t lines_len;
};

struct af_device {
	uint32_t process, id, parent, type, api;
	uint32_t processors;   /* multiprocessors or compute units; 0: not known */
	uint64_t memory_bytes; /* 0: not known */
	const char *name, *vendor, *driver;
};

struct af_queue {
	uint32_t process, id, device, context, flags;
	uint64_t handle; /* the runtime's own: for CUDA the number of the stream, in its context */
};

struct af_work_descriptor {
	uint32_t process;
	uint32_t device; /* of its queue, once af_work_device() found it; else 0 */
	uint32_t api;    /* of that device; enum af_api */
	uint32_t clock;  /* the device's, once af_work_place() found it: index plus 1; else 0 */
	struct af_ev_descriptor is;               /* ids as in the trace: of the process */
	const struct af_ev_launch_config *config; /* NULL: not known */
};

/* An address gets another name then. */
struct af_later {
	uint64_t from_ns;
	uint32_t before; /* another one of the address, of w->later; 0: none */
};

/* A captured object of device code. */
struct af_program {
	uint32_t process, id, device;
	uint32_t form;      /* enum af_object_form */
	uint32_t before;    /* another form of the same program, of w->programs; 0: none */
	uint64_t size;      /* bytes */
	const char *object; /* its name in objects/, or "" */
};

/* A function of device code, to which instruction samples refer. */
struct af_device_code {
	uint32_t process, id;
	uint32_t program; /* as the process numbers them, 0: the one with the crc */
	uint32_t symbol;  /* number in the object's symbol table, 0 not known */
	uint64_t crc;
	/*
	 * Strings of the world, as in the object: the function's own name; the name of the kernel
	 * that contains it, from "$kernel$function", else the same.
	 */
	uint32_t name, kernel;
	const char *shown; /* for people: demangled, and without its kernel */
};

/* An address of a process in device code that ran on the host. */
struct af_host_code {
	uint32_t process, epoch; /* epoch from which it holds, up to the next of the address */
	uint32_t code;           /* of w->codes, 0: from then on there is none */
	uint32_t kernel;         /* string of the world, 0: several have this code */
	uint32_t offset;         /* from the code's first byte */
	uint32_t before;         /* another entry for the address, of w->host_codes; 0: none */
};

/* A reason why instructions of a device stall. */
struct af_stall_reason {
	uint32_t process, id, device;
	uint32_t flags;   /* enum af_stall_flag */
	const char *name; /* the driver's */
	uint32_t issued;  /* its name without "_not_issued", a string of the world; 0: none */
};

/* A counter of a device, or of the host. */
struct af_counter {
	uint32_t process, id, device; /* device 0: the host's */
	uint32_t flags;               /* enum af_counter_flag */
	uint64_t per;                 /* so much of a value is one of `unit`; never 0 */
	const char *name, *unit, *group;
};

/* A function of a device API. */
struct af_function {
	uint32_t process, id, api;
	uint32_t category; /* enum af_call_category */
	const char *name;
};

/* A node of a graph of work, by one of its definitions. */
struct af_node {
	uint32_t process, id, graph;
	uint32_t original; /* node id it was cloned or updated from, 0 for none */
	uint32_t path;     /* call path of the world that made it; 0 for a clone */
	uint32_t before;   /* the definition that this one replaced, 0 for none */
	uint64_t since_ns;
};

/* Small ids of each stream, as most are, to indexes: found without a hash. */
struct af_small_ids {
	struct af_small_ids_stream {
		uint32_t *of; /* by id; 0: not defined, or found by the map alone */
		uint32_t cap, nr;
	} * streams;
	uint32_t cap;
};

/* The index of @id of @stream; 0 when it is not among them. */
static inline uint32_t af_small_find(const struct af_small_ids *ids, uint32_t stream, uint32_t id)
{
	const struct af_small_ids_stream *s = stream < ids->cap ? &ids->streams[stream] : NULL;

	return s && id < s->cap ? s->of[id] : 0;
}

struct af_world {
	struct af_arena arena;
	struct af_strtab strings;
	uint64_t first_ns, last_ns;    /* of the events of targets, and the last one's end */
	uint64_t opened_ns, closed_ns; /* of the recording; closed 0: it has no end, or not yet */
	uint64_t nr_events;
	/* Set before the first event by a caller that wants locations told apart by threads */
	bool threads_apart;
	struct af_region_names regions; /* after af_world_read_later() */
	bool stacks_left_out;           /* launches have stacks that end with AF_STOP_NOT_CHOSEN */
	struct af_time_range
	    time_range; /* the query's part; definitions outside of it are learnt too */

	struct af_process *processes; /* by ordinal; entry 0 is the recorder */
	uint32_t nr_processes;
	struct af_thread *threads;
	uint32_t nr_threads;
	struct af_stack *stacks;
	uint32_t nr_stacks;
	struct af_stack *py_stacks; /* pcs are PY_STACK frames */
	uint32_t nr_py_stacks;
	struct af_stack *kstacks; /* of the kernel: process and epoch are 0 */
	uint32_t nr_kstacks;
	struct af_path *paths;
	uint32_t nr_paths;
	struct af_work_descriptor *descriptors;
	uint32_t nr_descriptors;
	struct af_device *devices;
	uint32_t nr_devices;
	struct af_queue *queues;
	uint32_t nr_queues;
	struct af_function *functions;
	uint32_t nr_functions;
	struct af_node *nodes;
	uint32_t nr_nodes;
	struct af_program *programs;
	uint32_t nr_programs;
	struct af_device_code *codes;
	uint32_t nr_codes;
	struct af_stall_reason *stalls;
	uint32_t nr_stalls;
	struct af_counter *counters;
	uint32_t nr_counters;
	struct af_later *later; /* after af_world_read_later() */
	uint32_t nr_later, nr_later_paths;
	struct af_host_code *host_codes; /* after af_world_read_host_code() */
	uint32_t nr_host_codes;
	/* The call at hand, if whoever reads the trace has read it already, and its payload. */
	const struct af_call *call;
	const uint8_t *call_payload;
	struct af_clocks clocks; /* of the devices; a caller that needs them reads them first */
	struct af_annotations annotations; /* annotation contexts of threads */
	struct af_note *notes;             /* in order */
	struct af_note **notes_end;
	uint64_t lost[AF_LOST_END]; /* by reason */
	/* An id of a stream has had two meanings: what it means depends on the time. */
	bool redefined;
	/*
	 * The events are of one of several parts of the trace (pass/parts.c): of its time, which
	 * begins at 0 for the first part and ends at UINT64_MAX for the last one.
	 */
	bool in_part;
	uint64_t part_from_ns, part_to_ns;

	/* Set by the reader at the end. */
	uint64_t damaged_packets, damaged_bytes, trace_bytes;
	const char *damage; /* "" or a description of the first */

	/* private: (stream, id), (process, id) and the like to indexes */
	struct af_map by_stack, by_py_stack, by_path, by_descriptor, by_string;
	struct af_map by_py_code, by_kernel, by_device, by_queue, by_kstack, by_thread, by_pid,
	    by_gpu, by_pci;
	struct af_map by_ze; /* processes with a device of Level Zero's */
	struct af_small_ids small_paths, small_descriptors; /* of what those maps have */
	struct af_map by_function, by_node, by_program, by_code, by_stall, by_counter;
	struct af_keys by_kernel_code; /* process, kernel, code: it is a batch that runs it */
	struct af_keys by_crc, by_stall_name, by_made, by_address, by_symbol, by_later;
	struct af_map by_function_source; /* module and name, strings → the latest of the list */
	struct af_map by_mapping;         /* process and path → its build-id, a string */
	/* By low bits of a function's number: a key of by_function, and its function. */
	uint64_t api_seen[256];
	uint32_t api_function[256];
	uint32_t cap_processes, cap_threads, cap_stacks, cap_py_stacks, cap_kstacks, cap_paths,
	    cap_descriptors, cap_devices, cap_queues, cap_functions, cap_nodes, cap_programs,
	    cap_codes, cap_stalls, cap_counters, cap_host_codes, cap_later;
};

/* A zeroed struct is an empty world. */
void af_world_close(struct af_world *w);

/* The kinds that the world learns from: OR it into the mask given to af_trace_open(). */
#define AF_WORLD_WANTS                                                                             \
	(1ull << AF_KIND_LOST | 1ull << AF_KIND_NOTE | 1ull << AF_KIND_CLOCK |                     \
	 1ull << AF_KIND_PROCESS | 1ull << AF_KIND_PROCESS_END | 1ull << AF_KIND_STACK |           \
	 1ull << AF_KIND_PY_STACK | 1ull << AF_KIND_PY_CODE | 1ull << AF_KIND_CALLPATH |           \
	 1ull << AF_KIND_DEVICE | 1ull << AF_KIND_QUEUE | 1ull << AF_KIND_KERNEL |                 \
	 1ull << AF_KIND_DESCRIPTOR | 1ull << AF_KIND_STRING | 1ull << AF_KIND_SYMBOL |            \
	 1ull << AF_KIND_THREAD | 1ull << AF_KIND_COMM | 1ull << AF_KIND_KSTACK |                  \
	 1ull << AF_KIND_PROCESS_NOTE | 1ull << AF_KIND_FUNCTION | 1ull << AF_KIND_GRAPH_NODE |    \
	 1ull << AF_KIND_LAUNCH_CONFIG | 1ull << AF_KIND_RANGE | 1ull << AF_KIND_OPERATION |       \
	 1ull << AF_KIND_PROGRAM | 1ull << AF_KIND_CODE | 1ull << AF_KIND_PROGRAM_CRC |            \
	 1ull << AF_KIND_STALL | 1ull << AF_KIND_DEVICE_NOTE | 1ull << AF_KIND_FUNCTION_SOURCE |   \
	 1ull << AF_KIND_SYMBOL_LATER | 1ull << AF_KIND_LATE_BIT)

/*
 * Learn what @ev defines, if it is one of the kinds above. Events come in order of time across all
 * streams. Texts are copied.
 */
void af_world_event(struct af_world *w, const struct af_event *ev);

/*
 * Does the world learn from @ev? If not, af_world_event() changes only counters of @w itself, and
 * contexts of threads that passes do not look up, so copies of @w in other threads stay good.
 */
bool af_world_learns(const struct af_world *w, const struct af_event *ev);

/* Those counters alone, for an event of a kind that the world never learns from. */
static inline void af_world_count(struct af_world *w, const struct af_event *ev)
{
	if (!w->nr_events++)
		w->opened_ns = ev->time_ns;
	if (!ev->process)
		return;
	if (!w->first_ns)
		w->first_ns = ev->time_ns;
	w->last_ns = ev->time_ns;
}

/* Learn that @process called a function of the tables of APIs, as its first call would tell. */
void af_world_learn_call(struct af_world *w, uint32_t process, uint16_t kind);

/* Does the world learn from some events of this kind? */
bool af_world_learns_kind(uint16_t kind);

/*
 * Read from the trace in @dir which device code ran on the host, before the first sample: that
 * stands with the names, at the end. 0, or the error of af_trace_open_near().
 */
int af_world_read_host_code(struct af_world *w, const char *dir, const struct af_near *near,
                            struct af_err *err);

/*
 * Read from @t, before its first event, which addresses get other names later: those stand with the
 * names, at the end, and paths are told apart by them as they are defined. OpenMP's target regions
 * are named from there, too, so @t outlives the events that the world learns from.
 */
void af_world_read_later(struct af_world *w, const struct af_trace *t);

/* Slow paths of what follows. */
uint32_t af_world_later_path(const struct af_world *w, uint32_t path, uint64_t time_ns);
uint32_t af_world_large_path(const struct af_world *w, uint32_t stream, uint32_t callpath);
uint32_t af_world_large_descriptor(const struct af_world *w, uint32_t stream, uint32_t descriptor);
uint32_t af_world_any_function(const struct af_world *w, uint32_t process, uint32_t id);

/* World indexes of the ids of an event's stream; 0 when they were never defined. */
uint32_t af_world_kstack(const struct af_world *w, const struct af_event *ev, uint32_t kstack);
static inline uint32_t af_world_path(const struct af_world *w, const struct af_event *ev,
                                     uint32_t callpath)
{
	uint32_t small = af_small_find(&w->small_paths, ev->stream, callpath);

	uint32_t path = small ? small : af_world_large_path(w, ev->stream, callpath);
	return w->paths && w->paths[path].nr_later ? af_world_later_path(w, path, ev->time_ns)
	                                           : path;
}
static inline uint32_t af_world_descriptor(const struct af_world *w, const struct af_event *ev,
                                           uint32_t descriptor)
{
	uint32_t small = af_small_find(&w->small_descriptors, ev->stream, descriptor);

	return small ? small : af_world_large_descriptor(w, ev->stream, descriptor);
}

/* The function of a device API with number @id in the process; 0 when it was never defined. */
static inline uint32_t af_world_function(const struct af_world *w, uint32_t process, uint32_t id)
{
	return w->api_seen[id & 255] == ((uint64_t)process << 32 | id)
	           ? w->api_function[id & 255]
	           : af_world_any_function(w, process, id);
}

/*
 * The definition of the process's node @id that was valid at @time_ns, an index of w->nodes; the
 * oldest when all are later; 0 when there is none.
 */
uint32_t af_world_node(const struct af_world *w, uint32_t process, uint32_t id, uint64_t time_ns);

/*
 * The call path (0: not known) of the call that made (mostly captured) the node from which @node,
 * an index of w->nodes, was cloned or updated, as it was when it was copied.
 */
uint32_t af_world_node_path(const struct af_world *w, uint32_t node);

/* Code and stall reasons with the process's number @id; 0 when they were never defined. */
uint32_t af_world_code(const struct af_world *w, uint32_t process, uint32_t id);
uint32_t af_world_stall(const struct af_world *w, uint32_t process, uint32_t id);

/* The counter with the process's number @id, an index of w->counters; 0 for none. */
uint32_t af_world_counter(const struct af_world *w, uint32_t process, uint64_t id);

/*
 * The reason under which samples of @stall, an index of w->stalls, count: itself or, for a
 * NOT_ISSUED one, the reason without that word at the end; 0 when the trace does not have that.
 */
uint32_t af_world_stall_of(const struct af_world *w, uint32_t stall);

/*
 * Is the kernel with the process's number @kernel a batch that runs @code, an index of w->codes, as
 * far as it is known by now (KERNEL_CODE)?
 */
bool af_world_batch_runs(const struct af_world *w, uint32_t process, uint32_t kernel,
                         uint32_t code);

/*
 * The program of @code, an index of w->codes, as far as it is known by now: an index of
 * w->programs, of several forms the one that runs; 0 when there is none.
 */
uint32_t af_world_code_program(const struct af_world *w, uint32_t code);

/*
 * A code that no event defines: the function @name ("": all functions) of the object @object of
 * @process. The same names give the same code. Returns an index of w->codes.
 */
uint32_t af_world_code_make(struct af_world *w, uint32_t process, const char *object,
                            const char *name);

/* The device code at @address, in the process's module epoch @epoch; NULL: none. */
const struct af_host_code *af_world_host_code(const struct af_world *w, uint32_t process,
                                              uint64_t address, uint32_t epoch);

/*
 * The first device of @process that is the host's processors (parts of it count as the same); 0:
 * none.
 */
uint32_t af_world_host_device(const struct af_world *w, uint32_t process);

/* Names; NULL or "" when the trace does not have them. */
const struct af_symbol *af_world_symbol(const struct af_world *w, uint32_t process,
                                        uint64_t address, uint32_t epoch);
/*
 * Where function @i of those at the address of @s begins; NULL when the trace does not tell, as
 * those of before November 2026.
 */
const struct af_function_source *af_world_function_source(const struct af_world *w,
                                                          const struct af_symbol *s, uint32_t i);
/* The same for an address of @stack, at the time that @stack has names of. */
const struct af_symbol *af_world_stack_symbol(const struct af_world *w,
                                              const struct af_stack *stack, uint64_t address);
const struct af_symbol *af_world_kernel_symbol(const struct af_world *w, uint64_t address);
/*
 * The build-id of a file of @process, by its path, a string of the world, in hexadecimal; "" when
 * not known: the world itself does not ask for MAPPING events.
 */
const char *af_world_build_id(const struct af_world *w, uint32_t process, uint32_t path);
const struct af_py_code *af_world_py_code(const struct af_world *w, uint32_t process,
                                          uint32_t code);
const char *af_world_kernel(const struct af_world *w, uint32_t process, uint32_t kernel);
/* The same as the runtime named it, mangled: a string of the world, 0 for none. */
uint32_t af_world_kernel_name(const struct af_world *w, uint32_t process, uint32_t kernel);
const struct af_device *af_world_device(const struct af_world *w, uint32_t process, uint32_t id);

/*
 * The device's UUID, as a string of the world, equal in all processes that use the device; 0: not
 * known.
 */
uint32_t af_world_gpu(const struct af_world *w, uint32_t process, uint32_t device);

/* The same of its PCI address, "0000:03:00.0". */
uint32_t af_world_pci(const struct af_world *w, uint32_t process, uint32_t device);
const struct af_queue *af_world_queue(const struct af_world *w, uint32_t process, uint32_t id);
const struct af_process *af_world_process(const struct af_world *w, uint32_t ordinal);
const struct af_thread *af_world_thread(const struct af_world *w, uint32_t process, uint32_t tid);
const char *af_process_note(const struct af_process *p, const char *key);
const char *af_world_note(const struct af_world *w, const char *key);

/* Do samples count time by the wall clock (record --wall), that of threads that wait, too? */
bool af_world_samples_waits(const struct af_world *w);

#endif
