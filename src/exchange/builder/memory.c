/* Memory of devices that came and went. */
#include <stdlib.h>

#include "base/arena.h"
#include "exchange/builder/write.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* At one moment, frees come first: an allocation may reuse the address. */
static int address_order(const void *a, const void *b)
{
	const struct af_builder_memory *x = a, *y = b;
	int d = compare(x->process, y->process);

	if (!d)
		d = compare(x->time_ns, y->time_ns);
	if (!d)
		d = compare(y->category == AF_CATEGORY_FREE, x->category == AF_CATEGORY_FREE);
	return d ? d : compare(x->address, y->address);
}

void builder_write_memories(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	uint32_t process = UINT32_MAX;

	if (!d->nr_memories)
		return;
	AF_SORT(d->memories, d->nr_memories, address_order);
	for (uint64_t i = 0; i < d->nr_memories && !w->error; i++) {
		const struct af_builder_memory *m = &d->memories[i];
		if (m->process != process) {
			if (i)
				builder_stream_close(w);
			process = m->process;
			builder_stream_open(w, "memory", process, process + 1,
			                    d->processes[process].pid);
		}
		bool on_host = m->memory == AF_MEMORY_PINNED;

		if (!on_host)
			builder_use(&w->devices, process, m->device);
		af_stream_put(&w->stream, memory, m->time_ns + w->shift_ns, .category = m->category,
		              .memory = m->memory, .device = on_host ? 0 : m->device + 1,
		              .correlation = m->correlation, .address = m->address,
		              .bytes = m->category == AF_CATEGORY_FREE ? 0 : m->bytes);
	}
	builder_stream_close(w);
}
