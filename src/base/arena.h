/*
 * Memory that is freed as a whole. One arena per trace in analysis: what passes allocate lives
 * as long as the trace. Out of memory ends the program (these functions never return NULL).
 * Not for the code in a target process.
 */
#ifndef AF_BASE_ARENA_H
#define AF_BASE_ARENA_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

/* Copies that the caller frees: of @len bytes, and NUL-terminated; of a whole text. */
char *af_xstrndup(const char *s, size_t len);
static inline char *af_xstrdup(const char *s)
{
	return af_xstrndup(s, strlen(s));
}

/* The same for what runs out of it elsewhere, in a library. */
__attribute__((noreturn)) void af_memory_is_out(void);

/* How the program ends then, instead of by abort(); @end does not return. */
void af_out_of_memory(void (*end)(void));

/* @cap doubled until it is @need, or the program ends: it would be more than @most. */
size_t af_room(size_t cap, size_t need, size_t most);

/*
 * Arrays that grow, with room for @cap elements, what it points to from malloc or NULL. All take
 * lvalues without effects. AF_ROOM makes room for @need in all; AF_GROW for one more than the @nr
 * that there are; AF_REACH for one at @i, and what is new is zero. One @cap for several arrays: a
 * copy of it for each but the last.
 */
#define AF_ROOM(array, need, cap)                                                                  \
	do {                                                                                       \
		if ((need) > (cap)) {                                                              \
			(cap) = (__typeof__(cap))af_room(cap, need, (__typeof__(cap))-1);          \
			(array) = af_xrealloc(array, (size_t)(cap) * sizeof *(array));             \
		}                                                                                  \
	} while (0)

#define AF_GROW(array, nr, cap) AF_ROOM(array, (size_t)(nr) + 1, cap)

#define AF_REACH(array, i, cap)                                                                    \
	do {                                                                                       \
		if ((i) >= (cap)) {                                                                \
			size_t af_had = (cap);                                                     \
			AF_ROOM(array, (size_t)(i) + 1, cap);                                      \
			memset((array) + af_had, 0, ((cap)-af_had) * sizeof *(array));             \
		}                                                                                  \
	} while (0)

/* Sort the @nr elements of such an array, also where that is NULL with none, as qsort() may not. */
#define AF_SORT(array, nr, order)                                                                  \
	do {                                                                                       \
		if (nr)                                                                            \
			qsort(array, nr, sizeof *(array), order);                                  \
	} while (0)

#endif
