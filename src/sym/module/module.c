#include "sym/module/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/pages.h"
#include "base/sha256.h"
#include "sym/elf/bounds_name.h"
#include "sym/elf/fde.h"
#include "sym/elf/part.h"
#include "sym/elf/place.h"
#include "sym/elf/symtab.h"
#include "sym/elf/unpack.h"
#include "sym/lines/lines.h"
#include "sym/lines/source_path.h"
#include "unwind/elf_file.h"

struct af_sym_module {
	enum af_symbol_source reason;     /* why there are no answers, 0 when there are */
	struct af_found file;             /* of the module; also the vDSO, which is no file */
	struct af_found debug;            /* separate debug file */
	struct af_found alternate[2];     /* what dwz took out of the two above */
	struct af_elf mini;               /* MiniDebugInfo */
	uint8_t *mini_data, *unpacked[4]; /* malloc'd: file, debug, and their alternates */
	const char *name;                 /* last part of the path */
	bool is_image;                    /* @file is a copy in pages of its own */
	bool ready;                       /* the tables below are built */
	struct af_symtab symbols;
	struct af_cfi fdes;
	struct af_lines lines;
	bool lines_open, lines_tried;
	struct af_arena strings;
	struct af_map names;   /* name as in the file → const char * as people know it */
	struct af_map files;   /* file name as in the debug information → const char * */
	struct af_map unnamed; /* start of a function without a symbol → const char * */
	struct af_map wholes;  /* start of what has no symbol → start of its function */
};

static bool module_has(const struct af_elf *e, const char *section)
{
	Elf64_Shdr s;

	return af_elf_named(e, section, &s) && s.sh_type != SHT_NOBITS && s.sh_size;
}

/* Where the last part of the first @len bytes of @path begins. */
static size_t module_last_part(const char *path, size_t len)
{
	const char *slash = len ? memrchr(path, '/', len) : NULL;

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The file and what belongs to it; 0 or why there is none. */
static enum af_symbol_source module_files(struct af_sym_module *m, const char *path,
                                          bool trust_path, const uint8_t *id, uint32_t id_len,
                                          const struct af_finder *finder)
{
	if (!strcmp(path, "[vdso]")) {
		uint8_t other[AF_ELF_BUILD_ID_MAX];

		if (af_elf_vdso(&m->file.elf))
			return AF_SYMBOL_NO_FILE;
		if (id_len &&
		    (af_elf_build_id(&m->file.elf, other) != id_len || memcmp(other, id, id_len)))
			return AF_SYMBOL_BUILD_ID;
		return 0;
	}
	int rc = af_finder_file(finder, &m->file, path, trust_path, id, id_len);
	/* The debug file has the names too. */
	if (rc)
		return af_finder_debug_by_id(finder, &m->debug, id, id_len) ? 0
		       : rc == -ESTALE                                      ? AF_SYMBOL_BUILD_ID
		                                                            : AF_SYMBOL_NO_FILE;
	bool lines =
	    module_has(&m->file.elf, ".debug_info") || module_has(&m->file.elf, ".zdebug_info");
	if (!lines || !module_has(&m->file.elf, ".symtab"))
		af_finder_debug(finder, &m->debug, &m->file.elf, path);
	if (lines)
		af_finder_alternate(finder, &m->alternate[0], &m->file.elf, m->file.path);
	return 0;
}

struct af_sym_module *af_sym_module_find(const char *path, bool trust_path, const uint8_t *build_id,
                                         uint32_t build_id_len, const struct af_finder *finder)
{
	struct af_sym_module *m = af_xcalloc(1, sizeof *m);
	size_t len = strlen(path);

	m->name = af_arena_strdup(&m->strings, path, len) + module_last_part(path, len);
	m->reason = module_files(m, path, trust_path, build_id, build_id_len, finder);
	if (m->debug.elf.data)
		af_finder_alternate(finder, &m->alternate[1], &m->debug.elf, m->debug.path);
	return m;
}

struct af_sym_module *af_sym_module_image(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = size ? af_pages(size, 0) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, bytes, size);
	int rc = af_elf_place(copy, size);
	struct af_sym_module *m = af_xcalloc(1, sizeof *m);
	m->name = "jit";
	m->is_image = true;
	m->file.file = (struct af_file){.data = copy, .size = size};
	if (rc != -ENOEXEC && !af_elf_parse(&m->file.elf, copy, size))
		return m;
	af_sym_module_close(m);
	return NULL;
}

