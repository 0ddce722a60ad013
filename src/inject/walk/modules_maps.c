/*
 * Code that the loader does not know: mapped by the program itself (V8 maps its builtins from the
 * executable a second time, and moves them), or made at run time. The kernel's list of mappings has
 * all of it, and takes a tenth of a millisecond to read; so it is read when an address is in no
 * module, what was none is remembered for a while, and no more than a small part of the run goes
 * into it. What is put off is not lost: a mapping that is met later names addresses seen before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/arch/arch.h"
#include "inject/walk/elf_image.h"
#include "inject/walk/maps.h"
#include "inject/walk/modules_private.h"
#include "trace/layout.h"
#include "trace/write/stream.h"

enum {
	MAPS_NOTHING = 32, /* mappings known to hold no module */
	MAPS_NOTHING_USES = 1024,
	MAPS_PART = 64,               /* one part of so many of the run may go into reading */
	MAPS_AHEAD_NS = 20 * 1000000, /* and so much more, as programs map most as they begin */
	MAPS_HEADERS = 2048,          /* bytes of a file that is not mapped from its beginning */
};

static struct {
	/* first page << 28 | pages; they may become a module, so they do not stay. */
	_Atomic uint64_t nothing[MAPS_NOTHING];
	_Atomic uint32_t nothing_next, nothing_uses;
	uint64_t begin_ns;
	_Atomic uint64_t spent_ns;
	uint64_t vdso;
	char exe[sizeof((struct af_module *)0)->path];
	void (*_Atomic looked)(bool put_off);
} by_maps;

void modules_maps_init(void)
{
	ssize_t len = readlink("/proc/self/exe", by_maps.exe, sizeof by_maps.exe - 1);

	by_maps.exe[len > 0 ? len : 0] = 0;
	by_maps.vdso = getauxval(AT_SYSINFO_EHDR);
	by_maps.begin_ns = af_now_ns();
}

void modules_maps_forget(void)
{
	for (unsigned i = 0; i < MAPS_NOTHING; i++)
		atomic_store(&by_maps.nothing[i], 0);
}

const char *modules_exe(void)
{
	return by_maps.exe;
}

uint64_t modules_vdso(void)
{
	return by_maps.vdso;
}

void modules_check_deleted(struct af_module *m)
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

/* @code, a segment of @image, is mapped at @start. */
static void module_fill(struct af_module *m, const struct af_elf_image *image,
                        const Elf64_Phdr *code)
{
	m->elf_header = image->header;
	m->bias = image->bias;
	m->start = image->bias + code->p_vaddr;
	m->end = m->start + code->p_memsz;
	m->readable = code->p_flags & PF_R;

	const Elf64_Phdr *eh = af_elf_image_phdr(image, PT_GNU_EH_FRAME);
	uint64_t hdr = eh ? image->bias + eh->p_vaddr : 0;
	const Elf64_Phdr *segment = eh ? af_elf_image_segment(image, hdr) : NULL;
	if (segment && segment->p_flags & PF_R) {
		m->eh_frame_hdr = (const uint8_t *)hdr;
		m->eh_start = image->bias + segment->p_vaddr;
		/* Bytes behind the end of the file are not its tables. */
		m->eh_end = m->eh_start + (segment->p_filesz < segment->p_memsz ? segment->p_filesz
		                                                                : segment->p_memsz);
	}
	m->build_id_len = (uint8_t)af_elf_image_build_id(image, m->build_id, sizeof m->build_id);
	if (af_elf_image_symbol(image, "_PyEval_EvalFrameDefault", NULL))
		m->flags |= AF_MAPPING_PYTHON;
}

bool modules_from_image(struct af_module *m, uint64_t header, uint64_t pc)
{
	struct af_elf_image image;

	if (af_elf_image_open(&image, header))
		return false;
	const Elf64_Phdr *code = af_elf_image_segment(&image, pc);
	if (!code || !(code->p_flags & PF_X))
		return false;
	module_fill(m, &image, code);
	return true;
}

/* The segment of code that the file has at @offset. */
static const Elf64_Phdr *segment_at_offset(const Elf64_Phdr *ph, unsigned nr, uint64_t offset)
{
	for (unsigned i = 0; i < nr; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X &&
		    offset >= (ph[i].p_offset & ~4095ull) &&
		    offset < ph[i].p_offset + ph[i].p_filesz)
			return &ph[i];
	return NULL;
}

/*
 * Code of the image at @header that lies elsewhere than its headers have it. Where it does not, @m
 * is left without an end: behind a segment, to the end of its page, is no code.
 */
static bool module_moved(struct af_module *m, uint64_t header, const struct af_maps_entry *entry)
{
	struct af_elf_image image;

	if (!header || af_elf_image_open(&image, header))
		return false;
	const Elf64_Phdr *code = segment_at_offset(image.phdrs, image.nr_phdrs, entry->offset);
	if (!code)
		return false;
	module_fill(m, &image, code);
	m->moved = entry->start - (image.bias + code->p_vaddr + entry->offset - code->p_offset);
	m->bias += m->moved;
	m->start = entry->start;
	m->end = m->moved ? entry->end : 0;
	return true;
}

