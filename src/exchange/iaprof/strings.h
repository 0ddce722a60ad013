/*
 * The strings of an iaprof profile: names, and stacks that are already text, `main;f;g_[k];`. A
 * stack is split when it comes, so that memory grows only with new frames. iaprof also writes each
 * sample's whole path as a string, for simple viewers; those are not kept.
 *
 * One id may be used as a name and as a stack.
 */
#ifndef AF_EXCHANGE_IAPROF_STRINGS_H
#define AF_EXCHANGE_IAPROF_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct af_builder;

struct iaprof_strings {
	struct af_builder *builder;
	struct af_map by_id; /* id → index */
	struct iaprof_string {
		uint32_t name; /* of the builder, when it is no stack */
		uint32_t node;
		bool stack;
	} * all;
	uint32_t nr, cap;
};

/* Free what @s holds. A zeroed struct is fine. */
void iaprof_strings_free(struct iaprof_strings *s);

/* From here on @id is the @len bytes at @text. False: it was another string before. */
bool iaprof_string_put(struct iaprof_strings *s, uint64_t id, const char *text, size_t len);

/*
 * The name, or the stack, of @id; 0 for id 0. An id that the file does not define is counted: its
 * number becomes the name, and it has no stack.
 */
uint32_t iaprof_name(struct iaprof_strings *s, uint64_t id);
uint32_t iaprof_stack(struct iaprof_strings *s, uint64_t id);

/*
 * The stack of the frames in @text, with semicolons between, all of @kind (enum af_builder_frame).
 */
uint32_t iaprof_stack_of(struct af_builder *d, const char *text, uint32_t kind);

/* The stack @above, 0 for none, with the frames of @node inside of it. */
uint32_t iaprof_stack_join(struct af_builder *d, uint32_t above, uint32_t node);

#endif
