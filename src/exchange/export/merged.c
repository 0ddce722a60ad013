/* gpuperf's merged folded text: kernels under the stacks that launched them, in microseconds. */
#include <string.h>

#include "analyse/pass/pass.h"
#include "base/buf.h"
#include "base/err.h"
#include "exchange/export/export.h"
#include "exchange/export/trace.h"
#include "trace/kinds.h"

static bool is_kernel(const char *text, size_t len)
{
	for (uint32_t op = AF_OP_KERNEL + 1; op < AF_OP_END; op++) {
		const char *name = af_op_text(op);
		if (name && strlen(name) == len && !memcmp(name, text, len))
			return false;
	}
	return true;
}

static void merged_frame(void *arg, const char *text, size_t len, uint32_t kind, bool last)
{
	struct af_buf *b = arg;

	if (last && kind == AF_FRAME_GPU)
		af_buf_str(b, is_kernel(text, len) ? "[GPU_Kernel]" : "[GPU_MemCopy]");
	export_frame_text(b, text, len);
	af_buf_char(b, last ? ' ' : ';');
}

static int merged_write(const struct af_tree *t, int fd, struct af_export_count *count)
{
	struct af_buf b = {0};
	uint32_t depth = 0;
	int rc = 0;

	for (uint32_t node = af_tree_next(t, 0, false, &depth); node && !rc;
	     node = af_tree_next(t, node, false, &depth)) {
		uint64_t ns = t->self[AF_WEIGHT_TIME][node];
		uint64_t us = ns / 1000 + (ns % 1000 >= 500);
		if (!us) {
			count->left_out += ns != 0;
			continue;
		}
		export_stack(t, node, merged_frame, &b);
		af_buf_u64(&b, us);
		af_buf_char(&b, '\n');
		count->written++;
		if (b.len >= EXPORT_FLUSH_BYTES)
			rc = af_buf_flush(&b, fd);
	}
	if (!rc)
		rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc;
}

int af_export_merged(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err)
{
	static const struct af_pass_ops *const passes[] = {&af_pass_flame, NULL};
	const struct af_query query = {.answers = 1 << AF_VIEW_GPU,
	                               .weights = 1 << AF_WEIGHT_TIME,
	                               .depth = AF_DEPTH_KERNEL,
	                               .from_ns = request->from_ns,
	                               .to_ns = request->to_ns};
	struct af_results r;

	int rc = af_analyse(request->dir, passes, &query, &r, NULL, NULL, err);
	if (!rc) {
		int error = merged_write(&r.trees[AF_VIEW_GPU], request->fd, count);
		if (error)
			rc = af_fail(err, error, "cannot write the stacks");
	}
	af_results_close(&r);
	return rc;
}
