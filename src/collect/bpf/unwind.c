/*
 * Frame pointers skip every function that has none, above all the caller of a leaf of libc: of a
 * stack that sleeps, the function that asked for it. The unwind tables (.eh_frame: unwind/cfi.h)
 * find these, as far as the piece of the stack that the kernel copied reaches.
 *
 * The files are other people's, so are the addresses: what is remembered has a fixed size, and
 * reading tables takes a part of a second at most, in each second. A stack that would take more is
 * followed by frame pointers, and says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "collect/bpf/private.h"
#include "unwind/cfi.h"
#include "unwind/elf_file.h"

enum {
	RULES_BITS = 18,         /* remembered at most: 6 MiB, of which what is used is there */
	TABLES_MAX = 256,        /* files that are open */
	INDEX_MAX = 1 << 18,     /* FDEs of a file without a search table: 4 MiB */
	STEPS = 8 << 20,         /* of reading, in a second: about 50 ms */
	STEPS_OF_ENTRY = 16,     /* an entry of an index costs as much as so many instructions */
	STEPS_OF_FILE = 1 << 12, /* to open one */
	SECOND_NS = 1000000000,
	KERNEL_LIMIT = 127, /* frames that the kernel follows */
};

/* How to find a frame's caller; what is more intricate than this has no rule. */
struct rule {
	int16_t cfa_offset;
	int16_t fp_offset; /* of the saved frame pointer from the CFA, 0: not saved */
	bool known, by_fp;
	bool outermost; /* nobody called it */
};

/* Where it holds: in one image, which has one code at an address. */
struct bpf_rule {
	uint64_t pc;
	uint32_t of; /* image->rules_of */
	struct rule rule;
};

struct tables {
	struct af_file file;
	struct timespec written; /* the file, when it was mapped */
	struct af_cfi cfi;
	bool too_long;
};

static void tables_close(struct tables *t)
{
	af_cfi_close(&t->cfi);
	af_file_unmap(&t->file);
	free(t);
}

/* Cut, or written anew in place: to replace a program by cp(1) is both. */
static bool tables_are_stale(const struct tables *t, int fd)
{
	struct stat st;

	return af_file_is_cut(&t->file) || (fd >= 0 && !fstat(fd, &st) &&
	                                    (t->written.tv_sec != st.st_mtim.tv_sec ||
	                                     t->written.tv_nsec != st.st_mtim.tv_nsec));
}

/* False: they cannot be read in what is left of this second. */
static bool tables_read(struct af_bpf *b, struct tables *t, const struct af_elf *elf)
{
	uint32_t left = b->unwind_left / STEPS_OF_ENTRY, most = left < INDEX_MAX ? left : INDEX_MAX;

	if (elf->machine != EM_X86_64 || elf->is_32)
		return true;
	af_cfi_open(&t->cfi, elf, most, &t->too_long);
	b->unwind_left -= (t->too_long ? most : t->cfi.nr_read) * STEPS_OF_ENTRY;
	return !t->too_long || most == INDEX_MAX;
}

/* The kernel maps the same code into all 64-bit processes: our own copy tells of theirs. */
static struct tables *tables_open(struct af_bpf *b, bool is_vdso, int fd)
{
	struct tables *t = af_xcalloc(1, sizeof *t);
	struct stat st = {0};
	struct af_elf elf;
	bool is = is_vdso && !af_elf_vdso(&elf);

	if (!is_vdso && fd >= 0 && !fstat(fd, &st)) {
		t->written = st.st_mtim;
		is = !af_file_map_fd(&t->file, fd) && t->file.data &&
		     !af_elf_parse(&elf, t->file.data, t->file.size);
	}
	b->unwind_left -= b->unwind_left < STEPS_OF_FILE ? b->unwind_left : STEPS_OF_FILE;
	if (!is || tables_read(b, t, &elf))
		return t;
	tables_close(t);
	return NULL;
}

/* NULL: not now. */
static struct tables *tables_of(struct af_bpf *b, const struct bpf_mapping *m, int fd)
{
	static struct tables none;
	bool is_vdso = !strcmp(af_strtab_get(&b->strings, m->path), "[vdso]");

	if (is_vdso && !(m->start >> 32))
		return &none; /* a 32-bit process has another one */

	/* A file may be replaced meanwhile, under the same name. */
	uint32_t id = af_strtab_id(&b->strings, (const char *)m->build_id, m->build_id_size);
	uint64_t key = (uint64_t)m->path << 32 | id;
	if (b->tables.nr >= TABLES_MAX && !af_map_get(&b->tables, key))
		bpf_tables_close(b);
	uint64_t *at = af_map_at(&b->tables, key, NULL);
	struct tables *t = (struct tables *)(uintptr_t)*at;

	if (t && !tables_are_stale(t, fd))
		return t;
	if (t)
		tables_close(t);
	t = tables_open(b, is_vdso, fd);
	*at = (uint64_t)(uintptr_t)t;
	return t;
}

