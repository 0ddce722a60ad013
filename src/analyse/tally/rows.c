/* Sums of a trace as rows of a tally, with the names that people know. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/tally/private.h"
#include "analyse/world/device_name.h"
#include "api/tables/tables.h"
#include "base/buf.h"
#include "trace/kinds.h"

/* An API, by enum af_api: its name, and where it stands among those that call each other. */
static const struct {
	const char *name;
	enum af_tally_level level;
} apis[] = {
    [0] = {"", AF_TALLY_DEVICE},
    [AF_API_OPENCL] = {"OpenCL", AF_TALLY_DEVICE},
    [AF_API_CUDA] = {"CUDA", AF_TALLY_DEVICE},
    [AF_API_LEVEL_ZERO] = {"Level Zero", AF_TALLY_DEVICE},
    [AF_API_HIP] = {"HIP", AF_TALLY_DEVICE},
    [AF_API_OPENMP] = {"OpenMP", AF_TALLY_RUNTIME},
    [AF_API_CUDART] = {"CUDA runtime", AF_TALLY_RUNTIME},
    [AF_API_MPI] = {"MPI", AF_TALLY_MPI},
    [AF_API_DRM] = {"DRM", AF_TALLY_DEVICE},
    [AF_API_FUNCTION] = {"functions", AF_TALLY_RUNTIME},
};

/* The makings of rows. */
struct maker {
	struct tally *t;
	const struct af_world *w;
	struct af_tally *to;
	struct af_tables texts; /* until the rows have copies */
	struct af_tree scratch;
	const char *host;
	struct af_tally_row *of_thread; /* by thread: whose rows are */
	bool *made;                     /* by sum: it has become a row */
};

static const char *keep(struct maker *m, const char *text)
{
	return text && *text ? af_arena_strdup(&m->to->arena, text, strlen(text)) : "";
}

static void row_api(struct af_tally_row *row, uint32_t api)
{
	if (api >= sizeof apis / sizeof *apis || !apis[api].name)
		api = 0;
	row->api = apis[api].name;
	row->level = apis[api].level;
}

/* The function of the CUDA runtime at the end of @path, or "". */
static const char *runtime_name(struct maker *m, uint32_t path)
{
	uint32_t node = path ? af_frames_call(&m->scratch, m->w, 0, path) : 0;
	size_t len = 0;
	const char *name = node ? af_tree_text(&m->scratch, m->scratch.nodes[node].name, &len) : "";

	if (len < 5 || memcmp(name, "cuda", 4) || !isupper((unsigned char)name[4]))
		return "";
	return af_arena_strdup(&m->to->arena, name, len);
}

/* A function of the tables; one that this version does not know has the API's name and a number. */
static void row_of_api(struct maker *m, struct af_tally_row *row, const struct tally_sum *s)
{
	const struct af_api_table *api = af_api_of((uint16_t)s->kind);
	const struct af_api_function *f = af_api_function((uint16_t)s->kind);

	row_api(row, api ? api->api : 0);
	row->function =
	    f ? f->name
	      : keep(m, af_tables_text(&m->texts, "[%s function %u]", api ? api->name : "unknown",
	                               api ? s->kind - api->kind : s->kind));
	row->category = f ? af_call_category_text(f->category) : "";
	row->moves = f && f->category != AF_CATEGORY_ALLOC && f->category != AF_CATEGORY_FREE;
	m->to->nr_strange += f ? 0 : s->stats.count;
}

/* Names of their own: where a process has both, times are not to be mixed with what has none. */
static void row_of_call(struct maker *m, struct af_tally_row *row, const struct tally_sum *s)
{
	const struct af_function *is = s->function ? &m->w->functions[s->function] : NULL;
	const char *name = is ? is->name : "[not known]", *runtime = runtime_name(m, s->path);

	row_api(row, is ? is->api : s->source == AF_TALLY_ENQUEUED ? AF_API_OPENCL : 0);
	if (s->source == AF_TALLY_SEEN)
		name = af_tables_text(&m->texts, "[seen] %s", name);
	else if (s->source == AF_TALLY_ENQUEUED)
		name = af_tables_text(&m->texts, "[enqueue] %s", af_op_text(s->op));
	name = keep(m, name);
	row->function = !*runtime ? name
	                : s->source == AF_TALLY_SEEN
	                    ? keep(m, af_tables_text(&m->texts, "[seen] %s", runtime))
	                    : runtime;
	row->driver = *runtime ? name : "";
	row->category = is ? af_call_category_text(is->category) : "";
	row->source = s->source;
}

static void thread_texts(struct maker *m, uint32_t thread)
{
	const struct tally_thread *of = &m->t->threads[thread];
	const struct af_process *p = af_world_process(m->w, of->process);
	const struct af_thread *is = af_world_thread(m->w, of->process, of->tid);

	m->of_thread[thread] = (struct af_tally_row){
	    .host = m->host,
	    .rank = keep(m, p && *p->rank ? p->rank + 1 : ""),
	    .process = keep(m, af_process_label(&m->texts, m->w, of->process)),
	    .thread = keep(m, af_tables_text(&m->texts, "%s%s[%u]", is ? is->name : "",
	                                     is && *is->name ? " " : "", of->tid)),
	    .driver = "",
	};
}

/* Does the thread's process have OpenCL calls of its own, so that enqueued work repeats them? */
static bool is_repeated(const struct maker *m, const struct tally_sum *s)
{
	const struct tally *t = m->t;

	for (uint32_t i = 0; s->source == AF_TALLY_ENQUEUED && i < t->nr; i++) {
		const struct af_api_table *api =
		    t->sums[i].kind ? af_api_of((uint16_t)t->sums[i].kind) : NULL;
		if (api && api->api == AF_API_OPENCL &&
		    t->threads[t->sums[i].thread].process == t->threads[s->thread].process)
			return true;
	}
	return false;
}

