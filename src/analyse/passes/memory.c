/* How much memory did devices hand out, and how much of it at a time? One row a device and kind. */
#include <stdlib.h>

#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/world/device_name.h"
#include "base/arena.h"
#include "base/keys.h"

struct memory_row {
	uint32_t process, device;
	uint32_t memory;                     /* enum af_memory; 0: all of the device */
	uint64_t nr_allocs, nr_frees, bytes; /* all that were ever allocated */
	uint64_t now_bytes, peak_bytes;
};

/* The allocation at an address: its two rows and its bytes; 0 bytes when it was freed. */
struct memory_block {
	uint32_t row, all;
	uint64_t bytes;
};

struct memory {
	struct memory_row *rows;
	struct memory_block *blocks;
	uint32_t nr_rows, cap_rows, nr_blocks, cap_blocks;
	struct af_keys by_address;
	struct af_keys by_row;
	uint64_t strange; /* freed, and never allocated */
};

static uint32_t memory_row(struct memory *m, uint32_t process, uint32_t device, uint32_t memory)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&m->by_row, AF_KEY(process, device, memory), &fresh);

	if (fresh) {
		AF_GROW(m->rows, m->nr_rows, m->cap_rows);
		m->rows[m->nr_rows] =
		    (struct memory_row){.process = process, .device = device, .memory = memory};
		*slot = m->nr_rows++;
	}
	return (uint32_t)*slot;
}

static void row_free(struct memory_row *row, uint64_t bytes)
{
	row->now_bytes -= bytes;
	row->nr_frees++;
}

static void row_alloc(struct memory_row *row, uint64_t bytes)
{
	row->nr_allocs++;
	row->bytes += bytes;
	row->now_bytes += bytes;
	if (row->now_bytes > row->peak_bytes)
		row->peak_bytes = row->now_bytes;
}

static void memory_free(struct memory *m, struct memory_block *block)
{
	row_free(&m->rows[block->row], block->bytes);
	row_free(&m->rows[block->all], block->bytes);
	block->bytes = 0;
}

static void memory_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct memory *m = self;
	struct af_ev_memory fixed;
	bool fresh;

	(void)w;
	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL))
		return;
	/* Handles of memory that is mapped later are small numbers, not addresses. */
	uint64_t *slot = af_keys_at(
	    &m->by_address, AF_KEY(ev->process, fixed.memory == AF_MEMORY_VIRTUAL, fixed.address),
	    &fresh);
	if (fresh) {
		AF_GROW(m->blocks, m->nr_blocks, m->cap_blocks);
		m->blocks[m->nr_blocks] = (struct memory_block){0};
		*slot = m->nr_blocks++;
	}
	struct memory_block *block = &m->blocks[*slot];
	if (fixed.category == AF_CATEGORY_FREE) {
		m->strange += !block->bytes;
		if (block->bytes)
			memory_free(m, block);
		return;
	}
	if (!fixed.bytes)
		return;
	if (block->bytes) /* Its FREE was lost: nothing is twice at an address. */
		memory_free(m, block);
	block->row =
	    memory_row(m, ev->process, fixed.device, fixed.memory ? fixed.memory : AF_MEMORY_END);
	block->all = memory_row(m, ev->process, fixed.device, 0);
	block->bytes = fixed.bytes;
	row_alloc(&m->rows[block->row], fixed.bytes);
	row_alloc(&m->rows[block->all], fixed.bytes);
}

/* Is @r the sum of a device with one kind of memory, which says the same? */
static bool memory_repeats(const struct memory *m, const struct memory_row *r)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < m->nr_rows; i++)
		nr += m->rows[i].process == r->process && m->rows[i].device == r->device;
	return !r->memory && nr <= 2;
}

static int memory_order(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->memory < y->memory ? -1 : x->memory > y->memory;
}

static void memory_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_MEMORY_COLUMNS(AF_ROW_COLUMN)};
	struct memory *m = self;
	struct af_tables *f = &out->tables;

	if (!m->nr_rows)
		return;
	AF_SORT(m->rows, m->nr_rows, memory_order);
	struct af_table *t = AF_TABLE(f, "memory", "Memory of devices", columns);
	for (uint32_t i = 0; i < m->nr_rows; i++) {
		const struct memory_row *r = &m->rows[i];
		if (memory_repeats(m, r))
			continue;
		const struct af_process *p = af_world_process(w, r->process);
		const char *memory = af_memory_text(r->memory);
		struct af_memory_row *c = af_table_row(f, t);
		c->device.text = r->device ? af_device_name(f, w, r->process, r->device) : "host";
		c->memory.text = !r->memory ? "all" : *memory ? memory : "other";
		c->peak_bytes.value = r->peak_bytes;
		c->end_bytes.value = r->now_bytes;
		c->allocated_bytes.value = r->bytes;
		c->allocations.value = r->nr_allocs;
		c->frees.value = r->nr_frees;
		c->process.text = p ? af_tables_text(f, "%s [%u]%s", p->name, p->pid, p->rank) : "";
	}
	if (m->strange)
		t->note = af_tables_text(
		    f, "%llu frees of memory that was allocated before recording began",
		    (unsigned long long)m->strange);
}

static void memory_close(void *self)
{
	struct memory *m = self;

	free(m->rows);
	free(m->blocks);
	af_keys_free(&m->by_row);
	af_keys_free(&m->by_address);
}

const struct af_pass_ops af_pass_memory = {
    .name = "memory",
    .question = "how much memory did devices hand out?",
    .answers = AF_ANSWER_TABLES | AF_ANSWER_TALLY,
    .wants = 1ull << AF_KIND_MEMORY,
    .state_size = sizeof(struct memory),
    .event = memory_event,
    .finish = memory_finish,
    .close = memory_close,
};
