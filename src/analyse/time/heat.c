#include "analyse/time/heat.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/heat_private.h"
#include "base/arena.h"

enum { PERIOD_LEAST_NS = 10000, PERIOD_MOST_NS = 1000000000, SERIES_NS = 10000 };
enum { SERIES = 1 << 18, WINDOWS = 1 << 22, APART = 8 };

/* Which cell a moment is in: one that ends a cell is of it. */
static uint64_t cell_of(const struct heat *h, uint64_t at_ns)
{
	return (at_ns ? at_ns - 1 : 0) / h->cells.each_ns;
}

void heat_count_add(struct heat *h, uint64_t cell, uint64_t count)
{
	if (cell >= AF_HEAT_CELLS) {
		h->left_out += count;
		return;
	}
	AF_REACH(h->counts, cell, h->cap_counts);
	h->counts[cell] += count;
	if (cell >= h->nr_counts)
		h->nr_counts = (uint32_t)cell + 1;
}

void heat_cells_coarsen(struct heat *h)
{
	heat_bins_coarsen(&h->cells, 10);
	for (uint32_t i = 0; i < h->nr_counts; i++) {
		uint64_t count = h->counts[i];
		h->counts[i] = 0;
		h->counts[i / 10] += count;
	}
	h->nr_counts = (h->nr_counts + 9) / 10;
}

/*
 * Longer columns where there are enough of these for ten times the time, or where a cell would be
 * shorter than what a sample stands for.
 */
static bool heat_longer(const struct heat *h)
{
	uint64_t period_ns = h->cells.each_ns * AF_HEAT_ROWS;

	return period_ns < PERIOD_MOST_NS &&
	       (h->end_ns / (period_ns * 10) >= AF_HEAT_COLUMNS || h->cells.each_ns < h->weight_ns);
}

void heat_until(struct heat *h, const struct af_heat *query, uint64_t end_ns)
{
	if (!h->cells.each_ns) {
		uint64_t period_ns = query->period_ns ? query->period_ns : PERIOD_LEAST_NS;
		h->cells.each_ns = period_ns / AF_HEAT_ROWS;
		h->series.each_ns = SERIES_NS;
	}
	if (end_ns > h->end_ns)
		h->end_ns = end_ns;
	while (!query->period_ns && heat_longer(h))
		heat_cells_coarsen(h);
	while (h->end_ns / h->series.each_ns >= SERIES)
		heat_bins_coarsen(&h->series, 2);
}

/* Since the cells begin. */
static uint64_t since(const struct af_world *w, uint64_t time_ns)
{
	const struct af_time_range *in = &w->time_range;
	const struct af_heat *query = in->query->own;

	if (query->place) {
		uint64_t placed_ns = query->place(query, time_ns);
		return placed_ns > query->from_ns ? placed_ns - query->from_ns : 0;
	}
	uint64_t first_ns = in->from_ns > in->start_ns ? in->from_ns : in->start_ns;

	return time_ns > first_ns ? time_ns - first_ns : 0;
}

static void heat_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct heat *h = self;
	const struct af_heat *query = w->time_range.query->own;
	uint64_t at_ns = since(w, s->time_ns);
	uint64_t start_ns = s->length_ns < at_ns ? at_ns - s->length_ns : 0;

	h->has_cpu = true;
	if (query->gpu)
		return;
	if (s->length_ns > h->weight_ns)
		h->weight_ns = s->length_ns;
	heat_until(h, query, at_ns);
	heat_bins_add(&h->series, start_ns, at_ns, SERIES);
	heat_bins_add(&h->cells, start_ns, at_ns, AF_HEAT_CELLS);
	if (!s->out_of_range)
		heat_count_add(h, cell_of(h, at_ns), 1);
	const struct heat_piece piece = {
	    .at = &s->at, .start_ns = start_ns, .end_ns = at_ns, .out_of_range = s->out_of_range};
	if (query->interval_ns)
		heat_intervals_add(h, query, &piece);
}

static void heat_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct heat *h = self;
	const struct af_heat *query = w->time_range.query->own;
	struct af_work placed = *work;

	if (work->status || !work->descriptor || !af_work_place(w, &placed, NULL))
		return;
	h->has_gpu = true;
	uint64_t busy_ns = af_work_busy_ns(&placed);
	uint64_t start_ns = since(w, placed.start_ns);
	/*
	 * Work is cut at an edge by its device's clock: by the trace's clock it may begin 1 ns
	 * early. A set's clock runs a little faster or slower.
	 */
	uint64_t end_ns = w->time_range.to_ns || query->place ? start_ns + busy_ns
	                                                      : since(w, placed.start_ns + busy_ns);
	if (!query->gpu || end_ns <= start_ns)
		return;
	h->busy = true;
	heat_until(h, query, end_ns);
	heat_bins_add(&h->series, start_ns, end_ns, SERIES);
	heat_bins_add(&h->cells, start_ns, end_ns, AF_HEAT_CELLS);
	if (!work->out_of_range)
		heat_count_add(h, start_ns / h->cells.each_ns, 1);
	const struct heat_piece piece = {.descriptor = work->descriptor,
	                                 .start_ns = start_ns,
	                                 .end_ns = end_ns,
	                                 .out_of_range = work->out_of_range};
	if (query->interval_ns)
		heat_intervals_add(h, query, &piece);
}

