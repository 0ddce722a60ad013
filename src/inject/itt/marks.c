/* Markers and metadata, events, names of threads, and pauses. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/core/lock.h"
#include "inject/core/thread.h"
#include "inject/itt/itt.h"

enum { THREAD_NAME = 64, EVENTS = 256, EVENT_NAME = 128, FIRST_EVENT = 1 };

void af_itt_note_clock(const struct itt_clock *clock)
{
	static _Atomic uint32_t noted;

	if (clock)
		af_itt_note_once(&noted, "itt.clock",
		                 "times of clocks of the program's own are not used: its ranges, "
		                 "marks and values have the times of their calls");
}

void af_itt_marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name,
                   int scope)
{
	if (af_itt_next()->marker)
		af_itt_next()->marker(domain, id, name, scope);
	af_itt_mark(domain, af_itt_text(name));
}

void af_itt_marker_ex(const struct itt_domain *domain, struct itt_clock *clock,
                      unsigned long long time, struct itt_id id, struct itt_string *name, int scope)
{
	if (af_itt_next()->marker_ex)
		af_itt_next()->marker_ex(domain, clock, time, id, name, scope);
	af_itt_note_clock(clock);
	af_itt_mark(domain, af_itt_text(name));
}

/* Value @i of @data, of @type, into @to; false: a type that nobody knows. */
static bool value_text(char *to, size_t size, int type, const void *data, size_t i)
{
	switch (type) {
	case ITT_U64:
		snprintf(to, size, "%llu", (unsigned long long)((const uint64_t *)data)[i]);
		return true;
	case ITT_S64:
		snprintf(to, size, "%lld", (long long)((const int64_t *)data)[i]);
		return true;
	case ITT_U32:
		snprintf(to, size, "%u", ((const uint32_t *)data)[i]);
		return true;
	case ITT_S32:
		snprintf(to, size, "%d", ((const int32_t *)data)[i]);
		return true;
	case ITT_U16:
		snprintf(to, size, "%u", ((const uint16_t *)data)[i]);
		return true;
	case ITT_S16:
		snprintf(to, size, "%d", ((const int16_t *)data)[i]);
		return true;
	case ITT_FLOAT:
		snprintf(to, size, "%.9g", (double)((const float *)data)[i]);
		return true;
	case ITT_DOUBLE:
		snprintf(to, size, "%.17g", ((const double *)data)[i]);
		return true;
	default:
		return false;
	}
}

static void values_mark(const struct itt_domain *domain, const struct itt_string *key, int type,
                        size_t nr, const void *data)
{
	char text[AF_RANGE_NAME], value[40];
	int len = snprintf(text, sizeof text, "%.400s =", af_itt_text(key));

	if (!data || !nr || !af_itt_recording())
		return;
	for (size_t i = 0; i < nr && value_text(value, sizeof value, type, data, i); i++) {
		if (len + sizeof value >= sizeof text) {
			snprintf(text + len, sizeof text - (size_t)len, " …");
			break;
		}
		len += snprintf(text + len, sizeof text - (size_t)len, " %s", value);
	}
	af_itt_mark(domain, text);
}

static void text_mark(const struct itt_domain *domain, const struct itt_string *key,
                      const char *data, size_t len)
{
	char text[AF_RANGE_NAME];

	/* Its length may be -1: it is NUL-terminated. */
	if (!data || !af_itt_recording())
		return;
	len = strnlen(data, len < sizeof text ? len : sizeof text);
	snprintf(text, sizeof text, "%.400s = %.*s", af_itt_text(key), (int)len, data);
	af_itt_mark(domain, text);
}

void af_itt_metadata_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                         int type, size_t nr, void *data)
{
	if (af_itt_next()->metadata_add)
		af_itt_next()->metadata_add(domain, id, key, type, nr, data);
	values_mark(domain, key, type, nr, data);
}

void af_itt_metadata_str_add(const struct itt_domain *domain, struct itt_id id,
                             struct itt_string *key, const char *data, size_t len)
{
	if (af_itt_next()->metadata_str_add)
		af_itt_next()->metadata_str_add(domain, id, key, data, len);
	text_mark(domain, key, data, len);
}

void af_itt_metadata_add_with_scope(const struct itt_domain *domain, int scope,
                                    struct itt_string *key, int type, size_t nr, void *data)
{
	if (af_itt_next()->metadata_add_with_scope)
		af_itt_next()->metadata_add_with_scope(domain, scope, key, type, nr, data);
	values_mark(domain, key, type, nr, data);
}

void af_itt_metadata_str_add_with_scope(const struct itt_domain *domain, int scope,
                                        struct itt_string *key, const char *data, size_t len)
{
	if (af_itt_next()->metadata_str_add_with_scope)
		af_itt_next()->metadata_str_add_with_scope(domain, scope, key, data, len);
	text_mark(domain, key, data, len);
}

