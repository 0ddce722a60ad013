/*
 * Plug-ins of aflame: a shared object that gets the events of a trace and gives tables, trees and
 * slices, which `aflame report --plugin ./x.so DIR` shows in the formats of aflame's own.
 *
 *	#include <aflame/pass.h>                     cc -shared -fPIC x.c -o x.so
 *
 *	begin → { event | sample | work }* → finish
 *
 * A plug-in exports one struct, AF_PASS_DESCRIPTOR. It needs no library: all that it calls are
 * functions of the host, a struct that each callback gets. Everything runs in one thread of a
 * process of its own, with limits on memory and on the time of one callback; if it crashes, loops
 * or ends that process, aflame reports it, and no output is written.
 *
 * Events come in order of time, and so do samples. Work comes about in the order in which it
 * ended, once it is joined to the call that launched it. Times are nanoseconds of the trace's
 * clock. All that callbacks and functions give is valid until the callback returns; strings are
 * valid until the process ends.
 *
 * Stable as long as AF_PASS_MAJOR stays: a later version adds members at the ends of structs, and
 * values of enumerations, and the minor number grows. A struct begins with its size, so that both
 * sides know how far the other's reaches: a plug-in reads a member that is newer than the one it
 * was built with only if `size` covers it. Exceptions, which never change: struct af_pass_cell and
 * struct af_pass_column, of which there are arrays. aflame refuses a plug-in of another major
 * number, one of a newer minor number than its own, and one whose descriptor is shorter than that
 * of 1.0. Numbers of kinds and names of fields are those of aflame/event.h, which a plug-in need
 * not include.
 *
 * Functions of the host return 0 or more for success and -1 for failure. The first failure is kept
 * with its reason, and the run fails by it, whatever the plug-in does then.
 */
#ifndef AFLAME_PASS_H
#define AFLAME_PASS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AF_PASS_MAJOR 1
#define AF_PASS_MINOR 1

/* An event as it is in the trace; af_pass_host.field() has its fields. */
struct af_pass_event {
	uint32_t size;
	uint32_t kind;
	uint64_t time_ns;
	uint32_t process; /* an image's number in the trace; 0 is the recorder */
	uint32_t pid, tid;
	uint32_t stream;     /* ids of definitions belong to it */
	const void *payload; /* for the host */
	uint32_t payload_size;
};

enum af_pass_field_type {
	AF_PASS_NUMBER = 1, /* unsigned */
	AF_PASS_SIGNED = 2, /* number is an int64_t in two's complement */
	AF_PASS_HEX = 3,    /* unsigned: an address or a handle */
	AF_PASS_TEXT = 4,
	AF_PASS_SEQ = 5, /* nr values of width bytes each at values, unaligned */
	AF_PASS_REAL = 6 /* 1.1: of an argument: the member real */
};

struct af_pass_field {
	uint32_t size;
	uint32_t type; /* enum af_pass_field_type */
	uint64_t number;
	const char *text; /* "" unless it is a text */
	const void *values;
	uint32_t nr, width;
	const char *name, *meaning;
	const char *value_name; /* of a number of an enumeration: "RING_FULL"; else NULL */
};

/* A sample of a thread: the event, or the two events, that it was recorded as are joined. */
struct af_pass_sample {
	uint32_t size;
	uint32_t process, pid, tid;
	uint32_t stack; /* for frame() and tree_stack() */
	uint32_t in_kernel;
	uint64_t time_ns;
	uint64_t weight_ns; /* the CPU time that it stands for; 0 for a counted event */
	uint64_t count;     /* of a counted event: how many it stands for */
	/* 1.1 */
	uint32_t is_rest; /* 1: a part of one that counts in the time before --from or after --to */
	uint32_t reserved;
};

