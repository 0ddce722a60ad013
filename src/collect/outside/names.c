#include "collect/outside/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/system/proc.h"

void af_outside_names_free(struct af_outside_names *n)
{
	af_map_free(&n->by_tid);
	free(n->all);
	*n = (struct af_outside_names){0};
}

/* The one that @tid has, or NULL. */
static const char *name_known(const struct af_outside_names *n, uint32_t tid)
{
	const uint64_t *at = af_map_get(&n->by_tid, tid);

	return at && *n->all[*at - 1] ? n->all[*at - 1] : NULL;
}

static const char *name_set(struct af_outside_names *n, uint32_t tid, const char *name)
{
	uint64_t *at = af_map_at(&n->by_tid, tid, NULL);
	char kept[AF_COMM_BYTES];

	snprintf(kept, sizeof kept, "%.*s", AF_COMM_BYTES - 1, name);
	if (!*at) {
		AF_GROW(n->all, n->nr, n->cap);
		*at = ++n->nr;
	}
	return memcpy(n->all[*at - 1], kept, sizeof kept);
}

void af_outside_names_take(struct af_outside_names *n, const struct af_sideband *s,
                           const struct af_sideband_event *e)
{
	if (e->kind == AF_SIDEBAND_COMM) {
		name_set(n, e->tid, af_sideband_text(s, e));
	} else if (e->kind == AF_SIDEBAND_THREAD) {
		const char *parent = name_known(n, e->parent);
		name_set(n, e->tid, parent ? parent : "");
	}
}

const char *af_outside_name(struct af_outside_names *n, uint32_t pid, uint32_t tid)
{
	const char *known = name_known(n, tid);
	char path[64], text[64] = "";

	if (known)
		return known;
	snprintf(path, sizeof path, "task/%u/comm", tid);
	af_proc_read((int)pid, path, text, sizeof text);
	text[strcspn(text, "\n")] = 0;
	return name_set(n, tid, text);
}
