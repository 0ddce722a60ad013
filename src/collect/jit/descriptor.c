/* Finds __jit_debug_descriptor (GDB manual, "JIT Compilation Interface") in mapped files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/jit/private.h"
#include "unwind/elf_file.h"

enum {
	DESCRIPTOR_SYMBOLS = 1 << 20, /* of one table that are read */
	DESCRIPTOR_FILES = 1 << 14,   /* of all processes */
	DESCRIPTOR_AT_ONCE = 4,       /* files that one call reads: some 10 ms for a large one */
};

static uint64_t table_find(const struct af_elf *e, uint32_t type)
{
	Elf64_Shdr table, strings;
	Elf64_Sym s;

	for (uint32_t i = 1; i < e->nr_sections; i++) {
		if (!af_elf_section(e, i, &table) || table.sh_type != type ||
		    !af_elf_section(e, table.sh_link, &strings))
			continue;
		uint64_t nr = table.sh_size / af_elf_symbol_size(e);
		for (uint64_t k = 1; k < nr && k < DESCRIPTOR_SYMBOLS; k++) {
			af_elf_symbol(e, &table, k, &s);
			if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT || !s.st_shndx)
				continue;
			const char *name = af_elf_string(e, &strings, s.st_name);
			if (name && !strcmp(name, "__jit_debug_descriptor"))
				return s.st_value;
		}
	}
	return 0;
}

static struct jit_file file_read(const uint8_t *data, size_t size)
{
	struct jit_file file = {0};
	struct af_elf e;
	Elf64_Phdr p;

	if (af_elf_parse(&e, data, size) || e.is_32)
		return file;
	file.descriptor = table_find(&e, SHT_DYNSYM);
	if (!file.descriptor)
		file.descriptor = table_find(&e, SHT_SYMTAB);
	for (uint32_t i = 0; i < e.nr_segments; i++)
		if (af_elf_segment(&e, i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X)
			file.shift = p.p_vaddr - p.p_offset;
	return file;
}

/* Each file is read once, whoever maps it; NULL: it cannot be read. */
static const struct jit_file *file_of(struct af_jit_watch *w, int pid,
                                      const struct af_proc_mapping *m)
{
	bool fresh;
	struct af_file bytes;
	uint64_t device = (uint64_t)m->major << 32 | m->minor;

	if (w->nr_files == DESCRIPTOR_FILES)
		return NULL;
	uint64_t *slot = af_keys_at(&w->by_file, AF_KEY(device, m->inode), &fresh);
	if (!fresh)
		return &w->files[*slot];
	AF_GROW(w->files, w->nr_files, w->cap_files);
	*slot = w->nr_files++;
	w->files[*slot] = (struct jit_file){0};
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	scope_close int fd = af_open_regular_of((unsigned)pid, m->path);
	af_rights_restore(before);
	if (fd >= 0 && !af_file_map_fd(&bytes, fd)) {
		w->files[*slot] = file_read(bytes.data, bytes.size);
		af_file_unmap(&bytes);
	}
	return &w->files[*slot];
}

static void list_add(struct jit_watched *p, uint64_t descriptor)
{
	for (uint32_t i = 0; i < p->nr_lists; i++)
		if (p->lists[i].descriptor == descriptor)
			return;
	if (p->nr_lists < JIT_DESCRIPTORS)
		p->lists[p->nr_lists++] = (struct jit_list){.descriptor = descriptor};
}

bool jit_descriptors_find(struct af_jit_watch *w, struct jit_watched *p)
{
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	scope_fclose FILE *maps = af_proc_open_maps((unsigned)p->of.pid);
	af_rights_restore(before);
	struct af_proc_mapping m;
	scope_free char *line = NULL;
	size_t cap = 0;
	const uint32_t nr_before = w->nr_files;

	while (w->nr_files - nr_before < DESCRIPTOR_AT_ONCE &&
	       af_proc_mapping_next(maps, &line, &cap, &m)) {
		bool is_code = m.executable && m.inode && *m.path == '/';
		const struct jit_file *file = is_code ? file_of(w, p->of.pid, &m) : NULL;
		if (file && file->descriptor)
			list_add(p, m.start - m.offset - file->shift + file->descriptor);
	}
	return w->nr_files - nr_before < DESCRIPTOR_AT_ONCE;
}
