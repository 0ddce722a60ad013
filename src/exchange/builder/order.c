/* In which order slices are swept. */
#include "exchange/builder/write.h"

static enum af_draft_slice_kind kind_of(const struct af_draft_slice *s)
{
	return (enum af_draft_slice_kind)(s->thread >> 24);
}

static uint32_t thread_of(const struct af_draft_slice *s)
{
	return s->thread & AF_U24_MAX;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int draft_slice_order(const void *a, const void *b)
{
	static const uint8_t rank[] = {
	    [AF_DRAFT_RANGE] = 0, [AF_DRAFT_SPAN] = 1,  [AF_DRAFT_FUNCTION] = 2, [AF_DRAFT_OP] = 3,
	    [AF_DRAFT_CALL] = 4,  [AF_DRAFT_START] = 5, [AF_DRAFT_MARK] = 6,     [AF_DRAFT_END] = 7,
	    [AF_DRAFT_NODE] = 8,  [AF_DRAFT_BACK] = 9,  [AF_DRAFT_LIBRARY] = 10,
	};
	const struct af_draft_slice *x = a, *y = b;
	int d = compare(thread_of(x), thread_of(y));

	if (!d)
		d = compare(x->start_ns, y->start_ns);
	if (!d)
		d = compare(y->busy_ns, x->busy_ns);
	if (!d)
		d = compare(rank[kind_of(x)], rank[kind_of(y)]);
	if (!d)
		d = compare(x->correlation, y->correlation);
	if (!d && kind_of(x) >= AF_DRAFT_SPAN)
		d = compare(x->external, y->external);
	return d ? d : compare(x->name, y->name);
}
