/*
 * Counters of the program: COUNTER and READING events. A handle points to one of ours, to one that
 * a static part made before ITT began, or is of the other collector's making.
 */
#include <stdatomic.h>
#include <string.h>

#include "inject/core/lock.h"
#include "inject/core/thread.h"
#include "inject/itt/itt.h"

enum { COUNTERS = 256, COUNTER_NAME = 128, PER_FLOAT = 1000000 };

/* Hexadecimal it would be 0x1p63, which cppcheck takes for another number. */
static const double beyond_int64 = 9223372036854775808.0;
enum { FRAMES = -1 /* in place of enum itt_type: nanoseconds that frames took */ };

struct counter {
	struct itt_counter_info info; /* another collector may read it behind a handle of ours */
	_Atomic(const void *) handle; /* another one than &info, by which programs know it */
	_Atomic uint64_t value;       /* in the parts of the COUNTER */
	_Atomic uint32_t id;
	_Atomic uint32_t defined; /* 1 more than the fork epoch in which it has @id */
	char name[COUNTER_NAME], domain[COUNTER_NAME], text[2 * COUNTER_NAME + 2];
};

static struct af_fork_lock lock = AF_FORK_LOCK;
static struct counter counters[COUNTERS];
static _Atomic uint32_t nr_counters;
static _Atomic uint32_t noted_full, noted_negative, noted_unknown;

static bool is_float(const struct counter *c)
{
	return c->info.type == ITT_FLOAT || c->info.type == ITT_DOUBLE;
}

static uint32_t text_copy(char *to, const char *from)
{
	uint32_t len = from ? (uint32_t)strnlen(from, COUNTER_NAME - 1) : 0;

	memcpy(to, from ? from : "", len);
	to[len] = 0;
	return len;
}

static void counter_fill(struct counter *c, const char *name, const char *domain, int type)
{
	uint32_t domain_len = text_copy(c->domain, domain);
	uint32_t name_len = text_copy(c->name, name), at = 0;

	memcpy(c->text, c->domain, domain_len);
	at = domain_len;
	if (domain_len) {
		memcpy(c->text + at, ": ", 2);
		at += 2;
	}
	memcpy(c->text + at, c->name, name_len + 1);
	c->info = (struct itt_counter_info){
	    .name = c->name, .domain = domain ? c->domain : NULL, .type = type};
}

static bool counter_is(const struct counter *c, const char *name, const char *domain, int type)
{
	return c->info.type == type && !strncmp(c->name, name, COUNTER_NAME - 1) &&
	       !strncmp(c->domain, domain ? domain : "", COUNTER_NAME - 1) &&
	       !c->info.domain == !domain;
}

/* The counter of that name, domain and type, made if there is none. NULL: there are too many. */
static struct counter *counter_of(const char *name, const char *domain, int type)
{
	struct counter *c = NULL;

	af_fork_lock(&lock);
	uint32_t nr = atomic_load(&nr_counters);
	for (uint32_t i = 0; i < nr && !c; i++)
		if (counter_is(&counters[i], name, domain, type))
			c = &counters[i];
	if (!c && nr < COUNTERS) {
		c = &counters[nr];
		counter_fill(c, name, domain, type);
		atomic_store_explicit(&nr_counters, nr + 1, memory_order_release);
	}
	af_fork_unlock(&lock);
	if (!c)
		af_itt_note_once(
		    &noted_full, "itt.counters",
		    "more than 256 counters of ITT: those made later are not recorded");
	return c;
}

static struct counter *handle_known(const void *handle)
{
	uint32_t nr = atomic_load_explicit(&nr_counters, memory_order_acquire);

	for (uint32_t i = 0; i < nr; i++)
		if (handle == &counters[i].info ||
		    atomic_load_explicit(&counters[i].handle, memory_order_relaxed) == handle)
			return &counters[i];
	return NULL;
}

/* The counter that a program means by @handle; NULL: it is not recorded. */
static struct counter *counter_find(const void *handle)
{
	struct counter *c = handle ? handle_known(handle) : NULL;

