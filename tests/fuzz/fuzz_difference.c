/*
 * Two folded texts of hostile bytes, a NUL between them, compared: tables, picture and page, and
 * what must hold of any two: sums are exact, turned around it is the opposite, of the same there is
 * no difference. The first byte chooses what is stripped, normalised, shown.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/difference/difference.h"
#include "base/err.h"
#include "render/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct af_tree_weight column[] = {{"samples", "samples"}};

static void draw(const struct af_tree *t, const char *format, const struct af_picture *p)
{
	const struct af_format *f = af_format_for(format);
	struct af_err err = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct af_render r = {.fd = fd, .picture = p};

	if (f->begin && f->begin(&r, &err))
		abort();
	if (f->tree(&r, t, &err) || (f->end && f->end(&r, &err)))
		abort();
	close(fd);
}

static void check(const struct af_difference *d, const struct af_difference *back)
{
	const struct af_tree *t = &d->tree;
	uint64_t sum[2] = {0};

	for (uint32_t i = 0; i < t->nr; i++)
		for (int w = 0; w < 2; w++)
			sum[w] += t->self[w][i];
	if (t->saturated)
		return;
	if (sum[0] != t->total[0][0] || sum[1] != t->total[1][0] || back->tree.nr != t->nr)
		abort();
	const struct af_change c = af_difference_node(&d->look, t, 0, false);
	const struct af_change o = af_difference_node(&back->look, &back->tree, 0, false);
	if (c.size != o.size || (c.size && c.less == o.less) || c.certain != o.certain)
		abort();
}

static void show(struct af_difference *d, uint8_t how)
{
	const struct af_difference_shown shown = {
	    .all = how & 1,
	    .by_self = how & 2,
	    .only = how & 4   ? AF_CHANGE_NEW
	            : how & 8 ? AF_CHANGE_VANISHED
	                      : AF_CHANGE_NONE,
	};
	const struct af_picture p = {.differential = true, .look = &d->look};
	struct af_tables f = {0};

	d->look.by_self = how & 16;
	if (how & 32 && d->look.scales[AF_NORMALIZE_TOTAL] > 0)
		d->look.normalize = AF_NORMALIZE_TOTAL;
	af_difference_tables(d, &f, &shown);
	af_difference_worse(d, &f, 5);
	draw(&d->tree, "svg", &p);
	if (how & 128)
		draw(&d->tree, "html", &p);
	if (shown.only)
		af_difference_only(d, shown.only);
	af_difference_apply(d);
	draw(&d->tree, "folded", &p);
	af_tables_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_folded_stats stats;
	struct af_tree trees[2];
	struct af_difference d, back, none;

	if (!size)
		return 0;
	char *text = malloc(size);
	memcpy(text, data + 1, size - 1);
	const char *middle = memchr(text, 0, size - 1);
	size_t first = middle ? (size_t)(middle - text) : size - 1;
	for (int i = 0; i < 2; i++)
		af_tree_open(&trees[i], column, 1);
	af_folded_read(&trees[0], text, first, false, &stats, NULL);
	af_folded_read(&trees[1], text + first, size - 1 - first, false, &stats, NULL);
	const struct af_difference_side a = {&trees[0], 0, 0, -1, 0}, b = {&trees[1], 0, 0, -1, 0};
	af_difference_open(&d, &a, &b, data[0] & 64);
	af_difference_open(&back, &b, &a, data[0] & 64);
	af_difference_open(&none, &a, &a, data[0] & 64);
	check(&d, &back);
	for (uint32_t i = 0; i < none.tree.nr; i++)
		if (af_difference_node(&none.look, &none.tree, i, data[0] & 1).size)
			abort();
	show(&d, data[0]);
	af_difference_close(&d);
	af_difference_close(&back);
	af_difference_close(&none);
	af_tree_close(&trees[0]);
	af_tree_close(&trees[1]);
	free(text);
	return 0;
}
