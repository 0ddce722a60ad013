#include "inject/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/arch/arch.h"
#include "inject/elf_image.h"
#include "inject/maps.h"
#include "trace/event.h"

enum {
	MODULES_MAX = 4096,
	MODULES_PAGES = 4096, /* entries of the memo from page to module */
	MODULES_NOTHING = 16, /* mappings known to hold no module */
	MODULES_NOTHING_USES = 1024,
};

/* An entry never changes once it is ready; `seen` is the last generation it was found in. */
struct module_slot {
	struct af_module module;
	_Atomic uint32_t seen;
	atomic_bool ready;
};

/*
 * struct dl_find_object of glibc 2.35 and later, declared here so that a build on an older one
 * makes the same library. glibc writes the first five members; the rest is room it may grow into.
 */
struct modules_dl_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[16];
};

static struct {
	struct module_slot *slots;
	_Atomic uint32_t nr_taken;
	_Atomic uint32_t nr_ready; /* all below are */
	_Atomic uint32_t generation;
	/* page number << 28 | generation << 12 | slot: one word, so never seen torn. */
	_Atomic uint64_t pages[MODULES_PAGES];
	/* first page << 28 | pages, by maps only; they may become a module, so they do not stay. */
	_Atomic uint64_t nothing[MODULES_NOTHING];
	_Atomic uint32_t nothing_next, nothing_uses;
	void (*_Atomic met)(const struct af_module *m);
	int (*find_object)(void *pc, struct modules_dl_object *result);
	bool use_maps;
	uint64_t vdso, exe_header;
	char exe[sizeof((struct af_module *)0)->path];
} modules = {.generation = 1};

void af_modules_init(void)
{
	if (modules.slots)
		return;
	void *table = mmap(NULL, MODULES_MAX * sizeof(struct module_slot), PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		return;
	*(void **)&modules.find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	modules.vdso = getauxval(AT_SYSINFO_EHDR);
	/* The program headers follow the ELF header in every file that ld, gold or lld writes. */
	modules.exe_header = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
	ssize_t len = readlink("/proc/self/exe", modules.exe, sizeof modules.exe - 1);
	modules.exe[len > 0 ? len : 0] = 0;
	modules.slots = table;
}

void af_modules_watch(void (*met)(const struct af_module *m))
{
	atomic_store(&modules.met, met);
}

void af_modules_use_maps(bool maps)
{
	modules.use_maps = maps;
}

uint32_t af_modules_generation(void)
{
	return atomic_load_explicit(&modules.generation, memory_order_acquire);
}

static void nothing_forget(void)
{
	for (unsigned i = 0; i < MODULES_NOTHING; i++)
		atomic_store(&modules.nothing[i], 0);
}

void af_modules_forget(void)
{
	nothing_forget();
	atomic_fetch_add(&modules.generation, 1);
}

static uint32_t modules_taken(void)
{
	uint32_t nr = atomic_load_explicit(&modules.nr_taken, memory_order_acquire);

	return nr < MODULES_MAX ? nr : MODULES_MAX;
}

static bool slot_ready(const struct module_slot *slot)
{
	return atomic_load_explicit(&slot->ready, memory_order_acquire);
}

uint32_t af_modules_nr(void)
{
	uint32_t nr = atomic_load(&modules.nr_ready), taken = modules_taken();

	while (nr < taken && slot_ready(&modules.slots[nr])) {
		uint32_t before = nr++;
		/* Losing the race means that somebody counted it already. */
		atomic_compare_exchange_strong(&modules.nr_ready, &before, nr);
	}
	return nr;
}

const struct af_module *af_module_at(uint32_t i)
{
	return i < modules_taken() && slot_ready(&modules.slots[i]) ? &modules.slots[i].module
	                                                            : NULL;
}

static _Atomic uint64_t *modules_page(uint64_t pc)
{
	return &modules.pages[(pc >> 12) % MODULES_PAGES];
}

static uint64_t modules_page_word(uint64_t pc, uint32_t generation, uint32_t slot)
{
	return pc >> 12 << 28 | (uint64_t)(generation & 0xffff) << 12 | slot;
}

static bool module_holds(const struct af_module *m, uint64_t pc)
{
	return pc >= m->start && pc < m->end;
}

/* Copy a string that may not be there; true when it fits and is not empty. */
static bool modules_string(char *dst, size_t size, const char *src)
{
	uint64_t at = (uint64_t)src;
	size_t len = 0;

	while (len < size) {
		size_t part = 64 - (at + len) % 64;
		if (part > size - len)
			part = size - len;
		if (af_probed_read(dst + len, at + len, part))
			return false;
		if (memchr(dst + len, 0, part))
			return dst[0];
		len += part;
	}
	return false;
}

/* Name a file by the kernel's word, when the loader's is relative to who knows what. */
static bool modules_path_of(uint64_t pc, char *path, size_t size)
{
	struct af_maps maps;
	struct af_maps_entry entry;
	bool found = false;

	if (af_maps_open(&maps))
		return false;
	while (!found && af_maps_next(&maps, &entry, pc, path, size))
		found = pc >= entry.start && pc < entry.end;
	af_maps_close(&maps);
	return found;
}

static void module_check_deleted(struct af_module *m)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(m->path), tail = sizeof deleted - 1;

	if (len > tail && !strcmp(m->path + len - tail, deleted)) {
		m->path[len - tail] = 0;
		m->flags |= AF_MAPPING_DELETED;
	} else if (m->path[0] == '/' &&
	           af_arch_syscall(SYS_faccessat, AT_FDCWD, (long)m->path, F_OK, 0) == -ENOENT) {
		m->flags |= AF_MAPPING_DELETED;
	}
}

