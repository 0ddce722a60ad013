#include "collect/batches/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "batch/batch.h"
#include "trace/write/stream.h"

void af_batch_kernels_free(struct af_batch_kernels *k)
{
	for (uint32_t i = 0; i < AF_BATCH_SUBMITTERS; i++)
		free(k->pending[i]);
	free(k->codes);
	af_keys_free(&k->by_code);
	af_keys_free(&k->by_set);
	af_keys_free(&k->by_open);
	*k = (struct af_batch_kernels){0};
}

/* ---- code ---- */

static void code_name(char *name, size_t size, uint32_t kind, uint64_t address)
{
	const char *what = kind == AF_BATCH_COMPUTE ? "kernel" : af_batch_kind_name(kind);

	snprintf(name, size, "%s%s at 0x%" PRIx64, what,
	         kind == AF_BATCH_COMPUTE  ? ""
	         : kind == AF_BATCH_SYSTEM ? " routine"
	                                   : " shader",
	         address);
}

static void code_define(struct af_stream *stream, uint32_t code, const struct af_batch_kernel *is,
                        uint64_t time_ns)
{
	struct af_ev_code ev = {.code = code};
	char name[64];

	code_name(name, sizeof name, is->kind, is->address);
	struct af_tail tail = {name, (uint32_t)strlen(name), 0};
	af_stream_put_tail(stream, AF_KIND_CODE, time_ns, &ev, sizeof ev, &tail, 1);
}

static void place_later(struct af_batch_kernels *k, uint64_t time_ns)
{
	if (!k->unplaced)
		k->unplaced_ns = time_ns;
	k->unplaced = true;
}

/* Code that is known is started once more, by the batch @of: other memory may be there by now. */
static void code_again(struct af_batch_kernels *k, struct af_batch_code *c,
                       const struct af_bpf_batch *of, uint64_t end, uint64_t time_ns)
{
	if (c->gone)
		place_later(k, time_ns);
	c->gone = false;
	c->file = of->file;
	c->vm = of->vm;
	k->unplaced |= end && c->end != end;
	c->end = end ? end : c->end;
}

/* The id of the code at the entry that @is has; 0: there is no room for it. */
static uint32_t code_of(struct af_batch_kernels *k, struct af_stream *stream, uint32_t device,
                        const struct af_bpf_batch *of, const struct af_batch_kernel *is,
                        uint64_t end)
{
	uint64_t time_ns = stream->last_ns > of->head.time_ns ? stream->last_ns : of->head.time_ns;
	bool fresh;

	if (k->nr_codes == AF_BATCH_CODES && !af_keys_get(&k->by_code, AF_KEY(device, is->address)))
		return 0;
	uint64_t *slot = af_keys_at(&k->by_code, AF_KEY(device, is->address), &fresh);
	if (!fresh) {
		code_again(k, &k->codes[*slot - 1], of, end, time_ns);
		return (uint32_t)*slot;
	}
	AF_GROW(k->codes, k->nr_codes, k->cap_codes);
	k->codes[k->nr_codes++] = (struct af_batch_code){.address = is->address,
	                                                 .end = end,
	                                                 .device = device,
	                                                 .kind = is->kind,
	                                                 .file = of->file,
	                                                 .vm = of->vm};
	*slot = k->nr_codes;
	code_define(stream, k->nr_codes, is, time_ns);
	place_later(k, time_ns);
	return k->nr_codes;
}

