#include "analyse/pass/deliver_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum deliver_what { DELIVER_EVENT, DELIVER_SAMPLE, DELIVER_WORK };

/* Deliveries in order; those of each sort stand by themselves. */
struct deliver_batch {
	struct af_world world; /* as it is for all of them */
	uint64_t kinds;        /* of its events */
	uint32_t nr, nr_events, nr_calls, nr_samples, nr_works;
	uint8_t what[DELIVER_BATCH]; /* enum deliver_what */
	struct af_event events[DELIVER_BATCH];
	bool is_call[DELIVER_BATCH]; /* of each event: is it the next of the calls? */
	struct af_call calls[DELIVER_BATCH];
	struct af_sample samples[DELIVER_BATCH];
	struct af_work works[DELIVER_BATCH];
};

void deliver_open(struct deliver *d, const struct af_world *world, uint32_t most_threads)
{
	*d = (struct deliver){.world = world, .most_threads = most_threads};
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->made_more, NULL);
	pthread_cond_init(&d->done_more, NULL);
}

void deliver_add(struct deliver *d, const struct af_pass_ops *ops, void *state, uint32_t answers)
{
	if (d->nr_passes == DELIVER_PASSES)
		abort(); /* A pass was added, and DELIVER_PASSES was not. */
	struct deliver_pass *p = &d->passes[d->nr_passes++];
	*p = (struct deliver_pass){.ops = ops, .state = state};
	if (ops->event)
		p->takes = ops->takes ? ops->takes : ops->wants;
	d->takes |= p->takes;
	d->samples |= ops->sample != NULL;
	p->works = ops->work && (!ops->works_for || ops->works_for & answers);
	if (p->works)
		d->works_fast = ops->works_fast && (d->works_fast || !d->works);
	d->works |= p->works;
	d->nr_takers += p->takes || p->ops->sample || p->works;
}

static bool pass_takes(const struct deliver_pass *p, const struct deliver_batch *b)
{
	return p->takes & b->kinds || (p->ops->sample && b->nr_samples) ||
	       (p->works && b->nr_works);
}

/* The events of @b alone. */
static void batch_events(const struct deliver_pass *p, const struct deliver_batch *b,
                         struct af_world *w)
{
	uint32_t call = 0;

	for (uint32_t i = 0; i < b->nr_events; i++) {
		const struct af_event *ev = &b->events[i];
		if (b->is_call[i]) {
			w->call = &b->calls[call++];
			w->call_payload = ev->payload;
		}
		if (p->takes & af_kind_bit(ev->kind))
			p->ops->event(p->state, w, ev);
	}
}

/* The deliveries of @b that are for the pass, which sees the world @w. */
static void batch_hand_over(const struct deliver_pass *p, const struct deliver_batch *b,
                            struct af_world *w)
{
	uint32_t event = 0, call = 0, sample = 0, work = 0;
	bool events = p->takes & b->kinds, samples = p->ops->sample && b->nr_samples;
	bool works = p->works && b->nr_works;

	if (!works && !samples) {
		batch_events(p, b, w);
		return;
	}
	for (; !events && !samples && work < b->nr_works; work++)
		p->ops->work(p->state, w, &b->works[work]);
	if (!events && !samples)
		return;

	for (uint32_t i = 0; i < b->nr; i++) {
		switch ((enum deliver_what)b->what[i]) {
		case DELIVER_SAMPLE:
			if (p->ops->sample)
				p->ops->sample(p->state, w, &b->samples[sample]);
			sample++;
			break;
		case DELIVER_WORK:
			if (p->works)
				p->ops->work(p->state, w, &b->works[work]);
			work++;
			break;
		case DELIVER_EVENT:
			if (b->is_call[event]) {
				w->call = &b->calls[call++];
				w->call_payload = b->events[event].payload;
			}
			if (p->takes & af_kind_bit(b->events[event].kind))
				p->ops->event(p->state, w, &b->events[event]);
			event++;
		}
	}
}