/* The order of rows does not depend on which call came first. Unknown functions are last. */
static int sum_order(const void *a, const void *b, void *arg)
{
	const struct tally *t = arg;
	const struct tally_sum *x = &t->sums[*(const uint32_t *)a],
			       *y = &t->sums[*(const uint32_t *)b];
	const struct tally_thread *s = &t->threads[x->thread], *u = &t->threads[y->thread];
	const uint32_t keys[][2] = {{x->kind, y->kind},     {x->function - 1, y->function - 1},
	                            {x->op, y->op},         {x->path, y->path},
	                            {x->source, y->source}, {s->process, u->process},
	                            {s->tid, u->tid}};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static void make_rows(struct maker *m)
{
	struct af_tally *to = m->to;
	uint32_t *order = af_xcalloc((size_t)m->t->nr + 1, sizeof *order);

	for (uint32_t i = 0; i < m->t->nr; i++)
		order[i] = i;
	if (m->t->nr)
		qsort_r(order, m->t->nr, sizeof *order, sum_order, m->t);
	for (uint32_t n = 0; n < m->t->nr; n++) {
		uint32_t i = order[n];
		struct tally_sum *s = &m->t->sums[i];
		if (!s->stats.count || is_repeated(m, s))
			continue;
		AF_GROW(to->rows, to->nr, to->cap);
		struct af_tally_row *row = &to->rows[to->nr++];
		*row = m->of_thread[s->thread];
		m->made[i] = true;
		if (s->kind)
			row_of_api(m, row, s);
		else
			row_of_call(m, row, s);
		row->stats = s->stats;
		s->stats = (struct af_call_stats){0};
	}
	free(order);
}

/* The threads that have rows, and their processes: by name, as images of one process are one. */
static void make_counts(struct maker *m)
{
	struct af_keys threads = {0}, processes = {0};
	struct af_buf key = {0};

	for (uint32_t i = 0; i < m->t->nr; i++) {
		const struct af_tally_row *of = &m->of_thread[m->t->sums[i].thread];
		if (!m->made[i])
			continue;
		af_keys_at(&processes, AF_KEY_TEXT(of->process), NULL);
		key.len = 0;
		af_buf_add(&key, of->process, strlen(of->process) + 1);
		af_buf_str(&key, of->thread);
		af_keys_at(&threads, key.data, key.len, NULL);
	}
	m->to->with_calls += processes.nr;
	m->to->threads_with_calls += threads.nr;
	if (processes.nr)
		af_keys_at(&m->to->hosts, AF_KEY_TEXT(m->host), NULL);
	af_keys_free(&threads);
	af_keys_free(&processes);
	af_buf_free(&key);
}

static void make_processes(struct maker *m)
{
	struct af_tally *to = m->to;

	to->nr_processes = 0;
	for (uint32_t i = 1; i < m->w->nr_processes; i++) {
		const struct af_process *p = af_world_process(m->w, i);
		if (!p)
			continue;
		AF_GROW(to->processes, to->nr_processes, to->cap_processes);
		to->processes[to->nr_processes++] = (struct af_tally_process){
		    .label = keep(m, af_process_label(&m->texts, m->w, i)),
		    .rank = keep(m, *p->rank ? p->rank + 1 : ""),
		    .host = m->host,
		};
	}
}

/* By their UUIDs, where these are known: many processes, of many traces, may use one device. */
static void make_devices(struct maker *m)
{
	const struct af_world *w = m->w;

	for (uint32_t i = 1; i < w->nr_descriptors; i++) {
		const struct af_work_descriptor *d = &w->descriptors[i];
		const struct af_queue *q = af_world_queue(w, d->process, d->is.queue);
		uint32_t gpu = q ? af_world_gpu(w, d->process, q->device) : 0;
		if (!q || !q->device)
			continue;
		const char *name =
		    gpu ? af_strtab_get(&w->strings, gpu)
			: af_tables_text(&m->texts, "%s %s %u", m->host,
		                         af_process_label(&m->texts, w, d->process), q->device);
		af_keys_at(&m->to->devices, AF_KEY_TEXT(name), NULL);
	}
}

void tally_rows(struct tally *t, const struct af_world *w, struct af_tally *to)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	const char *host = af_world_note(w, "host");
	struct maker m = {.t = t, .w = w, .to = to};

	af_tree_open(&m.scratch, none, 1);
	m.host = host ? af_arena_strdup(&to->arena, host, strcspn(host, ",")) : "";
	m.of_thread = af_xcalloc((size_t)t->nr_threads + 1, sizeof *m.of_thread);
	for (uint32_t i = 0; i < t->nr_threads; i++)
		thread_texts(&m, i);
	m.made = af_xcalloc((size_t)t->nr + 1, sizeof *m.made);
	make_rows(&m);
	make_counts(&m);
	make_processes(&m);
	make_devices(&m);
	to->nr_lost += w->lost[AF_LOST_RING_FULL] + w->lost[AF_LOST_NO_STREAM] +
	               w->lost[AF_LOST_TOO_LARGE] + w->lost[AF_LOST_DISK_FULL];
	to->nr_open += t->nr_open;
	free(m.of_thread);
	free(m.made);
	af_tables_free(&m.texts);
	af_tree_close(&m.scratch);
}

void af_tally_free(struct af_tally *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		af_stats_free(&t->rows[i].stats);
	free(t->rows);
	free(t->processes);
	af_keys_free(&t->devices);
	af_keys_free(&t->hosts);
	af_keys_free(&t->by_key);
	af_arena_free(&t->arena);
	*t = (struct af_tally){0};
}
