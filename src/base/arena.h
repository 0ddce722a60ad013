/*
 * Memory that is freed as a whole. One arena per trace in analysis: what passes allocate lives
 * as long as the trace. Out of memory ends the program (these functions never return NULL).
 * Not for the code in a target process.
 */
#ifndef AF_BASE_ARENA_H
#define AF_BASE_ARENA_H

#include <stddef.h>

struct af_arena {
	struct af_arena_block *head;
	size_t used, cap; /* bytes in head */
	size_t total;     /* bytes handed out, for reports */
};

/* A zeroed struct is an empty arena. */
void af_arena_free(struct af_arena *a);

/* @size zeroed bytes, aligned to 16. */
void *af_arena_alloc(struct af_arena *a, size_t size);

/* A NUL-terminated copy of @len bytes. */
char *af_arena_strdup(struct af_arena *a, const char *s, size_t len);

/* malloc that ends the program when memory runs out; for growing arrays in analysis. */
void *af_xrealloc(void *p, size_t size);
void *af_xcalloc(size_t n, size_t size);

/* The same for what runs out of it elsewhere, in a library. */
__attribute__((noreturn)) void af_memory_is_out(void);

/* How the program ends then, instead of by abort(); @end does not return. */
void af_out_of_memory(void (*end)(void));

/* Make room for one more in @array, which has @nr of @cap elements. Lvalues without effects. */
#define AF_GROW(array, nr, cap)                                                                    \
	do {                                                                                       \
		if ((nr) == (cap)) {                                                               \
			(cap) = (cap) ? (cap)*2 : 16;                                              \
			(array) = af_xrealloc(array, (size_t)(cap) * sizeof *(array));             \
		}                                                                                  \
	} while (0)

#endif
