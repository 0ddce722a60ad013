#include "analyse/world/annotations.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/private.h"
#include "base/arena.h"

enum { NAME_BYTES = 256 };

#define EVALUATES "autograd::engine::evaluate_function: "

struct annotations_open {
	uint32_t domain, name; /* of the names; name: 0 where it makes no frame */
	uint32_t nest, forward, doing;
	bool evaluates; /* what begins in it next is a function of autograd's backward pass */
};

struct annotations_thread {
	uint32_t nr;
	uint64_t beyond;               /* more are open than are followed */
	struct annotations_open *open; /* room for AF_ANNOTATIONS_OPEN, from the first on */
	uint32_t *kept;                /* the context after each RANGE */
	uint32_t nr_kept, cap_kept;
};

/* Operations of one process by their sequence number, each in the slot of its remainder. */
struct annotations_sequences {
	struct annotations_sequence {
		uint64_t number;
		uint32_t path;
	} * slots;
};

void af_annotations_free(struct af_annotations *r)
{
	for (uint32_t i = 0; i < r->nr_threads; i++) {
		free(r->threads[i].open);
		free(r->threads[i].kept);
	}
	for (uint32_t i = 0; i < r->nr_sequences; i++)
		free(r->sequences[i].slots);
	free(r->threads);
	free(r->sequences);
	free(r->nests);
	free(r->annotations);
	af_strtab_free(&r->names);
	af_map_free(&r->by_nest);
	af_map_free(&r->by_doing);
	af_map_free(&r->by_thread);
	af_map_free(&r->by_process);
	*r = (struct af_annotations){0};
}

/* A name as it is shown: short, without what numbers each call, and whole in UTF-8. */
static size_t name_len(const char *name)
{
	static const char *const numbers[] = {", seq = ", ", op_id = ", ", bytes = "};
	size_t len = strnlen(name, NAME_BYTES);

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *at = strstr(name, numbers[i]);
		if (at && (size_t)(at - name) < len)
			len = (size_t)(at - name);
	}
	if (len == NAME_BYTES)
		while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--;
	return len;
}

static bool sequence_of(const char *name, uint64_t *number)
{
	const char *at = strstr(name, ", seq = ");
	char *end;

	if (!at || at[8] < '0' || at[8] > '9')
		return false;
	*number = strtoull(at + 8, &end, 10);
	return true;
}

/* A name that was cut is that of all that begin like it. */
static bool is_only(const struct af_annotations *r, uint32_t name)
{
	const char *text = af_strtab_get(&r->names, name);

	return r->only && strlen(text) == name_len(r->only) &&
	       !strncmp(text, r->only, strlen(text));
}

/* The slots of a full map. */
static uint32_t known_as(const struct af_map *map, uint64_t key, uint32_t otherwise)
{
	const uint64_t *known = af_map_get(map, key);

	return known ? (uint32_t)*known : otherwise;
}

static uint32_t nest_of(struct af_annotations *r, uint32_t parent, uint32_t name)
{
	bool fresh;
	uint32_t depth = parent ? r->nests[parent - 1].depth + 1 : 1;

	if (!name || depth > AF_ANNOTATIONS_DEEP)
		return parent;
	uint64_t key = world_key(parent, name);
	if (r->nr_nests >= AF_ANNOTATIONS_NESTS)
		return known_as(&r->by_nest, key, parent);
	uint64_t *slot = af_map_at(&r->by_nest, key, &fresh);
	if (!fresh)
		return (uint32_t)*slot;
	bool inside = parent ? r->nests[parent - 1].inside : false;
	AF_GROW(r->nests, r->nr_nests, r->cap_nests);
	r->nests[r->nr_nests] = (struct af_nest){
	    .parent = parent,
	    .name = name,
	    .depth = depth,
	    .inside = inside || is_only(r, name),
	};
	*slot = ++r->nr_nests;
	return (uint32_t)*slot;
}

