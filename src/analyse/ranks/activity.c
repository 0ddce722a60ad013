#include "analyse/ranks/activity.h"

#include <stdio.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"
#include "api/tables/decode.h"

enum { EACH_NS = 1000000 }; /* of a bin, at first */

struct activity {
	struct af_activity a;
	bool begun;
};

static void coarsen(struct af_activity *a)
{
	uint64_t start_ns = a->start_ns / (2 * a->each_ns) * (2 * a->each_ns);
	uint32_t odd = start_ns != a->start_ns, nr = (a->nr + odd + 1) / 2;

	for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
		uint64_t old[AF_ACTIVITY_BINS];
		memcpy(old, a->ns[k], sizeof old);
		memset(a->ns[k], 0, sizeof a->ns[k]);
		for (uint32_t i = 0; i < a->nr; i++)
			a->ns[k][(i + odd) / 2] += old[i];
	}
	a->nr = nr;
	a->start_ns = start_ns;
	a->each_ns *= 2;
}

/* Does what lies before the first bin fit in front of it? Then the bins move. */
static bool begin_earlier(struct af_activity *a, uint64_t start_ns)
{
	uint64_t by = (a->start_ns - start_ns + a->each_ns - 1) / a->each_ns;

	if (by + a->nr > AF_ACTIVITY_BINS)
		return false;
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
		memmove(a->ns[k] + by, a->ns[k], a->nr * sizeof a->ns[k][0]);
		memset(a->ns[k], 0, by * sizeof a->ns[k][0]);
	}
	a->nr += (uint32_t)by;
	a->start_ns -= by * a->each_ns;
	return true;
}

/* Make bins for the time from @start_ns up to @end_ns. */
static void reach(struct activity *s, uint64_t start_ns, uint64_t end_ns)
{
	struct af_activity *a = &s->a;

	if (!s->begun) {
		s->begun = true;
		a->each_ns = EACH_NS;
		a->start_ns = start_ns / EACH_NS * EACH_NS;
	}
	while (start_ns < a->start_ns && !begin_earlier(a, start_ns))
		coarsen(a);
	while ((end_ns - 1 - a->start_ns) / a->each_ns >= AF_ACTIVITY_BINS)
		coarsen(a);
	uint32_t nr = (uint32_t)((end_ns - 1 - a->start_ns) / a->each_ns) + 1;
	a->nr = nr > a->nr ? nr : a->nr;
}

static void spread(struct activity *s, enum af_rank_kind kind, uint64_t start_ns, uint64_t end_ns)
{
	struct af_activity *a = &s->a;

	/* Longer bins than a quarter of all time there is are a broken trace's. */
	if (end_ns <= start_ns || end_ns > UINT64_MAX / 4)
		return;
	a->total_ns[kind] += end_ns - start_ns;
	reach(s, start_ns, end_ns);
	for (uint64_t at = start_ns; at < end_ns;) {
		uint64_t bin = (at - a->start_ns) / a->each_ns;
		uint64_t until = a->start_ns + (bin + 1) * a->each_ns;
		uint64_t to = until < end_ns ? until : end_ns;
		a->ns[kind][bin] += to - at;
		at = to;
	}
}

static void activity_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	uint64_t length_ns = s->weight_ns < s->time_ns ? s->weight_ns : s->time_ns;

	(void)w;
	if (!s->counted && !s->on_device)
		spread(self, AF_RANK_CPU, s->time_ns - length_ns, s->time_ns);
}

static void activity_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct af_work placed = *work;

	if (!work->status && work->descriptor && af_work_place(w, &placed, NULL))
		spread(self, AF_RANK_DEVICE, placed.start_ns,
		       placed.start_ns + af_work_busy_ns(&placed));
}

/* Calls of one function; of functions that have no room, as one. */
static void add_calls(struct af_activity *a, const char *name, uint64_t ns, uint64_t calls)
{
	uint32_t i = 0;

	while (i < a->nr_calls && strncmp(a->calls[i].name, name, AF_ACTIVITY_NAME - 1) != 0)
		i++;
	if (i == AF_ACTIVITY_CALLS) {
		i--;
		a->calls[i].name[0] = '\0';
	} else if (i == a->nr_calls) {
		strncpy(a->calls[i].name, name, AF_ACTIVITY_NAME - 1);
		a->nr_calls++;
	}
	a->calls[i].ns += ns;
	a->calls[i].calls += calls;
}

