/*
 * The Level Zero collector: libaflame.so is preloaded and stands in for the loader's entry points
 * zeInit and zeInitDrivers. Calls are traced by the loader's own tracing layer, whose callbacks may
 * change arguments.
 *
 *	entry.c     the entry points
 *	lookup.c    programs that look them up by dlsym
 *	start.c     the tracing layer, and the functions that are traced
 *	calls.c     the callbacks: CALL
 *	device.c    DEVICE, its notes, its clock
 *	module.c    modules and kernels: PROGRAM, KERNEL, CODE
 *	list.c      queues and command lists: QUEUE
 *	append.c    calls that append to a list
 *	execute.c   lists that are executed, and calls that wait
 *	event.c     events of our own, which take the times of work; the program's
 *	work.c      work in flight: from an event to a GPU_WORK
 *	metric.h    counters over single launches
 *	tick.c      once a second, and at the end
 *	timer.h     arithmetic of device timers
 *	ze_abi.h    the part of Level Zero that is used
 *
 * An append to an immediate list is a launch. An append to another list defines a node of a graph
 * (GRAPH_NODE), and each execution of the list launches all its nodes.
 *
 * Times are those of events with kernel timestamps. Work that the program gives no event gets one
 * of ours; its own events are made to have stamps (flags of their pool) and stay its own, and are
 * read before it resets or destroys them. Nothing is added to the program's lists. Events are
 * polled as the OpenCL collector does it: at later calls, at waits, once a second and at the end.
 *
 * No lock is held while the runtime is called.
 */
#ifndef AF_INJECT_ZE_ZE_H
#define AF_INJECT_ZE_ZE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/core/thread.h"
#include "inject/ze/ze_abi.h"

/* The loader's functions; those of AF_ZE_OPTIONAL may be NULL. Constant once af_ze_start(). */
extern struct af_ze_next {
#define AF_P(name, parameters) uint32_t(*name) parameters;
	AF_ZE_FUNCTIONS(AF_P)
	AF_ZE_OPTIONAL(AF_P)
#undef AF_P
} af_ze_next;

/* Is Level Zero wanted in this process's recording? */
bool af_ze_is_wanted(void);

/*
 * The loader @library is initialized: begin to trace, once. @drivers are those that the program
 * was given, or NULL: all.
 */
void af_ze_start(void *library, void **drivers, uint32_t nr_drivers);

/*
 * The loader's entry points, for which we stand in (specification, "Core": zeInit, zeInitDrivers).
 */
uint32_t zeInit(uint32_t flags);
uint32_t zeInitDrivers(uint32_t *nr, void **drivers, const void *desc);

/* A function of the loader @library by its name, never ours; NULL: it has none. */
void *af_ze_function(void *library, const char *name);

/* The same of the loader that is in the process; NULL: there is none, or it lacks the function. */
void *af_ze_loader_function(const char *name);

/* Drop the parent's state when this is a forked child; cheap when it is not. */
void af_ze_check_fork(void);

/* The callbacks of one function that is traced. */
struct af_ze_traced {
	const char *name; /* of the function that registers them: zelTracer…RegisterCallback */
	af_ze_callback *prologue, *epilogue;
};

/* All of them, up to one without a name. */
extern const struct af_ze_traced af_ze_traced[];

/* Forget the parent's state, in a forked child; as the other functions of that name. */
void af_ze_calls_after_fork(void);
void af_ze_devices_after_fork(void);
void af_ze_lists_after_fork(void);
void af_ze_modules_after_fork(void);
void af_ze_events_after_fork(void);
void af_ze_works_after_fork(void);
void af_ze_tick_after_fork(void);

/* Define a FUNCTION for each function whose calls are recorded. Once in each process. */
void af_ze_functions_define(void);

enum { AF_ZE_DEVICES = 128 };

/* A device, or a part of one. Never given back. */
struct af_ze_device {
	void *handle;
	uint32_t id;
	uint64_t hz;                /* of its timer */
	uint32_t bits, kernel_bits; /* of its time stamps, and of those of kernels */
	_Atomic bool is_used;       /* by a queue; its clock is read each second */
	_Atomic bool has_clock;     /* `pairs` has one */
	_Atomic uint32_t was_met; /* 0 or 1; RISC-V exchanges words without libatomic, not bytes */
	_Atomic uint32_t pair;    /* the newest: index into `pairs` */
	struct af_ze_pair {
		uint64_t ticks, mono_ns; /* all bits of the ticks */
	} pairs[2];
};

/* The device of a handle, defined in the trace when new; NULL: none, or the table is full. */
struct af_ze_device *af_ze_device(void *handle);

/* Define the devices of @driver. */
void af_ze_devices_define(void *driver);

/* @d has a queue now. */
void af_ze_device_use(struct af_ze_device *d);