/* Something that a device did, of any API, and the call that launched it. */
struct af_pass_work {
	uint32_t size;
	uint32_t process, pid;
	uint32_t tid;              /* the thread that launched it, 0 not known */
	uint32_t stack;            /* of the call, 0 not known; for frame() and tree_stack() */
	int32_t status;            /* 0, or the runtime's error: it did not complete */
	uint32_t device, queue;    /* as the process numbers them; 0 not known */
	uint64_t start_ns, end_ns; /* on the trace's clock; 0 not known */
	uint64_t busy_ns;          /* by the device's own clock; 0 not known */
	uint64_t call_start_ns, call_end_ns;
	const char *api;         /* "cuda" */
	const char *op;          /* "kernel", "copy host to device", …; "" not known */
	const char *name;        /* its frame in flame graphs: of the kernel, else as op */
	const char *device_name; /* "" not known */
	uint64_t bytes;          /* of a copy or a fill */
	uint64_t items[3];       /* of a kernel: work items, or threads, in all */
	uint32_t group[3];       /* work items of a group, or threads of a block; 0: not known */
	uint32_t registers;      /* of a thread; this and the next three 0: not known */
	uint32_t static_shared, dynamic_shared; /* bytes of a block */
	uint32_t local;                         /* bytes of a thread */
	uint32_t reserved;
	/* 1.1 */
	uint64_t is_rest; /* 1: a part of one that counts in the time before --from */
};

/* A call of a traced API, by af_pass_host.call(). */
struct af_pass_call {
	uint32_t size;
	uint32_t process, tid;
	uint32_t stack;
	int32_t status;
	uint32_t correlation;
	uint64_t start_ns, end_ns;
	const char *function; /* "cuLaunchKernel", "" not known */
	/* 1.1 */
	uint64_t bytes;        /* that it moves or allocates, if has_bytes is 1 */
	uint32_t nr_arguments; /* 0: the trace has none, which --api NAME:default records */
	uint32_t has_bytes;
	uint32_t is_cut;  /* 1: an argument was too long to be recorded whole */
	uint32_t is_rest; /* 1: a part of one that counts in the time before --from */
};

/* Whether the trace has what an argument points to, and what that is. */
enum af_pass_target {
	AF_PASS_TARGET_NONE = 0,  /* no pointer, or the address alone */
	AF_PASS_TARGET_VALUE = 1, /* one value, or struct */
	AF_PASS_TARGET_ARRAY = 2,
	AF_PASS_TARGET_PAIRS = 3, /* an array of keys, each with its value behind it */
	AF_PASS_TARGET_STRING = 4
};

/* 1.1: a value of a call, by af_pass_host.argument(). */
struct af_pass_argument {
	uint32_t size;
	uint32_t type; /* enum af_pass_field_type; a struct is a SEQ of its bytes */
	uint64_t number;
	double real;
	const char *text; /* "" unless it is a text, which may be cut at 1024 bytes */
	const void *values;
	uint32_t nr, width;
	const char *name;       /* of the parameter, the member or the result; "size" */
	const char *type_name;  /* "CUdeviceptr"; "" not known */
	const char *value_name; /* of an enumeration: "CL_TRUE"; else NULL */
	uint32_t target;        /* enum af_pass_target: what "*" before its name has */
	uint32_t is_written;    /* 1: the call writes what it points to */
};

enum af_pass_frame_kind {
	AF_PASS_FRAME_NATIVE = 0,
	AF_PASS_FRAME_PYTHON = 1,
	AF_PASS_FRAME_KERNEL = 2, /* of the operating system */
	AF_PASS_FRAME_INLINED = 3,
	AF_PASS_FRAME_JIT = 4,
	AF_PASS_FRAME_GPU = 5,
	AF_PASS_FRAME_GPU_INSN = 6,
	AF_PASS_FRAME_PROCESS = 7,
	AF_PASS_FRAME_MARK = 8, /* "[truncated: …]" and the like */
	AF_PASS_FRAME_MPI = 9
};