void bpf_tables_close(struct af_bpf *b)
{
	for (size_t k = 0; k < b->tables.cap; k++) {
		struct tables *t = (struct tables *)(uintptr_t)b->tables.slots[k].value;
		if (b->tables.slots[k].used && t)
			tables_close(t);
	}
	af_map_free(&b->tables);
}

void bpf_unwind_close(struct af_bpf *b)
{
	bpf_tables_close(b);
	free(b->rules);
	b->rules = NULL;
}

static bool fits(int64_t offset)
{
	return offset >= -4096 && offset <= 4096;
}

static struct rule rule_simple(const struct af_rule *from)
{
	struct rule r = {.outermost = from->cfa == AF_CFA_END};
	bool saved = from->fp == AF_SAVED_CFA && from->fp_offset && fits(from->fp_offset);

	if ((from->cfa != AF_CFA_SP && from->cfa != AF_CFA_FP) || from->ra_offset != -8 ||
	    !fits(from->cfa_offset) || (from->fp != AF_SAVED_SAME && !saved))
		return r;
	r.known = true;
	r.by_fp = from->cfa == AF_CFA_FP;
	r.cfa_offset = (int16_t)from->cfa_offset;
	r.fp_offset = saved ? (int16_t)from->fp_offset : 0;
	return r;
}

/* False: it takes too long, now or ever. */
static bool rule_read(struct af_bpf *b, struct bpf_image *image, uint64_t pc, struct rule *r)
{
	const struct bpf_mapping *m = bpf_mapping_at(image, pc);
	struct af_rule found;

	*r = (struct rule){0};
	if (!m)
		return true;
	if (!b->unwind_left)
		return false;
	scope_close int fd = -1;
	uint64_t bias = bpf_mapping_bias(b, image, m, &fd);
	struct tables *t = tables_of(b, m, fd);
	if (!t || t->too_long)
		return false;
	uint32_t most = b->unwind_left < AF_CFI_INSNS_MAX ? b->unwind_left : AF_CFI_INSNS_MAX;
	uint32_t left = most;
	int rc = t->cfi.has_tables ? af_cfi_rule(&t->cfi, pc - bias, &left, &found) : -ENOENT;
	b->unwind_left -= most - left;
	if (!rc)
		*r = rule_simple(&found);
	return rc != -E2BIG;
}

static bool rule_at(struct af_bpf *b, struct bpf_image *image, uint64_t pc, struct rule *r)
{
	if (!b->rules)
		b->rules = af_xcalloc(1 << RULES_BITS, sizeof *b->rules);
	if (!image->rules_of)
		image->rules_of = ++b->nr_rules_of;
	uint64_t hash = af_mix(pc ^ (uint64_t)image->rules_of << 47);
	struct bpf_rule *known = &b->rules[hash >> (64 - RULES_BITS)];

	if (known->pc == pc && known->of == image->rules_of) {
		*r = known->rule;
		return true;
	}
	if (!rule_read(b, image, pc, r))
		return false;
	*known = (struct bpf_rule){pc, image->rules_of, *r};
	return true;
}

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

/*
 * At an exit of a function the stack and all saved registers are the caller's again. The tables
 * still say of the registers that they lie where they were saved, which is below the stack's top by
 * then.
 */
static bool is_at_exit(const struct af_bpf_stacks *s)
{
	return s->head.kind == AF_BPF_FUNCTION && s->out_ns;
}

/* The bound of bytes to read holds for each second. */
static void unwind_refill(struct af_bpf *b, uint64_t time_ns)
{
	if (time_ns / SECOND_NS == b->unwind_second)
		return;
	b->unwind_second = time_ns / SECOND_NS;
	b->unwind_left = STEPS;
}

uint32_t bpf_unwind(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_stacks *s,
                    uint64_t *pcs, uint32_t max, enum af_stop *stop)
{
	const uint64_t *chain = s->pcs + s->kernel_bytes / 8;
	uint32_t nr = 0, nr_chain = s->user_bytes / 8;
	struct walk w = {.sp = s->sp, .fp = s->fp, .from = 1, .in_chain = true};
	struct rule r = {0};

	*stop = nr_chain >= KERNEL_LIMIT ? AF_STOP_TOO_DEEP : AF_STOP_FRAME_POINTERS;
	if (!nr_chain || !is_user(chain[0]))
		return 0;
	unwind_refill(b, s->head.time_ns);
	pcs[nr++] = chain[0];
	while (s->stack_bytes && nr < max) {
		if (nr == 1 && is_at_exit(s)) {
			r = (struct rule){.known = true, .cfa_offset = 8};
		} else if (!rule_at(b, image, pcs[nr - 1], &r)) {
			*stop = AF_STOP_COSTLY;
			break;
		}
		uint64_t ra = r.known ? walk_up(s, &w, r) : 0;
		if (!ra)
			break;
		pcs[nr++] = ra - 1;
	}
	if (r.outermost)
		*stop = AF_STOP_COMPLETE;
	if (r.outermost || !w.in_chain)
		return nr;
	for (uint32_t i = w.from; i < nr_chain && nr < max && is_user(chain[i]); i++)
		pcs[nr++] = chain[i] - 1;
	return nr;
}