	if (c || !handle)
		return c;
	if (!af_itt_makes_counters()) {
		af_itt_note_once(&noted_unknown, "itt.counters",
		                 "values of a counter whose making was not seen are not recorded");
		return NULL;
	}
	const struct itt_counter_info *info = handle;
	c = counter_of(info->name ? info->name : "", info->domain, info->type);
	if (c)
		atomic_store(&c->handle, handle);
	return c;
}

static void counter_define(struct af_thread_context *t, struct counter *c)
{
	struct af_ev_counter ev = {.counter = af_inject_new_id(AF_ID_COUNTER),
	                           .per = is_float(c) ? PER_FLOAT : 1};
	const char *unit = c->info.type == FRAMES ? "ns" : "";
	struct af_tail tail[] = {{c->text, (uint32_t)strlen(c->text), 0},
	                         {unit, (uint32_t)strlen(unit), 0},
	                         {AF_ITT_DOMAIN, sizeof AF_ITT_DOMAIN - 1, 0}};

	af_stream_put_tail(&t->stream, AF_KIND_COUNTER, af_now_ns(), &ev, sizeof ev, tail, 3);
	atomic_store(&c->id, ev.counter);
	atomic_store(&c->defined, af_inject_fork_epoch() + 1);
}

static void reading_put(struct counter *c, uint64_t value, uint64_t span_ns)
{
	struct af_ev_reading ev = {.span_ns = span_ns};
	struct af_thread_context *t = af_itt_recording() ? af_thread_enter() : NULL;

	if (!t)
		return;
	/* Two threads may both define it: either id is good. */
	if (atomic_load(&c->defined) != af_inject_fork_epoch() + 1)
		counter_define(t, c);
	const uint64_t pair[] = {atomic_load(&c->id), value};
	struct af_tail tail = {pair, sizeof pair, sizeof *pair};
	af_stream_put_tail(&t->stream, AF_KIND_READING, af_now_ns(), &ev, sizeof ev, &tail, 1);
	af_thread_leave(t);
}

static void counter_add(struct counter *c, uint64_t delta, bool less)
{
	if (!c)
		return;
	delta *= is_float(c) ? PER_FLOAT : 1;
	uint64_t value = atomic_fetch_add(&c->value, less ? -delta : delta);
	value = less ? value - delta : value + delta;
	if ((int64_t)value < 0)
		af_itt_note_once(
		    &noted_negative, "itt.negative",
		    "values of counters that are negative or no numbers are not recorded");
	else
		reading_put(c, value, 0);
}

/* A value of @type in the parts of its COUNTER; false: it cannot be one of a READING. */
static bool value_of(int type, const void *at, uint64_t *value)
{
	double real;
	int64_t whole;

	switch (type) {
	case ITT_U64:
		memcpy(value, at, sizeof *value);
		return true;
	case ITT_U32:
		*value = *(const uint32_t *)at;
		return true;
	case ITT_U16:
		*value = *(const uint16_t *)at;
		return true;
	case ITT_S64:
		memcpy(&whole, at, sizeof whole);
		break;
	case ITT_S32:
		whole = *(const int32_t *)at;
		break;
	case ITT_S16:
		whole = *(const int16_t *)at;
		break;
	case ITT_FLOAT:
	case ITT_DOUBLE:
		real = type == ITT_FLOAT ? (double)*(const float *)at : *(const double *)at;
		real *= PER_FLOAT;
		if (!(real > -beyond_int64 && real < beyond_int64))
			return false;
		whole = (int64_t)(real < 0 ? real - 0.5 : real + 0.5);
		break;
	default:
		return false;
	}
	*value = (uint64_t)whole;
	return whole >= 0;
}

static void counter_set(struct counter *c, const void *at)
{
	uint64_t value = 0;

	if (!c || !at)
		return;
	if (!value_of(c->info.type, at, &value)) {
		atomic_store(&c->value, value);
		af_itt_note_once(
		    &noted_negative, "itt.negative",
		    "values of counters that are negative or no numbers are not recorded");
		return;
	}
	atomic_store(&c->value, value);
	reading_put(c, value, 0);
}

/* The handle that the program gets: the other collector's where it makes one. */
static void *counter_made(const char *name, const char *domain, int type, bool has_its, void *its)
{
	struct counter *c = name && (its || !has_its) ? counter_of(name, domain, type) : NULL;

	if (!has_its)
		return c ? &c->info : NULL;
	if (c)
		atomic_store(&c->handle, its);
	return its;
}

