/* Copies the client's records out of our buffers into its own: see client.h. */
#include <pthread.h>
#include <string.h>

#include "inject/cuda/client.h"
#include "inject/cuda/cuda.h"

/*
 * A buffer of the client's, as it is filled. As CUPTI does, we always have one of it while it
 * records, since Kineto asks for a flush only then; and we call it only while it records or in its
 * own calls, since it may be taken down when the process ends.
 */
struct copy {
	af_cupti_complete complete; /* of who gave it */
	uint8_t *buffer;
	size_t size, used, nr, nr_max;
};

static struct {
	pthread_mutex_t lock; /* never held while somebody is called */
	struct copy copy;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct copy held_take(void)
{
	pthread_mutex_lock(&held.lock);
	struct copy c = held.copy;
	held.copy.buffer = NULL;
	pthread_mutex_unlock(&held.lock);
	return c;
}

static void copy_deliver(struct copy *c)
{
	if (c->buffer)
		c->complete(NULL, 0, c->buffer, c->size, c->used);
	c->buffer = NULL;
}

/* Two threads may have had one each. */
static void held_put(struct copy *c)
{
	pthread_mutex_lock(&held.lock);
	if (!held.copy.buffer) {
		held.copy = *c;
		c->buffer = NULL;
	}
	pthread_mutex_unlock(&held.lock);
	copy_deliver(c);
}

static void copy_request(struct copy *c)
{
	af_cupti_request request;

	*c = (struct copy){0};
	if (af_client_buffers(&request, &c->complete))
		request(&c->buffer, &c->size, &c->nr_max);
}

static bool copy_has_room(const struct copy *c, size_t bytes)
{
	return c->buffer && bytes <= c->size - c->used && (!c->nr_max || c->nr < c->nr_max);
}

static void copy_add(struct copy *c, const uint8_t *record, size_t bytes)
{
	if (!copy_has_room(c, bytes)) {
		copy_deliver(c);
		copy_request(c);
	}
	if (!copy_has_room(c, bytes))
		return; /* it gives none: as CUPTI, which drops the record then */
	memcpy(c->buffer + c->used, record, bytes);
	c->used += bytes;
	c->nr++;
}

/* A record ends where the next one begins. */
void af_client_copy(const uint8_t *buffer, size_t valid)
{
	const struct af_cupti_record *next = NULL, *record = NULL;
	uint32_t rc;

	if (!af_client_had_kinds() || af_cuda_ending())
		return;
	struct copy c = held_take();
	do {
		rc = af_cupti.ActivityGetNextRecord((uint8_t *)(uintptr_t)buffer, valid, &next);
		const uint8_t *begin = (const uint8_t *)record;
		const uint8_t *end = rc ? buffer + valid : (const uint8_t *)next;
		if (record && af_client_is_its(record))
			copy_add(&c, begin, (size_t)(end - begin));
		record = next;
	} while (!rc);
	held_put(&c);
}

void af_client_hold(void)
{
	struct copy c = held_take();

	if (!c.buffer)
		copy_request(&c);
	held_put(&c);
}

void af_client_deliver(bool records)
{
	struct copy c = held_take();

	if (c.used || !records)
		copy_deliver(&c);
	held_put(&c);
	if (records)
		af_client_hold();
}
