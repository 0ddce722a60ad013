#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/map.h"
#include "sym/elf_file.h"
#include "sym/fde.h"
#include "sym/lines.h"
#include "sym/part.h"
#include "sym/sym.h"
#include "sym/symtab.h"

enum { MODULE_VDSO_MAX = 64 << 10 };

struct af_sym_module {
	enum af_symbol_source reason; /* why there are no answers, 0 when there are */
	struct af_file file, debug_file;
	struct af_elf elf, debug; /* debug.data is NULL without a separate debug file */
	const char *name;         /* last part of the path */
	struct af_symtab symbols;
	struct af_fde_table fdes;
	struct af_lines lines;
	bool lines_open, lines_tried;
	struct af_arena strings;
	struct af_map names;   /* name as in the file → const char * as people know it */
	struct af_map files;   /* file name as in the debug information → const char * */
	struct af_map unnamed; /* start of a function without a symbol → const char * */
	struct af_map wholes;  /* start of what has no symbol → start of its function */
};

/* This machine's own vDSO, which the kernel has mapped in us as in everybody. */
static int module_map_vdso(struct af_sym_module *m)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;

	if (!image)
		return -1;
	memcpy(&h, image, sizeof h);
	size_t size = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	return size > MODULE_VDSO_MAX ? -1 : af_elf_parse(&m->elf, image, size);
}

static int module_map(struct af_sym_module *m, const char *path, const char *root)
{
	if (!strcmp(path, "[vdso]"))
		return module_map_vdso(m);
	if (*path != '/')
		return -1;
	struct af_buf full = {0};
	af_buf_str(&full, root ? root : "");
	af_buf_str(&full, path);
	int rc = af_file_map(&m->file, full.data, NULL);
	af_buf_free(&full);
	return rc ? rc : af_elf_parse(&m->elf, m->file.data, m->file.size);
}

static bool module_has(const struct af_elf *e, const char *section)
{
	Elf64_Shdr s;

	return af_elf_named(e, section, &s) && s.sh_type != SHT_NOBITS && s.sh_size;
}

/* Take @path for the separate debug file when it carries the build-id of the module. */
static bool module_try_debug(struct af_sym_module *m, const char *path, const uint8_t *id,
                             uint32_t len)
{
	uint8_t other[AF_ELF_BUILD_ID_MAX];

	if (af_file_map(&m->debug_file, path, NULL))
		return false;
	if (!af_elf_parse(&m->debug, m->debug_file.data, m->debug_file.size) &&
	    af_elf_build_id(&m->debug, other) == len && !memcmp(other, id, len))
		return true;
	af_file_unmap(&m->debug_file);
	m->debug = (struct af_elf){0};
	return false;
}

/* Where gdb looks (GDB manual, "Separate Debug Files"), for files that have a build-id. */
static void module_find_debug(struct af_sym_module *m, const char *path, const char *root)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];
	uint32_t len = af_elf_build_id(&m->elf, id);
	struct af_buf b = {0};
	Elf64_Shdr s;

	if (len < 2 || *path != '/')
		return;
	if (!root)
		root = "";
	af_buf_fmt(&b, "%s/usr/lib/debug/.build-id/%02x/", root, id[0]);
	for (uint32_t i = 1; i < len; i++)
		af_buf_fmt(&b, "%02x", id[i]);
	af_buf_str(&b, ".debug");
	bool found = module_try_debug(m, b.data, id, len);

	const char *link = NULL;
	if (!found && af_elf_named(&m->elf, ".gnu_debuglink", &s))
		link = af_elf_string(&m->elf, &s, 0);
	if (link && *link && !strchr(link, '/')) {
		static const char *const places[] = {"%s%.*s%s", "%s%.*s.debug/%s",
		                                     "%s/usr/lib/debug%.*s%s"};
		int directory = (int)(strrchr(path, '/') + 1 - path);

		for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++) {
			b.len = 0;
			af_buf_fmt(&b, places[i], root, directory, path, link);
			found = module_try_debug(m, b.data, id, len);
		}
	}
	af_buf_free(&b);
}

/* Where the last part of the first @len bytes of @path begins. */
static size_t module_last_part(const char *path, size_t len)
{
	const char *slash = len ? memrchr(path, '/', len) : NULL;

	return slash ? (size_t)(slash - path) + 1 : 0;
}

