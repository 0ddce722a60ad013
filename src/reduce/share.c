/* Shares members out: equal parts, each near the process that reads it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/keys.h"
#include "reduce/reduce.h"

enum { HOST_BYTES = 256 };

/* A process and the first member of its host. */
struct reader {
	uint32_t rank, member;
};

static int reader_order(const void *a, const void *b)
{
	const struct reader *x = a, *y = b;

	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static const char *host_name(char host[HOST_BYTES])
{
	if (gethostname(host, HOST_BYTES - 1))
		host[0] = 0;
	host[HOST_BYTES - 1] = 0;
	return host;
}

/*
 * Launchers fill one host with ranks after the other, so processes in the order in which their
 * hosts first have a member have equal parts near them. A process on another host goes last.
 */
static int order_readers(struct af_reduce *r, const char *const *hosts, uint32_t nr,
                         struct af_buf *order, struct af_err *err)
{
	struct reader *readers = af_xcalloc(r->size, sizeof *readers);
	struct af_keys first = {0};
	struct af_buf from = {0};
	char host[HOST_BYTES];
	bool fresh;
	int rc = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t *slot = af_keys_at(&first, AF_KEY_TEXT(hosts[i]), &fresh);
		if (fresh)
			*slot = i;
	}
	af_buf_str(&from, host_name(host));
	for (uint32_t i = 0; !rc && i < r->size; i++) {
		rc = i ? af_reduce_receive(r, i, &from, err) : 0;
		const uint64_t *member =
		    rc || !from.len ? NULL : af_keys_get(&first, from.data, from.len);
		readers[i] = (struct reader){i, member ? (uint32_t)*member : UINT32_MAX};
	}
	AF_SORT(readers, r->size, reader_order);
	for (uint32_t i = 0; i < r->size; i++)
		af_buf_add(order, &readers[i].rank, sizeof readers[i].rank);
	af_keys_free(&first);
	af_buf_free(&from);
	free(readers);
	return rc;
}

/* By place, as process 0 has chosen. */
static int order_all(struct af_reduce *r, const char *const *hosts, uint32_t nr,
                     struct af_buf *order, struct af_err *err)
{
	char host[HOST_BYTES];

	int rc = r->rank ? af_reduce_send(r, 0, host_name(host), strlen(host), err)
	                 : order_readers(r, hosts, nr, order, err);
	return rc ? rc : af_reduce_broadcast(r, order, err);
}

int af_reduce_share(struct af_reduce *r, const char *const *hosts, uint32_t nr,
                    struct af_reduce_part *part, struct af_err *err)
{
	struct af_buf order = {0};

	*part = (struct af_reduce_part){.nr = nr, .at = af_xcalloc(r->size, sizeof *part->at)};
	int rc = r->size > 1 ? order_all(r, hosts, nr, &order, err) : 0;
	if (!rc && r->size > 1) {
		struct af_cursor c = af_buf_cursor(&order);
		for (uint32_t i = 0; i < r->size; i++) {
			part->at[i] = (uint32_t)af_cursor_uint(&c, sizeof *part->at) % r->size;
			part->place = part->at[i] == r->rank ? i : part->place;
		}
		part->first = (uint32_t)((uint64_t)nr * part->place / r->size);
		part->nr = (uint32_t)((uint64_t)nr * (part->place + 1) / r->size) - part->first;
	}
	af_buf_free(&order);
	return rc;
}
