/*
 * For tests/bench/symbols: addresses of a file's functions, and how long it takes to name them.
 *
 *	symbols pcs FILE NR		print NR addresses, spread over the code
 *	symbols names FILE <PCS		print "FUNCTION\nFILE:LINE" for each, innermost, as
 *					addr2line -fC
 *	symbols time FILE <PCS		print times, in CPU time
 *	symbols task NR FILE...		symbolization: NR addresses of all FILEs together, from
 *					looking up to the bytes of a trace; CPU time and memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/system/fs.h"
#include "sym/elf/symtab.h"
#include "sym/resolve/task.h"
#include "sym/sym.h"
#include "trace/write/stream.h"
#include "unwind/elf_file.h"

enum { SYMBOLS_PCS = 1 << 20, SYMBOLS_ROUNDS = 20 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int table_open(struct af_symtab *t, struct af_file *f, const char *path)
{
	struct af_elf e;

	*t = (struct af_symtab){0};
	if (af_file_map(f, path, NULL) || af_elf_parse(&e, f->data, f->size))
		return -1;
	af_symtab_add(t, &e);
	af_plt_add(t, &e);
	af_symtab_build(t);
	return 0;
}

/* Marsaglia, Xorshift RNGs, 2003. */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Where a file's code is: every function gets its share by size, in an order of its own. */
struct code {
	struct af_file file;
	struct af_symtab table;
	uint64_t low, high, x;
	bool stripped; /* hardly a function is known: any address of the code */
};

static void code_span(struct code *c, const struct af_elf *e)
{
	Elf64_Shdr s;

	for (uint32_t i = 0; i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &s) || !(s.sh_flags & SHF_EXECINSTR) ||
		    s.sh_size <= c->high - c->low)
			continue;
		c->low = s.sh_addr;
		c->high = s.sh_addr + s.sh_size;
	}
}

static int code_open(struct code *c, const char *path, uint64_t seed)
{
	struct af_elf e;

	*c = (struct code){.x = seed};
	if (table_open(&c->table, &c->file, path))
		return -1;
	uint64_t known = 0;
	for (uint32_t i = 0; i < c->table.nr; i++)
		if (c->table.entries[i].source != AF_SYMBOL_PLT)
			known += c->table.entries[i].size;
	if (!af_elf_parse(&e, c->file.data, c->file.size))
		code_span(c, &e);
	c->stripped = known < (c->high - c->low) / 10;
	if (!c->stripped && c->table.ranges.nr_segments) {
		c->low = c->table.ranges.starts[0];
		c->high = c->table.ranges.starts[c->table.ranges.nr_segments - 1];
	}
	return c->low < c->high ? 0 : -1;
}

static uint64_t code_next(struct code *c)
{
	for (;;) {
		uint64_t vaddr = c->low + next_random(&c->x) % (c->high - c->low);
		const struct af_symtab_entry *s = af_symtab_find(&c->table, vaddr);
		if (c->stripped || (s && s->source != AF_SYMBOL_PLT && s->size))
			return vaddr;
	}
}

static void code_close(struct code *c)
{
	af_symtab_free(&c->table);
	af_file_unmap(&c->file);
}

static int print_pcs(const char *path, unsigned nr)
{
	struct code code;

	if (code_open(&code, path, 1))
		return 1;
	while (nr-- > 0)
		printf("0x%llx\n", (unsigned long long)code_next(&code));
	code_close(&code);
	return 0;
}

static size_t read_pcs(uint64_t *pcs)
{
	unsigned long long pc;
	size_t nr = 0;

	while (nr < SYMBOLS_PCS && scanf("%llx", &pc) == 1)
		pcs[nr++] = pc;
	return nr;
}

static int print_names(const char *path, const uint64_t *pcs, size_t nr)
{
	struct af_sym_module *m = af_sym_module_open(path, NULL, 0, NULL);
	struct af_sym_answer a;

	for (size_t i = 0; i < nr; i++) {
		af_sym_lookup(m, pcs[i], &a);
		const struct af_sym_frame *f = a.nr ? &a.frames[0] : &(struct af_sym_frame){0};
		const char *slash = f->file ? strrchr(f->file, '/') : NULL;
		printf("%s\n%s:%u\n", f->function ? f->function : "??",
		       slash     ? slash + 1
		       : f->file ? f->file
		                 : "??",
		       f->line);
	}
	af_sym_module_close(m);
	return 0;
}