void *af_itt_counter_create(const char *name, const char *domain)
{
	void *(*its)(const char *, const char *) = af_itt_next()->counter_create;

	return counter_made(name, domain, ITT_U64, its, its ? its(name, domain) : NULL);
}

void *af_itt_counter_create_typed(const char *name, const char *domain, int type)
{
	void *(*its)(const char *, const char *, int) = af_itt_next()->counter_create_typed;

	return counter_made(name, domain, type, its, its ? its(name, domain, type) : NULL);
}

void *af_itt_counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
	void *(*its)(const struct itt_domain *, const char *, int) =
	    af_itt_next()->counter_create_v3;

	return counter_made(name, af_itt_domain(domain), type, its,
	                    its ? its(domain, name, type) : NULL);
}

void af_itt_counter_destroy(void *handle)
{
	if (af_itt_next()->counter_destroy)
		af_itt_next()->counter_destroy(handle);
}

void af_itt_counter_inc(void *handle)
{
	if (af_itt_next()->counter_inc)
		af_itt_next()->counter_inc(handle);
	counter_add(counter_find(handle), 1, false);
}

void af_itt_counter_inc_delta(void *handle, unsigned long long delta)
{
	if (af_itt_next()->counter_inc_delta)
		af_itt_next()->counter_inc_delta(handle, delta);
	counter_add(counter_find(handle), delta, false);
}

void af_itt_counter_dec(void *handle)
{
	if (af_itt_next()->counter_dec)
		af_itt_next()->counter_dec(handle);
	counter_add(counter_find(handle), 1, true);
}

void af_itt_counter_dec_delta(void *handle, unsigned long long delta)
{
	if (af_itt_next()->counter_dec_delta)
		af_itt_next()->counter_dec_delta(handle, delta);
	counter_add(counter_find(handle), delta, true);
}

void af_itt_counter_set_value(void *handle, void *value)
{
	if (af_itt_next()->counter_set_value)
		af_itt_next()->counter_set_value(handle, value);
	counter_set(counter_find(handle), value);
}

void af_itt_counter_set_value_v3(void *handle, void *value)
{
	if (af_itt_next()->counter_set_value_v3)
		af_itt_next()->counter_set_value_v3(handle, value);
	counter_set(counter_find(handle), value);
}

void af_itt_counter_set_value_ex(void *handle, struct itt_clock *clock, unsigned long long time,
                                 void *value)
{
	if (af_itt_next()->counter_set_value_ex)
		af_itt_next()->counter_set_value_ex(handle, clock, time, value);
	af_itt_note_clock(clock);
	counter_set(counter_find(handle), value);
}

/* The counter of a domain that a string of the program's names. */
static struct counter *counter_named(const struct itt_domain *domain, const struct itt_string *name)
{
	return counter_of(af_itt_text(name), af_itt_domain(domain), ITT_U64);
}

void af_itt_counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
	if (af_itt_next()->counter_inc_v3)
		af_itt_next()->counter_inc_v3(domain, name);
	counter_add(counter_named(domain, name), 1, false);
}

void af_itt_counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                                 unsigned long long delta)
{
	if (af_itt_next()->counter_inc_delta_v3)
		af_itt_next()->counter_inc_delta_v3(domain, name, delta);
	counter_add(counter_named(domain, name), delta, false);
}

void af_itt_counter_dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
	if (af_itt_next()->counter_dec_v3)
		af_itt_next()->counter_dec_v3(domain, name);
	counter_add(counter_named(domain, name), 1, true);
}

void af_itt_counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                                 unsigned long long delta)
{
	if (af_itt_next()->counter_dec_delta_v3)
		af_itt_next()->counter_dec_delta_v3(domain, name, delta);
	counter_add(counter_named(domain, name), delta, true);
}

void af_itt_frame(const struct itt_domain *domain, uint64_t ns)
{
	struct counter *c = counter_of("frame", af_itt_domain(domain), FRAMES);

	if (c)
		reading_put(c, ns, ns);
}
