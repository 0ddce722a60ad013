/* Tasks, which nest in a thread, and overlapped tasks and regions, which need not. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "inject/core/thread.h"
#include "inject/itt/itt.h"
#include "inject/nvtx/nesting.h"

enum { DOMAIN_NAME = 256 };

static __thread struct af_nesting tasks;
static __thread uint32_t tasks_epoch; /* the fork epoch that they are of */

bool af_itt_put(enum af_range_edge edge, const char *domain, const char *text, uint64_t range,
                int32_t depth)
{
	bool ends = edge == AF_RANGE_POP || edge == AF_RANGE_END;
	char name[DOMAIN_NAME] = AF_ITT_DOMAIN;
	size_t len = strlen(name), more = domain ? strnlen(domain, sizeof name - len - 2) : 0;

	if (!ends && !af_itt_recording())
		return false;
	if (more) {
		name[len++] = ':';
		name[len++] = ' ';
		memcpy(name + len, domain, more);
		len += more;
	}
	const struct af_annotation a = {
	    .edge = edge,
	    .paused = ends,
	    .domain = name,
	    .domain_len = (uint32_t)len,
	    .text = text,
	    .len = text ? (uint32_t)strnlen(text, AF_RANGE_NAME) : 0,
	    .range = range,
	    .depth = depth,
	};
	return af_range_put(&a);
}

uint64_t af_itt_domain_key(const struct itt_domain *domain)
{
	const char *name = af_itt_domain(domain);
	uint64_t h = 14695981039346656037u;

	for (int i = 0; i < DOMAIN_NAME && name[i]; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return h;
}

/* How many tasks of the domain are open in the thread. */
static int32_t depth_in(uint64_t domain)
{
	int32_t depth = 0;

	for (uint32_t i = 0; i < tasks.nr; i++)
		depth += tasks.open[i].key == domain;
	return depth;
}

void af_itt_mark(const struct itt_domain *domain, const char *text)
{
	af_itt_put(AF_RANGE_MARK, af_itt_domain(domain), text, 0,
	           tasks.nr ? depth_in(af_itt_domain_key(domain)) : 0);
}

/* The tasks of a parent are no tasks of its child. */
static void check_fork(void)
{
	af_inject_check_fork();
	while (tasks.nr && tasks_epoch != af_inject_fork_epoch())
		af_nesting_remove(&tasks, tasks.nr - 1);
	if (tasks_epoch != af_inject_fork_epoch())
		tasks.beyond = 0;
	tasks_epoch = af_inject_fork_epoch();
}

static void task_push(const struct itt_domain *domain, const char *text)
{
	const uint64_t key = af_itt_domain_key(domain);

	check_fork();
	bool written = tasks.nr < AF_NESTING_DEEP &&
	               af_itt_put(AF_RANGE_PUSH, af_itt_domain(domain), text, 0, depth_in(key));
	if (tasks.nr == AF_NESTING_DEEP)
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
	af_nesting_push(&tasks, key, written);
}

/* The innermost task of the domain ends. One that ends none is an error that does no harm. */
static void task_pop(const struct itt_domain *domain)
{
	const uint64_t key = af_itt_domain_key(domain);

	check_fork();
	int32_t at = tasks.beyond ? -1 : af_nesting_find(&tasks, key);
	if (tasks.beyond)
		tasks.beyond--;
	if (at >= 0 && af_nesting_remove(&tasks, (uint32_t)at))
		af_itt_put(AF_RANGE_POP, af_itt_domain(domain), NULL, 0, depth_in(key));
}

void af_itt_task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
	if (af_itt_next()->task_begin)
		af_itt_next()->task_begin(domain, id, parent, name);
	task_push(domain, af_itt_text(name));
}

/* The task is named after the function that it runs. */
void af_itt_task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                          void *function)
{
	char text[256];
	Dl_info where = {0};

	if (af_itt_next()->task_begin_fn)
		af_itt_next()->task_begin_fn(domain, id, parent, function);
	if (dladdr(function, &where) && where.dli_sname)
		snprintf(text, sizeof text, "%s", where.dli_sname);
	else
		snprintf(text, sizeof text, "function %p", function);
	task_push(domain, text);
}