static void module_key_add(struct af_sha256 *s, const struct af_found *f)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	const uint64_t sizes[] = {f->elf.size, f->elf.data ? af_elf_build_id(&f->elf, id) : 0};

	af_sha256_add(s, sizes, sizeof sizes);
	af_sha256_add(s, id, sizes[1]);
	af_sha256_add(s, f->path ? f->path : "", f->path ? strlen(f->path) + 1 : 1);
}

/* The name is a digest: nobody can make another file fit it, as with paths and sizes. */
uint64_t af_sym_module_key(const struct af_sym_module *m, uint8_t build_id[AF_ELF_BUILD_ID_MAX],
                           uint32_t *len)
{
	const struct af_elf *e = m->file.elf.data ? &m->file.elf : &m->debug.elf;
	uint8_t digest[AF_SHA256_BYTES];
	struct af_sha256 s;
	uint64_t key;

	*len = e->data && !m->reason ? af_elf_build_id(e, build_id) : 0;
	if (!*len)
		return 0;
	af_sha256_init(&s);
	af_sha256_add(&s, AFLAME_VERSION, sizeof AFLAME_VERSION);
	module_key_add(&s, &m->file);
	module_key_add(&s, &m->debug);
	module_key_add(&s, &m->alternate[0]);
	module_key_add(&s, &m->alternate[1]);
	af_sha256_end(&s, digest);
	memcpy(&key, digest, sizeof key);
	return key | 1;
}

uint64_t af_sym_module_found_at(const struct af_sym_module *m, const char *path)
{
	if (m->reason || !m->file.path || strcmp(m->file.path, path) != 0)
		return 0;
	return m->file.file.size + m->debug.file.size + m->alternate[0].file.size +
	       m->alternate[1].file.size;
}

const void *af_sym_module_bytes(const struct af_sym_module *m, size_t *size)
{
	*size = m->file.elf.size;
	return m->reason ? NULL : m->file.elf.data;
}

struct af_sym_module *af_sym_module_open(const char *path, const uint8_t *build_id,
                                         uint32_t build_id_len, const char *root)
{
	return af_sym_module_find(path, true, build_id, build_id_len,
	                          &(struct af_finder){.root = root});
}

/* MiniDebugInfo is of use only where nobody has stripped less. */
static void module_open_mini(struct af_sym_module *m)
{
	size_t size;

	if (module_has(&m->file.elf, ".symtab") || m->debug.elf.data ||
	    af_unpack_minidebug(&m->file.elf, &m->mini_data, &size))
		return;
	if (af_elf_parse(&m->mini, m->mini_data, size))
		m->mini = (struct af_elf){0};
}

/* Build what lookups need; not before the first of them. */
static void module_ready(struct af_sym_module *m)
{
	if (m->ready)
		return;
	m->ready = true;
	if (m->file.elf.data) {
		module_open_mini(m);
		af_symtab_add(&m->symbols, &m->file.elf);
	}
	if (m->debug.elf.data)
		af_symtab_add(&m->symbols, &m->debug.elf);
	if (m->mini.data)
		af_symtab_add(&m->symbols, &m->mini);
	if (m->file.elf.data && !m->debug.elf.data && !module_has(&m->file.elf, ".symtab"))
		af_go_add(&m->symbols, &m->file.elf);
	if (m->file.elf.data) {
		af_plt_add(&m->symbols, &m->file.elf);
		af_cfi_open(&m->fdes, &m->file.elf, AF_CFI_INDEX_MAX, NULL);
	}
	af_symtab_build(&m->symbols);
}