static uint32_t doing_of(struct af_annotations *r, uint32_t nest, uint32_t forward)
{
	bool fresh;

	if (!nest && !forward)
		return 0;
	uint64_t key = world_key(nest, forward);
	if (r->nr_annotations >= AF_ANNOTATIONS_NESTS)
		return known_as(&r->by_doing, key, 0);
	uint64_t *slot = af_map_at(&r->by_doing, key, &fresh);
	if (fresh) {
		AF_GROW(r->annotations, r->nr_annotations, r->cap_annotations);
		r->annotations[r->nr_annotations] = (struct af_doing){nest, forward};
		*slot = ++r->nr_annotations;
	}
	return (uint32_t)*slot;
}

static struct annotations_thread *thread_of(struct af_annotations *r, const struct af_event *ev)
{
	bool fresh;
	uint64_t *slot = af_map_at(&r->by_thread, world_key(ev->process, ev->tid), &fresh);

	if (fresh) {
		AF_GROW(r->threads, r->nr_threads, r->cap_threads);
		r->threads[r->nr_threads] = (struct annotations_thread){0};
		*slot = r->nr_threads++;
	}
	return &r->threads[*slot];
}

static struct annotations_sequence *sequence_slot(const struct af_annotations *r, uint32_t process,
                                                  uint64_t number)
{
	const uint64_t *of = af_map_get(&r->by_process, process);

	return of ? &r->sequences[*of].slots[number % AF_ANNOTATIONS_SEQUENCES] : NULL;
}

static uint32_t forward_of(const struct af_annotations *r, uint32_t process, uint64_t number)
{
	const struct annotations_sequence *s = sequence_slot(r, process, number);

	return s && s->number == number ? s->path : 0;
}

static void take_operation(struct af_annotations *r, const struct af_world *w,
                           const struct af_event *ev)
{
	struct af_ev_operation f;
	bool fresh;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return;
	if (r->nr_sequences == AF_ANNOTATIONS_PROCESSES && !af_map_get(&r->by_process, ev->process))
		return;
	uint64_t *of = af_map_at(&r->by_process, ev->process, &fresh);
	if (fresh) {
		AF_GROW(r->sequences, r->nr_sequences, r->cap_sequences);
		r->sequences[r->nr_sequences].slots =
		    af_xcalloc(AF_ANNOTATIONS_SEQUENCES, sizeof(struct annotations_sequence));
		*of = r->nr_sequences++;
	}
	*sequence_slot(r, ev->process, f.sequence) = (struct annotations_sequence){
	    .number = f.sequence, .path = af_world_path(w, ev, f.callpath)};
}

/* The names that @o adds to those that are open below it. */
static void open_follow(struct af_annotations *r, struct annotations_open *o, uint32_t below)
{
	o->nest = nest_of(r, below, o->name);
	o->doing = doing_of(r, o->nest, o->forward);
}

static void take_push(struct af_annotations *r, const struct af_event *ev, uint32_t domain,
                      const char *name)
{
	struct annotations_thread *t = thread_of(r, ev);
	uint32_t nest = t->nr ? t->open[t->nr - 1].nest : 0;
	bool evaluated = t->nr ? t->open[t->nr - 1].evaluates : false;
	struct annotations_open o = {
	    .domain = domain,
	    .forward = t->nr ? t->open[t->nr - 1].forward : 0,
	    .evaluates = !strncmp(name, EVALUATES, strlen(EVALUATES)),
	};
	uint64_t number;

	if (t->nr == AF_ANNOTATIONS_OPEN) {
		t->beyond++;
		return;
	}
	if ((o.evaluates || evaluated) && sequence_of(name, &number)) {
		uint32_t forward = forward_of(r, ev->process, number);
		o.forward = forward ? forward : o.forward;
	}
	if (r->apart)
		o.name = af_strtab_id(&r->names, name, name_len(name));
	if (!t->open)
		t->open = af_xcalloc(AF_ANNOTATIONS_OPEN, sizeof *t->open);
	open_follow(r, &o, nest);
	t->open[t->nr++] = o;
}

