/*
 * Folded text of hostile bytes through reader, tree, reversal and all tree formats. Checked on the
 * way: no weight appears or vanishes, and what the writer wrote is read back as the same lines. The
 * first byte chooses two columns, a flame chart, reversal.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/tree/tree.h"
#include "base/err.h"
#include "render/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct af_tree_weight columns[] = {{"before", "samples"}, {"after", "samples"}};

struct text {
	char *data; /* exactly len bytes, so that reading beyond them is seen */
	size_t len;
};

static void check_totals(const struct af_tree *t)
{
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		uint64_t sum = 0;
		for (uint32_t i = 0; i < t->nr; i++) {
			if (i && t->nodes[i].parent >= i)
				abort();
			sum += t->self[w][i];
		}
		if (!t->saturated && sum != t->total[w][0])
			abort();
	}
}

static struct text render(const struct af_tree *t, const char *format, const struct af_picture *p)
{
	struct af_err err = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct af_render r = {.fd = fd, .picture = p};

	if (af_format_for(format)->tree(&r, t, &err))
		abort();
	struct text out = {.len = (size_t)lseek(fd, 0, SEEK_END)};
	out.data = malloc(out.len ? out.len : 1);
	if (pread(fd, out.data, out.len, 0) != (ssize_t)out.len)
		abort();
	close(fd);
	return out;
}

/* Read @in, write it as folded text; all other formats on the way when @all. */
static struct text again(struct text in, const struct af_picture *p, int all)
{
	struct af_folded_stats stats;
	struct af_tree t;

	af_tree_open(&t, columns, p->differential ? 2 : 1);
	t.ordered = p->flamechart;
	af_folded_read(&t, in.data, in.len, p->differential, &stats, NULL);
	check_totals(&t);
	struct text out = render(&t, "folded", p);
	if (all) {
		free(render(&t, "text", p).data);
		free(render(&t, "svg", p).data);
		struct af_tree reversed;
		af_tree_reverse(&reversed, &t);
		check_totals(&reversed);
		if (!t.saturated && reversed.total[0][0] != t.total[0][0])
			abort();
		af_tree_merge(&reversed, &t);
		af_tree_finish(&reversed);
		check_totals(&reversed);
		af_tree_close(&reversed);
	}
	af_tree_close(&t);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct af_picture p = {.differential = data[0] & 1, .flamechart = data[0] & 2};
	struct af_picture drawn = p;
	drawn.reverse = data[0] & 4;
	drawn.inverted = data[0] & 8;
	drawn.all_frames = data[0] & 16;

	struct text in = {.data = malloc(size), .len = size - 1};
	memcpy(in.data, data + 1, size - 1);
	free(again(in, &drawn, 1).data);
	/* Writing changes names that a line cannot carry, and drops zeros; after that, nothing. */
	struct text first = again(in, &p, 0);
	struct text second = again(first, &p, 0);
	struct text third = again(second, &p, 0);
	if (second.len != third.len || memcmp(second.data, third.data, third.len))
		abort();
	free(in.data);
	free(first.data);
	free(second.data);
	free(third.data);
	return 0;
}
