#include "exchange/perf/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"
#include "sym/module/finder.h"

enum { PAGE_BITS = 12 };

struct perf_unwind_file {
	struct af_found found;
	struct af_frame_rules rules;
	bool there;
};

enum { NO = -1, PC = -2 };

/* Registers in perf's order on x86-64 (its asm/perf_regs.h), by their number in unwind tables. */
static const int8_t x86_64_numbers[] = {
    [0] = AF_DWARF_RAX,
    [1] = AF_DWARF_RBX,
    [2] = 2, /* rcx */
    [3] = 1, /* rdx */
    [4] = 4, /* rsi */
    [5] = 5, /* rdi */
    [6] = AF_DWARF_RBP,
    [7] = AF_DWARF_RSP,
    [8] = PC,
    [9] = NO, /* flags and segments */
    [10] = NO,
    [11] = NO,
    [12] = NO,
    [13] = NO,
    [14] = NO,
    [15] = NO,
    [16] = 8, /* r8 and on */
    [17] = 9,
    [18] = 10,
    [19] = 11,
    [20] = 12,
    [21] = 13,
    [22] = 14,
    [23] = 15,
};

/*
 * On AArch64 the order is that of unwind tables, and the pc is behind the stack pointer. On RISC-V
 * the pc has the place of the register that is always 0.
 */
static int number_of(const struct af_machine *m, unsigned perf)
{
	switch (m->elf) {
	case EM_X86_64:
		return perf < sizeof x86_64_numbers ? x86_64_numbers[perf] : NO;
	case EM_AARCH64:
		return perf <= AF_AARCH64_SP ? (int)perf : perf == AF_AARCH64_SP + 1 ? PC : NO;
	case EM_RISCV:
		return !perf ? PC : perf < AF_DWARF_REGISTERS ? (int)perf : NO;
	}
	return NO;
}

static struct af_stack_copy stack_copy(const struct af_machine *m, const struct perf_copy *c,
                                       const uint8_t *bytes)
{
	struct af_stack_copy to = {.machine = m, .size = c->stack_size, .cut = c->stack_cut};

	for (unsigned i = 0; i < 64; i++) {
		if (!(c->registers >> i & 1))
			continue;
		uint64_t value = perf_u64(bytes);
		int number = number_of(m, i);
		bytes += sizeof value;
		if (number == PC) {
			to.pc = value;
			to.has_pc = true;
			/* x86-64 has it as a register of unwind tables, too. */
			number = m->links ? NO : m->ra;
		}
		if (number == NO)
			continue;
		to.regs[number] = value;
		to.known |= 1u << number;
	}
	to.bytes = bytes;
	return to;
}

/* The machine that uname() named. */
static const struct af_machine *machine_of(const struct perf_file *f)
{
	const char *name = f->machine ? af_strtab_get(&f->names, f->machine) : "x86_64";

	return !strcmp(name, "x86_64")    ? af_machine(EM_X86_64)
	       : !strcmp(name, "aarch64") ? af_machine(EM_AARCH64)
	       : !strcmp(name, "riscv64") ? af_machine(EM_RISCV)
	                                  : NULL;
}

struct perf_unwinder *perf_unwind_open(struct perf_images *images, struct perf_file *f)
{
	struct perf_unwinder *u = af_xcalloc(1, sizeof *u);

	u->images = images;
	u->file = f;
	u->machine = machine_of(f);
	return u;
}

void perf_unwind_close(struct perf_unwinder *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; i < u->nr_files; i++) {
		af_frame_rules_close(&u->files[i]->rules);
		af_found_close(&u->files[i]->found);
		free(u->files[i]);
	}
	free(u->files);
	af_map_free(&u->by_file);
	free(u);
}

/* The kernel's own page of code is this machine's, if that was the kernel. */
static bool is_this_kernel(const struct perf_unwinder *u)
{
	struct utsname name;

	return u->file->release && !uname(&name) &&
	       !strcmp(name.release, af_strtab_get(&u->file->names, u->file->release));
}

