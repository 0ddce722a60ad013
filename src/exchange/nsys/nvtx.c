/* Nsight Systems' export: the program's own annotations, as ranges and marks. */
#include "exchange/nsys/nsys.h"

/* ENUM_NSYS_EVENT_TYPE */
enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60, NVTX_DOMAIN = 75 };
enum { NVTX_TYPE = 2, NVTX_TEXT, NVTX_TEXT_ID, NVTX_THREAD, NVTX_DOMAIN_ID, NVTX_END_THREAD };

static const char *const nvtx_columns[] = {
    "start", "end", "eventType", "text", "textId", "globalTid", "domainId", "endGlobalTid", NULL};

static uint32_t nvtx_text(struct import_nsys *in, const struct sqlite_rows *rows)
{
	size_t len;
	const char *text = sqlite_text(rows, NVTX_TEXT, &len);

	return len ? af_builder_text(in->builder, text, len) : nsys_string(in, rows, NVTX_TEXT_ID);
}

static uint64_t nvtx_domain(const struct sqlite_rows *rows)
{
	int64_t thread = sqlite_int(rows, NVTX_THREAD, 0);

	return (uint64_t)(thread >> NSYS_GLOBAL_BITS & NSYS_ID_MASK) << 32 |
	       (uint32_t)sqlite_int(rows, NVTX_DOMAIN_ID, 0);
}

static void take_domain(struct import_nsys *in, const struct sqlite_rows *rows)
{
	if (sqlite_int(rows, NVTX_TYPE, -1) == NVTX_DOMAIN)
		*af_map_at(&in->domains, nvtx_domain(rows), NULL) = nvtx_text(in, rows);
}

static void edge_add(struct import_nsys *in, enum af_builder_slice_kind kind,
                     const struct af_builder_slice *s, uint64_t time_ns)
{
	struct af_builder_slice edge = *s;

	edge.start_ns = time_ns;
	edge.busy_ns = 0;
	if (kind == AF_BUILDER_END)
		edge.name = 0;
	if (edge.thread != UINT32_MAX)
		af_builder_slice(in->builder, kind, &edge);
}

/* A range that was started, not pushed, belongs to its process: any thread may end it. */
static void take_started(struct import_nsys *in, const struct sqlite_rows *rows,
                         struct af_builder_slice *s)
{
	s->external = ++in->nr_started;
	edge_add(in, AF_BUILDER_START, s, s->start_ns);
	if (sqlite_has(rows, NVTX_END_THREAD))
		s->thread = nsys_thread(in, sqlite_int(rows, NVTX_END_THREAD, 0));
	edge_add(in, AF_BUILDER_END, s, s->start_ns + s->busy_ns);
}

static void take_nvtx(struct import_nsys *in, const struct sqlite_rows *rows)
{
	int64_t type = sqlite_int(rows, NVTX_TYPE, -1);
	struct af_builder_slice s = {.thread = UINT32_MAX};

	if (type != NVTX_PUSH_POP && type != NVTX_START_END && type != NVTX_MARK)
		return;
	s.name = nvtx_text(in, rows);
	/*
	 * A mark without a text has its data in a payload, a Python stack, which the export leaves
	 * out.
	 */
	if (!sqlite_has(rows, NVTX_THREAD) || (type == NVTX_MARK && !s.name)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!(type == NVTX_MARK ? nsys_time(in, rows, &s.start_ns)
	                        : nsys_times(in, rows, &s.start_ns, &s.busy_ns)))
		return;
	const uint64_t *domain = af_map_get(&in->domains, nvtx_domain(rows));
	s.correlation =
	    domain && *domain ? (uint32_t)*domain : af_builder_name(in->builder, "NVTX", 4);
	s.thread = nsys_thread(in, sqlite_int(rows, NVTX_THREAD, 0));
	if (s.thread == UINT32_MAX)
		return;
	if (type == NVTX_PUSH_POP)
		af_builder_slice(in->builder, AF_BUILDER_RANGE, &s);
	else if (type == NVTX_MARK)
		edge_add(in, AF_BUILDER_MARK, &s, s.start_ns);
	else
		take_started(in, rows, &s);
}

void nsys_nvtx(struct import_nsys *in)
{
	nsys_table(in, "NVTX_EVENTS", NULL, nvtx_columns, take_domain);
	nsys_table(in, "NVTX_EVENTS", NULL, nvtx_columns, take_nvtx);
}
