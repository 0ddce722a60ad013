/* The pass keeps readings of devices' counters, and the times in which devices had work. */
#include "analyse/limits/limits.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/counters/counters.h"
#include "analyse/limits/private.h"
#include "base/arena.h"

const char *af_limit_word(enum af_limit_kind kind)
{
#define AF_L(NAME, word) [AF_LIMIT_##NAME] = (word),
	static const char *const words[] = {AF_LIMITS(AF_L)};
#undef AF_L
	return words[kind];
}

/* The names and units are those of docs/telemetry.md. */
static enum limits_role role_of(const struct af_counter *c)
{
	static const struct {
		const char *name, *unit;
		enum limits_role role;
	} roles[] = {
	    {"SM clock", "MHz", LIMITS_CLOCK},
	    {"clock", "MHz", LIMITS_CLOCK},
	    {"GPU clock", "MHz", LIMITS_CLOCK},
	    {"power", "W", LIMITS_POWER},
	    {"temperature", "°C", LIMITS_CELSIUS},
	    {"temperature, edge", "°C", LIMITS_CELSIUS},
	    {"GPU busy", "%", LIMITS_BUSY},
	    {"memory used", "bytes", LIMITS_MEMORY},
	    {"PCIe generation", "", LIMITS_GENERATION},
	    {"PCIe lanes", "", LIMITS_LANES},
	    {"PCIe generation, most", "", LIMITS_MOST_GENERATION},
	    {"PCIe lanes, most", "", LIMITS_MOST_LANES},
	};

	if (!c->device)
		return LIMITS_NONE;
	if (af_counter_adds_up(c))
		return !strcmp(c->unit, "bytes") &&
		               (!strcmp(c->name, "PCIe received") || !strcmp(c->name, "PCIe sent"))
		           ? LIMITS_TRAFFIC
		           : LIMITS_NONE;
	if (!strncmp(c->name, "throttled", 9))
		return LIMITS_THROTTLE;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (!strcmp(c->name, roles[i].name) && !strcmp(c->unit, roles[i].unit))
			return roles[i].role;
	return LIMITS_NONE;
}

/* A level of a moment holds until the next reading; an amount is of a second. */
static void series_read(struct limits_series *s, const struct af_counter *c, uint64_t value,
                        const struct af_counter_values *v)
{
	double of_unit = (double)value / (double)c->per;

	if (v->start_ns < v->end_ns)
		af_curve_add(&s->curve, v->start_ns, v->end_ns,
		             of_unit * (s->role == LIMITS_TRAFFIC
		                            ? 1e9
		                            : (double)(v->end_ns - v->start_ns)));
	else if (s->was_ns && s->was_ns < v->end_ns)
		af_curve_add(&s->curve, s->was_ns, v->end_ns,
		             (double)s->was / (double)c->per * (double)(v->end_ns - s->was_ns));
	s->first_ns = s->first_ns ? s->first_ns : v->start_ns;
	s->was_ns = v->start_ns < v->end_ns ? 0 : v->end_ns;
	s->was = value;
}

static void limits_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct limits *l = self;
	struct af_counter_values v;
	uint32_t counter;
	uint64_t value;

	if (ev->kind != AF_KIND_READING || !af_counter_values(ev, &v))
		return;
	while (af_counter_next(&v, w, &counter, &value)) {
		AF_REACH(l->series, counter, l->cap_series);
		struct limits_series *s = &l->series[counter];
		if (!s->is_known) {
			s->is_known = true;
			s->role = role_of(&w->counters[counter]);
		}
		if (s->role)
			series_read(s, &w->counters[counter], value, &v);
	}
}

static struct limits_device *device_of(struct limits *l, uint32_t process, uint32_t device)
{
	bool fresh;
	uint64_t *slot = af_map_at(&l->by_device, (uint64_t)process << 32 | device, &fresh);

	if (fresh) {
		AF_GROW(l->devices, l->nr_devices, l->cap_devices);
		l->devices[l->nr_devices] =
		    (struct limits_device){.process = process, .device = device};
		*slot = l->nr_devices++;
	}
	return &l->devices[*slot];
}

/* A trace without counters, whose first has number 1, is not kept track of. */
static void limits_work(void *self, const struct af_world *w, const struct af_work *work)
{
	uint64_t ns = af_work_busy_ns(work);

	if (w->nr_counters < 2 || work->status || !work->descriptor || !work->placed_ns || !ns)
		return;
	limits_busy_add(
	    &device_of(self, w->descriptors[work->descriptor].process, af_work_device(w, work))
		 ->busy,
	    work->placed_ns, work->placed_ns + ns, ns);
}

/* The curve of @from goes on where that of @to ends. */
static void series_merge(struct limits_series *to, const struct limits_series *from,
                         const struct af_counter *c)
{
	to->is_known = true;
	to->role = from->role;
	if (!from->first_ns)
		return;
	if (to->was_ns && to->was_ns < from->first_ns)
		af_curve_add(&to->curve, to->was_ns, from->first_ns,
		             (double)to->was / (double)c->per *
		                 (double)(from->first_ns - to->was_ns));
	af_curve_append(&to->curve, &from->curve);
	to->first_ns = to->first_ns ? to->first_ns : from->first_ns;
	to->was_ns = from->was_ns;
	to->was = from->was;
}

static bool limits_merge(void *self, const struct af_world *w, const void *other)
{
	const struct limits *from = other;
	struct limits *l = self;

	for (uint32_t i = 0; i < from->cap_series; i++) {
		if (!from->series[i].is_known || i >= w->nr_counters)
			continue;
		AF_REACH(l->series, i, l->cap_series);
		series_merge(&l->series[i], &from->series[i], &w->counters[i]);
	}
	for (uint32_t i = 0; i < from->nr_devices; i++) {
		const struct limits_device *d = &from->devices[i];
		limits_busy_append(&device_of(l, d->process, d->device)->busy, &d->busy);
	}
	return true;
}

static void limits_finish(void *self, const struct af_world *w, struct af_results *out)
{
	limits_table(self, w, out);
}

static void limits_close(void *self)
{
	struct limits *l = self;

	for (uint32_t i = 0; i < l->cap_series; i++)
		af_curve_free(&l->series[i].curve);
	for (uint32_t i = 0; i < l->nr_devices; i++)
		free(l->devices[i].busy.all);
	af_map_free(&l->by_device);
	free(l->series);
	free(l->devices);
}

const struct af_pass_ops af_pass_limits = {
    .name = "limits",
    .question = "what did the machine hold back?",
    .answers = AF_ANSWER_TABLES,
    .works_fast = true,
    .wants = 1ull << AF_KIND_MOMENT_BIT | 1ull << AF_KIND_CLOCK,
    .takes = 1ull << AF_KIND_MOMENT_BIT,
    .state_size = sizeof(struct limits),
    .event = limits_event,
    .work = limits_work,
    .merge = limits_merge,
    .finish = limits_finish,
    .close = limits_close,
};