/* In order of device and address. */
static int code_order(const void *a, const void *b)
{
	const struct af_batch_code *x = *(const struct af_batch_code *const *)a;
	const struct af_batch_code *y = *(const struct af_batch_code *const *)b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Bytes from the entry of @c to where it ends at most, if @next is the one behind it. */
static uint64_t code_bytes(const struct af_batch_code *c, const struct af_batch_code *next)
{
	uint64_t bytes = AF_BATCH_CODE_MOST;

	if (c->end > c->address && c->end - c->address < bytes)
		bytes = c->end - c->address;
	if (next && next->device == c->device && next->address - c->address < bytes)
		bytes = next->address - c->address;
	return bytes;
}

static void code_put(const struct af_batch_kernels *k, struct af_stream *stream,
                     const struct af_batch_code *c, uint64_t bytes, uint64_t time_ns)
{
	af_stream_put(stream, code_placed, time_ns, .code = (uint32_t)(c - k->codes) + 1,
	              .device = c->device, .address = c->address, .size = bytes);
}

void af_batch_kernels_place(struct af_batch_kernels *k, struct af_stream *stream, uint64_t time_ns)
{
	if (!k->unplaced || (time_ns < UINT64_MAX && time_ns < k->unplaced_ns + AF_BATCH_SETTLE_NS))
		return;
	if (time_ns == UINT64_MAX)
		time_ns = stream->last_ns;
	struct af_batch_code **order = af_xcalloc(k->nr_codes, sizeof *order);
	uint32_t nr = 0;
	for (uint32_t i = 0; i < k->nr_codes; i++)
		if (!k->codes[i].gone)
			order[nr++] = &k->codes[i];
	AF_SORT(order, nr, code_order);
	for (uint32_t i = 0; i < nr; i++) {
		struct af_batch_code *c = order[i];
		uint64_t bytes = code_bytes(c, i + 1 < nr ? order[i + 1] : NULL);
		if (bytes == c->placed)
			continue;
		if (c->placed)
			code_put(k, stream, c, 0, time_ns);
		code_put(k, stream, c, bytes, time_ns);
		c->placed = bytes;
	}
	free(order);
	k->unplaced = false;
}

void af_batch_kernels_unbound(struct af_batch_kernels *k, struct af_stream *stream,
                              const struct af_bpf_unbound *unbound)
{
	for (uint32_t i = 0; i < k->nr_codes; i++) {
		struct af_batch_code *c = &k->codes[i];
		if (c->gone || c->file != unbound->file || c->vm != unbound->vm ||
		    c->address - unbound->gpu >= unbound->bytes)
			continue;
		/* It was there, even if that was to be written later: up to here, if not less. */
		if (!c->end)
			c->end = unbound->gpu + unbound->bytes;
		af_batch_kernels_place(k, stream, UINT64_MAX);
		uint64_t time_ns = unbound->head.time_ns;
		code_put(k, stream, c, 0, time_ns > stream->last_ns ? time_ns : stream->last_ns);
		c->placed = c->end = 0;
		c->gone = true;
	}
}

/* ---- batches ---- */

static struct af_batch_pending *pending_of(const struct af_batch_kernels *k, uint32_t tid)
{
	for (uint32_t i = 0; i < AF_BATCH_SUBMITTERS; i++)
		if (k->pending[i] && k->pending[i]->tid == tid)
			return k->pending[i];
	return NULL;
}

static bool is_of(const struct af_batch_pending *p, const struct af_bpf_batch *record)
{
	return p && p->tid == record->head.tid && p->time_ns == record->head.time_ns;
}

void af_batch_kernels_begin(struct af_batch_kernels *k, const struct af_bpf_batch *record,
                            uint32_t device)
{
	struct af_batch_pending *p = pending_of(k, record->head.tid);

	if (is_of(p, record))
		return;
	if (!p) {
		struct af_batch_pending **at = &k->pending[k->next++ % AF_BATCH_SUBMITTERS];
		p = *at = *at ? *at : af_xcalloc(1, sizeof *p);
	}
	*p = (struct af_batch_pending){
	    .time_ns = record->head.time_ns, .tid = record->head.tid, .device = device};
}

void af_batch_kernels_end(struct af_batch_kernels *k, const struct af_bpf_batch *record, bool open)
{
	struct af_batch_pending *p = pending_of(k, record->head.tid);

	if (!is_of(p, record))
		return;
	p->whole = true;
	p->open = open;
}

static void pending_add(struct af_batch_kernels *k, struct af_batch_pending *p, uint32_t code)
{
	uint32_t i = p->nr;

	while (i && p->codes[i - 1] > code)
		i--;
	if (i && p->codes[i - 1] == code)
		return;
	if (p->nr == AF_BATCH_TOGETHER) {
		k->nr_lost++;
		return;
	}
	memmove(p->codes + i + 1, p->codes + i, (p->nr++ - i) * sizeof *p->codes);
	p->codes[i] = code;
}

/* A KERNEL of a batch of @nr kernels, the first of which is @code; 0: there is no room. */
static uint32_t set_define(struct af_batch_kernels *k, struct af_stream *stream, uint32_t nr,
                           uint32_t code, uint64_t time_ns)
{
	struct af_ev_kernel ev = {.kernel = AF_BATCH_FIRST_KERNEL + k->nr_sets};
	char name[64] = "[batch not readable at its launch]";

	if (k->nr_sets == AF_BATCH_SETS) {
		k->nr_lost++;
		return 0;
	}
	k->nr_sets++;
	if (nr == 1)
		code_name(name, sizeof name, k->codes[code - 1].kind, k->codes[code - 1].address);
	else if (nr)
		snprintf(name, sizeof name, "[batch of %u kernels]", nr);
	struct af_tail tail = {name, (uint32_t)strlen(name), 0};
	af_stream_put_tail(stream, AF_KIND_KERNEL, time_ns, &ev, sizeof ev, &tail, 1);
	return ev.kernel;
}

static void set_add(struct af_stream *stream, uint32_t kernel, uint32_t code, uint64_t time_ns)
{
	af_stream_put(stream, kernel_code, time_ns, .kernel = kernel, .code = code);
}

void af_batch_kernels_add(struct af_batch_kernels *k, struct af_stream *stream,
                          const struct af_bpf_batch *of, const struct af_batch_kernel *is,
                          uint64_t end)
{
	struct af_batch_pending *p = pending_of(k, of->head.tid);
	const uint64_t *kernel = af_keys_get(&k->by_open, AF_KEY(of->head.tid, of->head.time_ns));
	bool first = is_of(p, of) && !p->launched;
	uint32_t device = first ? p->device : kernel ? (uint32_t)(*kernel >> 32) : 0;

	/* Without the base, nobody knows where it lies. */
	if (is->flags & AF_BATCH_OFFSET || (!first && !kernel))
		return;
	uint32_t code = code_of(k, stream, device, of, is, end);
	if (!code)
		k->nr_lost++;
	/* A batch sets the system routine; it does not run it. */
	if (!code || is->kind == AF_BATCH_SYSTEM)
		return;
	if (first)
		pending_add(k, p, code);
	else
		set_add(stream, (uint32_t)*kernel, code, stream->last_ns);
}

/* A batch that may have more kernels than are known by now has a KERNEL of its own. */
static uint32_t open_define(struct af_batch_kernels *k, struct af_stream *stream,
                            const struct af_batch_pending *p, uint64_t time_ns)
{
	uint32_t kernel = set_define(k, stream, 0, 0, time_ns);

	if (!kernel)
		return 0;
	*af_keys_at(&k->by_open, AF_KEY(p->tid, p->time_ns), NULL) = kernel | (uint64_t)p->device
	                                                                          << 32;
	for (uint32_t i = 0; i < p->nr; i++)
		set_add(stream, kernel, p->codes[i], time_ns);
	return kernel;
}

uint32_t af_batch_kernels_launch(struct af_batch_kernels *k, struct af_stream *stream, uint32_t tid,
                                 uint64_t time_ns, uint32_t *device)
{
	struct af_batch_pending *p = pending_of(k, tid);
	uint32_t kernel = 0;

	*device = p ? p->device : 0;
	if (!p || !p->whole || p->launched)
		return 0;
	p->launched = true;
	if (p->open)
		return open_define(k, stream, p, time_ns);
	if (!p->nr)
		return 0;
	const uint64_t *known = af_keys_get(&k->by_set, p->codes, p->nr * sizeof *p->codes);
	if (known)
		return (uint32_t)*known;
	kernel = set_define(k, stream, p->nr, p->codes[0], time_ns);
	if (!kernel)
		return 0;
	*af_keys_at(&k->by_set, p->codes, p->nr * sizeof *p->codes, NULL) = kernel;
	for (uint32_t i = 0; i < p->nr; i++)
		set_add(stream, kernel, p->codes[i], time_ns);
	return kernel;
}
