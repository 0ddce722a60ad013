/*
 * Frame pointers skip every function that has none, above all the caller of a leaf of libc: of a
 * stack that sleeps, the function that asked for it. The unwind tables (.eh_frame, read by libdw)
 * find these, as far as the piece of the stack that the kernel copied reaches.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/arena.h"
#include "collect/bpf_private.h"

enum { DWARF_FP = 6, DWARF_SP = 7, DWARF_RA = 16 }; /* System V ABI, x86-64, figure 3.36 */

/* How to find a frame's caller; what is more intricate than this has no rule. */
struct rule {
	int16_t cfa_offset;
	int16_t fp_offset; /* of the saved frame pointer from the CFA, 0: not saved */
	bool known, by_fp;
	bool outermost; /* nobody called it */
};

struct tables {
	int fd;
	char *image; /* what has no file */
	Elf *elf;
	Dwarf_CFI *cfi;
};

/* The kernel maps the same code into all 64-bit processes: our own copy tells of theirs. */
static void vdso_open(struct tables *t)
{
	const Elf64_Ehdr *own = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!own)
		return;
	size_t size = own->e_shoff + (size_t)own->e_shnum * own->e_shentsize;
	t->image = af_xcalloc(1, size);
	memcpy(t->image, own, size);
	t->elf = elf_memory(t->image, size);
}

static struct tables *tables_of(struct af_bpf *b, const struct bpf_mapping *m, int fd)
{
	static struct tables none;
	bool vdso = !strcmp(af_strtab_get(&b->strings, m->path), "[vdso]");

	if (vdso && !(m->start >> 32))
		return &none; /* a 32-bit process has another one */

	/* A file may be replaced meanwhile, under the same name. */
	uint32_t id = af_strtab_id(&b->strings, (const char *)m->build_id, m->build_id_size);
	uint64_t key = (uint64_t)m->path << 32 | id;
	uint64_t *at = af_map_at(&b->tables, key, NULL);
	struct tables *t = (struct tables *)(uintptr_t)*at;

	if (t)
		return t;
	t = af_xcalloc(1, sizeof *t);
	t->fd = fd < 0 ? -1 : dup(fd);
	bool usable = elf_version(EV_CURRENT) != EV_NONE;
	if (usable && vdso)
		vdso_open(t);
	else if (usable && t->fd >= 0)
		t->elf = elf_begin(t->fd, ELF_C_READ_MMAP, NULL);
	if (t->elf)
		t->cfi = dwarf_getcfi_elf(t->elf);
	*at = (uint64_t)(uintptr_t)t;
	return t;
}

void bpf_unwind_close(struct af_bpf *b)
{
	for (size_t k = 0; k < b->tables.cap; k++) {
		struct tables *t = (struct tables *)(uintptr_t)b->tables.slots[k].value;
		if (!b->tables.slots[k].used || !t)
			continue;
		dwarf_cfi_end(t->cfi);
		elf_end(t->elf);
		free(t->image);
		if (t->fd >= 0)
			close(t->fd);
		free(t);
	}
	af_map_free(&b->tables);
}

static bool fits(int64_t offset)
{
	return offset >= -4096 && offset <= 4096;
}

/* Saved at an offset from the CFA, or (0) where it was. *@undefined: there is no value. */
static bool register_offset(Dwarf_Frame *frame, int number, int16_t *offset, bool *undefined)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;

	*offset = 0;
	if (dwarf_frame_register(frame, number, memory, &ops, &nr))
		return false;
	*undefined = nr == 0 && ops == memory;
	if (nr == 0)
		return !*undefined;
	if (nr != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst ||
	    !fits((int64_t)ops[1].number))
		return false;
	*offset = (int16_t)(int64_t)ops[1].number;
	return true;
}