/* A part of a window: the samples in it, spread evenly, of which adjacent ranges have each once. */
static uint64_t window_portion(const struct af_ev_gpu_window *win, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t len_ns = win->end_ns - win->start_ns;
	uint64_t before =
	    (uint64_t)((unsigned __int128)win->samples * (from_ns - win->start_ns) / len_ns);

	return (uint64_t)((unsigned __int128)win->samples * (to_ns - win->start_ns) / len_ns) -
	       before;
}

/* Cut it to the time range. False: nothing of it is inside. */
static bool window_cut(const struct af_time_range *in, struct af_ev_gpu_window *win)
{
	uint64_t from_ns = win->start_ns, to_ns = win->end_ns;

	if (!win->samples || !af_time_range_reaches(in, win->start_ns, win->end_ns))
		return false;
	if (!in->to_ns || to_ns <= from_ns)
		return true;
	if (from_ns < in->from_ns)
		from_ns = in->from_ns;
	if (to_ns > in->to_ns)
		to_ns = in->to_ns;
	win->samples = window_portion(win, from_ns, to_ns);
	win->start_ns = from_ns;
	win->end_ns = to_ns;
	return win->samples != 0;
}

/* For profilers that sample instructions and do not know when a kernel ran. */
static void heat_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct heat *h = self;
	struct af_ev_gpu_window win;
	const struct af_query *query = w->time_range.query;
	const struct af_heat *heat = query->own;
	bool fresh;

	if (ev->kind != AF_KIND_GPU_WINDOW || !af_event_decode(ev, &win, sizeof win, NULL) ||
	    (query->device && query->device != win.device))
		return;
	uint64_t ended_ns = win.end_ns;
	if (!window_cut(&w->time_range, &win))
		return;
	h->has_gpu = true;
	if (!heat->gpu || h->nr_windows == WINDOWS)
		return;
	/* Rings on disk repeat definitions. */
	af_map_at(&h->by_window, (uint64_t)ev->process << 32 | win.window, &fresh);
	if (!fresh)
		return;
	AF_GROW(h->windows, h->nr_windows, h->cap_windows);
	h->windows[h->nr_windows++] = (struct heat_window){
	    .start_ns = since(w, win.start_ns),
	    .end_ns = since(w, win.end_ns),
	    .samples = win.samples,
	    .ended_ns = ended_ns,
	    .process = ev->process,
	    .device = win.device,
	};
}

/* A window's samples were taken some time in it: evenly, as far as is known. */
static void window_spread(struct heat *h, const struct heat_window *win)
{
	uint64_t each_ns = h->cells.each_ns, given = 0;
	uint64_t len_ns = win->end_ns > win->start_ns ? win->end_ns - win->start_ns : 1;
	uint64_t first = win->start_ns / each_ns, last = cell_of(h, win->start_ns + len_ns);

	for (uint64_t cell = first; cell <= last && cell <= first + AF_HEAT_CELLS; cell++) {
		uint64_t until_ns = (cell + 1) * each_ns - win->start_ns;
		uint64_t upto =
		    cell == last ? win->samples
				 : (uint64_t)((unsigned __int128)win->samples * until_ns / len_ns);
		heat_count_add(h, cell, upto - given);
		given = upto;
	}
}

static void heat_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct heat *h = self;
	struct af_heat *query = out->query.own;

	query->has_cpu = h->has_cpu;
	query->has_gpu = h->has_gpu;
	heat_until(h, query,
	           since(w, w->time_range.to_ns && w->time_range.to_ns < w->last_ns
	                        ? w->time_range.to_ns
	                        : w->last_ns));
	for (uint32_t i = 0; i < h->nr_windows && !h->busy; i++)
		heat_until(h, query, h->windows[i].end_ns);
	for (uint32_t i = 0; i < h->nr_windows && !h->busy; i++)
		window_spread(h, &h->windows[i]);
	h->sampled_only = query->gpu && !h->busy && h->nr_windows;
	if (query->interval_ns && !h->busy)
		heat_intervals_sampled(h, w, query, out->attribution);
	if (query->interval_ns)
		heat_intervals_names(h, w, query);
	if (query->place) {
		query->kept = af_xcalloc(1, sizeof *query->kept);
		*query->kept = *h;
		*h = (struct heat){0};
		return;
	}
	heat_tables(h, query, w->time_range.query->from_ns, &out->tables);
	if (query->interval_ns)
		heat_intervals_table(h, query, w->time_range.query->from_ns, &out->tables);
}

static void heat_close(void *self)
{
	heat_free(self);
}

#define HEAT_PASS                                                                                  \
	.name = "heat", .question = "when was it busy?", .answers = AF_ANSWER_OWN,                 \
	.wants = 1ull << AF_KIND_CLOCK | 1ull << AF_KIND_GPU_WINDOW,                               \
	.state_size = sizeof(struct heat), .event = heat_event, .sample = heat_sample,             \
	.work = heat_work, .finish = heat_finish, .close = heat_close

const struct af_pass_ops *af_heat_pass(const struct af_heat *heat, struct af_query *query)
{
	static const struct af_pass_ops plain = {HEAT_PASS};
	static const struct af_pass_ops attributed = {HEAT_PASS, .attributes = AF_ANSWER_OWN};

	query->answers = AF_ANSWER_OWN;
	if (!heat->gpu || !heat->interval_ns)
		return &plain;
	/* Windows that end in another interval are seldom beside those that lie in this one. */
	query->samples_apart_ns = heat->interval_ns / APART > 0 ? heat->interval_ns / APART : 1;
	return &attributed;
}
