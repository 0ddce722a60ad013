/*
 * --focus, --hide and --search for plug-ins: the rules of analyse/tree/filter.h, for one stack at a
 * time, as a plug-in makes its tree by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/tree/callers.h"
#include "base/arena.h"
#include "plugin/private.h"

/* A pattern, and the names of h->stacks that are known to match it. */
struct choice_pattern {
	struct af_pattern is;
	uint8_t *by_name; /* 0: not tried yet, 1: it does not, 2: it does */
	uint32_t cap;
};

struct plugin_choice {
	struct choice_pattern *focus, *hide, *search;
	struct af_map by_stack; /* stack → what is left of it */
	uint32_t *names;        /* of the stack at hand, the outermost first */
	uint32_t nr, cap;
};

static struct choice_pattern *patterns_open(const struct af_plugin_patterns *p)
{
	struct choice_pattern *all = af_xcalloc(p->nr + 1ull, sizeof *all);

	for (uint32_t i = 0; i < p->nr; i++)
		af_pattern_open(&all[i].is, p->items[i]);
	return all;
}

static bool matches(const struct plugin_host *h, struct choice_pattern *p, uint32_t name)
{
	size_t len;

	AF_REACH(p->by_name, name, p->cap);
	if (!p->by_name[name]) {
		const char *text = af_tree_text(&h->stacks, name, &len);
		p->by_name[name] = af_pattern_is(&p->is, text, len) ? 2 : 1;
	}
	return p->by_name[name] == 2;
}

/* The names from the outermost match on. False: none matches. */
static bool focus(struct plugin_host *h, struct plugin_choice *c, struct choice_pattern *p)
{
	uint32_t first = 0;

	while (first < c->nr && !matches(h, p, c->names[first]))
		first++;
	if (first == c->nr)
		return false;
	c->nr -= first;
	memmove(c->names, c->names + first, c->nr * sizeof *c->names);
	return true;
}

static void hide(struct plugin_host *h, struct plugin_choice *c, struct choice_pattern *p)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		if (!matches(h, p, c->names[i]))
			c->names[left++] = c->names[i];
	c->nr = left;
}

static bool search(struct plugin_host *h, const struct plugin_choice *c, struct choice_pattern *p)
{
	bool found = false;

	for (uint32_t i = 0; i < c->nr && !found; i++)
		found = matches(h, p, c->names[i]);
	return found;
}

static void names_take(struct plugin_host *h, struct plugin_choice *c, uint32_t stack)
{
	c->nr = 0;
	for (uint32_t at = stack; at; at = h->stacks.nodes[at].parent) {
		AF_GROW(c->names, c->nr, c->cap);
		c->names[c->nr++] = h->stacks.nodes[at].name;
	}
	for (uint32_t i = 0; i < c->nr / 2; i++) {
		uint32_t name = c->names[i];
		c->names[i] = c->names[c->nr - 1 - i];
		c->names[c->nr - 1 - i] = name;
	}
}

static uint32_t stack_make(struct plugin_host *h, struct plugin_choice *c, uint32_t stack)
{
	const struct af_plugin_request *q = h->request;
	uint32_t to = 0;

	names_take(h, c, stack);
	for (uint32_t i = 0; i < q->focus.nr; i++)
		if (!focus(h, c, &c->focus[i]))
			return PLUGIN_OUT;
	for (uint32_t i = 0; i < q->hide.nr; i++)
		hide(h, c, &c->hide[i]);
	for (uint32_t i = 0; i < q->search.nr; i++)
		if (!search(h, c, &c->search[i]))
			return PLUGIN_OUT;
	for (uint32_t i = 0; i < c->nr; i++)
		to = af_tree_child(&h->stacks, to, c->names[i]);
	return to;
}

uint32_t plugin_choice_stack(struct plugin_host *h, uint32_t stack)
{
	bool fresh;

	if (!h->choice)
		return stack;
	uint64_t *slot = af_map_at(&h->choice->by_stack, stack, &fresh);
	if (fresh)
		*slot = stack_make(h, h->choice, stack);
	return (uint32_t)*slot;
}

uint32_t plugin_choice_work(struct plugin_host *h, uint32_t stack, const char **name)
{
	size_t len;

	if (!h->choice)
		return stack;
	uint32_t left =
	    plugin_choice_stack(h, af_frames_under(&h->stacks, stack, *name, AF_FRAME_GPU));
	if (left == PLUGIN_OUT)
		return PLUGIN_OUT;
	if (!left) {
		*name = "[hidden]";
		return 0;
	}
	const char *text = af_tree_text(&h->stacks, h->stacks.nodes[left].name, &len);
	*name = af_strtab_get(&h->texts, af_strtab_id(&h->texts, text, len));
	return h->stacks.nodes[left].parent;
}

static bool has_stack(uint32_t kind)
{
	return kind == AF_KIND_CALL || kind == AF_KIND_CALL_LONG || kind == AF_KIND_API_CALL ||
	       kind >= AF_KIND_API;
}

/* event() must not get what a choice of stacks leaves as it is. */
static void events_check(struct plugin_host *h)
{
	static const char why[] = "--focus, --hide and --search choose stacks, and it takes events "
				  "without: they are for plug-ins that take samples, work and "
				  "calls of traced functions";

	if (h->all_kinds) {
		plugin_fail(h, "%s; this one takes all events", why);
		return;
	}
	for (uint32_t kind = 0; kind <= UINT16_MAX; kind++)
		if (h->kinds[kind / 8] & 1u << kind % 8 && !has_stack(kind)) {
			plugin_fail(h, "%s; this one takes %s", why, af_kind_name((uint16_t)kind));
			return;
		}
}

void plugin_choice_open(struct plugin_host *h)
{
	const struct af_plugin_request *q = h->request;

	if (!q->focus.nr && !q->hide.nr && !q->search.nr)
		return;
	if (h->is.event)
		events_check(h);
	h->choice = af_xcalloc(1, sizeof *h->choice);
	h->choice->focus = patterns_open(&q->focus);
	h->choice->hide = patterns_open(&q->hide);
	h->choice->search = patterns_open(&q->search);
}
