/* How Kokkos's tool begins, and the tool of somebody else that is called behind it. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/kokkos/kokkos.h"
#include "inject/nvtx/ranges.h"

#define LIBS "KOKKOS_TOOLS_LIBS"
#define OLD_LIBS "KOKKOS_PROFILE_LIBRARY"

enum { LIST_BYTES = 4096 };

static struct af_kokkos_next next;
static pthread_once_t next_once = PTHREAD_ONCE_INIT;
static char next_list[LIST_BYTES];
static const char *next_name; /* in next_list */
static int next_at;           /* which of the list it is */
static bool next_tunes;

/* A library that is loaded already, as ours is, gives ours. */
static bool next_load(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		af_inject_note("kokkos.tool", dlerror());
		return false;
	}
	void *init = dlsym(library, "kokkosp_init_library");
	if (init == (void *)kokkosp_init_library)
		return false;
#define AF_P(function, parameters)                                                                 \
	next.function = (__typeof__(next.function))dlsym(library, "kokkosp_" #function);           \
	if (next.function == kokkosp_##function)                                                   \
		next.function = NULL;
	AF_KOKKOS_FUNCTIONS(AF_P)
#undef AF_P
	next_name = name;
	next_tunes = dlsym(library, "kokkosp_request_values") != NULL;
	return true;
}

static void next_find(void)
{
	const char *list = getenv(LIBS);
	char *rest = next_list, *name;

	if (!list || !*list)
		list = getenv(OLD_LIBS);
	if (!list || strlen(list) >= sizeof next_list)
		return;
	memcpy(next_list, list, strlen(list) + 1);
	for (int at = 0; (name = strsep(&rest, ";")); at++)
		if (*name && next_load(name)) {
			next_at = at;
			return;
		}
}

const struct af_kokkos_next *af_kokkos_next(void)
{
	pthread_once(&next_once, next_find);
	return &next;
}

bool af_kokkos_put(enum af_range_edge edge, const char *domain, const char *name, uint64_t range,
                   int32_t depth)
{
	const struct af_session *session = af_inject_session();
	const struct af_annotation a = {
	    .edge = edge,
	    .paused = edge == AF_RANGE_POP || edge == AF_RANGE_END,
	    .domain = domain,
	    .domain_len = (uint32_t)strlen(domain),
	    .text = name,
	    .len = name ? (uint32_t)strnlen(name, AF_RANGE_NAME) : 0,
	    .range = range,
	    .depth = depth,
	};

	return session && session->flags & AF_SESSION_KOKKOS && af_range_put(&a);
}

void kokkosp_init_library(int at, uint64_t version, uint32_t nr_devices, void *devices)
{
	const struct af_kokkos_next *n = af_kokkos_next();
	char words[LIST_BYTES + 128];

	af_inject_start();
	snprintf(words, sizeof words, "interface %llu%s%s%s", (unsigned long long)version,
	         next_name ? "; calls go on to " : "", next_name ? next_name : "",
	         next_tunes ? ", but for those that tune" : "");
	af_inject_note("kokkos", words);
	if (n->init_library)
		n->init_library(at + next_at, version, nr_devices, devices);
}

void kokkosp_finalize_library(void)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->finalize_library)
		n->finalize_library();
}

void kokkosp_parse_args(int nr, char **words)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->parse_args)
		n->parse_args(nr, words);
}

void kokkosp_print_help(char *program)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->print_help)
		n->print_help(program);
}

/* Kokkos waits for a device after each kernel unless the tool says that it need not. */
void kokkosp_request_tool_settings(uint32_t nr, void *settings)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->request_tool_settings)
		n->request_tool_settings(nr, settings);
	else if (!next_name && nr && settings)
		*(bool *)settings = false;
}

void kokkosp_provide_tool_programming_interface(uint32_t nr, struct kokkos_programming programming)
{
	const struct af_kokkos_next *n = af_kokkos_next();

	if (n->provide_tool_programming_interface)
		n->provide_tool_programming_interface(nr, programming);
}

static bool segment_has(const struct dl_phdr_info *module, const char *word)
{
	for (int i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &module->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_R && !(p->p_flags & PF_W) &&
		    memmem((const void *)(module->dlpi_addr + p->p_vaddr), p->p_filesz, word,
		           strlen(word) + 1))
			return true;
	}
	return false;
}

/* Is it a Kokkos that knows only the older variable (before 3.5)? */
static int is_old(struct dl_phdr_info *module, size_t size, void *unused)
{
	const char *name = strrchr(module->dlpi_name, '/');

	(void)size;
	(void)unused;
	return name && strstr(name, "kokkoscore") && segment_has(module, OLD_LIBS) &&
	       !segment_has(module, LIBS);
}

/*
 * A later Kokkos warns of the older variable, so the recorder sets the newer one alone. This is
 * before main(), where the program has no other thread.
 */
__attribute__((constructor)) static void begin(void)
{
	const char *list = getenv(LIBS);

	if (list && !getenv(OLD_LIBS) && dl_iterate_phdr(is_old, NULL))
		setenv(OLD_LIBS, list, 0);
}