/* Fill @m from the ELF image whose header is mapped at @header; false: no code of it at @pc. */
static bool module_from_image(struct af_module *m, uint64_t header, uint64_t pc)
{
	struct af_elf_image image;

	if (af_elf_image_open(&image, header))
		return false;
	const Elf64_Phdr *code = af_elf_image_segment(&image, pc);
	if (!code || !(code->p_flags & PF_X))
		return false;
	m->elf_header = header;
	m->bias = image.bias;
	m->start = image.bias + code->p_vaddr;
	m->end = m->start + code->p_memsz;
	m->readable = code->p_flags & PF_R;

	const Elf64_Phdr *eh = af_elf_image_phdr(&image, PT_GNU_EH_FRAME);
	uint64_t hdr = eh ? image.bias + eh->p_vaddr : 0;
	const Elf64_Phdr *segment = eh ? af_elf_image_segment(&image, hdr) : NULL;
	if (segment && segment->p_flags & PF_R) {
		m->eh_frame_hdr = (const uint8_t *)hdr;
		m->eh_start = image.bias + segment->p_vaddr;
		/* What lies behind the file's bytes is not its tables. */
		m->eh_end = m->eh_start + (segment->p_filesz < segment->p_memsz ? segment->p_filesz
		                                                                : segment->p_memsz);
	}
	m->build_id_len = (uint8_t)af_elf_image_build_id(&image, m->build_id, sizeof m->build_id);
	if (af_elf_image_symbol(&image, "_PyEval_EvalFrameDefault", NULL))
		m->flags |= AF_MAPPING_PYTHON;
	return true;
}

/* JIT code is asked for again and again, and reading all mappings takes a tenth of a millisecond.
 */
static bool nothing_at(uint64_t pc)
{
	uint32_t uses = atomic_fetch_add_explicit(&modules.nothing_uses, 1, memory_order_relaxed);

	if (uses % MODULES_NOTHING_USES == 0)
		nothing_forget();
	for (unsigned i = 0; i < MODULES_NOTHING; i++) {
		uint64_t range = atomic_load(&modules.nothing[i]);
		if ((pc >> 12) - (range >> 28) < (range & 0xfffffff))
			return true;
	}
	return false;
}

static void nothing_note(const struct af_maps_entry *entry)
{
	uint64_t nr = (entry->end - entry->start) >> 12;
	unsigned i = atomic_fetch_add(&modules.nothing_next, 1) % MODULES_NOTHING;

	if (nr < 1 << 28 && entry->start >> 48 == 0)
		atomic_store(&modules.nothing[i], entry->start >> 12 << 28 | nr);
}

static bool module_by_maps(struct af_module *m, uint64_t pc)
{
	struct af_maps maps;
	struct af_maps_entry entry;
	uint64_t header = 0, inode = 0;
	bool found = false;

	if (nothing_at(pc) || af_maps_open(&maps))
		return false;
	while (!found && af_maps_next(&maps, &entry, pc, m->path, sizeof m->path)) {
		if (entry.offset == 0) {
			header = entry.start;
			inode = entry.inode;
		}
		found = pc >= entry.start && pc < entry.end;
	}
	af_maps_close(&maps);
	if (!found)
		return false;
	if (!entry.executable || !m->path[0] || inode != entry.inode || !header ||
	    !module_from_image(m, header, pc)) {
		nothing_note(&entry);
		return false;
	}
	if (header != modules.vdso)
		module_check_deleted(m);
	if (!strcmp(m->path, modules.exe))
		m->flags |= AF_MAPPING_MAIN;
	return true;
}