void af_sym_module_close(struct af_sym_module *m)
{
	if (!m)
		return;
	if (m->lines_open)
		af_lines_close(&m->lines);
	af_symtab_free(&m->symbols);
	af_cfi_close(&m->fdes);
	af_found_close(&m->alternate[0]);
	af_found_close(&m->alternate[1]);
	af_found_close(&m->debug);
	if (m->is_image) {
		munmap((void *)m->file.file.data, m->file.file.size);
		m->file.file = (struct af_file){0};
	}
	af_found_close(&m->file);
	for (size_t i = 0; i < sizeof m->unpacked / sizeof *m->unpacked; i++)
		free(m->unpacked[i]);
	free(m->mini_data);
	af_map_free(&m->names);
	af_map_free(&m->files);
	af_map_free(&m->unnamed);
	af_map_free(&m->wholes);
	af_arena_free(&m->strings);
	free(m);
}

static const char *module_function(struct af_sym_module *m, const char *name)
{
	if (!name || !*name)
		return NULL;
	/* Names lie in the mapped file, so their place tells them apart. */
	uint64_t *known = af_map_at(&m->names, (uintptr_t)name, NULL);
	if (!*known) {
		char *function = af_function_name(name);
		*known = (uintptr_t)af_arena_strdup(&m->strings, function, strlen(function));
		free(function);
	}
	return (const char *)(uintptr_t)*known;
}

/* @file of the debug information, with its @directory. */
static const char *module_file(struct af_sym_module *m, const char *directory, const char *file)
{
	if (!file || !*file)
		return NULL;
	uint64_t *known = af_map_at(&m->files, (uintptr_t)file, NULL);
	if (!*known) {
		struct af_buf b = {0};

		af_source_path(&b, directory, file);
		*known = (uintptr_t)af_arena_strdup(&m->strings, b.data, strlen(b.data));
		af_buf_free(&b);
	}
	return (const char *)(uintptr_t)*known;
}

/*
 * The bytes of @f for libelf, which unpacks compressed sections by changing our copy of the
 * headers; where it cannot unpack them we do.
 */
static bool module_dwarf_bytes(const struct af_found *f, uint8_t **unpacked,
                               struct af_lines_image *image)
{
	if (!f->elf.data)
		return false;
	int rc = af_unpack_zstd(&f->elf, unpacked, &image->size);
	image->data = rc ? f->elf.data : *unpacked;
	if (!rc)
		return true;
	image->size = f->elf.size;
	return rc == -ENODATA && f->file.data &&
	       !mprotect((void *)f->file.data, f->file.size, PROT_READ | PROT_WRITE);
}

/* Lines of @f, whose alternate is in @alternate. */
static bool module_open_lines(struct af_sym_module *m, const struct af_found *f,
                              const struct af_found *alternate, uint8_t *unpacked[2])
{
	struct af_lines_image image, other;

	if (!module_dwarf_bytes(f, &unpacked[0], &image))
		return false;
	bool two = module_dwarf_bytes(alternate, &unpacked[1], &other);
	return !af_lines_open(&m->lines, &image, two ? &other : NULL);
}

static struct af_lines *module_lines(struct af_sym_module *m)
{
	if (!m->lines_tried) {
		m->lines_tried = true;
		m->lines_open = module_open_lines(m, &m->file, &m->alternate[0], &m->unpacked[0]) ||
		                module_open_lines(m, &m->debug, &m->alternate[1], &m->unpacked[2]);
	}
	return m->lines_open ? &m->lines : NULL;
}

