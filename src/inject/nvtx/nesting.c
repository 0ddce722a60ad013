#include "inject/nvtx/nesting.h"

#include <string.h>

#include "base/pages.h"

/* Threads have one while a range is open. */
static struct af_spares spares = {.size = AF_NESTING_DEEP * sizeof(struct af_nesting_open)};

bool af_nesting_push(struct af_nesting *n, uint64_t key, bool written)
{
	if (!n->nr)
		n->open = af_spares_take(&spares);
	if (n->nr == AF_NESTING_DEEP || !n->open) {
		n->beyond++;
		return false;
	}
	n->open[n->nr].key = key;
	n->open[n->nr++].written = written;
	return true;
}

int32_t af_nesting_find(const struct af_nesting *n, uint64_t key)
{
	int32_t at = (int32_t)n->nr - 1;

	while (at >= 0 && n->open[at].key != key)
		at--;
	return at;
}

bool af_nesting_remove(struct af_nesting *n, uint32_t at)
{
	bool written = n->open[at].written;

	n->nr--;
	memmove(&n->open[at], &n->open[at + 1], (n->nr - at) * sizeof *n->open);
	if (!n->nr) {
		af_spares_give(&spares, n->open);
		n->open = NULL;
	}
	return written;
}
