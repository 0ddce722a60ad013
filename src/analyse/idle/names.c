/* Explanations by name: the stacks of places, and what one was about. */
#include "analyse/idle/idle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/frames/last.h"
#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"
#include "base/arena.h"

void idle_names_open(struct idle_names *n, const struct idle *i, const struct af_world *w)
{
	static const struct af_tree_weight none[] = {{"none", ""}};

	*n = (struct idle_names){.i = i, .w = w};
	n->scratch = af_xcalloc(1, sizeof *n->scratch);
	af_tree_open(n->scratch, none, 1);
	n->last = af_xcalloc(1, sizeof *n->last);
	n->scratch->last = n->last;
}

void idle_names_close(struct idle_names *n)
{
	if (n->scratch)
		af_tree_close(n->scratch);
	free(n->scratch);
	if (n->last)
		af_frames_last_free(n->last);
	free(n->last);
	af_map_free(&n->by_place);
	free(n->stacks);
	af_map_free(&n->by_call);
	*n = (struct idle_names){0};
}

static uint32_t node_of_call(struct idle_names *n, uint32_t place, uint32_t function)
{
	const struct af_stack_location at = idle_location(n->i, n->w, place);
	bool fresh;
	uint64_t *slot = af_map_at(&n->by_call, (uint64_t)place << 32 | function, &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	uint32_t node = af_frames_process(n->scratch, n->w, at.process);
	node = af_frames_call(n->scratch, n->w, node, at.path);
	if (function && *n->w->functions[function].name)
		node = af_frames_under(n->scratch, node, n->w->functions[function].name,
		                       AF_FRAME_NATIVE);
	*slot = node;
	return node;
}

static uint32_t node_of_place(struct idle_names *n, uint32_t place)
{
	const struct af_stack_location at = idle_location(n->i, n->w, place);
	bool fresh;
	uint64_t *node = af_map_at(&n->by_place, place, &fresh);

	if (fresh)
		*node = af_frames_node(n->scratch, n->w, &at);
	return (uint32_t)*node;
}

uint32_t idle_names_node(struct idle_names *n, enum idle_kind kind, uint32_t place, uint32_t what)
{
	switch (kind) {
	case IDLE_KIND_CALL:
	case IDLE_KIND_ON_WAY:
	case IDLE_KIND_QUEUED:
		return node_of_call(n, place, what);
	case IDLE_KIND_WAIT:
		return af_frames_under(n->scratch, node_of_place(n, place), af_wait_frame(what),
		                       AF_FRAME_MARK);
	case IDLE_KIND_TICK:
		return node_of_place(n, place);
	case IDLE_KIND_UNSEEN:
	case IDLE_KIND_NO_CALL:
		break;
	}
	return 0;
}

/* The reason that a frame's name shows; the first that fits. */
struct named {
	const char *start;
	enum idle_reason reason;
};

static enum idle_reason named_start(const struct named *names, size_t nr, const char *name,
                                    size_t len)
{
	for (size_t k = 0; k < nr; k++) {
		size_t start = strlen(names[k].start);
		if (len >= start && !memcmp(name, names[k].start, start))
			return names[k].reason;
	}
	return IDLE_REASONS;
}

/* MPI_Send, or PMPI_Send. */
static bool is_mpi(const char *name, size_t len)
{
	size_t at = len && name[0] == 'P' ? 1 : 0;

	return len > at + 4 && !memcmp(name + at, "MPI_", 4) &&
	       isupper((unsigned char)name[at + 4]);
}

/* OpenCL's calls are in no event of their own, CUDA's are not where they were not recorded. */
static enum idle_reason reason_of_function(const char *name, size_t len)
{
	static const struct named opencl[] = {
	    {"EnqueueNDRange", IDLE_LAUNCH}, {"EnqueueTask", IDLE_LAUNCH},
	    {"EnqueueNative", IDLE_LAUNCH},  {"Flush", IDLE_LAUNCH},
	    {"Finish", IDLE_SYNC},           {"WaitForEvents", IDLE_SYNC},
	    {"EnqueueMarker", IDLE_CALL},    {"EnqueueBarrier", IDLE_CALL},
	    {"Enqueue", IDLE_COPY},          {"CreateBuffer", IDLE_ALLOC},
	    {"CreateImage", IDLE_ALLOC},     {"SVMAlloc", IDLE_ALLOC},
	    {"SVMFree", IDLE_ALLOC},         {"ReleaseMem", IDLE_ALLOC},
	    {"BuildProgram", IDLE_LOAD},     {"CompileProgram", IDLE_LOAD},
	    {"LinkProgram", IDLE_LOAD},      {"CreateProgram", IDLE_LOAD},
	    {"CreateKernel", IDLE_LOAD},
	};
	static const struct named cuda[] = {
	    {"Launch", IDLE_LAUNCH},    {"GraphLaunch", IDLE_LAUNCH},
	    {"Memcpy", IDLE_COPY},      {"DeviceSynchronize", IDLE_SYNC},
	    {"CtxSync", IDLE_SYNC},     {"StreamSync", IDLE_SYNC},
	    {"EventSync", IDLE_SYNC},   {"Malloc", IDLE_ALLOC},
	    {"Free", IDLE_ALLOC},       {"MemAlloc", IDLE_ALLOC},
	    {"MemFree", IDLE_ALLOC},    {"HostAlloc", IDLE_ALLOC},
	    {"ModuleLoad", IDLE_LOAD},  {"LibraryLoad", IDLE_LOAD},
	    {"LinkComplete", IDLE_LOAD}};
	enum idle_reason reason;

	if (is_mpi(name, len))
		return IDLE_MPI;
	if (len > 2 && !memcmp(name, "cl", 2) && isupper((unsigned char)name[2])) {
		reason = named_start(opencl, sizeof opencl / sizeof *opencl, name + 2, len - 2);
		return reason == IDLE_REASONS ? IDLE_CALL : reason;
	}
	size_t api = len > 4 && !memcmp(name, "cuda", 4) ? 4 : 2;
	if (len <= api || memcmp(name, "cu", 2) || !isupper((unsigned char)name[api]))
		return IDLE_REASONS;
	reason = named_start(cuda, sizeof cuda / sizeof *cuda, name + api, len - api);
	return reason == IDLE_REASONS ? IDLE_CALL : reason;
}

/* Does a name look like that of code that loads data? docs/gpu.md has the list. */
static bool loads_data(const char *name, size_t len)
{
	static const char *const words[] = {"dataloader", "data_loader",      "dataset",
	                                    "fetch.py",   "tensorflow::data", "dali::"};

	for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
		size_t word = strlen(words[k]);
		for (size_t at = 0; at + word <= len; at++)
			if (!strncasecmp(name + at, words[k], word))
				return true;
	}
	return false;
}

