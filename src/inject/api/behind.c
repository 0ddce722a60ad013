/* The search for functions behind ours, by names of libraries. */
#include "inject/api/behind.h"

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