static int print_times(const char *path, const uint64_t *pcs, size_t nr)
{
	struct af_symtab t;
	struct af_file f;
	uint64_t found = 0, frames = 0;
	double start = now_ms();

	if (table_open(&t, &f, path))
		return 1;
	double opened = now_ms();
	for (int round = 0; round < SYMBOLS_ROUNDS; round++)
		for (size_t i = 0; i < nr; i++)
			found += af_symtab_find(&t, pcs[i]) != NULL;
	double looked = now_ms();
	printf("  symbol table: %u functions, open %.1f ms, lookup %.1f ns, found %.1f %%\n", t.nr,
	       opened - start, (looked - opened) * 1e6 / (double)nr / SYMBOLS_ROUNDS,
	       (double)found * 100 / (double)nr / SYMBOLS_ROUNDS);
	af_symtab_free(&t);
	af_file_unmap(&f);

	struct af_sym_answer a;
	start = now_ms();
	struct af_sym_module *m = af_sym_module_open(path, NULL, 0, NULL);
	af_sym_lookup(m, pcs[0], &a);
	opened = now_ms();
	for (size_t i = 0; i < nr; i++) {
		af_sym_lookup(m, pcs[i], &a);
		frames += a.nr;
	}
	looked = now_ms();
	for (size_t i = 0; i < nr; i++)
		af_sym_lookup(m, pcs[i], &a);
	double again = now_ms();
	printf("  names, lines, inlined calls: first %.1f ms, then %.2f us, again %.2f us, %.2f "
	       "frames "
	       "an address\n",
	       opened - start, (looked - opened) * 1e3 / (double)nr,
	       (again - looked) * 1e3 / (double)nr, (double)frames / (double)nr);
	af_sym_module_close(m);
	return 0;
}

/* The events of a trace about @file, mapped at its place in a process; every address in a stack. */
static void task_add(struct af_sym_task *task, uint32_t nr, uint32_t place, const char *file)
{
	struct code code;

	if (code_open(&code, file, place + 1))
		return;
	struct af_ev_mapping at = {.start = (uint64_t)(place + 1) << 40,
	                           .end = (uint64_t)(place + 2) << 40};
	at.bias = at.start - (code.low & ~0xfffull);
	af_sym_task_mapping(task, 1, &at, NULL, 0, file, strlen(file));
	while (nr-- > 0) {
		uint64_t pc = code_next(&code) + at.bias;
		af_sym_task_stack(task, 1, 0, 0, (const uint8_t *)&pc, 1);
	}
	code_close(&code);
}

static long peak_mib(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss / 1024;
}

static int print_job(uint32_t nr, int nr_files, char **files)
{
	struct af_search_paths search_paths = {.cache = getenv("SYMBOLS_CACHE") != NULL};
	struct af_sym_task *task = af_sym_task_open();
	struct af_stream stream;

	for (int i = 0; i < nr_files; i++)
		task_add(task, nr / (uint32_t)nr_files, (uint32_t)i, files[i]);
	long before = peak_mib();
	double start = now_ms();
	af_sym_task_run(task, &search_paths, NULL, NULL);
	double named = now_ms();
	if (af_stream_open_file(&stream, memfd_create("symbols", 0), 1, 0))
		return 1;
	af_sym_task_write(task, &stream, 1);
	double written = now_ms();
	printf("  symbolization of %llu addresses in %d files: named in %.2f s, written in %.2f s "
	       "of CPU "
	       "time, %ld MiB at most (%ld before)\n",
	       (unsigned long long)af_sym_task_nr(task), nr_files, (named - start) / 1e3,
	       (written - named) / 1e3, peak_mib(), before);
	af_sym_task_close(task);
	return af_stream_close(&stream) != 0;
}

int main(int argc, char **argv)
{
	static uint64_t pcs[SYMBOLS_PCS];

	if (argc == 4 && !strcmp(argv[1], "pcs"))
		return print_pcs(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	if (argc >= 4 && !strcmp(argv[1], "task"))
		return print_job((uint32_t)strtoul(argv[2], NULL, 10), argc - 3, argv + 3);
	size_t nr = argc == 3 ? read_pcs(pcs) : 0;
	if (nr && !strcmp(argv[1], "names"))
		return print_names(argv[2], pcs, nr);
	if (nr && !strcmp(argv[1], "time"))
		return print_times(argv[2], pcs, nr);
	fputs("usage: symbols pcs FILE NR | names FILE <PCS | time FILE <PCS | task NR FILE...\n",
	      stderr);
	return 2;
}
