/*
 * How the collector begins: a static part of the program has opened libaflame.so and gives it the
 * table of its functions. And the collector of somebody else, which is called behind ours.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/lock.h"
#include "inject/core/thread.h"
#include "inject/itt/itt.h"

#define EXPORTED __attribute__((visibility("default")))

/* Builds up to this one have another table. */
enum { BUILD_OLD = 20110111, APIS_MOST = 1024 };

EXPORTED void __itt_api_init(struct itt_global *p, unsigned groups);
EXPORTED void __itt_api_fini(struct itt_global *p);

static struct af_itt_next next;
static struct af_fork_lock next_lock = AF_FORK_LOCK;
static pthread_once_t next_once = PTHREAD_ONCE_INIT;
static void *next_library;
static const char *next_name;
static void (*next_init)(struct itt_global *, unsigned);
static void (*next_fini)(struct itt_global *);
static atomic_bool has_static_counters;
static atomic_bool is_paused;

static const struct {
	const char *name;
	void *ours;
	size_t at; /* of the other collector's, in @next */
} functions[] = {
#define AF_P(result, name, parameters)                                                             \
	{"__itt_" #name, (void *)af_itt_##name, offsetof(struct af_itt_next, name)},
    AF_ITT_FUNCTIONS(AF_P)
#undef AF_P
};

const struct af_itt_next *af_itt_next(void)
{
	return &next;
}

bool af_itt_makes_counters(void)
{
	return !next.counter_create && atomic_load(&has_static_counters);
}

bool af_itt_recording(void)
{
	return !atomic_load_explicit(&is_paused, memory_order_relaxed) && af_inject_recording();
}

void af_itt_set_paused(bool paused)
{
	atomic_store(&is_paused, paused);
}

void af_itt_note_once(_Atomic uint32_t *noted, const char *key, const char *text)
{
	if (!atomic_exchange(noted, 1))
		af_inject_note(key, text);
}

/* The recorder has put aside what INTEL_LIBITTNOTIFY64 named before. */
static void next_find(void)
{
	const char *name = getenv(AF_ITT_NEXT_ENV);

	if (!name || !*name)
		return;
	next_library = dlopen(name, RTLD_LAZY);
	if (!next_library) {
		af_inject_note("itt.collector", dlerror());
		return;
	}
	void *init = dlsym(next_library, "__itt_api_init");
	if (init == (void *)__itt_api_init) {
		next_library = NULL;
		return;
	}
	next_init = (__typeof__(next_init))init;
	next_fini = (__typeof__(next_fini))dlsym(next_library, "__itt_api_fini");
	next_name = name;
}

/* The other collector fills the table as if it were the only one; 1: as without a collector. */
static void next_fill(struct itt_global *p, unsigned groups)
{
	void *ours = p->library;

	pthread_once(&next_once, next_find);
	if (next_init) {
		p->library = next_library;
		next_init(p, groups);
		p->library = ours;
		return;
	}
	for (uint32_t i = 0; i < APIS_MOST && p->apis[i].name; i++) {
		const struct itt_api *api = &p->apis[i];
		void *its = NULL;
		if (next_library && api->group & groups)
			its = dlsym(next_library, api->name);
		*api->function = its ? its : api->null;
	}
}

/* Ours comes before the function that is in the table now. */
static void hook(const struct itt_api *api)
{
	void *now = *api->function;

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (strcmp(functions[i].name, api->name))
			continue;
		void **behind = (void **)((char *)&next + functions[i].at);
		if (now && now != api->null && now != api->init && now != functions[i].ours &&
		    !*behind)
			*behind = now;
		*api->function = functions[i].ours;
		if (api->null && !strcmp(api->name, "__itt_counter_create"))
			atomic_store(&has_static_counters, true);
		return;
	}
	/* A collector need not have replaced all first values. */
	if (now == api->init)
		*api->function = api->null;
}

/* Runtimes of OpenMP make calls for each parallel region: on request only. */
static bool is_wanted(const char *file)
{
	const struct af_session *session = af_inject_session();
	bool openmp = strstr(file, "libomp") || strstr(file, "libiomp");

	if (!session || !(session->flags & AF_SESSION_ITT))
		return false;
	return !openmp || session->flags & AF_SESSION_ITT_OPENMP;
}

static void begin_note(const struct itt_global *p, const char *file, bool wanted)
{
	char words[1024];

	if (wanted)
		snprintf(words, sizeof words, "%s: build %lu%s%s", file, p->build,
		         next_name ? "; calls go on to " : "", next_name ? next_name : "");
	else
		snprintf(words, sizeof words, "%s: its ranges are recorded with --api itt:full",
		         file);
	af_inject_note(wanted ? "itt" : "itt.left_out", words);
}

/*
 * ittnotify_static.c: __itt_api_init_t. The static part holds a lock of its own, which the thread
 * may take again.
 */
void __itt_api_init(struct itt_global *p, unsigned groups)
{
	Dl_info where = {0};

	af_inject_start();
	if (!p || memcmp(p->magic, ITT_MAGIC, sizeof p->magic) || !p->apis)
		return;
	if (p->build <= BUILD_OLD) {
		af_inject_note("itt", "the program's ITT is of 2011 or older: not recorded");
		return;
	}
	next_fill(p, groups);
	const char *file = dladdr(p, &where) && where.dli_fname ? where.dli_fname : "";
	bool wanted = is_wanted(strrchr(file, '/') ? strrchr(file, '/') : file);
	if (wanted) {
		af_fork_lock(&next_lock);
		for (uint32_t i = 0; i < APIS_MOST && p->apis[i].name; i++)
			hook(&p->apis[i]);
		af_fork_unlock(&next_lock);
	}
	if (af_inject_session())
		begin_note(p, file, wanted);
}

/* __itt_api_fini_t: the static part makes no calls any more. */
void __itt_api_fini(struct itt_global *p)
{
	void *ours = p ? p->library : NULL;

	if (!p || !next_fini)
		return;
	p->library = next_library;
	next_fini(p);
	p->library = ours;
}
