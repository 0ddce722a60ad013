/*
 * Large arrays of parts that were read: the next part fills them again, because memory that is
 * fresh from the kernel costs more than what is put there.
 */
#include "analyse/idle/idle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SPARE_BYTES = 1 << 20 /* at least */, SPARES = 32 };

struct spare {
	void *at;
	size_t bytes, size; /* size: of the elements, as arrays of a kind become about as large */
};

static struct {
	pthread_mutex_t lock;
	struct spare all[SPARES];
	uint32_t nr;
} spares = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The largest of its kind, if that has @least_bytes. */
static struct spare spare_take(size_t least_bytes, size_t size)
{
	struct spare *most = NULL, taken = {0};

	pthread_mutex_lock(&spares.lock);
	for (uint32_t n = 0; n < spares.nr; n++)
		if (spares.all[n].size == size && (!most || spares.all[n].bytes > most->bytes))
			most = &spares.all[n];
	if (most && most->bytes >= least_bytes) {
		taken = *most;
		*most = spares.all[--spares.nr];
	}
	pthread_mutex_unlock(&spares.lock);
	return taken;
}

static void spare_give(void *at, size_t bytes, size_t size)
{
	pthread_mutex_lock(&spares.lock);
	if (bytes >= SPARE_BYTES && spares.nr < SPARES) {
		spares.all[spares.nr++] = (struct spare){at, bytes, size};
		at = NULL;
	}
	pthread_mutex_unlock(&spares.lock);
	free(at);
}

void idle_spare_free(void)
{
	pthread_mutex_lock(&spares.lock);
	while (spares.nr)
		free(spares.all[--spares.nr].at);
	pthread_mutex_unlock(&spares.lock);
}

void *idle_spare_room(void *array, uint32_t nr, uint32_t *cap, size_t size)
{
	struct spare taken = {0};
	size_t bytes = nr * size;

	if (bytes >= SPARE_BYTES / 8)
		taken = spare_take(2 * bytes, size);
	if (!taken.at) {
		*cap = (uint32_t)af_room(*cap, (size_t)nr + 1, UINT32_MAX);
		return af_xrealloc(array, *cap * size);
	}
	memcpy(taken.at, array, bytes);
	spare_give(array, *cap * size, size);
	*cap = (uint32_t)(taken.bytes / size);
	return taken.at;
}

void *idle_spare_shrink(void *array, uint32_t nr, uint32_t *cap, size_t size)
{
	if (nr >= *cap / 2)
		return array;
	void *at = af_xrealloc(NULL, nr * size);
	memcpy(at, array, nr * size);
	spare_give(array, *cap * size, size);
	*cap = nr;
	return at;
}
