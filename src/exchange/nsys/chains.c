/* Nsight Systems' export: stacks, of samples and of calls. */
#include <stdio.h>
#include <string.h>

#include "exchange/nsys/nsys.h"

enum { OWN_FRAMES = 16 }; /* of what a call calls itself */

static const char broken[] = "[truncated: broken backtrace]";

const char *const nsys_chain_columns[] = {"id",         "symbol",     "module",       "kernelMode",
                                          "unresolved", "stackDepth", "unwindMethod", NULL};

static uint32_t text_name(struct import_nsys *in, const char *text)
{
	return af_builder_name(in->builder, text, strlen(text));
}

/*
 * A frame without a name gets the name of its file. Named by its address, each would be a function
 * of its own.
 */
static uint32_t frame_unnamed(struct import_nsys *in, uint32_t module)
{
	const char *path = af_strtab_get(&in->builder->names, module), *slash = strrchr(path, '/');
	char text[512];

	if (!*path || !strcmp(path, "[Unknown]"))
		return text_name(in, "[unknown]");
	snprintf(text, sizeof text, *path == '[' ? "%s" : "[%s: no symbol]",
	         slash && slash[1] ? slash + 1 : path);
	return text_name(in, text);
}

/* The outermost frame says where the unwinding stopped. */
static uint32_t frame_name(struct import_nsys *in, uint32_t symbol)
{
	const char *text = af_strtab_get(&in->builder->names, symbol),
		   *version = strstr(text, "@@");

	/* Older versions of a function have a single '@'. */
	if (!version)
		version = strstr(text, "@GLIBC");
	/* That one of a call whose stack was copied up to there. */
	if (!strcmp(text, "[Broken backtraces]") || !strcmp(text, "0x0"))
		return text_name(in, broken);
	if (!strcmp(text, "[Max depth]"))
		return text_name(in, "[truncated: too deep]");
	return version && version > text
	           ? af_builder_name(in->builder, text, (size_t)(version - text))
	           : symbol;
}

static bool thread_begins(const char *name)
{
	static const char *const names[] = {"_start",        "clone",           "__clone",
	                                    "clone3",        "__clone3",        "__GI___clone",
	                                    "__GI___clone3", "__clone_internal"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Nsight marks some stacks as broken that do reach the function where their thread begins. */
static bool stack_whole(const struct af_builder *d, uint32_t stack, uint32_t name)
{
	const struct af_builder_node *outermost = &d->nodes[stack];

	return stack && !outermost->parent && thread_begins(af_strtab_get(&d->names, name)) &&
	       !strcmp(af_strtab_get(&d->names, d->frames[outermost->frame].name), broken);
}

void nsys_chain_add(struct import_nsys *in, struct af_map *stacks, const struct sqlite_rows *rows)
{
	struct af_builder_frame_of frame = {.name = frame_name(in, nsys_string(in, rows, 1)),
	                                    .module = nsys_string(in, rows, 2)};
	int64_t id = sqlite_int(rows, 0, -1);
	bool fresh;

	bool end = frame.name && !strcmp(af_strtab_get(&in->builder->names, frame.name), broken);
	if (!frame.name || (sqlite_int(rows, 4, 0) && !end))
		frame.name = frame_unnamed(in, frame.module);
	frame.kind = sqlite_int(rows, 3, 0) ? AF_BUILDER_KERNEL : AF_BUILDER_NATIVE;
	uint64_t *stack = af_map_at(stacks, (uint64_t)id, &fresh);
	if (stack_whole(in->builder, (uint32_t)*stack, frame.name))
		*stack = 0;
	/* The stack is this one frame: nothing was unwound from it. */
	if (fresh && !sqlite_int(rows, 5, -1) && !sqlite_int(rows, 6, -1))
		*stack = af_builder_node(in->builder, 0, text_name(in, "[truncated: not unwound]"),
		                         AF_BUILDER_NATIVE);
	*stack = af_builder_node_of(in->builder, (uint32_t)*stack, &frame);
}

/* "poll" is "__poll" to itself. */
static bool function_is(const struct af_builder *d, uint32_t stack, const char *function)
{
	const char *name = af_strtab_get(&d->names, d->frames[d->nodes[stack].frame].name);

	return !strcmp(name + strspn(name, "_"), function + strspn(function, "_"));
}

uint32_t nsys_stack_to(const struct import_nsys *in, uint32_t stack, uint32_t function)
{
	const char *text = af_strtab_get(&in->builder->names, function);
	const struct af_builder *d = in->builder;
	uint32_t at = stack;

	for (int i = 0; at && i < OWN_FRAMES; i++, at = d->nodes[at].parent)
		if (function_is(d, at, text))
			return d->nodes[at].parent;
	return stack;
}
