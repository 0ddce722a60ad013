/*
 * All passes, and the timeline, on hostile traces: well-formed packets and events whose fields are
 * anything, mostly small numbers, so that ids meet their definitions, nodes go round and works find
 * calls. Checked: the trees' totals are what their children add up to, and the timeline's tracks
 * come before what lies on them, whose starts never go back.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/pass/pass.h"
#include "analyse/tally/columns.h"
#include "analyse/tally/tally.h"
#include "analyse/time/heat.h"
#include "analyse/time/timeline.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/packet.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One value of @size bytes: small, or near the ends of its type, or any. */
static void put_value(struct input *in, struct af_buf *b, uint32_t size)
{
	uint8_t c = take_byte(in);
	uint64_t value = c % 16;

	if (c >= 224)
		for (uint32_t i = 0; i < size; i++)
			value = value << 8 | take_byte(in);
	else if (c >= 208)
		value = -value;
	else if (c >= 192)
		value = (uint64_t)take_byte(in) << 4;
	af_buf_add(b, &value, size);
}

static void put_tail(struct input *in, struct af_buf *b, const struct af_field_info *f)
{
	uint32_t nr = take_byte(in) % 6, size = af_field_size(f->type);

	if (f->class == AF_FIELD_STR) {
		for (uint32_t i = 0; i < nr; i++)
			af_buf_char(b, (char)(1 + take_byte(in) % 255));
		af_buf_char(b, 0);
		return;
	}
	af_buf_add(b, &nr, 4);
	for (uint32_t i = 0; i < nr; i++)
		put_value(in, b, size);
}

/* Keys of notes of devices that mean something. */
static void put_key(struct input *in, struct af_buf *b)
{
	af_buf_str(b, take_byte(in) & 1 ? "uuid" : "pci");
	af_buf_char(b, 0);
}

/* Any kind, or one of those that most of a trace consists of. */
static uint16_t take_kind(struct input *in)
{
	static const uint16_t most[] = {
	    AF_KIND_SAMPLE,      AF_KIND_KSAMPLE,       AF_KIND_OFFCPU, AF_KIND_LAUNCH,
	    AF_KIND_WORK,        AF_KIND_CALL,          AF_KIND_RANGE,  AF_KIND_GPU_WORK,
	    AF_KIND_CODE_PLACED, AF_KIND_ADDRESS_SAMPLE};
	uint8_t byte = take_byte(in);

	return byte < 128 ? byte % AF_KIND_END : most[byte % (sizeof most / sizeof *most)];
}

static void put_event(struct input *in, struct af_buf *b, uint64_t *time_ns)
{
	struct af_event_header h = {.kind = take_kind(in)};
	const struct af_kind_info *info = af_kind_info(h.kind);
	uint8_t later = take_byte(in);
	size_t at = b->len;

	if (!info)
		return;
	*time_ns += later < 250 ? later : 1ull << (later - 220);
	h.time_ns = *time_ns;
	af_buf_add(b, &h, sizeof h);
	for (uint32_t i = 0; i < info->nr_fields; i++)
		if (info->fields[i].class == AF_FIELD_FIX)
			put_value(in, b, af_field_size(info->fields[i].type));
		else if (h.kind == AF_KIND_DEVICE_NOTE && i == 1)
			put_key(in, b);
		else
			put_tail(in, b, &info->fields[i]);
	h.size = (uint16_t)(b->len - at);
	memcpy(b->data + at, &h, sizeof h);
}

static void put_packet(struct input *in, struct af_buf *b, uint32_t stream, uint64_t seq,
                       uint64_t *time_ns)
{
	uint8_t what = take_byte(in), nr = 1 + take_byte(in) % 32;
	size_t at = b->len;
	struct af_packet p = {.magic = AF_PACKET_MAGIC,
	                      .instance = stream + 1,
	                      .begin_ns = *time_ns,
	                      .seq = seq,
	                      .process = what % 3,
	                      .pid = what % 3 + 10,
	                      .tid = what % 5};

	af_buf_add(b, &p, sizeof p);
	while (nr--)
		put_event(in, b, time_ns);
	p.end_ns = *time_ns;
	p.packet_bits = p.content_bits = (b->len - at) * 8;
	memcpy(b->data + at, &p, sizeof p);
}