struct af_sym_module *af_sym_module_open(const char *path, const uint8_t *build_id,
                                         uint32_t build_id_len, const char *root)
{
	struct af_sym_module *m = af_xcalloc(1, sizeof *m);
	uint8_t id[AF_ELF_BUILD_ID_MAX];

	if (module_map(m, path, root)) {
		m->reason = AF_SYMBOL_NO_FILE;
		return m;
	}
	if (build_id_len &&
	    (af_elf_build_id(&m->elf, id) != build_id_len || memcmp(id, build_id, build_id_len))) {
		m->reason = AF_SYMBOL_BUILD_ID;
		return m;
	}
	if (!module_has(&m->elf, ".symtab") || !module_has(&m->elf, ".debug_info"))
		module_find_debug(m, path, root);
	af_symtab_add(&m->symbols, &m->elf);
	if (m->debug.data)
		af_symtab_add(&m->symbols, &m->debug);
	af_plt_add(&m->symbols, &m->elf);
	af_symtab_build(&m->symbols);
	af_fde_open(&m->fdes, &m->elf);
	size_t len = strlen(path);
	m->name = af_arena_strdup(&m->strings, path, len) + module_last_part(path, len);
	return m;
}

void af_sym_module_close(struct af_sym_module *m)
{
	if (!m)
		return;
	if (m->lines_open)
		af_lines_close(&m->lines);
	af_symtab_free(&m->symbols);
	af_file_unmap(&m->debug_file);
	af_file_unmap(&m->file);
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

/* Take ".", ".." and doubled slashes out of @path, in place and without asking the disk. */
static void module_clean_path(char *path)
{
	size_t root = *path == '/', out = root, len;

	for (const char *part = path + root; *part; part += len + (part[len] == '/')) {
		len = strcspn(part, "/");
		if (!len || (len == 1 && *part == '.'))
			continue;
		if (len == 2 && !memcmp(part, "..", 2)) {
			size_t last = module_last_part(path, out);

			if (out > root && !(out - last == 2 && !memcmp(path + last, "..", 2))) {
				out = last > root ? last - 1 : root;
				continue;
			}
			if (root)
				continue;
		}
		if (out > root)
			path[out++] = '/';
		memmove(path + out, part, len);
		out += len;
	}
	path[out] = 0;
}

static const char *module_file(struct af_sym_module *m, const struct af_lines_frame *frame)
{
	if (!frame->file || !*frame->file)
		return NULL;
	uint64_t *known = af_map_at(&m->files, (uintptr_t)frame->file, NULL);
	if (!*known) {
		struct af_buf b = {0};

		if (*frame->file != '/' && frame->directory && *frame->directory) {
			af_buf_str(&b, frame->directory);
			af_buf_char(&b, '/');
		}
		af_buf_str(&b, frame->file);
		module_clean_path(b.data);
		*known = (uintptr_t)af_arena_strdup(&m->strings, b.data, strlen(b.data));
		af_buf_free(&b);
	}
	return (const char *)(uintptr_t)*known;
}

/* Lines of a mapped file. libelf unpacks compressed sections by changing our copy of the headers.
 */
static bool module_open_lines(struct af_sym_module *m, const struct af_file *f)
{
	return f->data && !mprotect((void *)f->data, f->size, PROT_READ | PROT_WRITE) &&
	       !af_lines_open(&m->lines, f->data, f->size);
}

static struct af_lines *module_lines(struct af_sym_module *m)
{
	if (!m->lines_tried) {
		m->lines_tried = true;
		m->lines_open =
		    module_open_lines(m, &m->file) || module_open_lines(m, &m->debug_file);
	}
	return m->lines_open ? &m->lines : NULL;
}

/* A name for the function that starts at @start, of what is known: file and address. */
static const char *module_unnamed(struct af_sym_module *m, uint64_t start)
{
	uint64_t *known = af_map_at(&m->unnamed, start, NULL);

	if (!*known) {
		struct af_buf b = {0};

		af_buf_fmt(&b, "%s!0x%llx", m->name, (unsigned long long)start);
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
		*known = af_part_whole(&m->fdes, start, &whole) ? whole : start;
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
	answer->symbol_offset = vaddr - start;
	answer->frames[answer->nr++] = (struct af_sym_frame){
	    .function = s ? module_function(m, s->name) : module_unnamed(m, whole)};
}

void af_sym_lookup(struct af_sym_module *m, uint64_t vaddr, struct af_sym_answer *answer)
{
	struct af_lines_frame frames[AF_SYM_INLINES];
	struct af_lines *lines;

	answer->nr = 0;
	answer->symbol_offset = 0;
	answer->source = m->reason;
	if (m->reason)
		return;
	answer->source = AF_SYMBOL_NO_SYMBOL;
	lines = module_lines(m);
	if (lines)
		answer->nr = af_lines_find(lines, vaddr, frames, AF_SYM_INLINES);
	if (answer->nr)
		answer->source = AF_SYMBOL_DWARF;
	for (uint32_t i = 0; i < answer->nr; i++)
		answer->frames[i] = (struct af_sym_frame){
		    .function = module_function(m, frames[i].name),
		    .file = module_file(m, &frames[i]),
		    .line = frames[i].line,
		};

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
	answer->symbol_offset = vaddr - s->start;
}