/* For stacks: the innermost function that is a reason, and whether any function loads data. */
enum { STACK_LOADS = 0x80, STACK_REASON = 0x7f };

_Static_assert((int)IDLE_REASONS <= (int)STACK_REASON, "reasons have room beside it");

static uint8_t stack_says(const struct idle_names *n, uint32_t node)
{
	const struct af_tree *t = n->scratch;
	enum af_frame frame = af_tree_frame(t, t->nodes[node].name);
	enum idle_reason own = IDLE_REASONS;
	size_t len;

	/* Below a root are processes. */
	if (!node || !t->nodes[node].parent)
		return IDLE_REASONS;
	uint8_t below = n->stacks[t->nodes[node].parent];
	const char *name = af_tree_text(t, t->nodes[node].name, &len);
	if (frame == AF_FRAME_NATIVE)
		own = reason_of_function(name, len);
	if ((frame == AF_FRAME_NATIVE || frame == AF_FRAME_PYTHON) && loads_data(name, len))
		below |= STACK_LOADS;
	if (own == IDLE_REASONS)
		return below;
	return (uint8_t)(own | (below & STACK_LOADS));
}

/* Each node once, those above it first: stacks are deep, and share most of their frames. */
static enum idle_reason reason_of_stack(struct idle_names *n, uint32_t node,
                                        enum idle_reason otherwise)
{
	while (n->nr_stacks < n->scratch->nr) {
		AF_GROW(n->stacks, n->nr_stacks, n->cap_stacks);
		n->stacks[n->nr_stacks] = stack_says(n, n->nr_stacks);
		n->nr_stacks++;
	}
	uint8_t says = n->stacks[node];
	if ((says & STACK_REASON) != IDLE_REASONS)
		return (enum idle_reason)(says & STACK_REASON);
	return says & STACK_LOADS ? IDLE_INPUT : otherwise;
}

static enum idle_reason reason_of_call(const struct af_world *w, uint32_t function)
{
	static const enum idle_reason reasons[AF_CATEGORY_END] = {
	    [0] = IDLE_CALL,
	    [AF_CATEGORY_LAUNCH] = IDLE_LAUNCH,
	    [AF_CATEGORY_COPY] = IDLE_COPY,
	    [AF_CATEGORY_FILL] = IDLE_COPY,
	    [AF_CATEGORY_SYNC] = IDLE_SYNC,
	    [AF_CATEGORY_ALLOC] = IDLE_ALLOC,
	    [AF_CATEGORY_FREE] = IDLE_ALLOC,
	    [AF_CATEGORY_GRAPH_LAUNCH] = IDLE_LAUNCH,
	    [AF_CATEGORY_GRAPH] = IDLE_CALL,
	    [AF_CATEGORY_LOAD] = IDLE_LOAD,
	    [AF_CATEGORY_OTHER] = IDLE_CALL,
	};
	uint32_t category = function ? w->functions[function].category : 0;

	if (function && w->functions[function].api == AF_API_MPI)
		return IDLE_MPI;

	return category < AF_CATEGORY_END ? reasons[category] : IDLE_CALL;
}

enum idle_reason idle_reason(struct idle_names *n, enum idle_kind kind, uint32_t place,
                             uint32_t what)
{
	switch (kind) {
	case IDLE_KIND_CALL:
		return reason_of_call(n->w, what);
	case IDLE_KIND_WAIT:
		return reason_of_stack(n, idle_names_node(n, kind, place, what),
		                       what == AF_STATE_RUNNABLE ? IDLE_STARVED : IDLE_OFF);
	case IDLE_KIND_TICK:
		return reason_of_stack(n, idle_names_node(n, kind, place, what), IDLE_RUN);
	case IDLE_KIND_ON_WAY:
		return IDLE_ON_WAY;
	case IDLE_KIND_QUEUED:
		return IDLE_QUEUED;
	case IDLE_KIND_UNSEEN:
		return IDLE_UNSEEN;
	case IDLE_KIND_NO_CALL:
		break;
	}
	return IDLE_NO_CALL;
}

const char *idle_phase_frame(enum idle_phase phase)
{
#define AF_P(NAME, frame) [IDLE_##NAME] = (frame),
	static const char *const frames[] = {AF_IDLE_PHASES(AF_P)};
#undef AF_P
	return frames[phase];
}

const char *idle_reason_frame(enum idle_reason reason)
{
#define AF_R(NAME, frame) [IDLE_##NAME] = (frame),
	static const char *const frames[] = {AF_IDLE_REASONS(AF_R)};
#undef AF_R
	return frames[reason];
}
