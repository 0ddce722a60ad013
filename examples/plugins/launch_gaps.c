/*
 * A plug-in of aflame: the time between a kernel or copy and the next one on the same queue. A tree
 * charges each gap to the stack that launched what came after it, so the widest frames show who let
 * the device wait; slices show the gaps on a timeline, and a counter how many there were so far.
 *
 *	cc -shared -fPIC launch_gaps.c -o launch_gaps.so
 *	aflame report --plugin ./launch_gaps.so DIR                      the tree as text
 *	aflame report --plugin ./launch_gaps.so -o gaps.svg DIR          as a flame graph
 *	aflame report --plugin ./launch_gaps.so -o gaps.json DIR         slices, for ui.perfetto.dev
 *	aflame report --plugin ./launch_gaps.so 100 DIR                  gaps of 100 us and more
 */
#include <aflame/pass.h>
#include <stdio.h>
#include <stdlib.h>

struct queue {
	uint32_t process, queue;
	int track;
	uint64_t end_ns; /* of the last work so far */
};

struct gaps {
	uint64_t least_ns, nr, last_ns;
	int tree, counter;
	struct queue *queues;
	size_t nr_queues;
};

static int begin(const struct af_pass_host *h, int argc, char **argv, void **state)
{
	static const struct af_pass_weight weights[] = {{"time", "ns"}, {"count", "gaps"}};
	struct gaps *g = calloc(1, sizeof *g);
	char *end = NULL;

	if (!g)
		return h->fail(h, "out of memory");
	if (argc)
		g->least_ns = (uint64_t)(strtod(argv[0], &end) * 1e3);
	if (argc > 1 || (end && (*end || end == argv[0])))
		return h->fail(h, "the argument is the least gap in microseconds, not \"%s\"",
		               argv[argc - 1]);
	g->tree =
	    h->tree(h, "launch_gaps", "Gaps before device work, by who launched it", weights, 2);
	g->counter = h->counter(h, "gaps", "gaps so far", "");
	*state = g;
	return g->tree < 0 || g->counter < 0;
}

static struct queue *queue_of(const struct af_pass_host *h, struct gaps *g,
                              const struct af_pass_work *w)
{
	char name[64];

	for (size_t i = 0; i < g->nr_queues; i++)
		if (g->queues[i].process == w->process && g->queues[i].queue == w->queue)
			return &g->queues[i];
	struct queue *queues = realloc(g->queues, (g->nr_queues + 1) * sizeof *queues);
	if (!queues)
		return NULL;
	g->queues = queues;
	struct queue *q = &queues[g->nr_queues++];
	snprintf(name, sizeof name, "process %u queue %u", w->pid, w->queue);
	q->process = w->process;
	q->queue = w->queue;
	q->end_ns = 0;
	q->track = h->track(h, "gaps", name);
	return q;
}

static void gap(const struct af_pass_host *h, struct gaps *g, const struct queue *q,
                const struct af_pass_work *w)
{
	uint64_t ns = w->start_ns - q->end_ns;
	uint32_t node = h->tree_stack(h, g->tree, 0, w->stack);

	node = h->tree_child(h, g->tree, node, w->name, AF_PASS_FRAME_GPU);
	h->tree_add(h, g->tree, node, 0, ns);
	h->tree_add(h, g->tree, node, 1, 1);
	h->slice(h, q->track, q->end_ns, w->start_ns, w->name);
	if (w->start_ns >= g->last_ns) { /* points come in order of time */
		g->last_ns = w->start_ns;
		h->point(h, g->counter, w->start_ns, ++g->nr);
	}
}

static void work(const struct af_pass_host *h, void *state, const struct af_pass_work *w)
{
	struct gaps *g = state;

	if (!w->start_ns)
		return;
	struct queue *q = queue_of(h, g, w);
	if (!q) {
		h->fail(h, "out of memory");
		return;
	}
	if (q->end_ns && w->start_ns > q->end_ns && w->start_ns - q->end_ns >= g->least_ns)
		gap(h, g, q, w);
	if (w->end_ns > q->end_ns)
		q->end_ns = w->end_ns;
}

AF_PASS_DESCRIPTOR = {sizeof(struct af_pass_descriptor),
                      AF_PASS_MAJOR,
                      AF_PASS_MINOR,
                      "launch gaps",
                      "time between pieces of device work, by who launched the next one",
                      begin,
                      NULL,
                      NULL,
                      work,
                      NULL};