static struct rule rule_read(Dwarf_CFI *cfi, uint64_t address)
{
	struct rule r = {0};
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t nr;
	int16_t ra;
	bool undefined;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return r;
	bool has_ra = register_offset(frame, DWARF_RA, &ra, &r.outermost);
	if (has_ra && ra == -8 && !dwarf_frame_cfa(frame, &ops, &nr) && nr == 1 &&
	    ops[0].atom == DW_OP_bregx &&
	    (ops[0].number == DWARF_FP || ops[0].number == DWARF_SP) &&
	    fits((int64_t)ops[0].number2)) {
		r.cfa_offset = (int16_t)(int64_t)ops[0].number2;
		r.by_fp = ops[0].number == DWARF_FP;
		r.known = register_offset(frame, DWARF_FP, &r.fp_offset, &undefined);
	}
	free(frame);
	return r;
}

static struct rule rule_at(struct af_bpf *b, struct bpf_image *image, uint64_t pc)
{
	bool fresh;
	uint64_t *at = af_map_at(&image->rules, pc, &fresh);
	struct rule r = {0};

	if (!fresh) {
		memcpy(&r, at, sizeof r);
		return r;
	}
	const struct bpf_mapping *m = bpf_mapping_at(image, pc);
	int fd = -1;
	if (m) {
		uint64_t bias = bpf_mapping_bias(b, image, m, &fd);
		r = rule_read(tables_of(b, m, fd)->cfi, pc - bias);
	}
	if (fd >= 0)
		close(fd);
	memcpy(at, &r, sizeof r);
	return r;
}

_Static_assert(sizeof(struct rule) <= sizeof(uint64_t), "a rule is kept as a value of a map");

static bool piece_read(const struct af_bpf_stacks *s, uint64_t address, uint64_t *word)
{
	const uint64_t *piece = s->pcs + (s->kernel_bytes + s->user_bytes) / 8;

	if (address < s->sp || address - s->sp >= s->stack_bytes || address % 8 != s->sp % 8)
		return false;
	*word = piece[(address - s->sp) / 8];
	return true;
}

static bool is_user(uint64_t pc)
{
	return pc >= 4096 && !(pc >> 47);
}

/* Where the walk is. */
struct walk {
	uint64_t sp, fp;
	uint32_t from; /* what the kernel found above here: chain[from…] */
	bool in_chain; /* @fp is what it went by */
};

/* One frame up by its rule: the return address, or 0. */
static uint64_t walk_up(const struct af_bpf_stacks *s, struct walk *w, struct rule r)
{
	const uint64_t *chain = s->pcs + s->kernel_bytes / 8;
	uint64_t cfa = (r.by_fp ? w->fp : w->sp) + (uint64_t)(int64_t)r.cfa_offset;
	uint64_t ra, fp = w->fp;

	if (cfa <= w->sp || !piece_read(s, cfa - 8, &ra) || !is_user(ra))
		return 0;
	if (r.fp_offset && !piece_read(s, cfa + (uint64_t)(int64_t)r.fp_offset, &fp))
		return 0;
	/* Where the register held something else, the kernel was led astray. */
	if (!r.by_fp)
		w->in_chain &= fp == w->fp;
	else if (w->in_chain)
		w->in_chain = w->from < s->user_bytes / 8 && chain[w->from++] == ra;
	w->sp = cfa;
	w->fp = fp;
	return ra;
}

uint32_t bpf_unwind(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_stacks *s,
                    uint64_t *pcs, uint32_t max, bool *complete)
{
	const uint64_t *chain = s->pcs + s->kernel_bytes / 8;
	uint32_t nr = 0, nr_chain = s->user_bytes / 8;
	struct walk w = {.sp = s->sp, .fp = s->fp, .from = 1, .in_chain = true};

	*complete = false;
	if (!nr_chain || !is_user(chain[0]))
		return 0;
	pcs[nr++] = chain[0];
	while (s->stack_bytes && nr < max) {
		struct rule r = rule_at(b, image, pcs[nr - 1]);
		uint64_t ra = r.known ? walk_up(s, &w, r) : 0;
		*complete = r.outermost;
		if (!ra)
			break;
		pcs[nr++] = ra - 1;
	}
	if (*complete || !w.in_chain)
		return nr;
	for (uint32_t i = w.from; i < nr_chain && nr < max && is_user(chain[i]); i++)
		pcs[nr++] = chain[i] - 1;
	return nr;
}
