/* Interposes CUPTI's functions, so that the client's calls come here: see client.h. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/cuda/client.h"
#include "inject/cuda/cuda.h"

/*
 * The client's calls of CUPTI arrive here by two ways. Libraries that are linked with it (PyTorch)
 * find our functions first, as we are preloaded. Those that look its functions up by dlsym (XLA,
 * Triton) find ours because the table of symbols of the mapped libcupti names them: its page is our
 * process's own copy from then on, the file stays as it is.
 */

#define AF_P(name, params, words) uint32_t cupti##name params;
AF_CLIENT_FUNCTIONS(AF_P)
#undef AF_P

enum { NOT_INITIALIZED = 15 };

static _Atomic bool opened;

bool af_client_is_open(void)
{
	return atomic_load(&opened);
}

/* ---- by the table of symbols */

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

struct symbols {
	ElfW(Sym) * table;
	const char *names;
	const uint32_t *hash;
};

/* The loader has added where the library lies; NULL in it: there is no such table. */
static struct symbols symbols_of(const struct link_map *map)
{
	struct symbols s = {0};

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			s.table = (void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			s.names = (void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			s.hash = (void *)d->d_un.d_ptr;
	}
	return s;
}

/* DT_GNU_HASH: its head, the filter's words, the buckets, then a hash for each symbol. */
static ElfW(Sym) * symbol_find(const struct symbols *s, const char *name)
{
	uint32_t nr_buckets = s->hash[0], first = s->hash[1], nr_words = s->hash[2];
	const uint32_t *buckets = s->hash + 4 + nr_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + nr_buckets;
	uint32_t hash = gnu_hash(name), i = buckets[hash % nr_buckets];

	for (; i >= first; i++) {
		if ((chain[i - first] | 1) == (hash | 1) &&
		    !strcmp(s->names + s->table[i].st_name, name))
			return &s->table[i];
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static void symbol_point(const struct link_map *map, const struct symbols *s, const char *name,
                         void *to)
{
	ElfW(Sym) *symbol = symbol_find(s, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!symbol || !symbol->st_value)
		return;
	uintptr_t begin = (uintptr_t)symbol & ~(page - 1);
	size_t bytes = ((uintptr_t)(symbol + 1) - begin + page - 1) & ~(page - 1);
	if (mprotect((void *)begin, bytes, PROT_READ | PROT_WRITE))
		return; /* who looks it up goes past us */
	symbol->st_value = (ElfW(Addr))to - map->l_addr;
	mprotect((void *)begin, bytes, PROT_READ);
}

void af_client_open(void *library)
{
	struct link_map *map = NULL;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map)
		return;
	struct symbols s = symbols_of(map);
#define AF_P(name, params, words)                                                                  \
	af_client_real.name = (__typeof__(af_client_real.name))dlsym(library, "cupti" #name);      \
	if (s.table && s.names && s.hash && af_client_real.name)                                   \
		symbol_point(map, &s, "cupti" #name, (void *)cupti##name);
	AF_CLIENT_FUNCTIONS(AF_P)
#undef AF_P
	atomic_store(&opened, true);
}

/* ---- by being preloaded */

static uint32_t no_cupti(void)
{
	return NOT_INITIALIZED;
}

static int cupti_mapped(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	(void)size;

	if (!slash || strncmp(slash + 1, "libcupti.so", 11))
		return 0;
	*(void **)arg = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	return *(void **)arg != NULL;
}

/*
 * The function that @caller would have called without us: its own libcupti's, or the one there is.
 */
static void *function_of(const char *name, void *interposer, void *caller)
{
	struct link_map *map = NULL;
	void *library = NULL, *function = NULL;
	Dl_info info;

	if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map && *map->l_name)
		library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		function = dlsym(library, name);
		REAL(dlclose)(library);
	}
	if (function && function != interposer)
		return function;
	dl_iterate_phdr(cupti_mapped, &library);
	return library ? dlsym(library, name) : NULL;
}

/* Before the driver has started: we are the first then, too. */
static bool open_early(void *function)
{
	Dl_info info;
	void *library = dladdr(function, &info) && info.dli_fname
	                    ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
	                    : NULL;

	return library && af_cuda_start_early(library);
}

/* Where the call goes; NULL: it is served. */
static void *elsewhere(const char *name, void *interposer, void *const *ours, void *caller)
{
	void *function = function_of(name, interposer, caller);

	if (!function || function == interposer)
		return af_client_is_open() ? NULL : (void *)no_cupti;
	if (!af_client_is_open() && !open_early(function))
		return function;
	/* Two copies of CUPTI: each has its own. By now the first lookup may be an old answer. */
	return function == *ours || function == interposer ? NULL : function;
}

#define AF_P(name, params, words)                                                                  \
	INTERPOSE uint32_t cupti##name params                                                      \
	{                                                                                          \
		void *caller = __builtin_return_address(0);                                        \
		void *other =                                                                      \
		    elsewhere("cupti" #name, (void *)cupti##name,                                  \
		              (void *const *)(const void *)&af_client_real.name, caller);          \
		if (other)                                                                         \
			return ((uint32_t(*) params)other)words;                                   \
		return af_client_##name words;                                                     \
	}
AF_CLIENT_FUNCTIONS(AF_P)
#undef AF_P
