/*
 * Results of a plug-in, as hostile bytes. Those that are read are handed to a sink of slices, which
 * holds them against what slices.h promises; written and read again, they are the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/time/slices.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "plugin/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint32_t tracks;
	uint64_t slices, points;
};

static int take_track(void *arg, const struct af_track *t)
{
	struct seen *seen = arg;

	if (t->id != ++seen->tracks || t->parent >= t->id || !t->name)
		abort();
	return 0;
}

static int take_slice(void *arg, const struct af_slice *s)
{
	struct seen *seen = arg;

	if (!s->track || s->track > seen->tracks || s->end_ns < s->start_ns)
		abort();
	seen->slices++;
	return 0;
}

static int take_point(void *arg, const struct af_point *p)
{
	struct seen *seen = arg;

	if (!p->track || p->track > seen->tracks)
		abort();
	seen->points++;
	return 0;
}

static void hand(struct af_plugin_results *r)
{
	struct seen seen = {0};
	struct af_slices all = {.damage = ""};
	const struct af_slices_sink sink = {&seen, take_track, take_slice, take_point, NULL};
	uint64_t slices = r->nr_slices, points = r->nr_points;

	if (af_plugin_slices(r, 0, &all, &sink) || seen.slices + all.crossing != slices ||
	    seen.points != points)
		abort();
}

static bool again(struct af_cursor c, struct af_buf *to)
{
	struct af_plugin_results r = {0};
	struct af_err err = {0};
	int rc = af_plugin_results_read(&r, &c, &err);

	if (rc && !*err.msg)
		abort();
	if (!rc) {
		af_plugin_results_write(&r, to);
		hand(&r);
	}
	af_plugin_results_free(&r);
	return !rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct af_buf first = {0}, second = {0};

	if (again((struct af_cursor){data, data + size, false}, &first)) {
		if (!again(af_buf_cursor(&first), &second) || first.len != second.len ||
		    memcmp(first.data, second.data, first.len) != 0)
			abort();
	}
	af_buf_free(&first);
	af_buf_free(&second);
	return 0;
}
