#include "inject/core/libc_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/core/interpose.h"
#include "inject/walk/elf_image.h"

/* ASan's runtime ends the program where it is not the first library, as with us it cannot be. */
INTERPOSE const char *__asan_default_options(void);
INTERPOSE const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

/* This library, where the loader put it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct range {
	uintptr_t low, high;
};

struct imports {
	/* libc and what it is made of: an import that one of them defines is libc's. */
	struct range parts[8];
	unsigned nr_parts;
	void *handle; /* of libc */
	const ElfW(Sym) * symbols;
	const char *names;
};

static bool is_part(const char *path)
{
	static const char *const names[] = {"libc.so.", "libpthread.so.", "libdl.so.", "ld-linux",
	                                    "libaflame.so"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static int part_poll(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct imports *in = arg;
	struct range r = {UINTPTR_MAX, 0};

	(void)size;
	if (!is_part(info->dlpi_name) || in->nr_parts == sizeof in->parts / sizeof *in->parts)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + p->p_vaddr, high = low + p->p_memsz;
		if (p->p_type != PT_LOAD)
			continue;
		r.low = low < r.low ? low : r.low;
		r.high = high > r.high ? high : r.high;
	}
	in->parts[in->nr_parts++] = r;
	return 0;
}

static bool libc_has(const struct imports *in, uintptr_t addr)
{
	for (unsigned i = 0; i < in->nr_parts; i++)
		if (addr >= in->parts[i].low && addr < in->parts[i].high)
			return true;
	return false;
}

static uintptr_t dynamic_value(int64_t tag)
{
	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

/* glibc has relocated what is an address; another loader might not. */
static const void *dynamic_table(int64_t tag)
{
	uintptr_t base = (uintptr_t)&__ehdr_start, at = dynamic_value(tag);

	return at ? (const void *)(at < base ? base + at : at) : NULL;
}

static bool is_of_memory(const char *name)
{
	return !strcmp(name, "malloc") || !strcmp(name, "calloc") || !strcmp(name, "realloc") ||
	       !strcmp(name, "free");
}

/* Where an import is to go, 0 when it stays. */
static uintptr_t import_target(const struct imports *in, const ElfW(Rela) * r, uintptr_t now)
{
	const ElfW(Sym) *s = in->symbols + ELF64_R_SYM(r->r_info);
	const char *name = in->names + s->st_name;
	unsigned type = ELF64_R_TYPE(r->r_info);

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || s->st_shndx ||
	    ELF64_ST_TYPE(s->st_info) != STT_FUNC || !now || libc_has(in, now) ||
	    is_of_memory(name))
		return 0;
	uintptr_t target = (uintptr_t)dlsym(in->handle, name);
	return libc_has(in, target) ? target : 0;
}

/* The loader has made the imports read-only. */
static void imports_protect(int prot)
{
	const ElfW(Phdr) *p = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t low = (uintptr_t)&__ehdr_start + p[i].p_vaddr, high = low + p[i].p_memsz;
		if (p[i].p_type == PT_GNU_RELRO)
			mprotect((void *)(low & ~4095ul), (high & ~4095ul) - (low & ~4095ul), prot);
	}
}

/* The table of imports is no variable: to AddressSanitizer it lies between two of them. */
__attribute__((no_sanitize("address"))) static void imports_bind(const struct imports *in,
                                                                 int64_t table, int64_t table_size)
{
	const ElfW(Rela) *r = dynamic_table(table);
	bool open = false;

	for (size_t nr = r ? dynamic_value(table_size) / sizeof *r : 0; nr; nr--, r++) {
		uintptr_t *at = (uintptr_t *)((uintptr_t)&__ehdr_start + r->r_offset);
		uintptr_t target = import_target(in, r, *at);
		if (!target)
			continue;
		if (!open)
			imports_protect(PROT_READ | PROT_WRITE);
		open = true;
		*at = target;
	}
	if (open)
		imports_protect(PROT_READ);
}

static int libc_poll(struct dl_phdr_info *info, size_t size, void *image)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	return slash && !strncmp(slash + 1, "libc.so.", 8) &&
	       !af_elf_image_open(image, info->dlpi_addr);
}

/*
 * Not by dlopen: sanitizers in a program call before libc has begun, and dlopen would begin it,
 * with no environment. valgrind remarks on the reads of an image, so these come last.
 */
void *af_libc_find(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);
	struct imports in = {0};
	struct af_elf_image libc;
	uint64_t found = 0;

	dl_iterate_phdr(part_poll, &in);
	if (!libc_has(&in, (uintptr_t)next) && dl_iterate_phdr(libc_poll, &libc))
		found = af_elf_image_symbol(&libc, name, NULL);
	return found ? (void *)found : next;
}

void af_libc_calls_bind(void)
{
	struct imports in = {.handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD),
	                     .symbols = dynamic_table(DT_SYMTAB),
	                     .names = dynamic_table(DT_STRTAB)};

	if (!in.handle || !in.symbols || !in.names)
		return;
	dl_iterate_phdr(part_poll, &in);
	imports_bind(&in, DT_JMPREL, DT_PLTRELSZ);
	imports_bind(&in, DT_RELA, DT_RELASZ);
	dlclose(in.handle);
}
