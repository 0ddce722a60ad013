/* The tracks of a timeline: who has one, what it is called, and where it stands. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyse/time/timeline_private.h"

/* Places among siblings: devices above counters, above what threads did. */
enum {
	RANK_DEVICES = 1 << 16,
	RANK_COUNTERS = 2 << 16, /* memory; those of the trace stand below */
	RANK_ROWS = 3 << 16,
	RANK_THREADS = 4 << 16
};

__attribute__((format(printf, 2, 3))) static const char *text_of(struct af_timeline *t,
                                                                 const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return af_strtab_get(&t->names, timeline_text(t, text, strlen(text)));
}

enum { TRACK_PROCESS = 100, TRACK_THREAD, TRACK_DEVICE };

static uint32_t pid_of(const struct af_timeline *t, uint32_t process)
{
	const struct af_process *p = af_world_process(&t->world, process);

	return p ? p->pid : 0;
}

/*
 * Viewers see the programs that a process ran one after another (exec) as one process, and know
 * each thread by its number: the process is named after the last program. Another process that has
 * the pid later, or on another host, is another one.
 */
static uint32_t last_image(struct af_timeline *t, uint32_t process)
{
	if (!t->by_image.nr)
		for (uint32_t i = t->world.nr_processes; i-- > 1;) {
			const struct af_process *next = &t->world.processes[i];
			const struct af_process *was = &t->world.processes[next->before];
			const uint64_t *last = af_map_get(&t->by_image, i);
			if (next->before && af_process_goes_on(was, next))
				*af_map_at(&t->by_image, next->before, NULL) = last ? *last : i;
			else if (!last)
				*af_map_at(&t->by_image, i, NULL) = i;
		}
	const uint64_t *last = process ? af_map_get(&t->by_image, process) : NULL;
	return last ? (uint32_t)*last : process;
}

uint32_t timeline_process(struct af_timeline *t, uint32_t image)
{
	uint32_t process = last_image(t, image);
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_track, AF_KEY(TRACK_PROCESS, process), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	const struct af_process *p = af_world_process(&t->world, process);
	const char *rank = p ? af_process_note(p, "rank") : NULL;
	struct af_track track = {
	    .kind = AF_TRACK_PROCESS,
	    .pid = pid_of(t, process),
	    .rank = process,
	    .name = !process        ? "aflame record"
	            : p && *p->name ? rank ? text_of(t, "rank %s · %s", rank, p->name) : p->name
	                            : "[unknown process]",
	    .in_rank = rank,
	};
	return (uint32_t)(*slot = af_rows_track(&t->rows, &track));
}

uint32_t timeline_thread(struct af_timeline *t, uint32_t image, uint32_t tid)
{
	uint32_t parent = timeline_process(t, image);
	uint32_t process = last_image(t, image);
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_track, AF_KEY(TRACK_THREAD, process, tid), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	const struct af_thread *thread = af_world_thread(&t->world, process, tid);
	if (!thread)
		thread = af_world_thread(&t->world, image, tid);
	struct af_track track = {
	    .kind = AF_TRACK_THREAD,
	    .parent = parent,
	    .pid = pid_of(t, process),
	    .tid = tid,
	    .rank = RANK_THREADS + t->nr_children++,
	    .name = thread && *thread->name ? thread->name : "thread",
	};
	return (uint32_t)(*slot = af_rows_track(&t->rows, &track));
}

uint32_t timeline_device(struct af_timeline *t, uint32_t process, uint32_t device)
{
	uint32_t parent = timeline_process(t, process);
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_track, AF_KEY(TRACK_DEVICE, process, device), &fresh);

	if (!fresh)
		return (uint32_t)*slot;
	const struct af_device *d = af_world_device(&t->world, process, device);
	struct af_track track = {
	    .kind = AF_TRACK_DEVICE,
	    .parent = parent,
	    .pid = pid_of(t, process),
	    .rank = RANK_DEVICES + device % RANK_DEVICES,
	    .name = d ? text_of(t, "%s (device %u)", d->name, device) : "unknown device",
	};
	return (uint32_t)(*slot = af_rows_track(&t->rows, &track));
}

static void row_of_thread(struct af_timeline *t, struct af_track *track, uint32_t process,
                          uint32_t tid, enum timeline_row_kind kind)
{
	track->parent = timeline_thread(t, process, tid);
	track->tid = tid;
	track->rank = kind;
}

static void row_of_queue(struct af_timeline *t, struct af_track *track, uint32_t process,
                         uint32_t id)
{
	const struct af_queue *queue = af_world_queue(&t->world, process, id);
	uint32_t device = queue ? queue->device : 0;
	const struct af_device *d = af_world_device(&t->world, process, device);
	bool cuda = queue && d && d->api == AF_API_CUDA; /* its tools know a stream by its handle */
	const char *what = cuda ? "stream" : "queue";
	unsigned long long number = cuda ? queue->handle : id;

	track->parent = timeline_device(t, process, device);
	track->rank = id;
	track->name = queue && queue->context > 1
	                  ? text_of(t, "%s %llu (context %u)", what, number, queue->context)
	                  : text_of(t, "%s %llu", what, number);
}