/* A frame of a stack. */
struct af_pass_frame {
	uint32_t size;
	uint32_t kind;      /* enum af_pass_frame_kind */
	const char *text;   /* as flame graphs have it */
	const char *module; /* the file of its code, "" not known */
	const char *file;   /* of the source, "" not known */
	uint32_t line;      /* 0 not known */
	uint32_t caller;    /* a stack: this one without this frame; 0: it is the first */
};

struct af_pass_process {
	uint32_t size;
	uint32_t pid, ppid, parent; /* parent: number of the process that forked it, 0 not known */
	const char *name, *exe, *command_line, *rank; /* "" not known */
	uint64_t start_ns, end_ns;                    /* 0: not in the trace */
};

struct af_pass_device {
	uint32_t size;
	uint32_t processors; /* multiprocessors or compute units, 0 not known */
	const char *api, *name, *vendor, *driver;
};

/* The trace that is read. */
struct af_pass_trace {
	uint32_t size;
	uint32_t nr_processes; /* processes have the numbers below it; 0 is the recorder */
	const char *dir;
	const char *member; /* of a set: which of its traces, "rank 3"; else "" */
	uint64_t start_ns;
};

/* The unit of a column. A cell of TEXT has its text, others have their value. */
enum af_pass_unit {
	AF_PASS_UNIT_TEXT = 0,
	AF_PASS_UNIT_COUNT = 1,
	AF_PASS_UNIT_NS = 2,
	AF_PASS_UNIT_BYTES = 3,
	AF_PASS_UNIT_PERCENT = 4, /* in hundredths of a percent */
	AF_PASS_UNIT_NUMBER = 5   /* in thousandths */
};

/*
 * How rows with the same keys become one where the tables of a set's traces are merged. DEFAULT: a
 * text and a percentage stay where all have the same, and what else there is adds up.
 */
enum af_pass_merge {
	AF_PASS_MERGE_DEFAULT = 0,
	AF_PASS_MERGE_KEY = 1,
	AF_PASS_MERGE_SUM = 2,
	AF_PASS_MERGE_MIN = 3,
	AF_PASS_MERGE_MAX = 4,
	AF_PASS_MERGE_MEAN = 5,  /* weighed by the column `of` */
	AF_PASS_MERGE_RATIO = 6, /* computed anew: column `of` by column `per` */
	AF_PASS_MERGE_SHARE = 7, /* computed anew: column `of` as a part of its sum */
	AF_PASS_MERGE_SAME = 8
};

/* Never changes; a zeroed member is the default. */
struct af_pass_column {
	const char *key;      /* for programs: lower-case letters, digits and _ */
	const char *title;    /* for people */
	uint32_t unit;        /* enum af_pass_unit */
	uint32_t merge;       /* enum af_pass_merge */
	const char *of, *per; /* keys of columns, or NULL */
	const void *reserved[2];
};

/* Never changes. */
struct af_pass_cell {
	const char *text;
	uint64_t value;
	uint32_t unknown; /* 1: there is no value */
	uint32_t reserved;
};

/* One weight of a tree: {"time", "ns"}; bytes and ns are units that people see scaled. */
struct af_pass_weight {
	const char *name, *unit;
};

/*
 * The host: what a plug-in may call. `size` covers the functions that there are; in 1.0 all down to
 * fail().
 */
struct af_pass_host {
	uint32_t size;
	uint16_t major, minor; /* of the aflame that runs */
	void *self;

