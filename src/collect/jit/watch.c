#include "collect/jit/watch.h"

#include <stdlib.h>

#include "base/arena.h"
#include "collect/jit/private.h"

enum { WATCH_FIRST_NS = 100000000 };

#define WATCH_LONGEST_NS UINT64_C(5000000000)

static struct jit_watched *watched(struct af_jit_watch *w, const struct af_jit_process *p)
{
	bool fresh;
	uint64_t *slot = af_map_at(&w->by_process, p->process, &fresh);

	if (fresh) {
		AF_GROW(w->list, w->nr, w->cap);
		w->list[w->nr] = (struct jit_watched){.of = *p, .map.fd = -1};
		*slot = w->nr++;
	}
	return &w->list[*slot];
}

/* Programs load libraries later, but most do so at the start: searches come less and less often. */
static void watch_search(struct af_jit_watch *w, struct jit_watched *p, uint64_t now_ns)
{
	if (p->searched_ns && now_ns - p->searched_ns < p->again_ns)
		return;
	p->searched_ns = now_ns;
	if (!jit_descriptors_find(w, p)) {
		p->again_ns = 0;
		return;
	}
	p->again_ns = p->again_ns ? p->again_ns * 2 : WATCH_FIRST_NS;
	p->again_ns = p->again_ns < WATCH_LONGEST_NS ? p->again_ns : WATCH_LONGEST_NS;
}

void af_jit_watch_poll(struct af_jit_watch *w, const struct af_jit_trace *trace,
                       const struct af_jit_process *of, uint64_t now_ns)
{
	struct jit_watched *p = watched(w, of);

	jit_map_poll(w, trace, p, now_ns);
	watch_search(w, p, now_ns);
	jit_images_poll(w, trace, p, now_ns);
	p->polled_ns = now_ns;
}

void af_jit_watch_end(struct af_jit_watch *w, const struct af_jit_trace *trace, uint32_t process,
                      uint64_t now_ns)
{
	const uint64_t *slot = af_map_get(&w->by_process, process);
	struct jit_watched *p = slot ? &w->list[*slot] : NULL;

	if (!p)
		return;
	if (p->map.fd >= 0)
		jit_map_copy(w, trace, p, now_ns);
	jit_map_close(&p->map);
	jit_images_close(p);
	p->polled_ns = now_ns;
}

void af_jit_watch_close(struct af_jit_watch *w)
{
	for (uint32_t i = 0; i < w->nr; i++) {
		jit_map_close(&w->list[i].map);
		jit_images_close(&w->list[i]);
	}
	free(w->list);
	free(w->files);
	af_map_free(&w->by_process);
	af_keys_free(&w->by_file);
	*w = (struct af_jit_watch){0};
}
