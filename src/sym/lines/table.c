#include "sym/lines/table.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/arena.h"
#include "sym/lines/header.h"
#include "sym/lines/names.h"

enum {
	LINE_ROWS = 32 << 20, /* a GiB of them; cuts a program that is made to be long */
	/*
	 * NVIDIA's: operands are, as ULEB128, the number of the row that calls (rows of a sequence
	 * count from 1; 0: not inlined) and where in .debug_str the name of the called function is.
	 */
	LINE_INLINED_CALL = 0x90,
};

struct line_reader {
	struct af_line_table *table;
	struct line_header header;
	const uint8_t *start; /* of the section, which relocations count from */
	struct af_elf_relocation *relocations;
	uint32_t nr_relocations, cap_relocations;
	struct af_line_row row; /* the state machine's registers */
	uint32_t first;         /* row of the sequence */
	bool placed;            /* the section is known */
	uint32_t *programs;     /* the first row of each */
	uint32_t nr_programs, cap_programs;
};

static int line_place_order(const void *a, const void *b)
{
	const struct af_elf_relocation *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void line_add_place(void *arg, const struct af_elf_relocation *relocation)
{
	struct line_reader *r = arg;

	AF_GROW(r->relocations, r->nr_relocations, r->cap_relocations);
	r->relocations[r->nr_relocations++] = *relocation;
}

static void line_reset(struct line_reader *r)
{
	r->row = (struct af_line_row){.file = 1, .line = 1, .caller = AF_LINE_NONE};
	r->first = r->table->nr_rows;
	r->placed = false;
}

static void line_add_row(struct line_reader *r)
{
	struct af_line_table *t = r->table;
	const struct line_header *h = &r->header;
	struct af_line_row row = r->row;
	uint64_t file = (uint64_t)row.file - h->file_base;

	if (t->nr_rows == LINE_ROWS)
		return;
	row.file =
	    file < t->nr_files - h->first_file ? h->first_file + (uint32_t)file : AF_LINE_NONE;
	if (!r->placed)
		row.section = 0;
	AF_GROW(t->rows, t->nr_rows, t->cap_rows);
	t->rows[t->nr_rows++] = row;
}

static void line_set_address(struct line_reader *r, struct af_cursor *c)
{
	uint64_t offset = (uint64_t)(c->at - r->start);
	uint64_t size = (uint64_t)(c->end - c->at);
	struct af_elf_relocation key = {.offset = offset};
	const struct af_elf_relocation *p =
	    r->nr_relocations
		? bsearch(&key, r->relocations, r->nr_relocations, sizeof key, line_place_order)
		: NULL;

	r->row.address = af_cursor_uint(c, size < 8 ? (unsigned)size : 8);
	r->placed = p;
	if (p) {
		r->row.address = p->value + (p->in_place ? r->row.address : 0);
		r->row.section = p->section;
	}
}

static void line_inlined_call(struct line_reader *r, struct af_cursor *c)
{
	uint64_t caller = af_cursor_uleb(c), name = af_cursor_uleb(c);

	/* Only an earlier row of the sequence, so that a chain of them ends. */
	r->row.caller = caller && caller <= r->table->nr_rows - r->first
	                    ? r->first + (uint32_t)caller - 1
	                    : AF_LINE_NONE;
	r->row.name = name < AF_LINE_NONE ? (uint32_t)name : AF_LINE_NONE;
}

static void line_extended(struct line_reader *r, struct af_cursor *c)
{
	uint64_t len = af_cursor_uleb(c);
	struct af_cursor part = {.at = af_cursor_bytes(c, len)};

	part.end = c->at;
	if (c->bad || !len)
		return;
	switch (af_cursor_uint(&part, 1)) {
	case DW_LNE_end_sequence:
		r->row.end = true;
		line_add_row(r);
		line_reset(r);
		break;
	case DW_LNE_set_address:
		line_set_address(r, &part);
		break;
	case DW_LNE_define_file:
		line_header_file(&r->header, &part, r->table);
		break;
	case LINE_INLINED_CALL:
		line_inlined_call(r, &part);
		break;
	}
}

static void line_standard(struct line_reader *r, struct af_cursor *c, uint8_t opcode)
{
	const struct line_header *h = &r->header;

	switch (opcode) {
	case DW_LNS_copy:
		line_add_row(r);
		break;
	case DW_LNS_advance_pc:
		r->row.address += af_cursor_uleb(c) * h->min_length;
		break;
	case DW_LNS_advance_line:
		r->row.line += (uint32_t)af_cursor_sleb(c);
		break;
	case DW_LNS_set_file:
		r->row.file = (uint32_t)af_cursor_uleb(c);
		break;
	case DW_LNS_const_add_pc:
		r->row.address +=
		    (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_length;
		break;
	case DW_LNS_fixed_advance_pc:
		r->row.address += af_cursor_uint(c, 2);
		break;
	default:
		for (unsigned i = h->lengths[opcode - 1]; i; i--)
			af_cursor_uleb(c);
	}
}

static void line_run(struct line_reader *r)
{
	struct line_header *h = &r->header;
	struct af_cursor *c = &h->program;

	line_reset(r);
	while (c->at < c->end && !c->bad) {
		uint8_t opcode = (uint8_t)af_cursor_uint(c, 1);

		if (opcode >= h->opcode_base) {
			unsigned special = opcode - h->opcode_base;

			r->row.address += (uint64_t)(special / h->line_range) * h->min_length;
			r->row.line += (uint32_t)(h->line_base + (int)(special % h->line_range));
			line_add_row(r);
		} else if (opcode) {
			line_standard(r, c, opcode);
		} else {
			line_extended(r, c);
		}
	}
}

/* By section and address; of several rows for one the end of others, then as they were written. */
static int line_row_order(const void *a, const void *b, void *arg)
{
	const struct af_line_row *rows = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct af_line_row *x = &rows[i], *y = &rows[k];

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	return i < k ? -1 : i > k;
}

void af_line_table_read(struct af_line_table *t, const struct af_elf *e, const char *name)
{
	struct line_strings strings = {.elf = e};
	struct line_reader r = {.table = t};
	Elf64_Shdr s;

	*t = (struct af_line_table){0};
	uint32_t number = af_elf_number(e, name);
	if (!af_elf_section(e, number, &s) || s.sh_type == SHT_NOBITS)
		return;
	if (!af_elf_named(e, ".debug_str", &strings.str))
		strings.str.sh_type = SHT_NOBITS;
	if (!af_elf_named(e, ".debug_line_str", &strings.line_str))
		strings.line_str.sh_type = SHT_NOBITS;
	af_elf_relocations(e, number, line_add_place, &r);
	AF_SORT(r.relocations, r.nr_relocations, line_place_order);
	r.start = af_elf_bytes(e, &s);
	struct af_cursor c = {.at = r.start, .end = r.start + s.sh_size};
	while (c.at < c.end && !c.bad) {
		AF_GROW(r.programs, r.nr_programs, r.cap_programs);
		r.programs[r.nr_programs++] = t->nr_rows;
		if (line_header_read(&r.header, &c, t, &strings))
			line_run(&r);
		free(r.header.directories);
	}
	line_names_place(t, e, &strings.str, r.programs, r.nr_programs);
	t->nr_programs = r.nr_programs;
	free(r.programs);
	free(r.relocations);
	if (!t->nr_rows)
		return;
	t->order = af_xcalloc(t->nr_rows, sizeof *t->order);
	for (uint32_t i = 0; i < t->nr_rows; i++)
		t->order[i] = i;
	qsort_r(t->order, t->nr_rows, sizeof *t->order, line_row_order, t->rows);
}

void af_line_table_free(struct af_line_table *t)
{
	free(t->rows);
	free(t->files);
	free(t->order);
	*t = (struct af_line_table){0};
}

const struct af_line_row *af_line_table_find(const struct af_line_table *t, uint32_t section,
                                             uint64_t address)
{
	uint32_t low = 0, high = t->nr_rows;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct af_line_row *row = &t->rows[t->order[middle]];

		if (row->section < section || (row->section == section && row->address <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct af_line_row *row = &t->rows[t->order[low - 1]];
	return row->section == section && !row->end && section ? row : NULL;
}
