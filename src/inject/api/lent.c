/*
 * The functions of api.h in our other libraries: libaflame.so's, which stand behind the wrappers of
 * libaflame-mpi.so and libaflame-hip.so. Not a part of libaflame.so.
 */
#include "inject/api/lent.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* Libraries that may have the functions. */
enum { LIBRARIES = 16 };
struct libraries {
	const char *prefix;
	char paths[LIBRARIES][256];
	unsigned nr;
};

/* From libaflame.so, where it is in the process. */
extern const struct af_api_shared *aflame_calls(uint32_t version)
    __attribute__((weak, visibility("default")));

static const _Atomic uint8_t none[AF_API_KINDS];
const _Atomic uint8_t *af_api_hows = none;
const struct af_api_shared *af_api_lent;
__thread uint32_t af_api_inside;

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return !af_api_inside && af_api_lent->enter(c, kind, how, sp);
}

void af_api_waits(struct af_api_hook *c, const void *args, size_t size)
{
	af_api_lent->waits(c, args, size);
}

void af_api_before(struct af_api_hook *c, struct af_api_before *b, const void *from, uint64_t nr,
                   uint32_t size)
{
	af_api_lent->before(c, b, from, nr, size);
}

void af_api_before_native(struct af_api_hook *c, struct af_api_before *b, const void *from,
                          uint64_t nr, const struct af_api_native *n)
{
	af_api_lent->before_native(c, b, from, nr, n);
}

void *af_api_end(struct af_api_hook *c, uint16_t kind, bool failed, size_t fixed, size_t room)
{
	return af_api_lent->end(c, kind, failed, fixed, room);
}

void af_api_done(struct af_api_hook *c)
{
	af_api_lent->done(c);
}

void af_api_tally(struct af_api_hook *c, uint16_t kind, bool failed, uint64_t bytes)
{
	af_api_lent->tally(c, kind, failed, bytes);
}

void af_api_done_trimmed(struct af_api_hook *c)
{
	af_api_lent->done_trimmed(c);
}

void af_api_put_one(struct af_api_hook *c, const void *from, uint32_t size, bool skip)
{
	af_api_lent->put_one(c, from, size, skip);
}

void af_api_put_array(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size,
                      bool skip)
{
	af_api_lent->put_array(c, from, nr, size, skip);
}

void af_api_put_zero(struct af_api_hook *c, const void *from, uint32_t size, uint32_t step)
{
	af_api_lent->put_zero(c, from, size, step);
}

void af_api_put_string(struct af_api_hook *c, const void *from, bool skip)
{
	af_api_lent->put_string(c, from, skip);
}

void af_api_put_before(struct af_api_hook *c, const struct af_api_before *b, bool one,
                       uint32_t size)
{
	af_api_lent->put_before(c, b, one, size);
}

void af_api_put_native(struct af_api_hook *c, const void *from, const struct af_api_native *n,
                       bool skip)
{
	af_api_lent->put_native(c, from, n, skip);
}

void af_api_put_natives(struct af_api_hook *c, const void *from, uint64_t nr,
                        const struct af_api_native *n, bool skip)
{
	af_api_lent->put_natives(c, from, nr, n, skip);
}

uint64_t af_api_native_at(struct af_api_hook *c, const struct af_api_native *n, const void *from,
                          uint32_t offset, uint32_t size)
{
	return af_api_lent->native_at(c, n, from, offset, size);
}

uint64_t af_api_sum(struct af_api_hook *c, const void *from, uint64_t nr, uint32_t size)
{
	return af_api_lent->sum(c, from, nr, size);
}

uint64_t af_api_at(struct af_api_hook *c, const void *from, uint32_t size)
{
	return af_api_lent->at(c, from, size);
}

static int library_seen(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *found = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (!strncmp(name, found->prefix, strlen(found->prefix)) && found->nr < LIBRARIES &&
	    strlen(info->dlpi_name) < sizeof *found->paths)
		strcpy(found->paths[found->nr++], info->dlpi_name);
	return 0;
}

/*
 * Python and the like keep the libraries that they load to themselves: no search from here on comes
 * by those, though their calls come by us.
 */
static void *symbol_hidden(const char *prefix, const char *name)
{
	struct libraries found = {.prefix = prefix};

	dl_iterate_phdr(library_seen, &found);
	for (unsigned i = 0; i < found.nr; i++) {
		void *library = dlopen(found.paths[i], RTLD_LAZY | RTLD_NOLOAD);
		void *symbol = library ? dlsym(library, name) : NULL;
		/* The one who loaded it keeps it. */
		if (library)
			dlclose(library);
		if (symbol)
			return symbol;
	}
	return NULL;
}

void *af_api_behind_us(const char *prefix, const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	return symbol ? symbol : symbol_hidden(prefix, name);
}

void *af_api_anywhere(const char *prefix, const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol ? symbol : symbol_hidden(prefix, name);
}

void af_api_borrow(void)
{
	if (!aflame_calls)
		return;
	af_api_lent = aflame_calls(AF_API_SHARED_VERSION);
	if (af_api_lent)
		af_api_hows = *af_api_lent->hows;
}
