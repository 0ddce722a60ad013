#include "analyse/frames/caller.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/names/glue.h"
#include "base/arena.h"

enum { DULL_UNKNOWN, DULL_NO, DULL_YES };

void af_callers_open(struct af_callers *c, const struct af_world *w)
{
	static const struct af_tree_weight none[] = {{"none", ""}};

	*c = (struct af_callers){.w = w};
	af_tree_open(&c->paths, none, 1);
	c->paths.last = &c->last;
}

void af_callers_close(struct af_callers *c)
{
	af_tree_close(&c->paths);
	af_frames_last_free(&c->last);
	free(c->all);
	free(c->dull);
	*c = (struct af_callers){0};
}

static bool name_is_dull(const struct af_tree *t, uint32_t name)
{
	enum af_frame frame = af_tree_frame(t, name);
	const char *module = af_tree_module(t, name);
	size_t len;
	const char *text = af_tree_text(t, name, &len);

	return frame == AF_FRAME_PROCESS || frame == AF_FRAME_MARK || frame == AF_FRAME_KERNEL ||
	       frame == AF_FRAME_MPI || af_glue_is(text, len, frame, module) ||
	       (module && (strstr(module, "/libc.so") || strstr(module, "/libomp") ||
	                   strstr(module, "/libiomp5.so")));
}

/* Does a frame say nothing of who called: libc's, OpenMP's, an interpreter's, a mark, a process? */
static bool is_dull(struct af_callers *c, uint32_t node)
{
	uint32_t name = c->paths.nodes[node].name;

	AF_REACH(c->dull, name, c->cap_dull);
	if (c->dull[name] == DULL_UNKNOWN)
		c->dull[name] = name_is_dull(&c->paths, name) ? DULL_YES : DULL_NO;
	return c->dull[name] == DULL_YES;
}

/* The nearest Python function; without one the nearest function of machine code. */
static uint32_t caller_node(struct af_callers *c, uint32_t node)
{
	const struct af_tree *t = &c->paths;
	uint32_t best = 0;

	for (; node; node = t->nodes[node].parent) {
		if (is_dull(c, node))
			continue;
		if (af_tree_frame(t, t->nodes[node].name) == AF_FRAME_PYTHON)
			return node;
		best = best ? best : node;
	}
	return best;
}

static bool is_runtime_name(const char *text, size_t len)
{
	return len > 4 && !memcmp(text, "cuda", 4) && isupper((unsigned char)text[4]);
}

/*
 * The function of the CUDA runtime that a path ends in, a node, or 0: the last one, or the one that
 * called the last ones, where they are in the runtime's library.
 */
static uint32_t runtime_node(const struct af_tree *t, uint32_t node)
{
	for (; node; node = t->nodes[node].parent) {
		const char *module = af_tree_module(t, t->nodes[node].name);
		size_t len;
		const char *text = af_tree_text(t, t->nodes[node].name, &len);
		if (is_runtime_name(text, len))
			return node;
		if (!module || !strstr(module, "libcudart"))
			break;
	}
	return 0;
}

const struct af_caller *af_callers_find(struct af_callers *c, uint32_t path)
{
	struct af_tree *t = &c->paths;

	AF_REACH(c->all, path, c->cap);
	struct af_caller *of = &c->all[path];
	if (of->is_known)
		return of;
	uint32_t node = path ? af_frames_call(t, c->w, 0, path) : 0;
	uint32_t runtime = runtime_node(t, node);
	*of = (struct af_caller){.is_known = true, .runtime = runtime};
	of->caller = caller_node(c, runtime ? t->nodes[runtime].parent : node);
	return of;
}
