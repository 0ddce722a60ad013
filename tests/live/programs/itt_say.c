/* See itt_say.h. */
#include "itt_say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct api {
	const char *name;
	void **function;
	void *init, *null;
	unsigned group;
};

static struct global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long begun, has_mutex, count;
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct api *apis;
	struct global *next;
	void *threads;
	struct domain *domains;
	struct string *strings;
	int state;
	struct counter *counters;
	unsigned pt;
} global;

int itt_is_paused;

static struct domain *domain_create_static(const char *name)
{
	struct domain **at = &global.domains;

	while (*at && strcmp((*at)->name, name))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof **at);
		(*at)->flags = 1;
		(*at)->name = strdup(name);
	}
	return *at;
}

static struct string *string_handle_create_static(const char *text)
{
	struct string **at = &global.strings;

	while (*at && strcmp((*at)->text, text))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof **at);
		(*at)->text = strdup(text);
	}
	return *at;
}

static void *counter_create_typed_static(const char *name, const char *domain, int type)
{
	struct counter **at = &global.counters;

	while (*at &&
	       (strcmp((*at)->name, name) || strcmp((*at)->domain, domain) || (*at)->type != type))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof **at);
		(*at)->name = strdup(name);
		(*at)->domain = strdup(domain);
		(*at)->type = type;
	}
	return *at;
}

static void *counter_create_static(const char *name, const char *domain)
{
	return counter_create_typed_static(name, domain, U64);
}

static void thread_set_name_static(const char *name)
{
	(void)name;
}

static void pause_static(void)
{
	itt_is_paused = 1;
}

static void resume_static(void)
{
	itt_is_paused = 0;
}

/* Before ITT begins every pointer leads there, in Intel's to a function that begins it. */
static void early(void)
{
}

#define POINTER(result, name, parameters)                                                          \
	result(*itt_##name) parameters = (__typeof__(itt_##name))early;
ITT_FUNCTIONS(POINTER)
#undef POINTER
#define POINTER(result, name, parameters) result(*itt_##name) parameters = name##_static;
ITT_STATIC_FUNCTIONS(POINTER)
#undef POINTER

static struct api apis[] = {
#define API(result, name, parameters)                                                              \
	{"__itt_" #name, (void **)&itt_##name, (void *)early, NULL, 1u << 12},
    ITT_FUNCTIONS(API)
#undef API
#define API(result, name, parameters)                                                              \
	{"__itt_" #name, (void **)&itt_##name, (void *)name##_static, (void *)name##_static,       \
	 1u << 12},
	ITT_STATIC_FUNCTIONS(API)
#undef API
	    {0}};

static void fill(unsigned (*init)(struct global *, int))
{
	if (init) {
		init(&global, -1);
		return;
	}
	for (struct api *a = apis; a->name; a++) {
		void *its = global.library ? dlsym(global.library, a->name) : NULL;
		*a->function = its ? its : a->null;
	}
}

int itt_begin(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64"), *build = getenv("ITT_SAY_BUILD");
	int nr = 0;

	memcpy(global.magic, "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30", sizeof global.magic);
	global.major = 3;
	global.minor = 22;
	global.build = build ? strtoul(build, NULL, 10) : 20180723;
	global.apis = apis;
	pthread_mutex_init(&global.mutex, NULL);
	global.library = path ? dlopen(path, RTLD_LAZY) : NULL;
	fill(global.library ? (void *)dlsym(global.library, "__itt_api_init") : NULL);
	global.begun = 1;
	for (struct api *a = apis; a->name; a++)
		nr += *a->function != a->null;
	return nr > 0;
}

void itt_end(void)
{
	void (*fini)(struct global *) =
	    global.library ? (void *)dlsym(global.library, "__itt_api_fini") : NULL;

	if (fini)
		fini(&global);
	for (struct api *a = apis; a->name; a++)
		*a->function = a->null;
	global.begun = 0;
}