static bool vdso_open(const struct perf_unwinder *u, const struct perf_mapping *m,
                      struct af_elf *elf)
{
	uint8_t id[AF_ELF_BUILD_ID_MAX];

	if (af_elf_vdso(elf))
		return false;
	if (!m->build_id)
		return is_this_kernel(u);
	const struct perf_build_id *b = &u->images->build_ids[m->build_id - 1];
	return af_elf_build_id(elf, id) == b->len && !memcmp(id, b->id, b->len);
}

static struct perf_unwind_file *file_open(struct perf_unwinder *u, const struct perf_mapping *m,
                                          const char *path)
{
	struct perf_unwind_file *file = af_xcalloc(1, sizeof *file);

	if (!strcmp(path, "[vdso]"))
		file->there = vdso_open(u, m, &file->found.elf);
	else
		file->there = perf_images_file(u->images, m, &file->found);
	if (file->there && file->found.elf.machine == u->machine->elf)
		af_frame_rules_open(&file->rules, &file->found.elf);
	return file;
}

static struct perf_unwind_file *file_of(struct perf_unwinder *u, const struct perf_mapping *m,
                                        const char *path)
{
	bool fresh;
	uint64_t *index = af_map_at(&u->by_file, (uint64_t)m->path << 32 | m->build_id, &fresh);

	if (fresh) {
		AF_GROW(u->files, u->nr_files, u->cap_files);
		u->files[u->nr_files] = file_open(u, m, path);
		*index = u->nr_files++;
	}
	return u->files[*index];
}

static void code_find(struct perf_unwinder *u, const struct perf_mapping *m,
                      struct af_unwind_code *code)
{
	const char *path = af_strtab_get(&u->images->builder->names, m->path);
	bool is_file = path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) &&
	               strncmp(path, "/dev/", 5);

	*code = (struct af_unwind_code){.mapped = true};
	if (!is_file && strcmp(path, "[vdso]") != 0)
		return;
	struct perf_unwind_file *file = file_of(u, m, path);
	code->missing = !file->there;
	code->rules = file->there ? &file->rules : NULL;
	code->bias = perf_images_bias(u->images, m);
}

struct space {
	struct perf_unwinder *u;
	const struct perf_image *image;
	uint64_t key; /* what is mapped: which image, and how many mappings it has */
};

static const struct af_unwind_code *space_find(void *arg, uint64_t pc)
{
	struct space *s = arg;
	uint64_t page = pc >> PAGE_BITS;
	struct perf_unwind_page *known =
	    &s->u->pages[af_mix(page ^ s->key << 20) % PERF_UNWIND_PAGES];

	if (known->space == s->key && known->page == page)
		return &known->code;
	*known = (struct perf_unwind_page){.space = s->key, .page = page};
	const struct perf_mapping *m = perf_images_mapping(s->image, pc);
	if (m)
		code_find(s->u, m, &known->code);
	return &known->code;
}

uint32_t perf_unwind(struct perf_unwinder *u, uint32_t pid, const struct perf_copy *c,
                     const uint8_t *bytes, uint64_t *pcs, uint32_t most, enum af_stop *stop)
{
	const struct perf_image *image = perf_images_image(u->images, pid);
	uint64_t index = (uint64_t)(image - u->images->all) + 1;
	struct space space = {u, image, index << 32 | image->nr_maps};
	const struct af_unwind_maps maps = {space_find, &space};

	if (!u->machine)
		return 0;
	const struct af_stack_copy copy = stack_copy(u->machine, c, bytes);
	uint32_t nr = af_unwind_copy(&copy, &maps, pcs, most, stop);
	u->stacks += !!nr;
	u->cut += *stop == AF_STOP_COPY_ENDS;
	u->missing += *stop == AF_STOP_NO_FILE;
	return nr;
}
