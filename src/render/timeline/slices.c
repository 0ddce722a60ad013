/* The formats of slices of this build, and what they share. */
#include "render/timeline/slices.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "analyse/world/world.h"
#include "base/arena.h"
#include "render/render.h"

extern const struct af_format af_format_chrome;
extern const struct af_format af_format_perfetto;

const struct af_format *const af_slices_formats[] = {&af_format_chrome, &af_format_perfetto, NULL};

/* Does @name, @len bytes of it, end in one of @endings, which '|' separates? */
static bool ends_in(const char *name, size_t len, const char *endings)
{
	while (*endings) {
		size_t n = strcspn(endings, "|");
		if (len > n && !memcmp(name + len - n, endings, n))
			return true;
		endings += n + (endings[n] == '|');
	}
	return false;
}

const struct af_format *af_slices_format_for(const char *name, bool *gzip)
{
	size_t len = strlen(name);

	*gzip = ends_in(name, len, ".gz");
	if (*gzip)
		len -= 3;
	for (const struct af_format *const *f = af_slices_formats; *f; f++)
		if (!strcmp(name, (*f)->name) || ends_in(name, len, (*f)->extension))
			return *f;
	return NULL;
}

static int to_track(void *arg, const struct af_track *t)
{
	const struct af_slices_to *to = arg;

	return to->format->track(to->render, t);
}

static int to_slice(void *arg, const struct af_slice *s)
{
	const struct af_slices_to *to = arg;

	return to->format->slice(to->render, s);
}

static int to_point(void *arg, const struct af_point *p)
{
	const struct af_slices_to *to = arg;

	return to->format->point(to->render, p);
}

struct af_slices_sink af_slices_sink(struct af_slices_to *to)
{
	return (struct af_slices_sink){to, to_track, to_slice, to_point, NULL};
}

enum { WORKS_LATEST = 4096 }; /* a power of two */

void af_slices_works_free(struct af_slices_works *works)
{
	for (uint32_t i = 0; works->latest && i < WORKS_LATEST; i++)
		af_buf_free(&works->latest[i].text);
	free(works->latest);
	works->latest = NULL;
}

struct af_buf *af_slices_work_text(struct af_slices_works *works, const struct af_slices *all,
                                   uint32_t descriptor, bool *fresh)
{
	const void *config = all->world->descriptors[descriptor].config;

	if (!works->latest)
		works->latest = af_xcalloc(WORKS_LATEST, sizeof *works->latest);
	struct af_slices_work *w = &works->latest[descriptor & (WORKS_LATEST - 1)];
	*fresh = w->descriptor != descriptor || w->config != config;
	if (*fresh) {
		w->descriptor = descriptor;
		w->config = config;
		w->text.len = 0;
	}
	return &w->text;
}

void af_slices_stack_text(struct af_buf *b, const struct af_tree *stacks, uint32_t node,
                          const char *between, uint32_t most)
{
	for (uint32_t n = 0; n < most; n++) {
		uint32_t parent = stacks->nodes[node].parent;
		size_t len;
		if (!node || !parent)
			return;
		const char *name = af_tree_text(stacks, stacks->nodes[node].name, &len);
		if (n)
			af_buf_str(b, between);
		af_buf_add(b, name, len);
		node = parent;
	}
}