/* Events of the older interface have numbers, which the other collector gives if there is one. */
static struct af_fork_lock events_lock = AF_FORK_LOCK;
static struct {
	int number;
	char name[EVENT_NAME];
} events[EVENTS];
static uint32_t nr_events;

int af_itt_event_create(const char *name, int len)
{
	bool has_next = af_itt_next()->event_create;
	int number = has_next ? af_itt_next()->event_create(name, len) : 0;
	size_t n = name && len > 0 ? strnlen(name, (size_t)len) : 0;

	n = n < EVENT_NAME ? n : EVENT_NAME - 1;
	af_fork_lock(&events_lock);
	for (uint32_t i = 0; i < nr_events; i++)
		if (!strncmp(events[i].name, name ? name : "", n) && !events[i].name[n] &&
		    (!has_next || events[i].number == number)) {
			number = events[i].number;
			af_fork_unlock(&events_lock);
			return number;
		}
	if (!has_next)
		number = (int)nr_events + FIRST_EVENT;
	if (nr_events < EVENTS) {
		events[nr_events].number = number;
		memcpy(events[nr_events].name, name ? name : "", n);
		nr_events++;
	}
	af_fork_unlock(&events_lock);
	return number;
}

static bool event_name(int number, char name[EVENT_NAME])
{
	bool found = false;

	af_fork_lock(&events_lock);
	for (uint32_t i = 0; i < nr_events && !found; i++)
		if (events[i].number == number) {
			memcpy(name, events[i].name, EVENT_NAME);
			found = true;
		}
	af_fork_unlock(&events_lock);
	return found;
}

/* An event is of its thread; one that begins again begins anew. */
static struct af_itt_key event_key(int number)
{
	return (struct af_itt_key){.kind = AF_ITT_EVENT,
	                           .id = {.d1 = (unsigned)number, .d2 = (uintptr_t)pthread_self()}};
}

int af_itt_event_start(int number)
{
	const struct af_itt_key key = event_key(number);
	int result = af_itt_next()->event_start ? af_itt_next()->event_start(number) : 0;
	char name[EVENT_NAME];

	if (event_name(number, name))
		af_itt_range_start(&key, NULL, name, false);
	return result;
}

int af_itt_event_end(int number)
{
	const struct af_itt_key key = event_key(number);

	af_itt_range_end(&key, NULL);
	return af_itt_next()->event_end ? af_itt_next()->event_end(number) : 0;
}

/* A process goes by its main thread's name, so that one stays. */
void af_itt_thread_set_name(const char *name)
{
	if (af_itt_next()->thread_set_name)
		af_itt_next()->thread_set_name(name);
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct af_thread_context *t = NULL;
	if (name && *name && tid != (uint32_t)getpid() && af_inject_session())
		t = af_thread_enter();
	if (!t)
		return;
	struct af_ev_comm ev = {.tid = tid};
	struct af_tail tail = {name, (uint32_t)strnlen(name, THREAD_NAME), 0};
	af_stream_put_tail(&t->stream, AF_KIND_COMM, af_now_ns(), &ev, sizeof ev, &tail, 1);
	af_thread_leave(t);
}

static void pause_itt(void)
{
	static _Atomic uint32_t noted;

	if (!af_itt_recording())
		return;
	af_itt_note_once(
	    &noted, "itt.paused",
	    "the program paused ITT (__itt_pause): what it does until it resumes has no "
	    "ranges of ITT; marks of the domain " AF_ITT_DOMAIN " have the times");
	af_itt_put(AF_RANGE_MARK, NULL, "pause", 0, 0);
	af_itt_set_paused(true);
}

static void resume_itt(void)
{
	bool was_on = af_itt_recording();

	af_itt_set_paused(false);
	if (!was_on)
		af_itt_put(AF_RANGE_MARK, NULL, "resume", 0, 0);
}

#define CONTROL(name, parameters, arguments, wanted, act)                                          \
	void af_itt_##name parameters                                                              \
	{                                                                                          \
		if (af_itt_next()->name)                                                           \
			af_itt_next()->name arguments;                                             \
		if (wanted)                                                                        \
			act();                                                                     \
	}

CONTROL(pause, (void), (), true, pause_itt)
CONTROL(detach, (void), (), true, pause_itt)
CONTROL(resume, (void), (), true, resume_itt)
CONTROL(pause_scoped, (unsigned scope), (scope), scope &ITT_SCOPE_HOST, pause_itt)
CONTROL(resume_scoped, (unsigned scope), (scope), scope &ITT_SCOPE_HOST, resume_itt)