static void pass_run(const struct deliver_pass *p, const struct deliver_batch *b)
{
	if (!pass_takes(p, b))
		return;
	*p->view = b->world;
	p->view->call = NULL;
	p->view->call_payload = NULL;
	batch_hand_over(p, b, p->view);
}

/* The pass that has most to do, and that nobody runs; NULL: there is none. With the lock. */
static struct deliver_pass *choose(struct deliver *d)
{
	struct deliver_pass *best = NULL;

	for (uint32_t i = 0; i < d->nr_passes; i++) {
		struct deliver_pass *p = &d->passes[i];
		if (!p->busy && p->done < d->made && (!best || p->done < best->done))
			best = p;
	}
	return best;
}

/*
 * A batch of events, or one batch for one pass, or the end of a pass; false: nothing is to be done
 * now. With the lock.
 */
static bool help(struct deliver *d)
{
	struct deliver_pass *p = deliver_events_wanted(d, true) ? NULL : choose(d);

	if (!p && deliver_events_wanted(d, false)) {
		deliver_events_read(d);
		if (d->waiting)
			pthread_cond_signal(&d->done_more);
		return true;
	}
	if (!p && d->ending && d->ends < d->nr_passes) {
		p = &d->passes[d->ends++];
		p->busy = true;
		pthread_mutex_unlock(&d->lock);
		if (p->ops->end)
			p->ops->end(p->state, d->world);
		pthread_mutex_lock(&d->lock);
	} else if (p) {
		p->busy = true;
		pthread_mutex_unlock(&d->lock);
		pass_run(p, &d->ring[p->done % d->nr_ring]);
		pthread_mutex_lock(&d->lock);
		p->done++;
	} else {
		return false;
	}
	p->busy = false;
	if (d->waiting)
		pthread_cond_signal(&d->done_more);
	return true;
}

static void *helper(void *arg)
{
	struct deliver *d = arg;

	pthread_mutex_lock(&d->lock);
	while (!d->leaving)
		if (!help(d))
			pthread_cond_wait(&d->made_more, &d->lock);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

void deliver_help_or_wait(struct deliver *d)
{
	if (help(d))
		return;
	d->waiting = true;
	pthread_cond_wait(&d->done_more, &d->lock);
	d->waiting = false;
}

/* Help until every pass has done all but @behind batches. With the lock. */
static void help_until(struct deliver *d, uint64_t behind)
{
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		const struct deliver_pass *p = &d->passes[i];
		while (p->done + behind < d->made || (d->ending && p->busy))
			deliver_help_or_wait(d);
	}
}

/* There is work for others. If none can be started, this thread does it. */
void deliver_start(struct deliver *d)
{
	if (d->started)
		return;
	d->started = true;
	for (uint32_t i = 0; i < d->nr_passes; i++)
		d->passes[i].view = af_xcalloc(1, sizeof *d->passes[i].view);
	while (d->nr_threads + 1 < d->most_threads && d->nr_threads < DELIVER_THREADS &&
	       !pthread_create(&d->threads[d->nr_threads], NULL, helper, d))
		d->nr_threads++;
}

static void batch_empty(struct deliver_batch *b)
{
	b->kinds = 0;
	b->nr = b->nr_events = b->nr_calls = b->nr_samples = b->nr_works = 0;
}

/* Close the batch that is open, and open the next. */
static void publish(struct deliver *d)
{
	struct deliver_batch *b = d->open;

	b->world = *d->world;
	deliver_start(d);
	d->ahead = true;
	pthread_mutex_lock(&d->lock);
	d->made++;
	pthread_cond_broadcast(&d->made_more);
	help_until(d, d->nr_threads ? d->nr_ring - 1 : 0);
	pthread_mutex_unlock(&d->lock);
	d->open = &d->ring[d->made % d->nr_ring];
	batch_empty(d->open);
}

static struct deliver_batch *batch_at(struct deliver *d)
{
	if (!d->ring) {
		/* One thread hands over a batch before it fills another. */
		d->nr_ring = d->most_threads > 1 ? DELIVER_RING : 1;
		d->ring = af_xcalloc(d->nr_ring, sizeof *d->ring);
		d->open = d->ring;
	}
	if (d->open->nr == DELIVER_BATCH)
		publish(d);
	return d->open;
}

