/* The functions behind ours: where the loader is. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "inject/ze_calls/ze_calls.h"

enum { UNSUPPORTED_FEATURE = 0x78000003 }; /* ze_result_t */

/* The thread looks for the loader's functions: libaflame.so's dlsym() is to find no other. */
static __thread bool is_searching;

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return af_api_lent->enter(c, kind, how, sp);
}

const struct af_api_entry *af_ze_calls_entry(const struct af_api_entry *entries, const char *name)
{
	for (const struct af_api_entry *e = entries; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/*
 * libaflame.so stands in for zeInit as well and comes behind us. Python and the like keep the
 * libraries that they load to themselves: then the loader is found by its name. It stays.
 */
void *af_ze_calls_real(const char *name)
{
	static const char *const names[] = {"libze_loader.so.1", "libze_loader.so"};
	void *symbol = dlsym(RTLD_NEXT, name);

	is_searching = true;
	for (unsigned i = 0; i < 2 && !symbol; i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		symbol = library ? dlsym(library, name) : NULL;
	}
	is_searching = false;
	return symbol;
}

static uint32_t absent(void)
{
	return UNSUPPORTED_FEATURE;
}

void af_ze_calls_unknown(const char *name)
{
	enum { NAMES = 32 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char names[NAMES][80];
	char words[200];
	bool is_new = false;
	unsigned i = 0;

	if (!af_api_lent || strlen(name) >= sizeof *names)
		return;
	pthread_mutex_lock(&lock);
	while (i < NAMES && *names[i] && strcmp(names[i], name))
		i++;
	is_new = i < NAMES && !*names[i];
	if (is_new)
		strcpy(names[i], name);
	pthread_mutex_unlock(&lock);
	if (!is_new)
		return;
	snprintf(words, sizeof words,
	         "%s: its calls are not recorded, as this aflame does not know it", name);
	af_api_lent->note("ze.newer", words);
}

/* Names of the loader's own, which are no functions of Level Zero's. */
static bool is_function(const char *name)
{
	static const char table[] = "ProcAddrTable";
	size_t len = strlen(name);

	return !strncmp(name, "ze", 2) && strncmp(name, "zel", 3) != 0 &&
	       (len < sizeof table || strcmp(name + len - (sizeof table - 1), table) != 0);
}

static void *stand_in(const char *name, void *found)
{
	const struct af_api_entry *e = af_ze_calls_entry(af_api_ze_entries, name);

	if (is_searching)
		return NULL;
	if (!e && found && is_function(name))
		af_ze_calls_unknown(name);
	return e ? e->wrapper : NULL;
}

static void find(void)
{
	af_api_borrow();
	if (af_api_lent)
		*af_api_lent->stand_in = stand_in;
}

/* Before the program looks functions up. */
__attribute__((constructor)) static void start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
}

void af_ze_calls_next(void **slot, const char *name)
{
	void *next = af_ze_calls_real(name);

	start();
	af_api_attach();
	if (next && !strcmp(name, "zeDriverGetExtensionFunctionAddress"))
		next = af_ze_calls_extensions(next);
	__atomic_store_n(slot, next ? next : (void *)absent, __ATOMIC_RELEASE);
}
