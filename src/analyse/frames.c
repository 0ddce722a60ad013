#include "analyse/frames.h"

#include <stdio.h>
#include <string.h>

#include "sym/sym.h"

static uint32_t under(struct af_tree *t, uint32_t parent, const char *text, enum af_frame kind)
{
	return af_tree_child(t, parent, af_tree_name(t, text, strlen(text), kind, 0));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* An address without a name still has its module and the reason. */
static uint32_t frame_unnamed(struct af_tree *t, const struct af_world *w, uint32_t parent,
                              const struct af_symbol *s)
{
	static const char *const reasons[AF_SYMBOL_END] = {
	    [AF_SYMBOL_NO_FILE] = "file gone",
	    [AF_SYMBOL_BUILD_ID] = "file replaced",
	    [AF_SYMBOL_NO_SYMBOL] = "no symbol",
	    [AF_SYMBOL_NO_MODULE] = "no file mapped here",
	};
	const char *module = s ? af_strtab_get(&w->strings, s->module) : "";
	const char *reason = s && s->source < AF_SYMBOL_END ? reasons[s->source] : NULL;
	char text[512];

	snprintf(text, sizeof text, "[%s: %s]", *module ? base_name(module) : "unknown",
	         reason ? reason : "not named");
	return under(t, parent, text, *module ? AF_FRAME_NATIVE : AF_FRAME_MARK);
}

/* One address: its function, then what was inlined into it, from the outside in. */
static uint32_t frame_native(struct af_tree *t, const struct af_world *w, uint32_t parent,
                             const struct af_stack *stack, uint64_t pc)
{
	const struct af_symbol *s = af_world_symbol(w, stack->process, pc, stack->generation);

	if (!s || !s->nr_frames)
		return frame_unnamed(t, w, parent, s);
	for (uint32_t i = s->nr_frames; i-- > 0;) {
		const char *name = af_strtab_get(&w->strings, s->frames[i * 3]);
		enum af_frame kind = i + 1 < s->nr_frames         ? AF_FRAME_INLINED
		                     : s->source == AF_SYMBOL_JIT ? AF_FRAME_JIT
		                                                  : AF_FRAME_NATIVE;
		parent = *name ? under(t, parent, name, kind) : frame_unnamed(t, w, parent, s);
	}
	return parent;
}

static uint32_t frame_python(struct af_tree *t, const struct af_world *w, uint32_t parent,
                             uint32_t process, uint64_t entry)
{
	const struct af_code *c = af_world_code(w, process, (uint32_t)(entry >> 32));
	char text[1024];

	if (!c)
		return under(t, parent, "[python function not known]", AF_FRAME_MARK);
	int line = af_py_line(c->version, c->lines, c->lines_len, c->first_line, (uint32_t)entry);
	if (line < 0)
		line = c->first_line;
	snprintf(text, sizeof text, "%s (%s:%d)", c->name, base_name(c->file), line);
	return under(t, parent, text, AF_FRAME_PYTHON);
}

static uint32_t frame_truncated(struct af_tree *t, uint32_t parent, uint32_t stop)
{
	char text[160];

	snprintf(text, sizeof text, "[truncated: %s]", af_stop_text(stop));
	return under(t, parent, text, AF_FRAME_MARK);
}

uint32_t af_frames_node(struct af_tree *t, const struct af_world *w, uint32_t path,
                        uint32_t process)
{
	const struct af_process *p = af_world_process(w, process);
	uint32_t node =
	    under(t, 0, p && *p->name ? p->name : "[unknown process]", AF_FRAME_PROCESS);

	if (!path || !w->paths[path].stack)
		return under(t, node, "[stack not recorded]", AF_FRAME_MARK);
	const struct af_stack *stack = &w->stacks[w->paths[path].stack];
	const struct af_stack *py =
	    w->paths[path].py_stack ? &w->py_stacks[w->paths[path].py_stack] : NULL;
	if (stack->stop != AF_STOP_COMPLETE)
		node = frame_truncated(t, node, stack->stop);
	for (uint32_t i = stack->nr; i-- > 0;)
		node = frame_native(t, w, node, stack, stack->pcs[i]);
	for (uint32_t i = py ? py->nr : 0; i-- > 0;)
		if (py->pcs[i] != AF_PY_BORDER)
			node = frame_python(t, w, node, py->process, py->pcs[i]);
	return node;
}
