/*
 * dlopen_storm [SCALE]: code that comes and goes at the same address.
 *
 * Truth: two libraries of the same size, alpha.so and beta.so, are loaded, called and unloaded in
 * turn 400 times. alpha_work has 75 % of the CPU time and beta_work 25 %, as leaves called by call,
 * by storm, by main. Nearly always the two functions have the same address (the count is printed):
 * a table of modules that is not kept up to date names the wrong one. About 1 s of CPU.
 *
 * Exit status: 0, or 1 when loading failed or the measured shares are not these.
 */
#include "burn.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

BURN_SINK;

struct plugin {
	const char *file, *function;
	unsigned long us;
	void *address;
	int64_t ns;
};

static char directory[PATH_MAX];

typedef uint64_t (*plugin_work)(unsigned long iterations, uint64_t x);

/* The frame between the storm and the plugin. */
APART static void call(plugin_work work, unsigned long us)
{
	burn_sink = work(us * BURN_PER_US, burn_sink) + 1;
}

static void use(struct plugin *p)
{
	char path[PATH_MAX + 32];
	void *library;
	int64_t start;

	snprintf(path, sizeof path, "%s/%s", directory, p->file);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	p->address = library ? dlsym(library, p->function) : NULL;
	if (!p->address) {
		fprintf(stderr, "dlopen_storm: %s\n", dlerror());
		exit(1);
	}
	start = burn_thread_ns();
	call((plugin_work)p->address, p->us);
	p->ns += burn_thread_ns() - start;
	dlclose(library);
}

APART static long storm(unsigned long rounds, struct plugin *alpha, struct plugin *beta)
{
	long nr_reused = 0;

	while (rounds--) {
		use(alpha);
		use(beta);
		nr_reused += alpha->address == beta->address;
	}
	return nr_reused;
}

int main(int argc, char **argv)
{
	const unsigned long rounds = (unsigned long)(400 * burn_scale(argc, argv));
	struct plugin alpha = {.file = "alpha.so", .function = "alpha_work", .us = 1800};
	struct plugin beta = {.file = "beta.so", .function = "beta_work", .us = 600};
	const ssize_t got = readlink("/proc/self/exe", directory, sizeof directory - 1);
	long nr_reused;

	if (got < 0)
		return 1;
	dirname(directory);
	nr_reused = storm(rounds, &alpha, &beta);
	truth_share("alpha_work", alpha.ns, alpha.ns + beta.ns);
	truth_share("beta_work", beta.ns, alpha.ns + beta.ns);
	truth_number("loads", (long)rounds * 2);
	truth_number("same_address", nr_reused);
	truth_number("cpu_ms", (alpha.ns + beta.ns) / 1000000);
	return share_is_wrong(alpha.ns, alpha.ns + beta.ns, 0.75);
}