/* Read the clocks of the devices in use: CLOCK. One thread at a time. */
void af_ze_clocks_read(void);

/* A kernel's stamps as times on the device's clock in ns. False: its clock is not known. */
bool af_ze_device_stamps(const struct af_ze_device *d, uint64_t launched_ns,
                         const struct af_ze_stamps *stamps, struct af_ze_stamps *ns);

/* Modules and kernels. */
void af_ze_module_made(void *context, void *device, const struct af_ze_module_desc *desc,
                       void *module);
void af_ze_module_gone(void *module);
void af_ze_kernel_made(void *module, const struct af_ze_kernel_desc *desc, void *kernel);
void af_ze_kernel_sized(void *kernel, uint32_t x, uint32_t y, uint32_t z);

/* A kernel's id in the trace, and its group size (zeros: not known). */
uint32_t af_ze_kernel(void *kernel, uint32_t local[3]);

/* A driver's function by its name, of the driver that @context is of. */
void *af_ze_extension(void *context, const char *name);
void af_ze_context_made(void *driver, void *context);

/* A command queue or an immediate list. Used again when nothing is pending. */
struct af_ze_lane {
	void *handle;
	void *context;
	struct af_ze_device *device;
	uint32_t id;             /* of its QUEUE */
	_Atomic uint32_t in_use; /* until it is destroyed */
	_Atomic uint32_t nr_pending;
	_Atomic uint32_t pushed;   /* stack of work */
	_Atomic uint32_t busy;     /* claimed by the thread that looks after its work */
	uint32_t oldest, newest;   /* list of work, of the holder of `busy`, as the next */
	uint32_t cursor;           /* the next poll goes on behind this one, 0: at the first */
	_Atomic uint32_t launches; /* since it was made, to poll now and then */
};

/* A piece of work in a list that is not immediate. */
struct af_ze_node {
	uint32_t id;   /* of its GRAPH_NODE */
	uint32_t work; /* of its last launch, if that is in flight still */
	uint64_t correlation;
	void *event;  /* with its stamps; NULL: there is none */
	bool is_ours; /* the event */
	bool ran, overtakes, is_stale;
	uint64_t
	    stale;   /* as the two before it, of the launch under way: see struct af_ze_launched */
	void *query; /* it is a query around the node of its id, which has none of the rest */
	struct af_ev_descriptor descriptor; /* without a queue */
};

enum { AF_ZE_SPARE = 8 };

/* A command list. One thread at a time uses it, as the specification demands. */
struct af_ze_list {
	void *handle;
	struct af_ze_lane *lane; /* of an immediate list; else NULL */
	struct af_ze_events *events;
	struct af_ze_device *device;
	void *context;
	bool is_immediate;
	bool is_synchronous;      /* an immediate list whose appends wait */
	void *spare[AF_ZE_SPARE]; /* free events of ours */
	uint32_t nr_spare;
	struct af_ze_lane *ran_on;     /* where it was executed last, or NULL */
	struct af_ze_queries *queries; /* around its launches, or NULL: metric.h */
	uint32_t graph;
	uint32_t nr_nodes, cap_nodes;
	struct af_ze_node *nodes;
	uint32_t next_free;
};

/* The program made a queue; before it destroys one: its work is read. */
void af_ze_queue_made(void *context, void *device, void *queue);
void af_ze_queue_gone(void *queue);

/* The program made the list @handle, an immediate one with @desc, else NULL. */
void af_ze_list_made(void *context, void *device, void *handle,
                     const struct af_ze_queue_desc *desc);

/* Before it empties one or destroys it: its nodes and their events are free. */
void af_ze_list_emptied(void *handle);
void af_ze_list_gone(void *handle);

/* Before it destroys a context. */
void af_ze_lists_end(void *context);

/* By their handles; NULL: not known. */
struct af_ze_list *af_ze_list(void *handle);
struct af_ze_lane *af_ze_lane(void *queue);

/* By index; NULL after the last that was ever used. */
struct af_ze_lane *af_ze_lane_at(uint32_t i);

/* Room for one more node of @list, or NULL. */
struct af_ze_node *af_ze_node_add(struct af_ze_list *list);

/* Events of ours for the lists of a context and device. */
struct af_ze_events *af_ze_events(void *context, void *device);

/* A free event of ours for @list, or NULL; and back, when it has been reset. */
void *af_ze_event_take(struct af_ze_list *list);
void af_ze_event_give(struct af_ze_events *e, void *event);
void af_ze_events_give(struct af_ze_events *e, void **events, uint32_t nr);

/* Flags that give the program's pool stamps: *@desc is to be @own during the call that makes it. */
void af_ze_pool_flags(const struct af_ze_pool_desc **desc, struct af_ze_pool_desc *own);
void af_ze_pool_made(void *pool, const struct af_ze_pool_desc *desc);
void af_ze_event_made(void *pool, void *event);

