/* Memory of devices that came and went. */
#include <stdlib.h>

#include "base/arena.h"
#include "exchange/builder/write.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Of one moment what went comes first: its address may be what came. */
static int address_order(const void *a, const void *b)
{
	const struct af_draft_memory *x = a, *y = b;
	int d = compare(x->process, y->process);

	if (!d)
		d = compare(x->time_ns, y->time_ns);
	if (!d)
		d = compare(y->does == AF_DOES_FREE, x->does == AF_DOES_FREE);
	return d ? d : compare(x->address, y->address);
}

void draft_write_memories(struct draft_writer *w)
{
	struct af_draft *d = w->draft;
	uint32_t process = UINT32_MAX;

	if (!d->nr_memories)
		return;
	qsort(d->memories, d->nr_memories, sizeof *d->memories, address_order);
	for (uint64_t i = 0; i < d->nr_memories && !w->error; i++) {
		const struct af_draft_memory *m = &d->memories[i];
		if (m->process != process) {
			if (i)
				draft_stream_close(w);
			process = m->process;
			draft_stream_open(w, "memory", process, process + 1,
			                  d->processes[process].pid);
		}
		bool on_host = m->memory == AF_MEMORY_PINNED;

		if (!on_host)
			draft_use(&w->devices, process, m->device);
		af_stream_put(&w->stream, memory, m->time_ns + w->shift_ns, .does = m->does,
		              .memory = m->memory, .device = on_host ? 0 : m->device + 1,
		              .correlation = m->correlation, .address = m->address,
		              .bytes = m->does == AF_DOES_FREE ? 0 : m->bytes);
	}
	draft_stream_close(w);
}
