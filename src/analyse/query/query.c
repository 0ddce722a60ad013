#include "analyse/query/query.h"

#include <string.h>

const struct af_tree_weight af_weights[AF_WEIGHTS] = {
    [AF_WEIGHT_TIME] = {"time", "ns"},         [AF_WEIGHT_SAMPLES] = {"samples", "samples"},
    [AF_WEIGHT_COUNT] = {"count", "launches"}, [AF_WEIGHT_BYTES] = {"bytes", "bytes"},
    [AF_WEIGHT_OFF_CPU] = {"off-cpu", "ns"},   [AF_WEIGHT_ALLOC] = {"alloc", "bytes"},
    [AF_WEIGHT_LIVE] = {"live", "bytes"},      [AF_WEIGHT_ALLOCS] = {"allocs", "allocations"},
    [AF_WEIGHT_ENERGY] = {"energy", "mJ"},
};

/* Memory comes before its allocations, and waits before their number. */
const enum af_weight af_weight_order[AF_WEIGHTS] = {
    AF_WEIGHT_TIME, AF_WEIGHT_SAMPLES, AF_WEIGHT_BYTES,  AF_WEIGHT_OFF_CPU, AF_WEIGHT_ALLOC,
    AF_WEIGHT_LIVE, AF_WEIGHT_ALLOCS,  AF_WEIGHT_ENERGY, AF_WEIGHT_COUNT};

const char *af_weight_name(enum af_weight weight)
{
	return af_weights[weight].name;
}

const char *af_weight_title(enum af_view view, const char *weight, const uint32_t has[AF_VIEWS])
{
	static const char cpu[] = "CPU time, all threads";
	static const char *const times[AF_VIEWS] = {
	    [AF_VIEW_CPU] = cpu,
	    [AF_VIEW_GPU] = "device time, all queues",
	    [AF_VIEW_ALL] = "CPU and device time, all threads and queues",
	    [AF_VIEW_IDLE] = "idle time, all devices",
	};

	if (view == AF_VIEW_WAKERS)
		return weight;
	if (!strcmp(weight, "off-cpu"))
		return "off-CPU time, all threads";
	if (!strcmp(weight, "alloc"))
		return "bytes allocated";
	if (!strcmp(weight, "live"))
		return "bytes allocated and not freed";
	if (!strcmp(weight, "energy"))
		return view == AF_VIEW_CPU   ? "energy of CPU packages, in mJ"
		       : view == AF_VIEW_GPU ? "energy of devices, in mJ"
		                             : "energy of devices and CPU packages, in mJ";
	if (strcmp(weight, "time") != 0)
		return weight;
	if (has[view] & AF_HAS_WALL && view == AF_VIEW_CPU)
		return "wall-clock time, all threads";
	return view == AF_VIEW_ALL && !has[AF_VIEW_GPU] ? cpu : times[view];
}

enum af_weight af_weight_default(uint32_t has)
{
	/* Cycles are what samples of them weigh. */
	if (has & AF_HAS_COUNTED && !(has & 1 << AF_WEIGHT_TIME))
		return AF_WEIGHT_COUNT;
	for (int i = 0; i < AF_WEIGHTS; i++)
		if (has & 1u << af_weight_order[i])
			return af_weight_order[i];
	return AF_WEIGHT_TIME;
}

uint32_t af_query_weight(const char *name)
{
	if (!name)
		return 1 << AF_WEIGHT_TIME;
	for (int i = 0; i < AF_WEIGHTS; i++)
		if (!strcmp(af_weights[i].name, name))
			return 1u << i;
	return 0;
}

enum af_depth af_query_depth(const char *name, enum af_depth standard)
{
	static const char *const names[] = {[AF_DEPTH_KERNEL] = "kernel",
	                                    [AF_DEPTH_LINE] = "line",
	                                    [AF_DEPTH_INSN] = "insn",
	                                    [AF_DEPTH_STALL] = "stall"};

	for (int i = AF_DEPTH_KERNEL; name && i <= AF_DEPTH_STALL; i++)
		if (!strcmp(name, names[i]))
			return (enum af_depth)i;
	return standard;
}

const struct af_near *af_query_near(const struct af_query *query, struct af_near *near)
{
	*near = (struct af_near){query->from_ns, query->to_ns, query->near_memo};
	return query->near_run_ns ? near : NULL;
}
