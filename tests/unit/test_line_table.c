/*
 * Line programs of every version, as the compiler here writes them: this program's own rows, and
 * those of line_programs.c, which is compiled as DWARF 2, 3, 4 and 5, as libdw has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/fs.h"
#include "sym/lines/table.h"

int lines_dwarf2(int x);
int lines_dwarf3(int x);
int lines_dwarf4(int x);
int lines_dwarf5(int x);

struct row {
	uint64_t address;
	uint32_t line;
	bool end;
	const char *file; /* last part */
};

struct rows {
	struct row *rows;
	uint32_t nr, cap;
};

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static int row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->file, y->file);
}

static void rows_add(struct rows *r, const struct row *row)
{
	AF_GROW(r->rows, r->nr, r->cap);
	r->rows[r->nr++] = *row;
}

/*
 * libdw sorts an end before other rows of its address, and then calls the last row of a unit an
 * end, too, whatever it was.
 */
static bool is_end(const struct rows *r, uint32_t first, const struct row *row)
{
	for (uint32_t i = r->nr; i-- > first && r->rows[i].address == row->address;)
		if (r->rows[i].end)
			return false;
	return row->end;
}

static void rows_of_libdw(struct rows *r, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		uint32_t first = r->nr;
		Dwarf_Lines *lines;
		size_t nr;

		if (dwarf_getsrclines(&die, &lines, &nr))
			continue;
		for (size_t i = 0; i < nr; i++) {
			Dwarf_Line *line = dwarf_onesrcline(lines, i);
			struct row row = {.file = last_part(dwarf_linesrc(line, NULL, NULL))};
			int number;

			dwarf_lineaddr(line, &row.address);
			dwarf_lineno(line, &number);
			dwarf_lineendsequence(line, &row.end);
			row.line = (uint32_t)number;
			if (i + 1 == nr)
				row.end = is_end(r, first, &row);
			rows_add(r, &row);
		}
	}
}

static void rows_of_table(struct rows *r, const struct af_line_table *t)
{
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		const struct af_line_row *row = &t->rows[i];

		rows_add(r, &(struct row){
				.address = row->address,
				.line = row->line,
				.end = row->end,
				.file = row->file == AF_LINE_NONE
		                            ? ""
		                            : last_part(t->files[row->file].name),
			    });
		assert_int_equal(row->caller, AF_LINE_NONE);
	}
}

static void rows_are_libdws(void **state)
{
	struct rows ours = {0}, theirs = {0};
	struct af_line_table t;
	struct af_file f;
	struct af_elf e;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);

	(void)state;
	assert_non_null(dwarf);
	assert_int_equal(lines_dwarf2(1) + lines_dwarf3(1) + lines_dwarf4(1) + lines_dwarf5(1), 12);
	rows_of_libdw(&theirs, dwarf);
	assert_int_equal(af_file_map(&f, "/proc/self/exe", NULL), 0);
	assert_int_equal(af_elf_parse(&e, f.data, f.size), 0);
	af_line_table_read(&t, &e, ".debug_line");
	rows_of_table(&ours, &t);

	assert_true(theirs.nr > 200 && t.nr_programs >= 5);
	assert_int_equal(ours.nr, theirs.nr);
	qsort(ours.rows, ours.nr, sizeof *ours.rows, row_order);
	qsort(theirs.rows, theirs.nr, sizeof *theirs.rows, row_order);
	for (uint32_t i = 0; i < ours.nr; i++)
		if (row_order(&ours.rows[i], &theirs.rows[i]))
			fail_msg("row %u: 0x%llx %s:%u, and libdw has 0x%llx %s:%u", i,
			         (unsigned long long)ours.rows[i].address, ours.rows[i].file,
			         ours.rows[i].line, (unsigned long long)theirs.rows[i].address,
			         theirs.rows[i].file, theirs.rows[i].line);
	/* No relocation says which section they are of: an address alone finds none. */
	assert_null(af_line_table_find(&t, 0, ours.rows[0].address));

	af_line_table_free(&t);
	af_file_unmap(&f);
	free(ours.rows);
	free(theirs.rows);
	dwarf_end(dwarf);
	close(fd);
}

static void no_such_section(void **state)
{
	struct af_line_table t;
	struct af_file f;
	struct af_elf e;

	(void)state;
	assert_int_equal(af_file_map(&f, "/proc/self/exe", NULL), 0);
	assert_int_equal(af_elf_parse(&e, f.data, f.size), 0);
	af_line_table_read(&t, &e, ".debug_line_of_another");
	assert_int_equal(t.nr_rows, 0);
	assert_null(af_line_table_find(&t, 1, 0));
	af_line_table_free(&t);
	af_file_unmap(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_libdws),
	    cmocka_unit_test(no_such_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
