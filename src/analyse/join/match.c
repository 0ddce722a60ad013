#include "analyse/join/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SEEN_MAX = 1 << 20 }; /* calls that wait, of a process and purpose; older ones are dropped */

/* By purpose. */
enum { QUEUE_LAUNCHES, QUEUE_GRAPHS, QUEUE_COPIES, QUEUE_FILLS };

struct match_seen {
	uint64_t time_ns;
	uint32_t tid, path, function;
	bool taken;
};

/* Calls that wait for their work, in order of time. */
struct match_queue {
	struct match_seen *all;
	uint32_t first, nr, cap;
};

struct match_process {
	struct match_queue queues[AF_MATCH_QUEUES];
	uint64_t busy_until_ns; /* the end of what ended last, of what was handed over */
	/* The call that the works of a graph have all, by their id. */
	struct match_seen graph;
	uint64_t graph_id;
};

struct match_held {
	struct af_work work;
	uint64_t start_ns, end_ns; /* times of the trace */
};

static struct match_process *process_of(struct af_match *m, uint32_t process)
{
	bool fresh;
	uint64_t *slot = af_map_at(&m->by_process, process, &fresh);

	if (fresh) {
		AF_GROW(m->processes, m->nr_processes, m->cap_processes);
		m->processes[m->nr_processes] = (struct match_process){0};
		*slot = m->nr_processes++;
	}
	return &m->processes[*slot];
}

static int queue_of_call(uint32_t category)
{
	switch (category) {
	case AF_CATEGORY_LAUNCH:
		return QUEUE_LAUNCHES;
	case AF_CATEGORY_GRAPH_LAUNCH:
		return QUEUE_GRAPHS;
	case AF_CATEGORY_COPY:
		return QUEUE_COPIES;
	case AF_CATEGORY_FILL:
		return QUEUE_FILLS;
	default:
		return -1;
	}
}

static int queue_of_work(const struct af_world *w, const struct af_work *work)
{
	if (work->node_id)
		return QUEUE_GRAPHS;
	switch (w->descriptors[work->descriptor].is.op) {
	case AF_OP_KERNEL:
		return QUEUE_LAUNCHES;
	case AF_OP_GRAPH:
		return QUEUE_GRAPHS;
	case AF_OP_READ:
	case AF_OP_WRITE:
	case AF_OP_COPY:
	case AF_OP_PEER:
	case AF_OP_HOST:
		return QUEUE_COPIES;
	case AF_OP_FILL:
		return QUEUE_FILLS;
	default:
		return -1;
	}
}

/* ---- calls that wait ---- */

static void queue_tidy(struct match_queue *q)
{
	while (q->first < q->nr && q->all[q->first].taken)
		q->first++;
	if (q->nr - q->first >= SEEN_MAX)
		q->first++;
	if (q->first <= q->nr / 2 || q->nr < q->cap)
		return;
	memmove(q->all, q->all + q->first, (q->nr - q->first) * sizeof *q->all);
	q->nr -= q->first;
	q->first = 0;
}

void af_match_seen(struct af_match *m, const struct af_world *w, const struct af_call *call)
{
	int k = call->function ? queue_of_call(w->functions[call->function].category) : -1;

	if (k < 0 || call->correlation)
		return;
	struct match_queue *q = &process_of(m, call->process)->queues[k];
	queue_tidy(q);
	AF_GROW(q->all, q->nr, q->cap);
	q->all[q->nr++] =
	    (struct match_seen){call->start_ns, call->tid, call->path, call->function, false};
}

