#include "inject/walk/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "inject/arch/arch.h"
#include "inject/walk/elf_image.h"
#include "inject/walk/maps.h"
#include "inject/walk/modules_private.h"
#include "trace/layout.h"

enum {
	MODULES_MAX = 4096,
	MODULES_PAGES = 4096, /* entries of the memo from page to module */
	MODULES_JIT = 512,    /* entries that may be code without a file */
};

/* An entry never changes once it is ready; `seen` is the last epoch it was found in. */
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
	_Atomic uint32_t nr_jit;
	_Atomic uint32_t epoch;
	/* page number << 28 | epoch << 12 | slot: one word, so never seen torn. */
	_Atomic uint64_t pages[MODULES_PAGES];
	void (*_Atomic met)(const struct af_module *m);
	int (*find_object)(void *pc, struct modules_dl_object *result);
	bool use_maps;
	uint64_t exe_header;
} modules = {.epoch = 1};

void af_modules_init(void)
{
	if (modules.slots)
		return;
	void *table = af_pages(MODULES_MAX * sizeof(struct module_slot), MAP_NORESERVE);
	if (!table)
		return;
	*(void **)&modules.find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	/* The program headers follow the ELF header in every file that ld, gold or lld writes. */
	modules.exe_header = getauxval(AT_PHDR) - sizeof(Elf64_Ehdr);
	modules_maps_init();
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

uint32_t af_modules_epoch(void)
{
	return atomic_load_explicit(&modules.epoch, memory_order_acquire);
}

void af_modules_forget(void)
{
	modules_maps_forget();
	atomic_fetch_add(&modules.epoch, 1);
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

static uint64_t modules_page_word(uint64_t pc, uint32_t epoch, uint32_t slot)
{
	return pc >> 12 << 28 | (uint64_t)(epoch & 0xffff) << 12 | slot;
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

static bool module_by_loader(struct af_module *m, uint64_t pc)
{
	struct modules_dl_object o;
	char *name;

	if (modules.find_object((void *)pc, &o))
		return false;
	/* If an executable has gaps between its segments, only the segment with @pc is reported. */
	if (!modules_from_image(m, (uint64_t)o.map_start, pc) &&
	    !modules_from_image(m, modules.exe_header, pc))
		return false;
	if (m->elf_header == modules_vdso()) {
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
		strcpy(m->path, modules_exe());
	}
	modules_check_deleted(m);
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
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->elf_header == b->elf_header && a->flags == b->flags &&
	       a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, sizeof a->build_id) && !strcmp(a->path, b->path);
}

/*
 * The slot that already says the same, back in use; or NULL. The newest slot of an address is what
 * readers of a trace go by, so one that another module has come over since does not count: what
 * was loaded, unloaded and loaded again in turn with something else is reported again.
 */
static struct module_slot *modules_again(const struct af_module *m, uint32_t epoch)
{
	for (uint32_t i = modules_taken(); i-- > 0;) {
		struct module_slot *slot = &modules.slots[i];
		const struct af_module *old = &slot->module;
		if (!slot_ready(slot) || old->start >= m->end || m->start >= old->end)
			continue;
		if (!module_same(old, m))
			return NULL;
		atomic_store(&slot->seen, epoch);
		return slot;
	}
	return NULL;
}

/*
 * Take a slot of our own, then fill it: an append that interrupts another, or runs beside it, takes
 * the next one. At worst a module is there twice.
 */
static struct module_slot *modules_append(const struct af_module *m, uint32_t epoch)
{
	uint32_t i = atomic_load(&modules.nr_taken);

	do {
		if (i >= MODULES_MAX)
			return NULL;
	} while (!atomic_compare_exchange_weak(&modules.nr_taken, &i, i + 1));
	modules.slots[i].module = *m;
	modules.slots[i].module.epoch = epoch;
	atomic_store(&modules.slots[i].seen, epoch);
	atomic_store_explicit(&modules.slots[i].ready, true, memory_order_release);
	return &modules.slots[i];
}

/* Code without a file is in the table only to be written to the trace, as far as there is room. */
static void modules_note_jit(const struct af_module *m, uint32_t epoch)
{
	if (!modules_again(m, epoch) && atomic_fetch_add(&modules.nr_jit, 1) < MODULES_JIT)
		modules_append(m, epoch);
}

static struct module_slot *modules_discover(uint64_t pc, uint32_t epoch)
{
	bool ask_loader = modules.find_object && !modules.use_maps;
	struct af_module m;

	memset(&m, 0, sizeof m);
	if (!(ask_loader && module_by_loader(&m, pc)) && !modules_by_maps(&m, pc, ask_loader))
		return NULL;
	if (m.flags & AF_MAPPING_JIT) {
		modules_note_jit(&m, epoch);
		return NULL;
	}
	struct module_slot *slot = modules_again(&m, epoch);
	if (!slot)
		slot = modules_append(&m, epoch);
	if (slot)
		modules_met(&slot->module);
	return slot;
}

static struct module_slot *modules_known(uint64_t pc, uint32_t epoch)
{
	for (uint32_t i = 0, nr = modules_taken(); i < nr; i++) {
		struct module_slot *slot = &modules.slots[i];
		if (slot_ready(slot) && module_holds(&slot->module, pc) &&
		    !(slot->module.flags & AF_MAPPING_JIT) && atomic_load(&slot->seen) == epoch)
			return slot;
	}
	return NULL;
}

const struct af_module *af_module_find(uint64_t pc)
{
	if (!modules.slots || pc < 4096 || pc >> 48)
		return NULL;
	uint32_t epoch = af_modules_epoch();
	uint64_t word = atomic_load_explicit(modules_page(pc), memory_order_acquire);
	struct module_slot *slot = &modules.slots[word % MODULES_MAX];
	if (word && word == modules_page_word(pc, epoch, word % MODULES_MAX) &&
	    module_holds(&slot->module, pc))
		return &slot->module;

	slot = modules_known(pc, epoch);
	if (!slot)
		slot = modules_discover(pc, epoch);
	if (!slot)
		return NULL;
	word = modules_page_word(pc, epoch, (uint32_t)(slot - modules.slots));
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