static void catch_up(struct deliver *d)
{
	pthread_mutex_lock(&d->lock);
	help_until(d, 0);
	pthread_mutex_unlock(&d->lock);
	d->ahead = false;
}

/* A few deliveries are handed over by this thread: to wake others would take longer. */
static void settle_few(struct deliver *d)
{
	if (!d->view)
		d->view = af_xcalloc(1, sizeof *d->view);
	*d->view = *d->world;
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		d->view->call = NULL;
		if (pass_takes(&d->passes[i], d->open))
			batch_hand_over(&d->passes[i], d->open, d->view);
	}
	batch_empty(d->open);
}

void deliver_settle(struct deliver *d)
{
	if (d->open && d->open->nr >= DELIVER_INLINE)
		publish(d);
	if (d->ahead)
		catch_up(d);
	if (d->open && d->open->nr)
		settle_few(d);
	d->direct = true;
}

void deliver_event(struct deliver *d, const struct af_event *ev)
{
	const struct af_world *w = d->world;
	uint64_t kind = af_kind_bit(ev->kind);

	if (!(kind & d->takes))
		return;
	if (d->direct) {
		for (uint32_t i = 0; i < d->nr_passes; i++)
			if (kind & d->passes[i].takes)
				d->passes[i].ops->event(d->passes[i].state, w, ev);
		return;
	}
	struct deliver_batch *b = batch_at(d);
	bool call = w->call && w->call_payload == ev->payload;
	b->what[b->nr++] = DELIVER_EVENT;
	b->is_call[b->nr_events] = call;
	b->events[b->nr_events++] = *ev;
	if (call)
		b->calls[b->nr_calls++] = *w->call;
	b->kinds |= kind;
}

void deliver_sample(struct deliver *d, const struct af_sample *s)
{
	if (!d->samples)
		return;
	if (d->direct) {
		for (uint32_t i = 0; i < d->nr_passes; i++)
			if (d->passes[i].ops->sample)
				d->passes[i].ops->sample(d->passes[i].state, d->world, s);
		return;
	}
	struct deliver_batch *b = batch_at(d);
	b->what[b->nr++] = DELIVER_SAMPLE;
	b->samples[b->nr_samples++] = *s;
}

void deliver_work(struct deliver *d, const struct af_work *work)
{
	if (!d->works)
		return;
	if (d->direct) {
		for (uint32_t i = 0; i < d->nr_passes; i++)
			if (d->passes[i].works)
				d->passes[i].ops->work(d->passes[i].state, d->world, work);
		return;
	}
	struct deliver_batch *b = batch_at(d);
	b->what[b->nr++] = DELIVER_WORK;
	struct af_work *room = &b->works[b->nr_works++];
	if (room != work)
		*room = *work;
}

struct af_work *deliver_work_room(struct deliver *d)
{
	if (!d->works || d->direct)
		return NULL;
	struct deliver_batch *b = batch_at(d);
	return &b->works[b->nr_works];
}

void deliver_end(struct deliver *d)
{
	deliver_settle(d);
	pthread_mutex_lock(&d->lock);
	d->ending = true;
	pthread_cond_broadcast(&d->made_more);
	while (help(d))
		;
	help_until(d, 0);
	pthread_mutex_unlock(&d->lock);
}

void deliver_spare(struct deliver *d)
{
	for (uint32_t i = 0; i < d->nr_passes; i++) {
		free(d->passes[i].view);
		d->passes[i].view = NULL;
	}
	free(d->view);
	free(d->ring);
	free(d->events);
	d->view = NULL;
	d->ring = d->open = NULL;
	d->events = NULL;
}

void deliver_close(struct deliver *d)
{
	pthread_mutex_lock(&d->lock);
	d->leaving = true;
	pthread_cond_broadcast(&d->made_more);
	pthread_mutex_unlock(&d->lock);
	for (uint32_t i = 0; i < d->nr_threads; i++)
		pthread_join(d->threads[i], NULL);
	deliver_spare(d);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->made_more);
	pthread_cond_destroy(&d->done_more);
}
