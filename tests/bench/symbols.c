/*
 * For tests/bench/symbols: addresses of a file's functions, and how long it takes to name them.
 *
 *	symbols pcs FILE NR		print NR addresses, spread over the code
 *	symbols names FILE <PCS		print "FUNCTION\nFILE:LINE" for each, innermost, as
 *addr2line -fC symbols time FILE <PCS		print times, in CPU time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "sym/elf_file.h"
#include "sym/sym.h"
#include "sym/symtab.h"

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

/* Every function gets its share by size, in an order that has nothing to do with addresses. */
static int print_pcs(const char *path, unsigned nr)
{
	struct af_symtab t;
	struct af_file f;

	if (table_open(&t, &f, path) || !t.ranges.nr_segments)
		return 1;
	uint64_t low = t.ranges.starts[0], high = t.ranges.starts[t.ranges.nr_segments - 1];
	for (uint64_t x = 1; nr;) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* Marsaglia, Xorshift RNGs, 2003 */
		uint64_t vaddr = low + x % (high - low);
		const struct af_symtab_entry *s = af_symtab_find(&t, vaddr);
		if (!s || s->source == AF_SYMBOL_PLT || !s->size)
			continue;
		printf("0x%llx\n", (unsigned long long)vaddr);
		nr--;
	}
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

int main(int argc, char **argv)
{
	static uint64_t pcs[SYMBOLS_PCS];

	if (argc == 4 && !strcmp(argv[1], "pcs"))
		return print_pcs(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	size_t nr = argc == 3 ? read_pcs(pcs) : 0;
	if (nr && !strcmp(argv[1], "names"))
		return print_names(argv[2], pcs, nr);
	if (nr && !strcmp(argv[1], "time"))
		return print_times(argv[2], pcs, nr);
	fputs("usage: symbols pcs FILE NR | names FILE <PCS | time FILE <PCS\n", stderr);
	return 2;
}
