/*
 * A run-time compiler that samples itself with libaflame-prof. The function asked, whose name only
 * its symbolizer knows, has 30 % of its CPU time. The functions first and second, which lie at one
 * address one after the other and are announced as they are made, have 40 % and 20 %. Code that
 * nobody names has 10 %. prof_library_jit FILE: FILE gets folded stacks, FILE.trace the trace.
 */
#include <aflame/prof.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "burn.h"
#include "jit_code.h"

BURN_SINK;

enum { PLACE = 4096 };

static char *memory;
static struct af_err err;
static long nr_asked, nr_known;

static void must(const char *what, int rc)
{
	if (!rc)
		return;
	printf("failed %s %d %s\n", what, rc, err.msg);
	exit(1);
}

static int symbolize(void *context, uint64_t address, struct af_prof_symbol *symbol)
{
	const uint64_t start = (uintptr_t)context;

	nr_asked++;
	if (address < start || address >= start + sizeof code)
		return -1;
	nr_known++;
	*symbol = (struct af_prof_symbol){start, sizeof code, "asked", "of/script.js", 12};
	return 0;
}

static int file_write(void *context, const void *data, size_t size)
{
	return fwrite(data, 1, size, context) == size ? 0 : -EIO;
}

/* So many percent of a second, about. */
static void run(int place, unsigned percent)
{
	((void (*)(unsigned))(void *)(memory + place * PLACE))(percent * 10000000u);
}

static void announce(struct af_prof *p, int place, const char *name)
{
	const struct af_prof_symbol symbol = {
	    .start = (uintptr_t)(memory + place * PLACE), .size = sizeof code, .name = name};

	must("symbol", af_prof_symbol(p, &symbol, &err));
}

static void code_make(void)
{
	memory = mmap(NULL, 3 * PLACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		exit(2);
	for (int i = 0; i < 3; i++)
		memcpy(memory + i * PLACE, code, sizeof code);
	if (mprotect(memory, 3 * PLACE, PROT_READ | PROT_EXEC))
		exit(2);
}

int main(int argc, char **argv)
{
	char trace[4096];
	struct af_prof *p;
	FILE *out = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
	const struct af_prof_sink sink = {file_write, out};

	code_make();
	const struct af_prof_options options = {
	    .size = sizeof options, .symbolize = symbolize, .context = memory};
	must("open", af_prof_open(&p, &options, &err));
	must("start", af_prof_start(p, &err));
	run(0, 30);
	announce(p, 1, "first");
	run(1, 40);
	announce(p, 1, "second");
	run(1, 20);
	run(2, 10);
	must("stop", af_prof_stop(p, &err));
	must("write", af_prof_write(p, &af_prof_folded, &sink, &err));
	fclose(out);
	snprintf(trace, sizeof trace, "%s.trace", argc > 1 ? argv[1] : "prof_library_jit");
	if (argc > 1)
		must("save", af_prof_save(p, trace, &err));
	truth_number("asked", nr_asked);
	truth_number("known", nr_known);
	af_prof_close(p);
	return 0;
}
