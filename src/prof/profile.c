/* Results of a collection: stacks with their samples, and the formats that write them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "prof/private.h"
#include "render/flat/flat.h"
#include "render/render.h"

extern const struct af_format af_format_folded, af_format_pprof;

static const struct af_pass_ops *const passes[] = {&af_pass_flame, &af_pass_coverage, NULL};

int prof_analyse(struct af_prof *p, struct af_err *err)
{
	struct af_query query = {
	    .answers = 1u << AF_VIEW_CPU | AF_ANSWER_COVERAGE,
	    .weights = 1u << AF_WEIGHT_TIME | 1u << AF_WEIGHT_SAMPLES,
	    .locations = true,
	    .ranges = p->o.regions,
	};
	char dir[PATH_MAX + 8];

	snprintf(dir, sizeof dir, "%s/trace", p->folder);
	if (p->has_results)
		af_results_close(&p->results);
	p->results = (struct af_results){0};
	p->has_results = true;
	return af_analyse(dir, passes, &query, &p->results, NULL, NULL, err);
}

static int sink_give(const struct af_prof_sink *to, const void *data, size_t size,
                     struct af_err *err)
{
	int rc = size ? to->write(to->context, data, size) : 0;

	if (rc > 0)
		rc = -EIO;
	return rc ? af_fail(err, rc, "the sink of the profile has failed") : 0;
}

static int flat_write(const struct af_prof_data *data, const struct af_prof_sink *to,
                      struct af_err *err)
{
	const struct af_tree *tree = data->tree;
	int weight = af_tree_weight(tree, "time");
	const struct af_flat_report report = {
	    .results = data->results, .all = tree, .tree = tree, .weight = (uint32_t)weight};
	struct af_buf b = {0};

	af_flat_text(&b, &report);
	int rc = sink_give(to, b.data, b.len, err);
	af_buf_free(&b);
	return rc;
}

/* Everything in @fd, from its beginning. */
static int descriptor_give(int fd, const struct af_prof_sink *to, struct af_err *err)
{
	char block[1 << 15];
	ssize_t n = 0;
	int rc = lseek(fd, 0, SEEK_SET) ? -errno : 0;

	while (!rc && (n = read(fd, block, sizeof block)) > 0)
		rc = sink_give(to, block, (size_t)n, err);
	return n < 0 ? af_fail(err, -errno, "cannot read the profile again") : rc;
}

/* A format of the command writes to a descriptor: that of memory. */
static int rendered_write(const struct af_format *format, const struct af_prof_data *data,
                          const struct af_prof_sink *to, struct af_err *err)
{
	struct af_picture picture = {.weight = "samples"};
	scope_close int fd = (int)syscall(SYS_memfd_create, "aflame-prof", 1u /* MFD_CLOEXEC */);
	struct af_render r = {.fd = fd, .picture = &picture, .threads = 1};

	if (fd < 0)
		return af_fail(err, -errno, "no memory for the profile");
	int rc = format->begin ? format->begin(&r, err) : 0;
	if (!rc && format->tables)
		rc = format->tables(&r, &data->results->tables, err);
	if (!rc)
		rc = format->tree(&r, data->tree, err);
	if (format->end) {
		int end = format->end(&r, rc ? NULL : err);
		rc = rc ? rc : end;
	}
	return rc ? rc : descriptor_give(fd, to, err);
}

static int folded_write(const struct af_prof_data *data, const struct af_prof_sink *to,
                        struct af_err *err)
{
	struct af_prof_data merged = *data;
	struct af_tree t = {0};

	/* A line of text has no location: stacks that differ only in these are one. */
	af_tree_open(&t, data->tree->weights, data->tree->nr_weights);
	af_tree_merge(&t, data->tree);
	af_tree_finish(&t);
	merged.tree = &t;
	int rc = rendered_write(&af_format_folded, &merged, to, err);
	af_tree_close(&t);
	return rc;
}

static int pprof_write(const struct af_prof_data *data, const struct af_prof_sink *to,
                       struct af_err *err)
{
	return rendered_write(&af_format_pprof, data, to, err);
}

const struct af_prof_format af_prof_flat = {"flat", flat_write};
const struct af_prof_format af_prof_folded = {"folded", folded_write};
const struct af_prof_format af_prof_pprof = {"pprof", pprof_write};

int prof_format(struct af_prof *p, const struct af_prof_format *format,
                const struct af_prof_sink *sink, struct af_err *err)
{
	const struct af_prof_data data = {&p->results, &p->results.trees[AF_VIEW_CPU], p->folder};
	int samples = af_tree_weight(data.tree, "samples");

	if (samples < 0 || !data.tree->total[samples] || !data.tree->total[samples][0])
		return af_fail_plain(err, -ENODATA,
		                     "nothing was sampled: the program used less CPU time than a "
		                     "period, or sampling was not started");
	struct af_err why = {0};
	int rc = format->write(&data, sink, &why);
	if (rc > 0)
		rc = -EIO;
	if (rc && !why.code)
		return af_fail(err, rc, "the format %s has failed", format->name);
	if (rc && err)
		*err = why;
	return rc;
}

/* The node as a frame, in @b where its text needs a NUL: the offset of it, or 0 for none. */
static void frame_fill(const struct af_tree *t, uint32_t node, struct af_prof_frame *frame,
                       char **text)
{
	const struct af_location *at = af_tree_location(t, t->nodes[node].name);
	size_t len;
	const char *name = af_tree_text(t, t->nodes[node].name, &len);

	if (!at->function) {
		*text = af_xrealloc(NULL, len + 1);
		memcpy(*text, name, len);
		(*text)[len] = 0;
	}
	*frame = (struct af_prof_frame){
	    .function = at->function ? at->function : *text,
	    .module = at->module,
	    .file = at->file,
	    .line = at->line,
	    .inlined = at->inlined,
	};
}

int af_prof_each(const struct af_prof_data *data,
                 int (*each)(void *context, const struct af_prof_stack *stack), void *context)
{
	const struct af_tree *t = data->tree;
	const int samples = af_tree_weight(t, "samples"), time = af_tree_weight(t, "time");
	const uint32_t most = af_tree_depth(t) + 1;
	struct af_prof_frame *frames = af_xcalloc(most, sizeof *frames);
	char **texts = af_xcalloc(most, sizeof *texts);
	uint32_t depth = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && (i = af_tree_next(t, i, false, &depth));) {
		free(texts[depth - 1]);
		texts[depth - 1] = NULL;
		frame_fill(t, i, &frames[depth - 1], &texts[depth - 1]);
		if (samples < 0 || !t->self[samples][i])
			continue;
		const struct af_prof_stack stack = {frames, depth, t->self[samples][i],
		                                    time < 0 ? 0 : t->self[time][i]};
		rc = each(context, &stack);
	}
	for (uint32_t i = 0; i < most; i++)
		free(texts[i]);
	free(texts);
	free(frames);
	return rc;
}
