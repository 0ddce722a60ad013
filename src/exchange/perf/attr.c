/* Events: struct perf_event_attr (linux/perf_event.h), and what perf calls them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/perf/file.h"

enum {
	ATTR_BYTES = 64, /* of its first version */
	ATTR_BRANCH_TYPE = 72,
	ATTR_REGISTERS = 80,
	ATTR_MAX_STACK = 108,
	ATTR_BY_RATE = 10, /* bits of its flags */
	ATTR_IDS_IN_ALL = 18,
};

enum { TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT, TYPE_CACHE, TYPE_RAW };
enum { SOFTWARE_CPU_CLOCK = 0, SOFTWARE_TASK_CLOCK = 1 };

size_t perf_attr_size(const uint8_t *data, size_t size)
{
	size_t own = size >= 8 ? perf_u32(data + 4) : 0;

	return own < ATTR_BYTES ? (size < ATTR_BYTES ? size : ATTR_BYTES) : own < size ? own : size;
}

/* The word at @at, which older versions do not have: 0. */
static uint64_t attr_word(const uint8_t *data, size_t size, size_t at)
{
	return size >= at + 8 ? perf_u64(data + at) : 0;
}

int perf_attr_add(struct perf_file *f, const uint8_t *data, size_t size)
{
	if (size < ATTR_BYTES || f->nr_attrs == PERF_ATTRS_MAX)
		return -1;
	size = perf_attr_size(data, size);
	uint64_t flags = perf_u64(data + 40);
	AF_GROW(f->attrs, f->nr_attrs, f->cap_attrs);
	f->attrs[f->nr_attrs] = (struct perf_attr){
	    .type = perf_u32(data),
	    .config = perf_u64(data + 8),
	    .config1 = perf_u64(data + 56),
	    .rate = perf_u64(data + 16),
	    .sample_type = perf_u64(data + 24),
	    .read_format = perf_u64(data + 32),
	    .branch_type = attr_word(data, size, ATTR_BRANCH_TYPE),
	    .registers = attr_word(data, size, ATTR_REGISTERS),
	    .max_stack = size >= ATTR_MAX_STACK + 2 ? perf_u16(data + ATTR_MAX_STACK) : 0,
	    .by_rate = flags >> ATTR_BY_RATE & 1,
	    .ids_in_all = flags >> ATTR_IDS_IN_ALL & 1,
	};
	return (int)f->nr_attrs++;
}

void perf_attr_ids(struct perf_file *f, uint32_t attr, const uint8_t *ids, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8)
		*af_map_at(&f->by_id, perf_u64(ids + i), NULL) = attr + 1;
}

bool perf_attr_is_time(const struct perf_attr *a)
{
	return a->type == TYPE_SOFTWARE &&
	       (a->config == SOFTWARE_CPU_CLOCK || a->config == SOFTWARE_TASK_CLOCK);
}

void perf_attr_name(const struct perf_file *f, uint32_t attr, char *to, size_t size)
{
	static const char *const hardware[] = {
	    "cycles",
	    "instructions",
	    "cache-references",
	    "cache-misses",
	    "branches",
	    "branch-misses",
	    "bus-cycles",
	    "stalled-cycles-frontend",
	    "stalled-cycles-backend",
	    "ref-cycles",
	};
	static const char *const software[] = {
	    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
	};
	const struct perf_attr *a = &f->attrs[attr];

	if (a->name)
		snprintf(to, size, "%s", af_strtab_get(&f->names, a->name));
	else if (a->type == TYPE_HARDWARE && a->config < sizeof hardware / sizeof *hardware)
		snprintf(to, size, "%s", hardware[a->config]);
	else if (a->type == TYPE_SOFTWARE && a->config < sizeof software / sizeof *software)
		snprintf(to, size, "%s", software[a->config]);
	else if (a->type == TYPE_RAW)
		snprintf(to, size, "r%" PRIx64, a->config);
	else
		snprintf(to, size, "event %" PRIu32 ":%" PRIx64, a->type, a->config);
}