void af_itt_task_end(const struct itt_domain *domain)
{
	task_pop(domain);
	if (af_itt_next()->task_end)
		af_itt_next()->task_end(domain);
}

void af_itt_task_begin_ex(const struct itt_domain *domain, struct itt_clock *clock,
                          unsigned long long time, struct itt_id id, struct itt_id parent,
                          struct itt_string *name)
{
	if (af_itt_next()->task_begin_ex)
		af_itt_next()->task_begin_ex(domain, clock, time, id, parent, name);
	af_itt_note_clock(clock);
	task_push(domain, af_itt_text(name));
}

void af_itt_task_end_ex(const struct itt_domain *domain, struct itt_clock *clock,
                        unsigned long long time)
{
	task_pop(domain);
	if (af_itt_next()->task_end_ex)
		af_itt_next()->task_end_ex(domain, clock, time);
}

void af_itt_range_start(const struct af_itt_key *key, const char *domain, const char *text,
                        bool kept)
{
	uint64_t was = 0;

	if (!af_itt_recording() || (kept && af_itt_is_open(key)))
		return;
	uint64_t number = af_itt_open(key, &was);
	if (was)
		af_itt_put(AF_RANGE_END, domain, NULL, was, 0);
	if (!number)
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
	else if (!af_itt_put(AF_RANGE_START, domain, text, number, 1))
		af_itt_close(key);
}

void af_itt_range_end(const struct af_itt_key *key, const char *domain)
{
	uint64_t number = af_itt_close(key);

	if (number)
		af_itt_put(AF_RANGE_END, domain, NULL, number, 0);
}

static void id_start(enum af_itt_open kind, const struct itt_domain *domain, struct itt_id id,
                     const struct itt_string *name)
{
	const struct af_itt_key key = {.kind = kind, .domain = af_itt_domain_key(domain), .id = id};

	af_itt_range_start(&key, af_itt_domain(domain), af_itt_text(name), false);
}

static void id_end(enum af_itt_open kind, const struct itt_domain *domain, struct itt_id id)
{
	const struct af_itt_key key = {.kind = kind, .domain = af_itt_domain_key(domain), .id = id};

	af_itt_range_end(&key, af_itt_domain(domain));
}

void af_itt_task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
                                  struct itt_id parent, struct itt_string *name)
{
	if (af_itt_next()->task_begin_overlapped)
		af_itt_next()->task_begin_overlapped(domain, id, parent, name);
	id_start(AF_ITT_OVERLAPPED, domain, id, name);
}

void af_itt_task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
	id_end(AF_ITT_OVERLAPPED, domain, id);
	if (af_itt_next()->task_end_overlapped)
		af_itt_next()->task_end_overlapped(domain, id);
}

void af_itt_task_begin_overlapped_ex(const struct itt_domain *domain, struct itt_clock *clock,
                                     unsigned long long time, struct itt_id id,
                                     struct itt_id parent, struct itt_string *name)
{
	if (af_itt_next()->task_begin_overlapped_ex)
		af_itt_next()->task_begin_overlapped_ex(domain, clock, time, id, parent, name);
	af_itt_note_clock(clock);
	id_start(AF_ITT_OVERLAPPED, domain, id, name);
}

void af_itt_task_end_overlapped_ex(const struct itt_domain *domain, struct itt_clock *clock,
                                   unsigned long long time, struct itt_id id)
{
	id_end(AF_ITT_OVERLAPPED, domain, id);
	if (af_itt_next()->task_end_overlapped_ex)
		af_itt_next()->task_end_overlapped_ex(domain, clock, time, id);
}

void af_itt_region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                         struct itt_string *name)
{
	static const struct itt_string unnamed = {.text = "region"};

	if (af_itt_next()->region_begin)
		af_itt_next()->region_begin(domain, id, parent, name);
	id_start(AF_ITT_REGION, domain, id, name ? name : &unnamed);
}

void af_itt_region_end(const struct itt_domain *domain, struct itt_id id)
{
	id_end(AF_ITT_REGION, domain, id);
	if (af_itt_next()->region_end)
		af_itt_next()->region_end(domain, id);
}