static void check_tree(const struct af_tree *t)
{
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		uint64_t sum = 0;
		bool most = false;
		for (uint32_t n = 0; n < t->nr; n++)
			most |= __builtin_add_overflow(sum, t->self[w][n], &sum);
		if (!most && !t->saturated && sum != t->total[w][0])
			abort();
	}
}

/* Samples go in and come out, all of them, and a job's time is its instructions'. */
static void check_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const struct af_attribution *a = out->attribution;
	uint64_t parts = 0, samples = 0, reported = 0;

	(void)self;
	(void)w;
	for (uint32_t i = 0; a && i < a->nr_devices; i++)
		reported +=
		    a->devices[i].exact + a->devices[i].apportioned + a->devices[i].unattributed;
	for (uint32_t j = 0; a && j < a->nr_launch_groups; j++) {
		const struct af_launch_group *group = &a->launch_groups[j];
		uint64_t sum = 0, time_ns = 0;
		for (uint32_t i = group->first; i < group->first + group->nr; i++) {
			if (a->found[i].launch_group != j ||
			    a->found[i].exact_parts > a->found[i].parts)
				abort();
			sum += a->found[i].parts;
			samples += a->found[i].samples;
			time_ns += a->found[i].time_ns;
		}
		if (sum != group->parts ||
		    (reported < 1u << 31 && sum && time_ns != group->time_ns))
			abort();
		parts += sum;
	}
	if (reported < 1ull << 43 &&
	    (parts != reported * AF_ATTRIBUTION_PARTS || samples != reported))
		abort();
}

static const struct af_pass_ops check_pass = {
    .name = "check",
    .answers = UINT32_MAX,
    .attributes = UINT32_MAX,
    .state_size = 1,
    .finish = check_finish,
};

/* The query: a part of the run, of all, of a thread or of a device. */
static struct af_query query_of(struct input *in)
{
	struct af_query query = AF_QUERY_ALL;
	uint8_t how = take_byte(in), when = take_byte(in);

	query.answers |= AF_ANSWER_TALLY;
	query.group = how % (AF_GROUP_TRACK + 1);
	query.depth = how / 5 % (AF_DEPTH_STALL + 1);
	query.by_time = query.group & 1;
	query.locations = query.group == AF_GROUP_TRACK;
	if (when & 1) {
		query.from_ns = (uint64_t)take_byte(in) * 16;
		query.to_ns = when & 2 ? query.from_ns + 1 + (1ull << (when >> 2)) : 0;
	}
	query.tid = when & 64 ? take_byte(in) % 5 : 0;
	query.device = when & 128 ? take_byte(in) % 4 : 0;
	return query;
}

/* Cells of a heat map have what its intervals have. */
static void heat(const char *dir, const struct af_query *is, bool gpu)
{
	struct af_heat heat = {.gpu = gpu, .interval_ns = 1000};
	struct af_query query = *is;
	const struct af_pass_ops *const passes[] = {af_heat_pass(&heat, &query), NULL};
	struct af_results r;
	struct af_err err = {0};
	uint64_t sums[2] = {0};

	query.own = &heat;
	bool read = !af_analyse(dir, passes, &query, &r, NULL, NULL, &err);
	const struct af_table *about = af_tables_find(&r.tables, "heat_about");
	const struct af_table *cells = af_tables_find(&r.tables, "heat");
	const struct af_table *intervals = af_tables_find(&r.tables, "intervals");
	const struct af_heat_about_row *bounds =
	    about ? AF_ROW_AT(struct af_heat_about_row, about, 0) : NULL;

	/* Either has its own bounds, which a longer run passes. */
	bool longer = bounds && bounds->to_ns.value - bounds->from_ns.value > 1000000;
	for (uint32_t i = 0; cells && i < cells->nr_rows; i++)
		sums[1] += AF_ROW_AT(struct af_heat_cell_row, cells, i)->time_ns.value;
	for (uint32_t i = 0; intervals && i < intervals->nr_rows; i++)
		sums[0] += AF_ROW_AT(struct af_heat_interval_row, intervals, i)->time_ns.value;
	if (read && !longer && sums[0] != sums[1])
		abort();
	af_results_close(&r);
}