/* The latest of the domain; one that began before the trace is none of ours. */
static void take_pop(struct af_annotations *r, const struct af_event *ev, uint32_t domain)
{
	struct annotations_thread *t = thread_of(r, ev);
	uint32_t at = t->nr;

	if (t->beyond) {
		t->beyond--;
		return;
	}
	while (at && t->open[at - 1].domain != domain)
		at--;
	if (!at)
		return;
	memmove(&t->open[at - 1], &t->open[at], (t->nr - at) * sizeof *t->open);
	t->nr--;
	for (uint32_t i = at - 1; i < t->nr; i++)
		open_follow(r, &t->open[i], i ? t->open[i - 1].nest : 0);
}

static uint32_t context_of(const struct annotations_thread *t)
{
	return t->nr ? t->open[t->nr - 1].doing : 0;
}

static void take_range(struct af_annotations *r, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_range f;

	if (!af_event_decode(ev, &f, sizeof f, tails))
		return;
	if (f.edge != AF_RANGE_PUSH && f.edge != AF_RANGE_POP)
		return;
	uint32_t domain = af_strtab_id(&r->names, (const char *)tails[0].data, tails[0].len);
	if (f.edge == AF_RANGE_PUSH)
		take_push(r, ev, domain, (const char *)tails[1].data);
	else
		take_pop(r, ev, domain);
}

void af_annotations_event(struct af_annotations *r, const struct af_world *w,
                          const struct af_event *ev)
{
	if (!ev->process)
		return;
	if (ev->kind == AF_KIND_OPERATION) {
		take_operation(r, w, ev);
		return;
	}
	take_range(r, ev);
	if (!r->keeps)
		return;
	struct annotations_thread *t = thread_of(r, ev);
	AF_GROW(t->kept, t->nr_kept, t->cap_kept);
	t->kept[t->nr_kept++] = context_of(t);
}

uint32_t *af_annotations_reached(const struct af_annotations *r, uint32_t *nr)
{
	uint32_t *reached = af_xcalloc((size_t)r->nr_threads + 1, sizeof *reached);

	for (uint32_t i = 0; i < r->nr_threads; i++)
		reached[i] = r->threads[i].nr_kept;
	*nr = r->nr_threads;
	return reached;
}

void af_annotations_follow(struct af_annotations *r, const struct af_event *ev)
{
	const uint64_t *slot = af_map_get(&r->by_thread, world_key(ev->process, ev->tid));

	/* A packet that hides its definitions has events that the whole did not see. */
	if (slot && r->reached[*slot] < r->threads[*slot].nr_kept)
		r->reached[*slot]++;
}

uint32_t af_annotations_of(const struct af_annotations *r, uint32_t process, uint32_t tid)
{
	const uint64_t *slot = af_map_get(&r->by_thread, world_key(process, tid));
	const struct annotations_thread *t = slot ? &r->threads[*slot] : NULL;

	if (!t || !r->reached)
		return t ? context_of(t) : 0;
	return r->reached[*slot] ? t->kept[r->reached[*slot] - 1] : 0;
}

struct af_doing af_annotations_get(const struct af_annotations *r, uint32_t doing)
{
	return doing && doing <= r->nr_annotations ? r->annotations[doing - 1]
	                                           : (struct af_doing){0};
}

bool af_annotations_inside(const struct af_annotations *r, uint32_t doing)
{
	if (!r->only)
		return true;
	uint32_t nest = af_annotations_get(r, doing).nest;
	return nest && r->nests[nest - 1].inside;
}

uint32_t af_annotations_names(const struct af_annotations *r, uint32_t nest,
                              const char *names[AF_ANNOTATIONS_DEEP])
{
	uint32_t nr = nest ? r->nests[nest - 1].depth : 0;

	for (uint32_t i = nr; i-- > 0; nest = r->nests[nest - 1].parent)
		names[i] = af_strtab_get(&r->names, r->nests[nest - 1].name);
	return nr;
}
