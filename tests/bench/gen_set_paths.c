/* Call paths of a solver that never was: the same functions in each rank. */
#include <stdio.h>
#include <string.h>

#include "gen_set.h"

enum { WIDTH = 16, BASE = 0x400000, APART = 64, SPECIAL = SET_DEPTH * WIDTH };

static const char module[] = "/opt/solver/bin/solver";

/* The number of the function at a depth of a path, from the root. */
static uint32_t function_of(uint32_t path, uint32_t depth)
{
	uint32_t mixed = (path >> depth) * 2654435761u ^ path * 40503u;

	if (!depth)
		return 0;
	if (path > SET_PATHS && depth == SET_DEPTH - 1)
		return SPECIAL + path - SET_PATHS;
	return depth * WIDTH + (mixed >> 12) % WIDTH;
}

static void name_of(uint32_t function, char name[32])
{
	static const char *const special[] = {"", "exchange_halo", "launch_kernels", "sort_badly",
	                                      "write_checkpoint"};

	if (!function)
		snprintf(name, 32, "main");
	else if (function > SPECIAL)
		snprintf(name, 32, "%s", special[function - SPECIAL]);
	else
		snprintf(name, 32, "solve_%u_%u", function / WIDTH, function % WIDTH);
}

void set_path_leaf(uint32_t path, char name[32])
{
	name_of(function_of(path, SET_DEPTH - 1), name);
}

void set_paths_define(struct af_stream *s, uint64_t now)
{
	for (uint32_t p = 1; p < PATH_END; p++) {
		uint64_t pcs[SET_DEPTH];
		for (uint32_t d = 0; d < SET_DEPTH; d++)
			pcs[SET_DEPTH - 1 - d] = BASE + APART * function_of(p, d) + 8;
		struct af_ev_stack stack = {.stack = p, .epoch = 1};
		struct af_tail tail = {pcs, sizeof pcs, 8};
		af_stream_put_tail(s, AF_KIND_STACK, now, &stack, sizeof stack, &tail, 1);
		af_stream_put(s, callpath, now, p, p, 0);
	}
}

static void string_put(struct af_stream *names, uint64_t now, uint32_t id, const char *text)
{
	struct af_ev_string string = {.string = id};
	struct af_tail tail = {text, (uint32_t)strlen(text), 0};

	af_stream_put_tail(names, AF_KIND_STRING, now, &string, sizeof string, &tail, 1);
}

void set_paths_name(struct af_stream *names, uint64_t now)
{
	char text[32];

	string_put(names, now, 1, module);
	string_put(names, now, 2, "solver.c");
	for (uint32_t i = 0; i <= SPECIAL + PATH_END - 1 - SET_PATHS; i++) {
		uint32_t frame[3] = {i + 3, 2, 10 * i + 1};
		if (i && i < WIDTH)
			continue;
		name_of(i, text);
		string_put(names, now, i + 3, text);
		struct af_ev_symbol symbol = {.process = 1,
		                              .address = BASE + APART * i + 8,
		                              .module = 1,
		                              .offset = APART * i + 8,
		                              .source = AF_SYMBOL_DWARF};
		struct af_tail frames = {frame, sizeof frame, 4};
		af_stream_put_tail(names, AF_KIND_SYMBOL, now, &symbol, sizeof symbol, &frames, 1);
	}
}
