/*
 * Copies the ELF files in the list of GDB's JIT interface (GDB manual, "JIT Compilation
 * Interface"), which lie in the memory of a process that goes on meanwhile: bytes may be torn or
 * hostile. Nobody stops the process, so an entry that came and went between two polls is not seen.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/system/rights.h"
#include "collect/jit/private.h"
#include "trace/write/objects.h"
#include "trace/write/stream.h"

enum {
	IMAGES_MOST = 4096,          /* of one list */
	IMAGE_BYTES = 16 << 20,      /* of one file */
	IMAGES_BYTES = 512 << 20,    /* of all files of a recording */
	IMAGE_ENDS = 2 << 10,        /* bytes at each end that tell it from another */
	IMAGES_WALK_NS = 1000000000, /* a list that seems the same is walked again after that */
	IMAGE_REST_NS = 100000, /* for each entry, to the next walk: that takes a tenth of it */
};

/* The structs of the interface. */
struct image_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct image_entry {
	uint64_t next, previous, address, size;
};

static bool image_read(int pid, uint64_t address, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};

	scope_rights(AF_RIGHTS_PROCESS);
	/* cppcheck-suppress ctuuninitvar ; it is written to */
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The sum covers its ends, where headers, symbols and names are. */
static bool image_sum(int pid, uint64_t address, uint64_t size, uint64_t *sum)
{
	uint8_t bytes[IMAGE_ENDS];
	size_t part = size < sizeof bytes ? (size_t)size : sizeof bytes;

	if (!image_read(pid, address, bytes, part))
		return false;
	*sum = af_hash(bytes, part);
	if (!image_read(pid, address + size - part, bytes, part))
		return false;
	*sum = af_mix(*sum) ^ af_hash(bytes, part);
	return true;
}

static void image_put(const struct af_jit_trace *trace, const struct jit_watched *p, uint64_t entry,
                      const char *object, uint64_t now_ns)
{
	struct af_ev_jit_image ev = {
	    .process = p->of.process,
	    .entry = entry,
	    /* It came or went since the last poll. */
	    .from_ns = p->polled_ns ? p->polled_ns + (now_ns - p->polled_ns) / 2 : 0,
	};
	struct af_tail tail = {object, (uint32_t)strlen(object), 0};

	af_stream_put_tail(trace->stream, AF_KIND_JIT_IMAGE, now_ns, &ev, sizeof ev, &tail, 1);
}

static void image_keep(struct af_jit_watch *w, const struct af_jit_trace *trace,
                       const struct jit_watched *p, const struct jit_image *image, uint64_t now_ns)
{
	char name[AF_SHA256_HEX];

	w->is_full |= w->image_bytes + image->size > IMAGES_BYTES;
	if (w->is_full)
		return;
	w->image_bytes += image->size;
	void *bytes = af_xrealloc(NULL, (size_t)image->size);
	if (image_read(p->of.pid, image->address, bytes, (size_t)image->size) &&
	    !af_object_put(trace->dir_fd, bytes, (size_t)image->size, name))
		image_put(trace, p, image->entry, name, now_ns);
	free(bytes);
}

/* The entry at @entry is in the list now. */
static void image_seen(struct af_jit_watch *w, const struct af_jit_trace *trace,
                       const struct jit_watched *p, struct jit_list *l, uint64_t entry,
                       const struct image_entry *e, uint64_t now_ns)
{
	struct jit_image now = {entry, e->address, e->size, 0, true}, *known = NULL;

	if (!e->size || e->size > IMAGE_BYTES || e->address + e->size < e->address ||
	    !image_sum(p->of.pid, e->address, e->size, &now.sum))
		return;
	for (uint32_t i = 0; !known && i < l->nr; i++)
		if (l->images[i].entry == entry)
			known = &l->images[i];
	bool same = known && known->address == now.address && known->size == now.size &&
	            known->sum == now.sum;
	if (!known) {
		AF_GROW(l->images, l->nr, l->cap);
		known = &l->images[l->nr++];
	}
	*known = now;
	if (!same)
		image_keep(w, trace, p, known, now_ns);
}

static void list_walk(struct af_jit_watch *w, const struct af_jit_trace *trace,
                      const struct jit_watched *p, struct jit_list *l, uint64_t now_ns)
{
	struct image_entry e;
	uint64_t at = l->first;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->nr; i++)
		l->images[i].is_there = false;
	for (uint32_t nr = 0; at && nr < IMAGES_MOST; nr++, at = e.next) {
		if (!image_read(p->of.pid, at, &e, sizeof e))
			break;
		image_seen(w, trace, p, l, at, &e, now_ns);
	}
	for (uint32_t i = 0; i < l->nr; i++) {
		if (l->images[i].is_there)
			l->images[kept++] = l->images[i];
		else
			image_put(trace, p, l->images[i].entry, "", now_ns);
	}
	l->nr = kept;
	l->walked_ns = now_ns;
	l->changed = false;
}

static void list_poll(struct af_jit_watch *w, const struct af_jit_trace *trace,
                      const struct jit_watched *p, struct jit_list *l, uint64_t now_ns)
{
	struct image_descriptor d;
	struct image_entry e;

	if (!image_read(p->of.pid, l->descriptor, &d, sizeof d) || d.version != 1)
		return;
	uint64_t since_ns = now_ns - l->walked_ns;
	l->changed |= d.action != l->action || d.relevant != l->relevant || d.first != l->first;
	l->action = d.action;
	l->relevant = d.relevant;
	l->first = d.first;
	if ((l->changed || since_ns > IMAGES_WALK_NS) &&
	    since_ns >= (uint64_t)l->nr * IMAGE_REST_NS)
		list_walk(w, trace, p, l, now_ns);
	else if (d.first && image_read(p->of.pid, d.first, &e, sizeof e))
		image_seen(w, trace, p, l, d.first, &e, now_ns);
}

void jit_images_poll(struct af_jit_watch *w, const struct af_jit_trace *trace,
                     struct jit_watched *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < p->nr_lists; i++)
		list_poll(w, trace, p, &p->lists[i], now_ns);
}

void jit_images_close(struct jit_watched *p)
{
	while (p->nr_lists)
		free(p->lists[--p->nr_lists].images);
}