static bool module_by_loader(struct af_module *m, uint64_t pc)
{
	struct modules_dl_object o;
	char *name;

	if (modules.find_object((void *)pc, &o))
		return false;
	/* Of an executable with gaps between its segments only the one with @pc is told. */
	if (!module_from_image(m, (uint64_t)o.map_start, pc) &&
	    !module_from_image(m, modules.exe_header, pc))
		return module_by_maps(m, pc);
	if (m->elf_header == modules.vdso) {
		strcpy(m->path, "[vdso]");
		return true;
	}
	if (af_probed_read(&name, (uint64_t)&o.link_map->l_name, sizeof name))
		return false;
	if (modules_string(m->path, sizeof m->path, name)) {
		if (m->path[0] != '/')
			modules_path_of(pc, m->path, sizeof m->path);
	} else {
		/* The loader has no name for the executable. */
		m->flags |= AF_MAPPING_MAIN;
		strcpy(m->path, modules.exe);
	}
	module_check_deleted(m);
	return true;
}

static void modules_met(const struct af_module *m)
{
	void (*met)(const struct af_module *) = atomic_load(&modules.met);

	if (met)
		met(m);
}

static bool module_same(const struct af_module *a, const struct af_module *b)
{
	return a->start == b->start && a->end == b->end && a->elf_header == b->elf_header &&
	       a->flags == b->flags && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, sizeof a->build_id) && !strcmp(a->path, b->path);
}

/*
 * The slot that already says the same, back in use; or NULL. The newest slot of an address is what
 * readers of a trace go by, so one that another module has come over since does not count: what
 * was loaded, unloaded and loaded again in turn with something else is said again.
 */
static struct module_slot *modules_again(const struct af_module *m, uint32_t generation)
{
	for (uint32_t i = modules_taken(); i-- > 0;) {
		struct module_slot *slot = &modules.slots[i];
		const struct af_module *old = &slot->module;
		if (!slot_ready(slot) || old->start >= m->end || m->start >= old->end)
			continue;
		if (!module_same(old, m))
			return NULL;
		atomic_store(&slot->seen, generation);
		return slot;
	}
	return NULL;
}

/*
 * Take a slot of our own, then fill it: an append that interrupts another, or runs beside it, takes
 * the next one. At worst a module is there twice.
 */
static struct module_slot *modules_append(const struct af_module *m, uint32_t generation)
{
	uint32_t i = atomic_load(&modules.nr_taken);

	do {
		if (i >= MODULES_MAX)
			return NULL;
	} while (!atomic_compare_exchange_weak(&modules.nr_taken, &i, i + 1));
	modules.slots[i].module = *m;
	modules.slots[i].module.generation = generation;
	atomic_store(&modules.slots[i].seen, generation);
	atomic_store_explicit(&modules.slots[i].ready, true, memory_order_release);
	return &modules.slots[i];
}

static struct module_slot *modules_discover(uint64_t pc, uint32_t generation)
{
	struct af_module m;
	bool found;

	memset(&m, 0, sizeof m);
	if (modules.find_object && !modules.use_maps)
		found = module_by_loader(&m, pc);
	else
		found = module_by_maps(&m, pc);
	if (!found)
		return NULL;
	struct module_slot *slot = modules_again(&m, generation);
	if (!slot)
		slot = modules_append(&m, generation);
	if (slot)
		modules_met(&slot->module);
	return slot;
}

static struct module_slot *modules_known(uint64_t pc, uint32_t generation)
{
	for (uint32_t i = 0, nr = modules_taken(); i < nr; i++) {
		struct module_slot *slot = &modules.slots[i];
		if (slot_ready(slot) && module_holds(&slot->module, pc) &&
		    atomic_load(&slot->seen) == generation)
			return slot;
	}
	return NULL;
}

const struct af_module *af_module_find(uint64_t pc)
{
	if (!modules.slots || pc < 4096 || pc >> 48)
		return NULL;
	uint32_t generation = af_modules_generation();
	uint64_t word = atomic_load_explicit(modules_page(pc), memory_order_acquire);
	struct module_slot *slot = &modules.slots[word % MODULES_MAX];
	if (word && word == modules_page_word(pc, generation, word % MODULES_MAX) &&
	    module_holds(&slot->module, pc))
		return &slot->module;

	slot = modules_known(pc, generation);
	if (!slot)
		slot = modules_discover(pc, generation);
	if (!slot)
		return NULL;
	word = modules_page_word(pc, generation, (uint32_t)(slot - modules.slots));
	atomic_store_explicit(modules_page(pc), word, memory_order_release);
	return &slot->module;
}

uint64_t af_module_symbol(const struct af_module *m, const char *name, uint64_t *size)
{
	struct af_elf_image image;

	if (!m->elf_header || af_elf_image_open(&image, m->elf_header))
		return 0;
	return af_elf_image_symbol(&image, name, size);
}