/* Code of a file that is not mapped from its beginning: of ELF files the headers are read. */
static void module_of_file(struct af_module *m, const struct af_maps_entry *entry)
{
	_Alignas(8) uint8_t bytes[MAPS_HEADERS];
	const Elf64_Ehdr *e = (const void *)bytes;
	const Elf64_Phdr *code = NULL;

	m->start = entry->start;
	m->end = entry->end;
	m->bias = entry->start - entry->offset;
	long fd = af_arch_syscall(SYS_openat, AT_FDCWD, (long)m->path,
	                          O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	memset(bytes, 0, sizeof *e);
	long len = af_arch_syscall(SYS_read, fd, (long)bytes, sizeof bytes, 0);
	af_arch_syscall(SYS_close, fd, 0, 0, 0);
	if (len < (long)sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phoff % 8 || e->e_phoff > (uint64_t)len ||
	    e->e_phnum > ((uint64_t)len - e->e_phoff) / sizeof *code)
		return;
	code = segment_at_offset((const void *)(bytes + e->e_phoff), e->e_phnum, entry->offset);
	if (code)
		m->bias += code->p_offset - code->p_vaddr;
}

static bool nothing_at(uint64_t pc)
{
	uint32_t uses = atomic_fetch_add_explicit(&by_maps.nothing_uses, 1, memory_order_relaxed);

	if (uses % MAPS_NOTHING_USES == 0)
		modules_maps_forget();
	for (unsigned i = 0; i < MAPS_NOTHING; i++) {
		uint64_t range = atomic_load_explicit(&by_maps.nothing[i], memory_order_relaxed);
		if ((pc >> 12) - (range >> 28) < (range & 0xfffffff))
			return true;
	}
	return false;
}

static void nothing_note(const struct af_maps_entry *entry)
{
	uint64_t nr = (entry->end - entry->start) >> 12;
	unsigned i = atomic_fetch_add(&by_maps.nothing_next, 1) % MAPS_NOTHING;

	if (nr < 1 << 28 && entry->start >> 48 == 0)
		atomic_store(&by_maps.nothing[i], entry->start >> 12 << 28 | nr);
}

/* Where the file of @of is mapped from its beginning, first; 0 for nowhere. */
static uint64_t maps_header(const struct af_maps_entry *of)
{
	struct af_maps_entry entry;
	struct af_maps maps;
	uint64_t header = 0;

	if (!of->inode || af_maps_open(&maps))
		return 0;
	while (!header && af_maps_next(&maps, &entry, 0, NULL, 0))
		if (!entry.offset && entry.inode == of->inode && entry.device == of->device)
			header = entry.start;
	af_maps_close(&maps);
	return header;
}

/*
 * Find the mapping that holds @pc, with its name, and the one before it that has the beginning of
 * the same file, as the loader lays them out: 0 for none.
 */
static bool maps_search(uint64_t pc, struct af_maps_entry *entry, uint64_t *header, char *name,
                        size_t size)
{
	struct af_maps_entry first = {0};
	struct af_maps maps;
	bool found = false;

	if (af_maps_open(&maps))
		return false;
	while (!found && af_maps_next(&maps, entry, pc, name, size)) {
		/* Reserved addresses between the segments of a file are no beginning of another. */
		if (!entry->offset && (entry->inode || entry->executable))
			first = *entry;
		found = pc >= entry->start && pc < entry->end;
	}
	af_maps_close(&maps);
	*header = first.inode == entry->inode && first.device == entry->device ? first.start : 0;
	return found;
}

/* Beginnings of the names that the kernel gives to mappings without a file. */
static bool is_made_at_run_time(const char *name)
{
	static const char *const begins[] = {"/memfd:", "/dev/zero", "/SYSV",
	                                     "anon_inode:", "//anon"};

	for (unsigned i = 0; i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return !*name || *name == '[';
}

static void module_jit(struct af_module *m, const struct af_maps_entry *entry)
{
	memset(m, 0, sizeof *m);
	m->start = m->bias = entry->start;
	m->end = entry->end;
	m->flags = AF_MAPPING_JIT;
	strcpy(m->path, "[jit]");
}

/* One part in MAPS_PART of the time since the beginning, and a little more. */
static bool maps_have_time(uint64_t now_ns)
{
	uint64_t part = (now_ns - by_maps.begin_ns) / MAPS_PART;

	return atomic_load_explicit(&by_maps.spent_ns, memory_order_relaxed) < part + MAPS_AHEAD_NS;
}

static bool maps_poll(struct af_module *m, uint64_t pc)
{
	struct af_maps_entry entry;
	uint64_t header;

	memset(m, 0, sizeof *m);
	if (!maps_search(pc, &entry, &header, m->path, sizeof m->path))
		return false;
	if (entry.executable && header && m->path[0] && modules_from_image(m, header, pc)) {
		if (header == by_maps.vdso)
			return true;
	} else if (!entry.executable || is_made_at_run_time(m->path)) {
		nothing_note(&entry);
		/* Mappings for the kernel's own use are not code of a compiler. */
		if (entry.executable && m->path[0] != '[')
			module_jit(m, &entry);
		return m->flags & AF_MAPPING_JIT;
	} else if (!module_moved(m, maps_header(&entry), &entry)) {
		module_of_file(m, &entry);
	}
	modules_check_deleted(m);
	if (!strcmp(m->path, by_maps.exe))
		m->flags |= AF_MAPPING_MAIN;
	return m->end != 0;
}

void af_modules_count(void (*looked)(bool put_off))
{
	atomic_store(&by_maps.looked, looked);
}

static void maps_counted(bool put_off)
{
	void (*looked)(bool put_off) = atomic_load(&by_maps.looked);

	if (looked)
		looked(put_off);
}

bool modules_by_maps(struct af_module *m, uint64_t pc, bool bounded)
{
	uint64_t now_ns = bounded ? af_now_ns() : 0;

	/* Walks by frame pointers come to addresses where nothing is. */
	if (nothing_at(pc) || (bounded && !af_guard_probe(pc)))
		return false;
	if (bounded && !maps_have_time(now_ns)) {
		maps_counted(true);
		return false;
	}
	bool found = maps_poll(m, pc);
	if (bounded) {
		atomic_fetch_add(&by_maps.spent_ns, af_now_ns() - now_ns);
		maps_counted(false);
	}
	return found;
}