/* However calls are grouped, they are all there. */
static void tally(struct af_tally *calls)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < calls->nr; i++)
		nr += calls->rows[i].stats.count;
	for (int group = AF_TALLY_BY_FUNCTION; group <= AF_TALLY_BY_THREAD; group++) {
		struct af_tables f = {0};
		uint64_t shown = 0;
		af_tally_tables(calls, (enum af_tally_group)group, true, &f);
		for (const struct af_table *t = f.first; t; t = t->next)
			for (uint32_t r = 0; r < t->nr_rows && !strncmp(t->name, "api", 3); r++)
				shown += AF_ROW_AT(struct af_api_row, t, r)->calls.value;
		if (shown != nr && nr < 1ull << 60)
			abort();
		af_tables_free(&f);
	}
	af_tally_free(calls);
}

static void analyse(const char *dir, const struct af_query *is)
{
	static const struct af_pass_ops *const passes[] = {
	    &af_pass_flame,     &af_pass_wakers,
	    &af_pass_devices,   &af_pass_calls,
	    &af_pass_memory,    &af_pass_run,
	    &af_pass_who,       &af_pass_blocked,
	    &af_pass_idle,      &af_pass_sampled,
	    &af_pass_annotated, &af_pass_tally,
	    &af_pass_counters,  &af_pass_kernel_counters,
	    &check_pass,        NULL};
	struct af_tally calls = {0};
	struct af_query query = *is;
	struct af_results r;
	struct af_err err = {0};

	query.own = &calls;
	if (!af_analyse(dir, passes, &query, &r, NULL, NULL, &err))
		for (int v = 0; v < AF_VIEWS; v++)
			if (r.trees[v].nr_weights)
				check_tree(&r.trees[v]);
	af_results_close(&r);
	tally(&calls);
}

/* Passes whose states can be merged, over parts of the trace that are a packet or a few long. */
static void parts(const char *dir, const struct af_query *is, uint8_t how)
{
	static const struct af_pass_ops *const passes[] = {
	    &af_pass_flame,  &af_pass_devices,  &af_pass_calls,    &af_pass_run,
	    &af_pass_tally,  &af_pass_coverage, &af_pass_wakers,   &af_pass_blocked,
	    &af_pass_who,    &af_pass_idle,     &af_pass_phases,   &af_pass_usage,
	    &af_pass_memory, &af_pass_mpi,      &af_pass_counters, NULL};
	struct af_reading *kept = NULL;
	const struct af_analyse_how keeps = {.kept = &kept};
	struct af_tally calls = {0};
	struct af_query query = *is;
	struct af_results r, part;
	struct af_err err = {0};
	char bytes[16];

	snprintf(bytes, sizeof bytes, "%u", 32u << how % 5);
	setenv("AFLAME_PART_BYTES", bytes, 1);
	query.own = &calls;
	query.threads = 1 + (how & 1);
	query.by_time = false;
	query.depth = AF_DEPTH_KERNEL;
	if (how & 32)
		query.ranges = true;
	if (!af_analyse_how(dir, passes, &query, &r, &keeps, &err))
		for (int v = 0; v < AF_VIEWS; v++)
			if (r.trees[v].nr_weights)
				check_tree(&r.trees[v]);
	af_results_close(&r);
	tally(&calls);
	query.own = &calls;
	query.from_ns = 100;
	query.to_ns = 100 + (1u << how % 16);
	if (kept && how & 64) {
		af_reading_part(kept, passes, &query, &part);
		af_results_close(&part);
		tally(&calls);
	}
	af_reading_close(kept);
	unsetenv("AFLAME_PART_BYTES");
}

