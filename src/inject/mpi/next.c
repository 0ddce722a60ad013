/* The functions behind ours: where the program's MPI is. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "inject/mpi/mpi.h"

/* Libraries whose names say that they are MPI's. */
enum { LIBRARIES = 16 };
struct libraries {
	char paths[LIBRARIES][256];
	unsigned nr;
};

__thread uint32_t af_mpi_inside;

bool af_api_enter(struct af_api_hook *c, uint16_t kind, uint8_t how, uint64_t sp)
{
	return !af_mpi_inside && af_api_lent->enter(c, kind, how, sp);
}

static int library_seen(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *found = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (!strncmp(name, "libmpi", 6) && found->nr < LIBRARIES &&
	    strlen(info->dlpi_name) < sizeof *found->paths)
		strcpy(found->paths[found->nr++], info->dlpi_name);
	return 0;
}

/*
 * Python and the like keep the libraries that they load to themselves: no search from here on comes
 * by those, though their calls come by us.
 */
static void *symbol_hidden(const char *name)
{
	struct libraries found = {.nr = 0};

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

void *af_mpi_function(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	return symbol ? symbol : symbol_hidden(name);
}

void *af_mpi_data(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol ? symbol : symbol_hidden(name);
}

/* MPI_ERR_OTHER of MPICH; not MPI_SUCCESS to anybody. */
static int absent(void)
{
	return 15;
}

static void find(void)
{
	af_api_borrow();
	af_mpi_values_find();
}

void af_mpi_next(void **slot, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *next = af_mpi_function(name);

	pthread_once(&once, find);
	af_api_attach();
	__atomic_store_n(slot, next ? next : (void *)absent, __ATOMIC_RELEASE);
}
