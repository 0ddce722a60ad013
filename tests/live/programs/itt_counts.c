/*
 * A collector of ITT of the tests' own: it counts calls, and writes "FUNCTION TEXT COUNT" lines to
 * the file that $ITT_COUNTS names when the program ends.
 *
 * As libitt_counts.so it fills the table itself, from what its own handle has (as Intel's reference
 * collector does). With $ITT_COUNTS_MAKES it makes counters and events, and counts time by a clock
 * of its own, 3 ticks a nanosecond; values of counters that it did not make are "strange".
 * With OLD (libitt_counts_old.so) it has no __itt_api_init: the static part takes its functions.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "itt_say.h"

#define COLLECTOR __attribute__((visibility("default")))

enum { LINES = 256, MADE = 64 };

static struct {
	char text[200];
	unsigned count;
} lines[LINES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counter made[MADE];
static unsigned nr_made, nr_events;

static void count(const char *kind, const char *text)
{
	char line[200];

	snprintf(line, sizeof line, "%s %s", kind, text ? text : "");
	pthread_mutex_lock(&lock);
	for (int i = 0; i < LINES; i++) {
		if (!lines[i].count)
			strcpy(lines[i].text, line);
		if (!strcmp(lines[i].text, line)) {
			lines[i].count++;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("ITT_COUNTS");
	FILE *to = path ? fopen(path, "w") : NULL;

	for (int i = 0; to && i < LINES && lines[i].count; i++)
		fprintf(to, "%s %u\n", lines[i].text, lines[i].count);
	if (to)
		fclose(to);
}

#define C(result, name, parameters)                                                                \
	COLLECTOR result __itt_##name parameters;                                                  \
	result __itt_##name parameters

static const char *domain_name(const struct domain *d)
{
	return d ? d->name : "";
}

static const char *text_of(const struct string *s)
{
	return s ? s->text : "";
}

C(void, task_begin, (const struct domain *d, struct id id, struct id parent, struct string *name))
{
	(void)d, (void)id, (void)parent;
	count("task", text_of(name));
}

C(void, task_end, (const struct domain *d))
{
	count("task_end", domain_name(d));
}

C(void, task_begin_overlapped,
  (const struct domain *d, struct id id, struct id parent, struct string *name))
{
	(void)d, (void)id, (void)parent;
	count("overlapped", text_of(name));
}

C(void, task_end_overlapped, (const struct domain *d, struct id id))
{
	(void)id;
	count("overlapped_end", domain_name(d));
}

C(void, region_begin, (const struct domain *d, struct id id, struct id parent, struct string *name))
{
	(void)d, (void)id, (void)parent;
	count("region", text_of(name));
}

C(void, frame_begin_v3, (const struct domain *d, struct id *id))
{
	(void)id;
	count("frame", domain_name(d));
}

C(void, frame_submit_v3,
  (const struct domain *d, struct id *id, unsigned long long begin, unsigned long long end))
{
	(void)id;
	count(end >= begin ? "submit" : "submit strange", domain_name(d));
}

C(void, marker, (const struct domain *d, struct id id, struct string *name, int scope))
{
	(void)d, (void)id, (void)scope;
	count("marker", text_of(name));
}

C(void, metadata_str_add,
  (const struct domain *d, struct id id, struct string *key, const char *data, size_t len))
{
	(void)d, (void)id, (void)len, (void)data;
	count("metadata", text_of(key));
}

C(void, counter_set_value, (void *handle, void *value))
{
	const struct counter *c = handle;
	int is_made = c >= made && c < made + MADE;

	(void)value;
	count(!getenv("ITT_COUNTS_MAKES") || is_made ? "value" : "value strange", c->name);
}

C(void, pause, (void))
{
	count("pause", "");
}

C(void, resume, (void))
{
	count("resume", "");
}

C(void, thread_set_name, (const char *name))
{
	count("thread", name);
}

static void *counter_make(const char *name, const char *domain, int type)
{
	pthread_mutex_lock(&lock);
	struct counter *c = &made[nr_made++ % MADE];
	pthread_mutex_unlock(&lock);
	*c = (struct counter){.name = name, .domain = domain, .type = type};
	count("counter", name);
	return c;
}

static void *counter_create(const char *name, const char *domain)
{
	return counter_make(name, domain, U64);
}

static int event_create(const char *name, int len)
{
	char text[100];

	snprintf(text, sizeof text, "%.*s", len, name);
	count("event", text);
	return 1000 + (int)nr_events++;
}

static int event_start(int number)
{
	count(number >= 1000 ? "event_start" : "event_start strange", "");
	return 0;
}

static unsigned long long get_timestamp(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * (t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec);
}

#ifdef OLD
COLLECTOR const char *__itt_api_version(void);
const char *__itt_api_version(void)
{
	(void)counter_make, (void)counter_create, (void)event_create, (void)event_start,
	    (void)get_timestamp;
	return "old";
}
#else
struct api {
	const char *name;
	void **function;
	void *init, *null;
	unsigned group;
};

struct global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long begun, has_mutex, count;
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct api *apis;
};

static void *made_function(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} all[] = {
	    {"__itt_counter_create", (void *)counter_create},
	    {"__itt_counter_create_typed", (void *)counter_make},
	    {"__itt_event_create", (void *)event_create},
	    {"__itt_event_start", (void *)event_start},
	    {"__itt_get_timestamp", (void *)get_timestamp},
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, name))
			return all[i].function;
	return NULL;
}

COLLECTOR void __itt_api_init(struct global *p, unsigned groups);
void __itt_api_init(struct global *p, unsigned groups)
{
	(void)groups;
	count("init", "");
	for (struct api *a = p->apis; a->name; a++) {
		void *its = dlsym(p->library, a->name);
		if (!its && getenv("ITT_COUNTS_MAKES"))
			its = made_function(a->name);
		*a->function = its ? its : a->null;
	}
}

COLLECTOR void __itt_api_fini(struct global *p);
void __itt_api_fini(struct global *p)
{
	count(dlsym(p->library, "__itt_pause") == (void *)__itt_pause ? "fini" : "fini strange",
	      "");
}
#endif
