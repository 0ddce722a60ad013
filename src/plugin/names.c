/* Words for what plug-ins get. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "plugin/private.h"
#include "trace/kinds.h"

const char *plugin_call_text(uint32_t call)
{
#define CALL(NAME, text) text,
	static const char *const texts[] = {PLUGIN_CALLS(CALL)};
#undef CALL
	return texts[call < PLUGIN_CALLS_END ? call : PLUGIN_NONE];
}

const char *plugin_api_name(uint32_t api)
{
	static const char *const names[] = {
	    [AF_API_OPENCL] = "opencl", [AF_API_CUDA] = "cuda",     [AF_API_LEVEL_ZERO] = "ze",
	    [AF_API_HIP] = "hip",       [AF_API_OPENMP] = "openmp", [AF_API_CUDART] = "cudart",
	    [AF_API_MPI] = "mpi",       [AF_API_DRM] = "drm"};

	return api < sizeof names / sizeof *names && names[api] ? names[api] : "";
}

/* A graph that was timed as a whole has the name of its frame. */
static const char *graph_name(struct plugin_host *h, const struct af_work *work, const char *op)
{
	char text[32];

	if (!work->node)
		return op;
	snprintf(text, sizeof text, "[graph %u]", h->world.nodes[work->node].graph);
	return af_strtab_get(&h->texts, af_strtab_id_z(&h->texts, text));
}

const char *plugin_work_name(struct plugin_host *h, const struct af_work *work, const char **op)
{
	const struct af_work_descriptor *d = &h->world.descriptors[work->descriptor];

	*op = work->descriptor ? af_op_text(d->is.op) : "";
	if (!work->descriptor)
		return "[unknown work]";
	if (d->is.op == AF_OP_GRAPH)
		return graph_name(h, work, *op);
	if (d->is.op != AF_OP_KERNEL)
		return *op;
	const char *kernel = af_world_kernel(&h->world, d->process, d->is.kernel);
	return kernel && *kernel ? kernel : "[unnamed kernel]";
}

bool plugin_is_key(const char *text)
{
	size_t len = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;

	return len && !text[len];
}
