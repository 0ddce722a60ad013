/* Source lines of device instructions with their inlined calls, from line tables and DWARF. */
#include <stdlib.h>
#include <string.h>

#include "sym/device/code_object.h"
#include "sym/lines/source_path.h"

/*
 * .nv_debug_ptx_txt: lines that each end in a NUL. Where an object has several texts, lines do not
 * say which text they mean.
 */
static void code_read_texts(struct af_code *c)
{
	struct code_lines *l = &c->lines;
	Elf64_Shdr s;

	if (l->ptx.nr_programs != 1 || !af_elf_named(&c->elf, ".nv_debug_ptx_txt", &s) ||
	    s.sh_type == SHT_NOBITS)
		return;
	const char *at = (const char *)af_elf_bytes(&c->elf, &s), *end = at + s.sh_size, *nul;
	for (; at < end && (nul = memchr(at, 0, (size_t)(end - at))); at = nul + 1) {
		AF_GROW(l->texts, l->nr_texts, l->cap_texts);
		l->texts[l->nr_texts++] = at;
	}
}

static void code_read_lines(struct af_code *c)
{
	struct code_lines *l = &c->lines;

	if (l->read)
		return;
	l->read = true;
	if (!c->elf.data)
		return;
	code_read_full(c);
	if (c->elf.machine != CODE_EM_CUDA)
		return;
	af_line_table_read(&l->source, &c->elf, ".debug_line");
	af_line_table_read(&l->ptx, &c->elf, ".nv_debug_line_sass");
	l->paths = af_xcalloc(l->source.nr_files, sizeof *l->paths);
	code_read_texts(c);
	if (!af_elf_named(&c->elf, ".debug_str", &l->names))
		l->names.sh_type = SHT_NOBITS;
}

void code_lines_close(struct code_lines *l)
{
	af_line_table_free(&l->source);
	af_line_table_free(&l->ptx);
	if (l->full_open)
		af_lines_close(&l->full);
	free(l->texts);
	free(l->paths);
	free(l->copy);
	free(l->bases);
}

/* The path of @name in @directory, kept in @c. */
static const char *code_path(struct af_code *c, const char *directory, const char *name)
{
	struct af_buf b = {0};

	af_source_path(&b, directory, name);
	const char *path = af_arena_strdup(&c->strings, b.data, b.len);
	af_buf_free(&b);
	return path;
}

/* The path of file @i of the line table. */
static const char *code_row_path(struct af_code *c, uint32_t i)
{
	const struct af_line_file *f = &c->lines.source.files[i];

	if (!c->lines.paths[i] && f->name && *f->name)
		c->lines.paths[i] = code_path(c, f->directory, f->name);
	return c->lines.paths[i];
}

/* The same for a file of libdw, which keeps one string for each file. */
static const char *code_full_path(struct af_code *c, const struct af_lines_frame *f)
{
	if (!f->file || !*f->file)
		return NULL;
	uint64_t *known = af_map_at(&c->paths, (uintptr_t)f->file, NULL);
	if (!*known)
		*known = (uintptr_t)code_path(c, f->directory, f->file);
	return (const char *)(uintptr_t)*known;
}

static struct af_code_frame code_row_frame(struct af_code *c, const struct af_line_row *row)
{
	struct af_code_frame frame = {.line = row->line};

	if (row->file != AF_LINE_NONE)
		frame.file = code_row_path(c, row->file);
	if (row->caller != AF_LINE_NONE)
		frame.function = code_shown(c, af_elf_string(&c->elf, &c->lines.names, row->name));
	return frame;
}

/* The chain of rows through which @row was inlined; the last row belongs to no inlined function. */
static uint32_t code_chain(struct af_code *c, const struct af_line_row *row,
                           struct af_code_frame *frames, uint32_t most)
{
	uint32_t nr = 0;

	for (;;) {
		const struct af_line_row *caller =
		    row->caller == AF_LINE_NONE ? NULL : &c->lines.source.rows[row->caller];

		if (nr + 1 < most || !caller)
			frames[nr++] = code_row_frame(c, row);
		if (!caller)
			return nr;
		row = caller;
	}
}

/* Frames by .debug_info of the instruction at @address of @section. */
static uint32_t code_full(struct af_code *c, uint32_t section, uint64_t address,
                          struct af_code_frame *frames, uint32_t most)
{
	struct af_lines_frame found[AF_CODE_FRAMES];
	struct code_lines *l = &c->lines;

	if (!l->full_open)
		return 0;
	if (most > AF_CODE_FRAMES)
		most = AF_CODE_FRAMES;
	uint32_t nr =
	    af_lines_find(&l->full, address + (l->bases ? l->bases[section] : 0), found, most);
	for (uint32_t i = 0; i < nr; i++)
		frames[i] = (struct af_code_frame){
		    .function = code_shown(c, found[i].name),
		    .file = code_full_path(c, &found[i]),
		    .line = found[i].line,
		};
	return nr;
}

uint32_t af_code_frames(struct af_code *c, uint32_t i, uint64_t offset,
                        struct af_code_frame *frames, uint32_t most)
{
	uint64_t holder;
	int innermost = af_code_innermost(c, i, offset, &holder);
	uint32_t nr;

	if (innermost < 0 || !most)
		return 0;
	if (c->nr_insns)
		return code_listing_frames(c, i, offset, frames, most);
	code_read_lines(c);
	const struct code_function *f = &c->functions[innermost];
	uint64_t address = f->known.start + holder;
	const struct af_line_row *row = af_line_table_find(&c->lines.source, f->section, address);

	if (row && row->caller != AF_LINE_NONE) {
		nr = code_chain(c, row, frames, most);
	} else {
		nr = code_full(c, f->section, address, frames, most);
		if (row && !nr)
			nr = 1;
		/* If an address has several rows, the last counts; libdw takes another. */
		if (row)
			frames[0] = (struct af_code_frame){
			    .function = frames[0].function,
			    .file = code_row_frame(c, row).file,
			    .line = row->line,
			};
	}
	if (!nr && (row = af_line_table_find(&c->lines.ptx, f->section, address))) {
		nr = 1;
		frames[0] = (struct af_code_frame){.file = AF_CODE_PTX, .line = row->line};
	}
	if (nr)
		frames[nr - 1].function = af_code_function(c, (uint32_t)innermost)->shown;
	return nr;
}

const char *af_code_ptx(struct af_code *c, uint32_t line)
{
	code_read_lines(c);
	return line && line <= c->lines.nr_texts ? c->lines.texts[line - 1] : NULL;
}