	/*
	 * In begin(): event() is to get events of @kind, "sample"; NULL: of all kinds. -1: no kind
	 * has that name. 1.1: @kind may be a traced function, whose calls are events of a kind of
	 * their own, or a pattern of functions, "cuMemAlloc*".
	 */
	int (*want)(const struct af_pass_host *h, const char *kind);
	/*
	 * The number of the kind @name, or -1 (which is no failure of the run), and its name. 1.1:
	 * also of a traced function.
	 */
	int (*kind_find)(const struct af_pass_host *h, const char *name);
	const char *(*kind_name)(const struct af_pass_host *h, uint32_t kind);
	/*
	 * The field @name of @ev into *@field, whose size the caller has set. -1 (no failure of the
	 * run): it has none. field_at() goes by the number of the field, from 0 on, and is faster.
	 */
	int (*field)(const struct af_pass_host *h, const struct af_pass_event *ev, const char *name,
	             struct af_pass_field *field);
	int (*field_at)(const struct af_pass_host *h, const struct af_pass_event *ev, uint32_t i,
	                struct af_pass_field *field);
	/* The number of a field, for short; 0 when there is none. */
	uint64_t (*number)(const struct af_pass_host *h, const struct af_pass_event *ev,
	                   const char *name);
	/* The text of a field, for short; "" when there is none. */
	const char *(*text)(const struct af_pass_host *h, const struct af_pass_event *ev,
	                    const char *name);
	/*
	 * The definition of @kind that @id, a field of @by, stands for, into *@definition, whose
	 * size the caller has set. -1 (no failure of the run): the trace has none. The first call
	 * reads all definitions of the trace, 72 bytes each.
	 */
	int (*definition)(const struct af_pass_host *h, const struct af_pass_event *by,
	                  uint32_t kind, uint32_t id, struct af_pass_event *definition);
	/* @ev as a call, into *@call, whose size the caller has set. -1 (no failure): none. */
	int (*call)(const struct af_pass_host *h, const struct af_pass_event *ev,
	            struct af_pass_call *call);

	/* Into structs whose size the caller has set. -1 (no failure of the run): there is none. */
	int (*trace)(const struct af_pass_host *h, struct af_pass_trace *trace);
	int (*process)(const struct af_pass_host *h, uint32_t process, struct af_pass_process *p);
	int (*device)(const struct af_pass_host *h, uint32_t process, uint32_t device,
	              struct af_pass_device *d);
	/* The name of a thread, "" not known; what the trace notes of itself as @key, or "". */
	const char *(*thread_name)(const struct af_pass_host *h, uint32_t process, uint32_t tid);
	const char *(*note)(const struct af_pass_host *h, const char *key);
	/* @device_ns of a device's clock on the trace's, 0 when the trace does not have that. */
	uint64_t (*device_time)(const struct af_pass_host *h, uint32_t process, uint32_t device,
	                        uint64_t device_ns);
	/*
	 * The stack of the call path @id, a field "callpath" of @ev; 0 when it is not in the trace.
	 * The innermost frame of @stack, into *@frame, whose size the caller has set: its `caller`
	 * is the stack of the next one. -1 (no failure of the run): there is no such stack.
	 */
	uint32_t (*stack)(const struct af_pass_host *h, const struct af_pass_event *ev,
	                  uint32_t id);
	int (*frame)(const struct af_pass_host *h, uint32_t stack, struct af_pass_frame *frame);

	/*
	 * A new table, whose number it returns: @name is for programs, like the key of a column,
	 * and @title for people. row() adds a row of as many cells as the table has columns, @nr.
	 * Texts are copied.
	 */
	int (*table)(const struct af_pass_host *h, const char *name, const char *title,
	             const struct af_pass_column *columns, uint32_t nr);
	int (*row)(const struct af_pass_host *h, int table, const struct af_pass_cell *cells,
	           uint32_t nr);