static const char *name_of_ranges(struct af_timeline *t, const char *what, const char *domain)
{
	if (domain && !strcmp(domain, AF_DOMAIN_REGIONS))
		return "regions";
	/* "Kokkos", "Kokkos kernels", "Kokkos memory"; "ITT", "ITT: tbb.flow" */
	if (domain && (!strncmp(domain, "Kokkos", strlen("Kokkos")) || !strcmp(domain, "ITT") ||
	               !strncmp(domain, "ITT: ", strlen("ITT: "))))
		return text_of(t, "%s", domain);
	return domain && *domain ? text_of(t, "%s: %s", what, domain) : what;
}

/* Fill a row's track by its kind and id; returns the track it begins on. */
static uint32_t row_describe(struct af_timeline *t, struct af_track *track,
                             enum timeline_row_kind kind, uint32_t process,
                             const struct timeline_row_id *id)
{
	static const char *const names[] = {
	    [ROW_CALLS] = "calls",         [ROW_RUN] = "on CPU (samples)",
	    [ROW_WAITS] = "off CPU",       [ROW_OVERHEAD] = "tracing overhead",
	    [ROW_LOST] = "lost",           [ROW_RANGES] = "NVTX",
	    [ROW_STARTED] = "NVTX ranges", [ROW_QUEUE] = "queue",
	};

	track->rank = RANK_ROWS + kind;
	track->lane = id->depth;
	track->name = name_of_ranges(t, names[kind], id->domain);
	switch (kind) {
	case ROW_QUEUE:
		row_of_queue(t, track, process, id->number);
		return 0;
	case ROW_CALLS:
		row_of_thread(t, track, process, id->number, kind);
		return track->parent;
	case ROW_RANGES:
	case ROW_RUN:
	case ROW_WAITS:
		row_of_thread(t, track, process, id->number, kind);
		return 0;
	default:
		track->parent = timeline_process(t, process);
		return 0;
	}
}

/* How many slices of a kind may come before one that began earlier. */
static uint32_t row_held(enum timeline_row_kind kind)
{
	switch (kind) {
	case ROW_CALLS:
		return 256; /* those that lie within one another */
	case ROW_QUEUE:
	case ROW_STARTED:
		return 1024;
	default:
		return 8;
	}
}

static uint32_t row_of(struct af_timeline *t, enum timeline_row_kind kind, uint32_t process,
                       const struct timeline_row_id *id)
{
	bool numbers = kind == ROW_QUEUE || kind == ROW_OVERHEAD; /* by each image anew */
	uint32_t domain = id->domain ? timeline_text(t, id->domain, strlen(id->domain)) : 0;
	bool fresh;
	uint64_t *known = af_keys_at(
	    &t->by_row,
	    AF_KEY(kind, id->depth, numbers ? process : last_image(t, process), id->number, domain),
	    &fresh);

	if (!fresh)
		return (uint32_t)*known;
	timeline_settle(t);
	struct af_track track = {.kind = AF_TRACK_ROW, .pid = pid_of(t, process)};
	uint32_t first = row_describe(t, &track, kind, process, id);
	uint32_t row = af_rows_add(&t->rows, &track, first, row_held(kind), kind == ROW_CALLS);
	return (uint32_t)(*known = row);
}

/* Most slices of a kind and thread or queue are in the row of the one before. */
void timeline_put(struct af_timeline *t, enum timeline_row_kind kind, uint32_t process,
                  const struct timeline_row_id *id, struct af_slice *s)
{
	struct timeline_row *last = &t->last_rows[kind][id->number % TIMELINE_ROWS];

	if (id->domain)
		last->known = false;
	if (!last->known || last->process != process || last->number != id->number ||
	    last->depth != id->depth)
		*last = (struct timeline_row){process, id->number, id->depth,
		                              row_of(t, kind, process, id), !id->domain};
	s->track = last->row;
	timeline_failed(t, t->into.slice(t->into.arg, s));
}

uint32_t timeline_counter(struct af_timeline *t, uint32_t process, uint32_t device,
                          const char *name)
{
	timeline_settle(t);
	struct af_track track = {
	    .kind = AF_TRACK_COUNTER,
	    .parent = device ? timeline_device(t, process, device) : timeline_process(t, process),
	    .pid = pid_of(t, process),
	    .rank = RANK_COUNTERS,
	    .name = text_of(t, "memory: %s", name),
	    .unit = AF_CELL_BYTES,
	};
	return af_rows_track(&t->rows, &track);
}

uint32_t timeline_counter_made(struct af_timeline *t, uint32_t process, uint32_t device,
                               const struct timeline_counter_like *like)
{
	timeline_settle(t);
	struct af_track track = {
	    .kind = AF_TRACK_COUNTER,
	    .parent = device ? timeline_device(t, process, device) : timeline_process(t, process),
	    .pid = pid_of(t, process),
	    .rank = RANK_COUNTERS + 1 + t->nr_children++ % (RANK_ROWS - RANK_COUNTERS - 1),
	    .name = text_of(t, "%s", like->name),
	    .unit = AF_CELL_NUMBER,
	    .counted = text_of(t, "%s%s", like->unit, like->per_second ? "/s" : ""),
	    .per = like->per,
	};
	return af_rows_track(&t->rows, &track);
}
