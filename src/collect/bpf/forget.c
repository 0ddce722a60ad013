/*
 * Frees the state of processes that are over while recording goes on: on a whole machine, for
 * weeks, there are millions. A process is forgotten when all records of its time have been written
 * and no process that it forked needs its code or its pid any more.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

enum {
	EACH_NS = 1000000000,
	/* No record that is still held back is about a process that ended this long ago. */
	KEEP_NS = 5 * (uint64_t)HOLD_NS,
	STRINGS_MIN = 1 << 20,
};

static bool is_over(const struct af_bpf *b, const struct bpf_image *i,
                    const struct bpf_image *newer, uint64_t now)
{
	uint64_t over_ns = newer ? newer->start_ns : i->ended_ns;

	if (!over_ns || now - over_ns <= KEEP_NS || i->nr_forked || i->out)
		return false;
	/* The ordinal of the program itself is asked for when its status is known. */
	return newer || (int)i->pid != b->r->child;
}

/* Take what is over out of those that ran under a pid. Returns the newest left. */
static struct bpf_image *pid_forget(const struct af_bpf *b, struct bpf_image *newest, uint64_t now)
{
	struct bpf_image **at = &newest, *newer = NULL;

	for (struct bpf_image *i = newest; i; newer = i, i = i->older) {
		if (is_over(b, i, newer, now)) {
			bpf_image_orphan(i);
			i->forgotten = true;
			*at = i->older;
		} else {
			at = &i->older;
		}
	}
	return newest;
}

/* Pids that nobody has any more leave the map, which knows no deletion, by a new one. */
static void pids_forget(struct af_bpf *b, uint64_t now)
{
	struct af_map kept = {0};

	for (size_t k = 0; k < b->by_pid.cap; k++) {
		const struct af_map_slot *slot = &b->by_pid.slots[k];
		struct bpf_image *newest =
		    slot->used ? pid_forget(b, (void *)(uintptr_t)slot->value, now) : NULL;
		if (newest)
			*af_map_at(&kept, slot->key, NULL) = (uint64_t)(uintptr_t)newest;
	}
	af_map_free(&b->by_pid);
	b->by_pid = kept;
}

static void images_forget(struct af_bpf *b, uint64_t now)
{
	uint32_t kept = 0;

	pids_forget(b, now);
	for (uint32_t k = 0; k < b->nr_images; k++) {
		if (b->images[k]->forgotten)
			bpf_image_free(b, b->images[k]);
		else
			b->images[kept++] = b->images[k];
	}
	b->nr_images = kept;
}

static uint32_t string_keep(struct af_strtab *kept, const struct af_strtab *all, uint32_t string)
{
	return af_strtab_id_z(kept, af_strtab_get(all, string));
}

/* Once they are twice as much as was needed the last time. */
static void strings_forget(struct af_bpf *b)
{
	struct af_strtab kept = {0}, *all = &b->strings;

	if (all->arena.total < STRINGS_MIN || all->arena.total / 2 < b->strings_kept)
		return;
	bpf_tables_close(b); /* they go by the numbers of their files */
	b->own_cgroup = string_keep(&kept, all, b->own_cgroup);
	for (uint32_t k = 0; k < b->nr_images; k++) {
		struct bpf_image *i = b->images[k];
		i->comm = string_keep(&kept, all, i->comm);
		i->exe = string_keep(&kept, all, i->exe);
		i->cmdline = string_keep(&kept, all, i->cmdline);
		i->cgroup = string_keep(&kept, all, i->cgroup);
		i->rank = string_keep(&kept, all, i->rank);
		for (uint32_t m = 0; m < i->nr_maps; m++)
			i->maps[m].path = string_keep(&kept, all, i->maps[m].path);
	}
	af_strtab_free(all);
	b->strings = kept;
	b->strings_kept = kept.arena.total;
}

void bpf_forget(struct af_bpf *b, uint64_t now)
{
	if (now - b->forgot_ns < EACH_NS)
		return;
	b->forgot_ns = now;
	images_forget(b, now);
	strings_forget(b);
}