/* A name for the function that starts at @start, of what is known: file and address. */
static const char *module_unnamed(struct af_sym_module *m, uint64_t start)
{
	uint64_t *known = af_map_at(&m->unnamed, start, NULL);

	if (!*known) {
		struct af_buf b = {0};

		af_bounds_name(&b, m->name, start);
		*known = (uintptr_t)af_arena_strdup(&m->strings, b.data, b.len);
		af_buf_free(&b);
	}
	return (const char *)(uintptr_t)*known;
}

/* The start of the function that what starts at @start is a part of, or is. */
static uint64_t module_whole(struct af_sym_module *m, uint64_t start)
{
	uint64_t whole;
	uint64_t *known = af_map_at(&m->wholes, start, NULL);

	if (!*known)
		*known = af_part_whole(&m->fdes, &m->file.elf, start, &whole) ? whole : start;
	return *known;
}

/* Without a symbol the unwind table still tells functions apart. */
static void module_answer_start(struct af_sym_module *m, uint64_t vaddr,
                                struct af_sym_answer *answer)
{
	uint64_t start;

	if (answer->nr || !af_fde_find(&m->fdes, vaddr, &start))
		return;

	uint64_t whole = module_whole(m, start);
	const struct af_symtab_entry *s =
	    whole == start ? NULL : af_symtab_find(&m->symbols, whole);
	answer->source = s ? s->source : AF_SYMBOL_FDE;
	answer->symbol_known = true;
	answer->symbol_offset = vaddr - start;
	answer->frames[answer->nr++] = (struct af_sym_frame){
	    .function = s ? module_function(m, s->name) : module_unnamed(m, whole)};
}

/* Fill @answer with what the debug information has about @vaddr. */
static void module_answer_lines(struct af_sym_module *m, struct af_lines *lines, uint64_t vaddr,
                                struct af_sym_answer *answer)
{
	struct af_lines_frame frames[AF_SYM_INLINES];

	answer->nr = af_lines_find(lines, vaddr, frames, AF_SYM_INLINES);
	if (answer->nr)
		answer->source = AF_SYMBOL_DWARF;
	for (uint32_t i = 0; i < answer->nr; i++)
		answer->frames[i] = (struct af_sym_frame){
		    .function = module_function(m, frames[i].name),
		    .file = module_file(m, frames[i].directory, frames[i].file),
		    .line = frames[i].line,
		    .source = module_file(m, frames[i].directory, frames[i].source),
		    .source_line = frames[i].source_line,
		};
}

/* A function without an entry of its own, as in assembly, is where its first line is. */
static void module_answer_first(struct af_sym_module *m, struct af_lines *lines, uint64_t start,
                                struct af_sym_frame *frame)
{
	struct af_lines_frame row;

	if (frame->source || !lines || !af_lines_row(lines, start, &row) || !row.line)
		return;
	frame->source = module_file(m, row.directory, row.file);
	frame->source_line = frame->source ? row.line : 0;
}

void af_sym_lookup(struct af_sym_module *m, uint64_t vaddr, struct af_sym_answer *answer)
{
	struct af_lines *lines;

	answer->nr = 0;
	answer->symbol_known = false;
	answer->symbol_offset = 0;
	answer->source = m->reason;
	if (m->reason)
		return;
	module_ready(m);
	answer->source = AF_SYMBOL_NO_SYMBOL;
	lines = module_lines(m);
	if (lines)
		module_answer_lines(m, lines, vaddr, answer);

	/* The symbol table has the last word on the function itself: it knows its linkage name. */
	const struct af_symtab_entry *s = af_symtab_find(&m->symbols, vaddr);
	if (!s) {
		module_answer_start(m, vaddr, answer);
		return;
	}
	if (!answer->nr) {
		answer->source = s->source;
		answer->frames[answer->nr++] = (struct af_sym_frame){0};
	}
	answer->frames[answer->nr - 1].function = module_function(m, s->name);
	answer->symbol_known = true;
	answer->symbol_offset = vaddr - s->start;
	module_answer_first(m, lines, s->start, &answer->frames[answer->nr - 1]);
}
