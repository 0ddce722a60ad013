/* In which order slices are swept. */
#include "exchange/builder/write.h"

static enum af_builder_slice_kind kind_of(const struct af_builder_slice *s)
{
	return (enum af_builder_slice_kind)(s->thread >> 24);
}

static uint32_t thread_of(const struct af_builder_slice *s)
{
	return s->thread & AF_U24_MAX;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int builder_slice_order(const void *a, const void *b)
{
	static const uint8_t rank[] = {
	    [AF_BUILDER_RANGE] = 0, [AF_BUILDER_SPAN] = 1,     [AF_BUILDER_FUNCTION] = 2,
	    [AF_BUILDER_OP] = 3,    [AF_BUILDER_CALL] = 4,     [AF_BUILDER_START] = 5,
	    [AF_BUILDER_MARK] = 6,  [AF_BUILDER_END] = 7,      [AF_BUILDER_NODE] = 8,
	    [AF_BUILDER_BACK] = 9,  [AF_BUILDER_LIBRARY] = 10,
	};
	const struct af_builder_slice *x = a, *y = b;
	int d = compare(thread_of(x), thread_of(y));

	if (!d)
		d = compare(x->start_ns, y->start_ns);
	if (!d)
		d = compare(y->busy_ns, x->busy_ns);
	if (!d)
		d = compare(rank[kind_of(x)], rank[kind_of(y)]);
	if (!d)
		d = compare(x->correlation, y->correlation);
	if (!d && kind_of(x) >= AF_BUILDER_SPAN)
		d = compare(x->external, y->external);
	return d ? d : compare(x->name, y->name);
}
