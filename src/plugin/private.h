/* Shared by the files of the room: the host in the plug-in's process, and the page of both. */
#ifndef AF_PLUGIN_PRIVATE_H
#define AF_PLUGIN_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aflame/pass.h"
#include "analyse/flame/scratch.h"
#include "analyse/join/launches.h"
#include "analyse/query/query.h"
#include "analyse/tree/tree.h"
#include "analyse/world/samples.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/world.h"
#include "base/err.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "plugin/plugin.h"
#include "plugin/results.h"

/* The callback that runs. C(NAME, text) */
#define PLUGIN_CALLS(C)                                                                            \
	C(NONE, "outside its callbacks")                                                           \
	C(LOAD, "while it was loaded")                                                             \
	C(BEGIN, "in begin()")                                                                     \
	C(EVENT, "in event()")                                                                     \
	C(SAMPLE, "in sample()")                                                                   \
	C(WORK, "in work()")                                                                       \
	C(FINISH, "in finish()")                                                                   \
	C(END, "as its process ended")

enum plugin_call {
#define CALL(NAME, text) PLUGIN_##NAME,
	PLUGIN_CALLS(CALL)
#undef CALL
	    PLUGIN_CALLS_END
};

/*
 * The page that the child writes and the parent reads: hostile, too, as the plug-in may write
 * anywhere.
 */
struct plugin_page {
	uint32_t call;      /* enum plugin_call */
	uint32_t no_memory; /* an allocation failed, as far as the child could find out */
	uint64_t calls;     /* callbacks so far */
	uint64_t position, size;
};

/* Statuses of the child for the parent, unlikely for a plug-in. */
enum { PLUGIN_EXIT_MEMORY = 117, PLUGIN_EXIT_PIPE = 118 };

/* A tree of the results: which nodes have stacks. */
struct plugin_tree {
	struct af_map nodes; /* node, and node of h->stacks → node of the tree */
};

struct plugin_host {
	struct af_pass_host api; /* first: plug-ins get it */
	const struct af_plugin_request *request;
	struct plugin_page *page;
	struct af_pass_descriptor is;
	void *state;
	struct af_err err; /* the first failure; code 0: none */
	enum plugin_call in;

	struct af_trace *trace;
	struct af_world world;
	struct af_samples samples;
	struct af_launches launches;
	struct af_call call;          /* at hand */
	struct af_query query;        /* the time */
	struct plugin_choice *choice; /* NULL: all stacks */
	uint64_t wanted;              /* mask of event() */
	bool all_kinds;
	uint8_t kinds[(UINT16_MAX + 1) / 8];

	/* stacks.c */
	struct af_tree stacks;
	struct af_stack_locations locations;
	uint32_t *by_location; /* node of the stacks; 0: not made yet */
	uint32_t cap_locations;
	struct af_map by_call;  /* path and function → node */
	struct af_keys by_work; /* a launch group of works → node */
	struct flame_scratch scratch;
	struct af_strtab texts;

	struct af_plugin_results results;
	struct plugin_tree *trees; /* like those of the results */
	uint32_t cap_trees;
	struct af_map by_table; /* number → table, a pointer */
};

/* The host that a plug-in gave back. */
static inline struct plugin_host *plugin_host_of(const struct af_pass_host *api)
{
	return (struct plugin_host *)api->self;
}

/* The plug-in's code begins to run, and has ended. */
static inline void plugin_enter(struct plugin_host *h, enum plugin_call call)
{
	h->in = call;
	__atomic_store_n(&h->page->calls, h->page->calls + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&h->page->call, call, __ATOMIC_RELAXED);
}

static inline void plugin_leave(struct plugin_host *h)
{
	h->in = PLUGIN_NONE;
	__atomic_store_n(&h->page->call, PLUGIN_NONE, __ATOMIC_RELAXED);
}

/* "in begin()"; for any number. */
const char *plugin_call_text(uint32_t call);

/* Keep the first failure, with the callback that it was in. Returns -1, what plug-ins get. */
int plugin_fail(struct plugin_host *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* load.c: load the shared object and check its descriptor. 0 or -errno. */
int plugin_load(struct plugin_host *h, struct af_err *err);

/*
 * read.c: read the trace and call the plug-in. 0 or -errno; h->err has a failure of the plug-in.
 * @limit is called between the two readings.
 */
int plugin_read(struct plugin_host *h, void (*limit)(struct plugin_host *h), struct af_err *err);

/* stacks.c: nodes of h->stacks, 0 where nothing is known. */
uint32_t plugin_stack_sample(struct plugin_host *h, const struct af_stack_location *at);
uint32_t plugin_stack_call(struct plugin_host *h, uint32_t process, uint32_t path,
                           uint32_t function);
uint32_t plugin_stack_work(struct plugin_host *h, const struct af_work *work);
void plugin_stacks_open(struct plugin_host *h);

/* A node of the tree for each frame of @stack below @node: the last one. */
uint32_t plugin_stack_copy(struct plugin_host *h, struct plugin_tree *t, struct af_tree *to,
                           uint32_t node, uint32_t stack);

/*
 * choice.c: --focus, --hide and --search. After begin(): the run fails where event() would get what
 * has no stack.
 */
void plugin_choice_open(struct plugin_host *h);

#define PLUGIN_OUT UINT32_MAX

/* The stack that is left of @stack; PLUGIN_OUT: none is, and nothing of it comes. */
uint32_t plugin_choice_stack(struct plugin_host *h, uint32_t stack);

/* The same of a work with the frame @*name above its stack; @*name is then the innermost left. */
uint32_t plugin_choice_work(struct plugin_host *h, uint32_t stack, const char **name);

/* names.c: the words of @api, "cuda"; the name of a work, and of its operation. */
const char *plugin_api_name(uint32_t api);
const char *plugin_work_name(struct plugin_host *h, const struct af_work *work, const char **op);
/* Of a set of letters that programs can rely on? */
bool plugin_is_key(const char *text);

/*
 * arguments.c: the kind of the traced function @name, 0: there is none; and let event() have the
 * calls of all functions that match @pattern: false, none does.
 */
uint16_t plugin_function_find(const char *name);
bool plugin_functions_want(struct plugin_host *h, const char *pattern);

/* ask.c: a struct for the plug-in, of which it knows the first `size` bytes. 0, or -1. */
int plugin_give(struct plugin_host *h, void *to, void *from, uint32_t size);

#define PLUGIN_GIVE(h, to, ...)                                                                    \
	plugin_give(h, to, &(__typeof__(*(to))){.size = 0, __VA_ARGS__}, sizeof *(to))

/* arguments.c, ask.c and emit.c: fill the functions of h->api; ask.c's first. */
void plugin_arguments_open(struct plugin_host *h);
void plugin_ask_open(struct plugin_host *h);
void plugin_emit_open(struct plugin_host *h);

/* child.c: what the child of @parent does, which reads what comes on @fd. */
_Noreturn void plugin_child(const struct af_plugin_request *q, struct plugin_page *page, int fd,
                            pid_t parent);

#endif