/* The first call that is not before @time_ns. */
static uint32_t queue_at(const struct match_queue *q, uint64_t time_ns)
{
	uint32_t from = q->first, to = q->nr;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (q->all[middle].time_ns < time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The last call made about when @work's call was, of its thread if that is known. */
static struct match_seen *seen_of_call(const struct match_queue *q, const struct af_work *work)
{
	struct match_seen *any = NULL;

	for (uint32_t i = queue_at(q, work->call_end_ns + 1); i-- > q->first;) {
		struct match_seen *s = &q->all[i];
		if (s->time_ns + AF_MATCH_NEAR_NS < work->call_start_ns)
			break;
		if (!s->taken && s->tid == work->tid)
			return s;
		if (!s->taken && !any)
			any = s;
	}
	return any;
}

static struct match_seen *seen_from(const struct match_queue *q, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = queue_at(q, from_ns); i < q->nr && q->all[i].time_ns <= to_ns; i++)
		if (!q->all[i].taken)
			return &q->all[i];
	return NULL;
}

/*
 * The first call that waits; after a pause of the device, the first one made since, if there is
 * one.
 */
static struct match_seen *seen_in_order(const struct match_queue *q, const struct match_held *h,
                                        uint64_t busy_until_ns)
{
	struct match_seen *since = NULL;

	if (h->start_ns > busy_until_ns + AF_MATCH_NEAR_NS)
		since = seen_from(q, h->start_ns - AF_MATCH_NEAR_NS, h->start_ns);
	return since ? since : seen_from(q, 0, h->start_ns);
}

/* ---- works ---- */

/* The call that @h is for; *@again: it has other work already. NULL: there is none. */
static const struct match_seen *work_match(struct match_process *p, const struct match_held *h,
                                           int k, bool *again)
{
	struct match_queue *q = &p->queues[k];

	*again = k == QUEUE_GRAPHS && p->graph.taken && p->graph_id == h->work.id;
	if (*again)
		return &p->graph;
	struct match_seen *s =
	    h->work.launched ? seen_of_call(q, &h->work) : seen_in_order(q, h, p->busy_until_ns);
	if (!s)
		return NULL;
	s->taken = true;
	/* Earlier calls wait for nothing any more. */
	if (!h->work.launched)
		q->first = (uint32_t)(s - q->all);
	if (k == QUEUE_GRAPHS) {
		p->graph = *s;
		p->graph_id = h->work.id;
	}
	return s;
}

static void hand_over(struct af_match *m, const struct af_world *w, struct match_held *h)
{
	struct match_process *p = process_of(m, h->work.process);
	int k = queue_of_work(w, &h->work);
	bool again = false;
	const struct match_seen *s = k < 0 ? NULL : work_match(p, h, k, &again);

	if (s) {
		h->work.path = s->path;
		h->work.matched = s->function;
		h->work.matched_again = again;
		if (!h->work.launched)
			h->work.tid = s->tid;
		if (!h->work.function)
			h->work.function = s->function;
		m->matched++;
	}
	if (h->end_ns > p->busy_until_ns)
		p->busy_until_ns = h->end_ns;
	m->take(m->arg, &h->work);
}

/* Works come nearly in order: the place is near the end. */
static void held_insert(struct af_match *m, const struct match_held *h)
{
	if (m->nr == m->cap && m->first > m->nr / 2) {
		memmove(m->held, m->held + m->first, (m->nr - m->first) * sizeof *m->held);
		m->nr -= m->first;
		m->first = 0;
	}
	AF_GROW(m->held, m->nr, m->cap);
	uint64_t i = m->nr++;
	for (; i > m->first && m->held[i - 1].start_ns > h->start_ns; i--)
		m->held[i] = m->held[i - 1];
	m->held[i] = *h;
}

void af_match_work(struct af_match *m, const struct af_world *w, struct af_work *work)
{
	struct match_held h = {.work = *work};
	struct af_work placed = *work;

	/* For a call that has its stack, only the time matters. */
	if (work->status || !work->descriptor || work->path || !work->start_ns ||
	    !af_work_place(w, &placed, NULL)) {
		m->take(m->arg, work);
		return;
	}
	h.start_ns = placed.start_ns;
	h.end_ns = placed.end_ns;
	held_insert(m, &h);
}

void af_match_until(struct af_match *m, const struct af_world *w, uint64_t now_ns)
{
	while (m->first < m->nr && m->held[m->first].start_ns + AF_MATCH_HOLD_NS < now_ns)
		hand_over(m, w, &m->held[m->first++]);
}

void af_match_end(struct af_match *m, const struct af_world *w)
{
	while (m->first < m->nr)
		hand_over(m, w, &m->held[m->first++]);
}

void af_match_free(struct af_match *m)
{
	for (uint32_t i = 0; i < m->nr_processes; i++)
		for (int k = 0; k < AF_MATCH_QUEUES; k++)
			free(m->processes[i].queues[k].all);
	free(m->processes);
	free(m->held);
	af_map_free(&m->by_process);
	*m = (struct af_match){0};
}
