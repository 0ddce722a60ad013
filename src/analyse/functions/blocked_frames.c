/*
 * Finds the frames that name a wait in an off-CPU stack: the leaf-most user frame, and the
 * leaf-most kernel frame other than the scheduler's.
 */
#include "analyse/functions/blocked.h"

#include <stdbool.h>
#include <string.h>

static enum af_frame frame_of(const struct af_tree *t, uint32_t node)
{
	return af_tree_frame(t, t->nodes[node].name);
}

/* Behind it is what waited, before it who ended that. */
static bool is_border(const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *name = af_tree_text(t, t->nodes[node].name, &len);

	return len == 2 && frame_of(t, node) == AF_FRAME_MARK && !memcmp(name, "--", 2);
}

uint32_t af_blocked_user(const struct af_tree *t, uint32_t node)
{
	for (; node; node = t->nodes[node].parent) {
		enum af_frame frame = frame_of(t, node);
		if (frame == AF_FRAME_PROCESS || is_border(t, node))
			return 0;
		if (frame != AF_FRAME_KERNEL && frame != AF_FRAME_MARK)
			return node;
	}
	return 0;
}

/* The scheduler itself, and what watches it. */
static bool is_scheduler(const char *name, size_t len)
{
	static const char *const starts[] = {"schedule",     "io_schedule", "preempt_schedule",
	                                     "cond_resched", "bpf_",        "traceiter_"};

	while (len && *name == '_') {
		name++;
		len--;
	}
	for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
		if (len >= strlen(starts[i]) && !memcmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

uint32_t af_blocked_kernel(const struct af_tree *t, uint32_t node)
{
	for (; node; node = t->nodes[node].parent) {
		enum af_frame frame = frame_of(t, node);
		size_t len;
		const char *name = af_tree_text(t, t->nodes[node].name, &len);
		if (frame == AF_FRAME_KERNEL && !is_scheduler(name, len))
			return node;
		if ((frame != AF_FRAME_KERNEL && frame != AF_FRAME_MARK) || is_border(t, node))
			return 0;
	}
	return 0;
}