/* Has the program's @event stamps? Then work @work will signal it. */
bool af_ze_event_is_timed(void *event);
void af_ze_event_works(void *event, uint32_t work);

/* Before the program's @event is reset or used again: its stamps are read. _gone: destroyed. */
void af_ze_event_ends(void *event);
void af_ze_event_gone(void *event);

/* Before the program destroys @context. */
void af_ze_context_gone(void *context);

/* A piece of work that was launched. */
struct af_ze_launched {
	struct af_ze_lane *lane;
	void *event;                 /* NULL: it has no stamps */
	struct af_ze_events *events; /* whose event is given back then, else NULL */
	uint64_t correlation, launched_ns;
	uint32_t node;
	/*
	 * The event may still be signalled by an earlier launch of the same node; or it has the
	 * stamps of one already, which begin at @stale.
	 */
	bool overtakes, is_stale;
	uint64_t stale;
	void *query; /* NULL, or it is no work, but the query around a launch */
	struct af_ze_queries *queries;
	struct af_ev_descriptor descriptor;
};

/* Remember the work: its index, 0: it has been written, without times. */
uint32_t af_ze_work_push(const struct af_ze_launched *w);

/* Write the completed work of @lane. _some: at launches, which do so now and then. */
void af_ze_harvest(struct af_ze_lane *lane);
void af_ze_harvest_some(struct af_ze_lane *lane);

/*
 * All work of @lane up to @correlation has completed: what of it has no stamps by now never gets
 * any.
 */
void af_ze_completed(struct af_ze_lane *lane, uint64_t correlation);

/* @event, the program's, was seen to be signalled: its work is complete. */
void af_ze_event_signalled(void *event);

/*
 * The event of work @index is about to be reset, signalled again or destroyed: if the work is not
 * complete, it goes without times.
 */
void af_ze_work_event_ends(uint32_t index, void *event);

/* The same for all work of a context. */
void af_ze_works_end(void *context);

/* Where work @index is in flight, or NULL. */
struct af_ze_lane *af_ze_work_lane(uint32_t index);

/* The program has ended: work that is left goes without times. */
void af_ze_lane_abandon(struct af_ze_lane *lane);

/* Is work @index still in flight, of @correlation? */
bool af_ze_work_waits(uint32_t index, uint64_t correlation);

/* Once a second: harvest all, and read the clocks. @now_ns may be old. */
void af_ze_tick(uint64_t now_ns);
void af_ze_harvest_all(void);
void af_ze_at_exit(void);

/*
 * The process ends without exit handlers, or is about to run another program: what is complete is
 * read, and the rest is counted.
 */
void af_ze_last(void);

/* Is the calling thread in a call of Level Zero that is traced? */
bool af_ze_in_call(void);

/* Is Level Zero recorded, and are the tables this process's, not its parent's? */
bool af_ze_is_ours(void);

/* The number of the next call, and of the last one. */
uint64_t af_ze_correlation_next(void);
uint64_t af_ze_correlation_last(void);

/* The call of this thread that is under way, from its prologue to its epilogue. */
struct af_ze_call {
	uint64_t begin_ns;    /* 0: none */
	uint64_t correlation; /* of an epilogue; before it of the last call at the prologue */
	bool records;         /* recording is on */
	struct af_ze_list *list;
	void *event;               /* that the work signals */
	bool is_ours;              /* the event */
	uint32_t node;             /* that it made, or 0 */
	void *query, *query_event; /* around the launch, and what its end signals */
	struct af_ze_pool_desc pool;
};

/* Before an append to @list; *@signal is the argument that names its event. */
void af_ze_append(struct af_ze_call *c, void *list, void **signal);

/* After one that failed. */
void af_ze_append_failed(struct af_ze_call *c);

/* After one to an immediate list: its work @is. */
void af_ze_append_launched(struct af_ze_call *c, struct af_ev_descriptor *is);

/* After one whose query (metric.h) has ended: it will be read. */
void af_ze_append_query(const struct af_ze_call *c);

/* After one to another list: the node that it made, or NULL. */
struct af_ze_node *af_ze_append_node(struct af_ze_call *c, const struct af_ev_descriptor *is);

/* Before @lists are executed; and after that, on @lane. _has_work: have they any? */
void af_ze_execute(uint32_t nr, void **lists);
void af_ze_executed(struct af_ze_call *c, struct af_ze_lane *lane, uint32_t nr, void **lists);
bool af_ze_has_work(uint32_t nr, void **lists);

/* The work that an append asks for, by the function's arguments. */
void af_ze_kernel_work(const struct af_ze_call *c, void *kernel,
                       const struct af_ze_group_count *groups, struct af_ev_descriptor *is);
void af_ze_copy_work(const struct af_ze_call *c, const void *to, const void *from, uint64_t bytes,
                     struct af_ev_descriptor *is);

#endif