/* For each track the latest slice's start: they never go back. */
struct tracks {
	uint64_t *starts_ns;
	uint32_t nr;
};

static int check_track(void *arg, const struct af_track *t)
{
	struct tracks *tracks = arg;

	if (t->id != ++tracks->nr || t->parent >= t->id)
		abort();
	tracks->starts_ns = realloc(tracks->starts_ns, (t->id + 1) * sizeof *tracks->starts_ns);
	tracks->starts_ns[t->id] = 0;
	return 0;
}

static int check_slice(void *arg, const struct af_slice *s)
{
	struct tracks *tracks = arg;

	if (!s->track || s->track > tracks->nr || s->end_ns < s->start_ns ||
	    s->start_ns < tracks->starts_ns[s->track])
		abort();
	tracks->starts_ns[s->track] = s->start_ns;
	return 0;
}

static int check_point(void *arg, const struct af_point *p)
{
	struct tracks *tracks = arg;

	if (!p->track || p->track > tracks->nr)
		abort();
	return 0;
}

static void timeline(const char *dir, const struct af_query *is, bool trees)
{
	struct af_timeline_query query = {.process = UINT64_MAX,
	                                  .pid = UINT64_MAX,
	                                  .from_ns = is->from_ns,
	                                  .to_ns = is->to_ns,
	                                  .cuts = is->from_ns || is->to_ns,
	                                  .trees = trees ? is : NULL};
	struct tracks tracks = {0};
	struct af_slices_sink sink = {&tracks, check_track, check_slice, check_point};
	struct af_timeline *t;
	struct af_err err = {0};

	if (!af_timeline_open(&t, dir, &query, NULL, NULL, &err))
		af_timeline_run(t, &sink, &err);
	af_timeline_close(t);
	free(tracks.starts_ns);
}

static char trace_path[] = "/dev/shm/fuzz-analyse-XXXXXX";

static void trace_remove(void)
{
	static const char *const files[] = {"metadata", "s0", "s1"};
	char path[sizeof trace_path + 16];

	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", trace_path, files[i]);
		unlink(path);
	}
	rmdir(trace_path);
}

/* The trace's directory, and its two streams, which each input fills anew. */
static const char *trace_dir(int fds[2])
{
	static int files[2];
	struct af_err err = {0};

	if (!files[0]) {
		if (!mkdtemp(trace_path) || atexit(trace_remove))
			abort();
		int fd = open(trace_path, O_RDONLY | O_DIRECTORY);
		if (fd < 0 || af_metadata_write(fd, 0, 0, NULL, &err))
			abort();
		files[0] = openat(fd, "s0", O_RDWR | O_CREAT, 0600);
		files[1] = openat(fd, "s1", O_RDWR | O_CREAT, 0600);
	}
	memcpy(fds, files, sizeof files);
	return trace_path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct af_buf streams[2] = {{0}, {0}};
	uint64_t seq[2] = {0}, time_ns[2] = {1000, 1000};
	uint8_t how = take_byte(&in);
	struct af_query query = query_of(&in);
	int fds[2];

	while (in.left) {
		int s = take_byte(&in) & 1;
		put_packet(&in, &streams[s], (uint32_t)s, seq[s]++, &time_ns[s]);
	}
	const char *dir = trace_dir(fds);
	for (int s = 0; s < 2; s++) {
		if (ftruncate(fds[s], 0) ||
		    (streams[s].len &&
		     pwrite(fds[s], streams[s].data, streams[s].len, 0) != (ssize_t)streams[s].len))
			abort();
		af_buf_free(&streams[s]);
	}
	if (how & 128) /* as columns of kernels: those with one of these letters */
		query.counters = "\1,\2,\3,\4,a,e";
	analyse(dir, &query);
	parts(dir, &query, how);
	heat(dir, &query, how & 1);
	query.depth = AF_DEPTH_KERNEL;
	query.locations = true;
	timeline(dir, &query, how & 128);
	return 0;
}
