#include "exchange/perf/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "exchange/perf/text.h"

struct text_tree {
	struct af_tree *tree;
	const struct af_perf_tree_options *options;
	char root_text[320];
	size_t root_len;
	uint32_t root;
	/* The path of the last sample, root first: stacks begin like the one before. */
	uint32_t *names, *nodes;
	uint32_t nr, cap;
};

/* The tree is drawn, or written as folded text, and has names alone. */
static uint32_t frame_name(void *arg, const char *text, size_t len, enum perf_text_kind kind,
                           const char *module, size_t module_len)
{
	static const enum af_frame frames[] = {[PERF_TEXT_NATIVE] = AF_FRAME_NATIVE,
	                                       [PERF_TEXT_KERNEL] = AF_FRAME_KERNEL,
	                                       [PERF_TEXT_INLINED] = AF_FRAME_INLINED,
	                                       [PERF_TEXT_JIT] = AF_FRAME_JIT,
	                                       [PERF_TEXT_UNKNOWN] = AF_FRAME_MARK};
	struct text_tree *t = arg;

	(void)module;
	(void)module_len;
	return af_tree_name(t->tree, text, len, t->options->plain ? AF_FRAME_NATIVE : frames[kind],
	                    0);
}

/* COMM, COMM-PID or COMM-PID/TID, without blanks; a pid that was not printed is `?`. */
static void root_take(struct text_tree *t, const struct perf_text_sample *s)
{
	char text[sizeof t->root_text];
	size_t len = s->comm_len;

	memcpy(text, s->comm, len);
	if (t->options->pid || t->options->tid) {
		char pid[16] = "?";
		if (s->has_pid)
			snprintf(pid, sizeof pid, "%" PRIu32, s->pid);
		len += (size_t)snprintf(text + len, sizeof text - len, "-%s", pid);
	}
	if (t->options->tid)
		len += (size_t)snprintf(text + len, sizeof text - len, "/%" PRIu32, s->tid);
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == ' ' || text[i] == '\t' || !text[i] ? '_'
		          : text[i] == ';'                              ? ':'
		                                                        : text[i];
	if (t->root && len == t->root_len && !memcmp(text, t->root_text, len))
		return;
	memcpy(t->root_text, text, len);
	t->root_len = len;
	t->root = af_tree_child(t->tree, 0, af_tree_name(t->tree, text, len, AF_FRAME_PROCESS, 0));
	t->nr = 0;
}

static void sample_add(void *arg, const struct perf_text_sample *s)
{
	struct text_tree *t = arg;
	uint32_t same = 0;

	root_take(t, s);
	/* A chart keeps the order: only a neighbour is the same. */
	while (same < t->nr && same < s->nr && t->names[same] == s->frames[s->nr - 1 - same])
		same++;
	uint32_t node = same ? t->nodes[same - 1] : t->root;
	t->nr = same;
	for (uint32_t i = s->nr - same; i--;) {
		node = af_tree_child(t->tree, node, s->frames[i]);
		uint32_t cap = t->cap;
		AF_GROW(t->names, t->nr, cap);
		AF_GROW(t->nodes, t->nr, t->cap);
		t->names[t->nr] = s->frames[i];
		t->nodes[t->nr++] = node;
	}
	af_tree_add(t->tree, node, 0, s->period);
}

/* Periods are CPU time where the event is a clock; else how often it happened. */
static void weight_name(struct af_tree *t, const struct perf_text *p)
{
	struct af_tree_weight *w = &t->weights[0];
	size_t len = perf_event_unit(p->event, strlen(p->event));

	if (!p->periods)
		return;
	if (perf_event_is_time(p->event)) {
		*w = (struct af_tree_weight){"time", "ns", w->scale};
		return;
	}
	const char *name = len ? p->event : "events";
	uint32_t id = af_tree_name(t, name, len ? len : strlen(name), AF_FRAME_MARK, 0);
	const char *text = af_tree_text(t, id, &len);
	*w = (struct af_tree_weight){"count", text, w->scale};
}

void af_perf_tree(struct af_tree *t, const char *text, size_t size,
                  const struct af_perf_tree_options *o, struct af_perf_tree_stats *stats)
{
	struct text_tree to = {.tree = t, .options = o};
	const struct perf_text_options options = {
	    .event = o->event, .addresses = o->addresses, .lines = o->lines};
	const struct perf_text_sink sink = {frame_name, sample_add, &to};
	struct perf_text p;

	perf_text_open(&p, &options, &sink);
	for (const char *at = text, *end = text + size, *nl; at < end; at = nl + 1) {
		nl = memchr(at, '\n', (size_t)(end - at));
		nl = nl ? nl : end;
		perf_text_line(&p, at, (size_t)(nl - at));
	}
	perf_text_end(&p);
	weight_name(t, &p);
	*stats = (struct af_perf_tree_stats){.lines = p.line,
	                                     .bad_lines = p.bad,
	                                     .first_bad = p.first_bad,
	                                     .samples = p.samples,
	                                     .other_samples = p.others};
	memcpy(stats->event, p.event, sizeof p.event);
	memcpy(stats->other, p.other, sizeof p.other);
	perf_text_close(&p);
	free(to.names);
	free(to.nodes);
	af_tree_finish(t);
}