/* The outermost calls, without those between which the program runs. */
static void take_call(struct activity *s, const struct af_event *ev)
{
	const struct af_api_table *api = af_api_of(ev->kind);
	const struct af_api_function *f = af_api_function(ev->kind);
	struct af_api_call call;

	if (!api || api->api != AF_API_MPI || !f ||
	    !af_api_decode(f, ev->payload, ev->payload_size, &call) || call.head.depth ||
	    !strncmp(f->name, "MPI_Init", 8) || !strcmp(f->name, "MPI_Finalize"))
		return;
	uint64_t ns = af_u48_value(call.head.duration_ns);
	ns = ns < ev->time_ns ? ns : ev->time_ns;
	add_calls(&s->a, f->name, ns, 1);
	spread(s, AF_RANK_MPI, ev->time_ns - ns, ev->time_ns);
}

static void activity_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct activity *s = self;
	struct af_wait wait;

	if (ev->kind >= AF_KIND_API)
		take_call(s, ev);
	else if (af_wait_read(w, ev, &wait)) {
		enum af_rank_kind kind = wait.state == AF_STATE_DISK ? AF_RANK_DISK : AF_RANK_WAIT;
		spread(s, kind, wait.blocked_at_ns, wait.blocked_at_ns + wait.blocked_ns);
		spread(s, AF_RANK_QUEUED, wait.queued_at_ns, wait.queued_at_ns + wait.queued_ns);
	}
}

/* Bins begin at multiples of their length, so the shorter ones lie whole in the longer ones. */
static void merge_bins(struct activity *s, const struct af_activity *from)
{
	struct af_activity *a = &s->a;

	reach(s, from->start_ns, from->start_ns + from->nr * from->each_ns);
	while (a->each_ns < from->each_ns)
		coarsen(a);
	for (uint32_t i = 0; i < from->nr; i++) {
		uint64_t bin = (from->start_ns + i * from->each_ns - a->start_ns) / a->each_ns;
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
			a->ns[k][bin] += from->ns[k][i];
	}
}

/* Functions that had no room in a part are one there, and may have room in the whole. */
static bool activity_merge(void *self, const struct af_world *w, const void *other)
{
	const struct activity *from = other;
	struct activity *s = self;
	const bool has_rest =
	    from->a.nr_calls == AF_ACTIVITY_CALLS && !*from->a.calls[AF_ACTIVITY_CALLS - 1].name;

	(void)w;
	if (has_rest && s->a.nr_calls)
		return false;
	if (from->begun)
		merge_bins(s, &from->a);
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		s->a.total_ns[k] += from->a.total_ns[k];
	for (uint32_t i = 0; i < from->a.nr_calls; i++) {
		const struct af_activity_call *c = &from->a.calls[i];
		add_calls(&s->a, c->name, c->ns, c->calls);
	}
	return true;
}

static void take_disk_waits(struct af_activity *a, const struct af_world *w)
{
	for (uint32_t i = 0; i < w->nr_processes; i++) {
		const char *note = af_process_note(&w->processes[i], "disk.waits");
		unsigned long long ns, polls;

		if (!note || sscanf(note, "%llu %llu", &ns, &polls) != 2 || !polls ||
		    ns > UINT64_MAX / 4 - a->polled_disk_ns)
			continue;
		a->polled_disk_ns += ns;
		a->disk_polls += polls;
	}
}

static void activity_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct activity *s = self;
	uint64_t off_ns = w->lost[AF_LOST_PAUSED];
	uint64_t ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0;

	s->a.wall_ns = ns > off_ns ? ns - off_ns : 0;
	take_disk_waits(&s->a, w);
	if (out->query.own)
		*(struct af_activity *)out->query.own = s->a;
}

const struct af_pass_ops af_pass_activity = {
    .name = "activity",
    .question = "what did the rank do when?",
    .answers = AF_ANSWER_OWN,
    .wants = 1ull << AF_KIND_CLOCK | 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_API_BIT,
    .state_size = sizeof(struct activity),
    .event = activity_event,
    .sample = activity_sample,
    .work = activity_work,
    .merge = activity_merge,
    .finish = activity_finish,
};
