#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_FIRST = 1 << 12, ARENA_BLOCK = 1 << 20 };

struct af_arena_block {
	struct af_arena_block *next;
	size_t size;
};

static void (*oom_end)(void) = abort;

void af_out_of_memory(void (*end)(void))
{
	oom_end = end;
}

void af_memory_is_out(void)
{
	fputs("aflame: out of memory\n", stderr);
	oom_end();
	abort();
}

void *af_xrealloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);
	if (!q)
		af_memory_is_out();
	return q;
}

size_t af_room(size_t cap, size_t need, size_t most)
{
	for (cap = cap ? cap : 16; cap < need; cap *= 2)
		if (cap > most / 2)
			af_memory_is_out();
	return cap;
}

void *af_xcalloc(size_t n, size_t size)
{
	void *q = calloc(n ? n : 1, size ? size : 1);
	if (!q)
		af_memory_is_out();
	return q;
}

char *af_xstrndup(const char *s, size_t len)
{
	char *d = memcpy(af_xrealloc(NULL, len + 1), s, len);

	d[len] = 0;
	return d;
}

void *af_arena_alloc(struct af_arena *a, size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;

	if (need < size)
		af_memory_is_out();
	if (!a->head || a->cap - a->used < need) {
		size_t cap = a->total < ARENA_FIRST   ? ARENA_FIRST
		             : a->total < ARENA_BLOCK ? a->total
		                                      : ARENA_BLOCK;

		cap = need > cap ? need : cap;
		struct af_arena_block *b = af_xcalloc(1, 16 + cap);

		b->size = cap;
		/* A block of its own for a big request keeps the half-used one in front. */
		if (a->head && need > ARENA_BLOCK / 2) {
			b->next = a->head->next;
			a->head->next = b;
			a->total += need;
			return (char *)b + 16;
		}
		b->next = a->head;
		a->head = b;
		a->used = 0;
		a->cap = cap;
	}
	void *p = (char *)a->head + 16 + a->used;
	a->used += need;
	a->total += need;
	return p;
}

char *af_arena_strdup(struct af_arena *a, const char *s, size_t len)
{
	char *d = af_arena_alloc(a, len + 1);
	memcpy(d, s, len);
	return d;
}

void af_arena_free(struct af_arena *a)
{
	while (a->head) {
		struct af_arena_block *next = a->head->next;
		free(a->head);
		a->head = next;
	}
	*a = (struct af_arena){0};
}