	/*
	 * A new tree with 1 to 8 weights, whose number it returns. Node 0 is its root.
	 * tree_child(): the child of @node called @text, of @kind (enum af_pass_frame_kind).
	 * tree_stack(): all frames of @stack below @node, the first its process; the last one is
	 * returned. Both make what is not there, and return UINT32_MAX for failure. tree_add() adds
	 * to a node's own weight.
	 */
	int (*tree)(const struct af_pass_host *h, const char *name, const char *title,
	            const struct af_pass_weight *weights, uint32_t nr);
	uint32_t (*tree_child)(const struct af_pass_host *h, int tree, uint32_t node,
	                       const char *text, uint32_t kind);
	uint32_t (*tree_stack)(const struct af_pass_host *h, int tree, uint32_t node,
	                       uint32_t stack);
	int (*tree_add)(const struct af_pass_host *h, int tree, uint32_t node, uint32_t weight,
	                uint64_t value);

	/*
	 * A new track called @name below @group, a heading of any text; it returns the track's
	 * number. slice(): an interval on it, in any order; those that overlap get tracks side by
	 * side. counter() makes a track of values over time, "bytes" or another @unit, and point()
	 * adds one of these, in order of time.
	 */
	int (*track)(const struct af_pass_host *h, const char *group, const char *name);
	int (*slice)(const struct af_pass_host *h, int track, uint64_t start_ns, uint64_t end_ns,
	             const char *name);
	int (*counter)(const struct af_pass_host *h, const char *group, const char *name,
	               const char *unit);
	int (*point)(const struct af_pass_host *h, int track, uint64_t time_ns, uint64_t value);

	/* The run fails with this message, as of printf(). -1, for the plug-in to return. */
	int (*fail)(const struct af_pass_host *h, const char *format, ...)
#if defined(__GNUC__)
	    __attribute__((format(printf, 2, 3)))
#endif
	    ;

	/*
	 * 1.1. The argument @name of the call @ev, into *@argument, whose size the caller has set.
	 * -1 (no failure of the run): the trace has no such argument, or does not have its value.
	 * @name:
	 *
	 *	size             the argument as it was passed; of a pointer: the address
	 *	*image_format    what it points to: a value, a text, or a SEQ; after the call
	 *	sizes[2]         an element of what it points to
	 *	desc.Width       a member of a struct, also of one that it points to; desc.dims[1]
	 *	*size@before     what it pointed to before the call, where that changes it
	 *	return           the result
	 */
	int (*argument)(const struct af_pass_host *h, const struct af_pass_event *ev,
	                const char *name, struct af_pass_argument *argument);
	/* The argument with the number @i, from 0 on, as it was passed. */
	int (*argument_at)(const struct af_pass_host *h, const struct af_pass_event *ev, uint32_t i,
	                   struct af_pass_argument *argument);
};

/*
 * The plug-in. A callback that is NULL is not called. begin() and finish() return 0, or another
 * value for failure, whose reason they give to host->fail().
 */
struct af_pass_descriptor {
	uint32_t size;         /* sizeof(struct af_pass_descriptor) */
	uint16_t major, minor; /* AF_PASS_MAJOR, AF_PASS_MINOR */
	const char *name;      /* "kernels by grid": for messages and headings */
	const char *summary;   /* one line */
	/* @argv: the words between the options and the trace; *@state is the plug-in's own. */
	int (*begin)(const struct af_pass_host *h, int argc, char **argv, void **state);
	void (*event)(const struct af_pass_host *h, void *state, const struct af_pass_event *ev);
	void (*sample)(const struct af_pass_host *h, void *state, const struct af_pass_sample *s);
	void (*work)(const struct af_pass_host *h, void *state, const struct af_pass_work *w);
	int (*finish)(const struct af_pass_host *h, void *state);
};

/* The name of the exported descriptor: `AF_PASS_DESCRIPTOR = { sizeof(…), … };` defines it. */
#define AF_PASS_SYMBOL "af_pass_plugin"
#if defined(__GNUC__)
extern const struct af_pass_descriptor af_pass_plugin __attribute__((visibility("default")));
#else
extern const struct af_pass_descriptor af_pass_plugin;
#endif
#define AF_PASS_DESCRIPTOR const struct af_pass_descriptor af_pass_plugin

#ifdef __cplusplus
}
#endif

#endif
