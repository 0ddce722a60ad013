#include "sym/lines/header.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/arena.h"

enum {
	LINE_FILES = 1 << 20, /* more than any program has */
	LINE_FORMATS = 255,   /* as many as the count can say */
	LINE_DWARF64 = 0xffffffff,
};

static void line_add_directory(struct line_header *h, const char *name)
{
	if (h->nr_directories == LINE_FILES)
		return;
	AF_GROW(h->directories, h->nr_directories, h->cap_directories);
	h->directories[h->nr_directories++] = name;
}

static void line_add_file(const struct line_header *h, struct af_line_table *t, const char *name,
                          uint64_t directory)
{
	if (t->nr_files == LINE_FILES)
		return;
	AF_GROW(t->files, t->nr_files, t->cap_files);
	t->files[t->nr_files++] = (struct af_line_file){
	    .directory = directory < h->nr_directories ? h->directories[directory] : NULL,
	    .name = name,
	};
}

bool line_header_file(const struct line_header *h, struct af_cursor *c, struct af_line_table *t)
{
	const char *name = af_cursor_string(c);

	if (!name || !*name)
		return false;
	uint64_t directory = af_cursor_uleb(c);
	af_cursor_uleb(c);
	af_cursor_uleb(c);
	if (!c->bad)
		line_add_file(h, t, name, directory);
	return !c->bad;
}

/* Directory 0 is where the compiler ran, which only .debug_info says. */
static void line_header_v2(struct line_header *h, struct af_cursor *c, struct af_line_table *t)
{
	const char *name;

	line_add_directory(h, NULL);
	while ((name = af_cursor_string(c)) && *name)
		line_add_directory(h, name);
	h->file_base = 1;
	while (line_header_file(h, c, t))
		;
}

/* A value of @form: a number, or a string when *@text is set. False when the form is not known. */
static bool line_form(struct af_cursor *c, uint64_t form, unsigned offset_size,
                      const struct line_strings *s, uint64_t *number, const char **text)
{
	switch (form) {
	case DW_FORM_string:
		*text = af_cursor_string(c);
		return !c->bad;
	case DW_FORM_strp:
		*text = af_elf_string(s->elf, &s->str, af_cursor_uint(c, offset_size));
		return !c->bad;
	case DW_FORM_line_strp:
		*text = af_elf_string(s->elf, &s->line_str, af_cursor_uint(c, offset_size));
		return !c->bad;
	case DW_FORM_udata:
		*number = af_cursor_uleb(c);
		return !c->bad;
	case DW_FORM_data1:
		*number = af_cursor_uint(c, 1);
		return !c->bad;
	case DW_FORM_data2:
		*number = af_cursor_uint(c, 2);
		return !c->bad;
	case DW_FORM_data4:
		*number = af_cursor_uint(c, 4);
		return !c->bad;
	case DW_FORM_data8:
		*number = af_cursor_uint(c, 8);
		return !c->bad;
	case DW_FORM_data16:
		return af_cursor_bytes(c, 16);
	case DW_FORM_block:
		return af_cursor_bytes(c, af_cursor_uleb(c));
	}
	return false;
}

/* Directories, or files, of DWARF 5: how an entry is made up, then the entries. */
static bool line_entries(struct line_header *h, struct af_cursor *c, struct af_line_table *t,
                         const struct line_strings *s, unsigned offset_size, bool files)
{
	uint64_t types[LINE_FORMATS], forms[LINE_FORMATS];
	unsigned nr_formats = (unsigned)af_cursor_uint(c, 1);

	for (unsigned i = 0; i < nr_formats; i++) {
		types[i] = af_cursor_uleb(c);
		forms[i] = af_cursor_uleb(c);
	}
	uint64_t nr = af_cursor_uleb(c);
	if (!nr_formats)
		return !c->bad && !nr;
	for (uint64_t i = 0; i < nr && !c->bad && i < LINE_FILES; i++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (unsigned k = 0; k < nr_formats; k++) {
			uint64_t number = 0;
			const char *text = NULL;

			if (!line_form(c, forms[k], offset_size, s, &number, &text))
				return false;
			if (types[k] == DW_LNCT_path)
				name = text;
			else if (types[k] == DW_LNCT_directory_index)
				directory = number;
		}
		if (files)
			line_add_file(h, t, name, directory);
		else
			line_add_directory(h, name);
	}
	return !c->bad;
}

/* The length that a program begins with; *@offset_size tells DWARF 64 from 32. */
static bool line_length(struct af_cursor *c, struct af_cursor *part, unsigned *offset_size)
{
	uint64_t length = af_cursor_uint(c, 4);

	*offset_size = 4;
	if (length == LINE_DWARF64) {
		length = af_cursor_uint(c, 8);
		*offset_size = 8;
	}
	part->at = af_cursor_bytes(c, length);
	part->end = c->at;
	part->bad = false;
	return !c->bad;
}

bool line_header_read(struct line_header *h, struct af_cursor *c, struct af_line_table *t,
                      const struct line_strings *strings)
{
	struct af_cursor part, tables;
	unsigned offset_size;

	*h = (struct line_header){.first_file = t->nr_files};
	if (!line_length(c, &part, &offset_size))
		return false;
	h->version = (uint16_t)af_cursor_uint(&part, 2);
	if (h->version < 2 || h->version > 5)
		return false;
	if (h->version == 5)
		af_cursor_uint(&part, 2); /* sizes of an address and of a segment selector */
	uint64_t length = af_cursor_uint(&part, offset_size);
	tables.at = af_cursor_bytes(&part, length);
	tables.end = part.at;
	tables.bad = part.bad;
	if (part.bad)
		return false;
	h->program = part;
	h->min_length = (uint8_t)af_cursor_uint(&tables, 1);
	if (h->version >= 4)
		af_cursor_uint(&tables, 1); /* instructions in a bundle: 1 in all such code */
	af_cursor_uint(&tables, 1);         /* default of is_stmt */
	h->line_base = (int8_t)af_cursor_uint(&tables, 1);
	h->line_range = (uint8_t)af_cursor_uint(&tables, 1);
	h->opcode_base = (uint8_t)af_cursor_uint(&tables, 1);
	if (!h->opcode_base || !h->line_range)
		return false;
	h->lengths = af_cursor_bytes(&tables, h->opcode_base - 1u);
	if (tables.bad)
		return false;
	if (h->version < 5)
		line_header_v2(h, &tables, t);
	else
		return line_entries(h, &tables, t, strings, offset_size, false) &&
		       line_entries(h, &tables, t, strings, offset_size, true);
	return true;
}
