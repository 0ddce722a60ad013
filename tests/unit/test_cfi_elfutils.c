/* Every rule of the libraries loaded here must be what elfutils reads out of the same tables. */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/machine.h"
#include "unwind/machine.h"

enum { MAX_PCS = 100000 };

/* This machine. */
static const struct af_machine *m;

struct totals {
	unsigned nr_same, nr_gaps, nr_unsupported;
};

/* Is the CFA given as @reg + @offset? */
static bool cfa_is(const Dwarf_Op *ops, size_t nr, unsigned reg, int64_t offset)
{
	if (nr != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx)
		return ops[0].number == reg && (int64_t)ops[0].number2 == offset;
	return ops[0].atom == DW_OP_breg0 + reg && (int64_t)ops[0].number == offset;
}

static bool cfa_agrees(const Dwarf_Op *ops, size_t nr, const struct af_rule *rule)
{
	unsigned reg = rule->cfa == AF_CFA_FP || rule->cfa == AF_CFA_FP_DEREF ? m->fp : m->sp;

	switch (rule->cfa) {
	case AF_CFA_SP:
	case AF_CFA_FP:
		return cfa_is(ops, nr, reg, rule->cfa_offset);
	case AF_CFA_BASE:
		return cfa_is(ops, nr, m->base, rule->cfa_offset);
	case AF_CFA_DRAP:
		return cfa_is(ops, nr, m->drap, rule->cfa_offset);
	case AF_CFA_SP_DEREF:
	case AF_CFA_FP_DEREF:
		return nr == 2 && ops[1].atom == DW_OP_deref &&
		       cfa_is(ops, 1, reg, rule->cfa_offset);
	case AF_CFA_PLT:
		return nr == 9 && ops[4].atom == DW_OP_lit0 + rule->cfa_offset;
	}
	return false;
}

/* elfutils: no operations, or those that give the address (or, at the end, the value). */
static bool saved_agrees(Dwarf_Frame *frame, int reg, unsigned how, int64_t offset)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &nr), 0);
	/*
	 * A register that a table does not mention keeps its value for us; elfutils asks the ABI,
	 * and leaves some registers out.
	 */
	if (!nr && reg == m->base)
		return how == AF_SAVED_LOST || how == AF_SAVED_SAME;
	if (!nr)
		return how == (ops ? AF_SAVED_LOST : AF_SAVED_SAME);
	bool value = ops[nr - 1].atom == DW_OP_stack_value;
	if (ops[0].atom != DW_OP_call_frame_cfa) {
		unsigned base = how == AF_SAVED_SP ? m->sp : m->fp;
		return how == AF_SAVED_LOST || cfa_is(ops, nr, base, offset);
	}
	if (how != (value ? AF_SAVED_VALUE : AF_SAVED_CFA))
		return false;
	int64_t theirs = nr - value > 1 ? (int64_t)ops[1].number : 0;
	return theirs == offset;
}

static void compare(Dwarf_CFI *cfi, const struct af_cfi *tables, uint64_t pc, struct totals *totals)
{
	Dwarf_Frame *frame = NULL;
	struct af_rule rule;
	Dwarf_Op *ops;
	size_t nr;
	uint32_t insns = AF_CFI_INSNS_MAX;
	int rc = af_cfi_rule(tables, pc, &insns, &rule);

	if (dwarf_cfi_addrframe(cfi, pc, &frame)) {
		assert_int_equal(rc, -ENOENT);
		totals->nr_gaps++;
		return;
	}
	if (rc == -ENOTSUP) {
		totals->nr_unsupported++;
	} else if (rc) {
		fail_msg("%lx: %d", (long)pc, rc);
	} else if (rule.cfa == AF_CFA_END) {
		assert_true(saved_agrees(frame, m->ra, AF_SAVED_LOST, 0));
		totals->nr_same++;
	} else {
		assert_int_equal(dwarf_frame_cfa(frame, &ops, &nr), 0);
		if (!cfa_agrees(ops, nr, &rule) ||
		    !saved_agrees(frame, m->fp, rule.fp, rule.fp_offset) ||
		    !saved_agrees(frame, m->base, rule.base, rule.base_offset) ||
		    !saved_agrees(frame, m->ra, rule.ra_in_register ? AF_SAVED_SAME : AF_SAVED_CFA,
		                  rule.ra_offset))
			fail_msg("%lx: not as elfutils has it", (long)pc);
		totals->nr_same++;
	}
	free(frame);
}

static int compare_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Phdr) *eh = NULL, *segment = NULL, *code = NULL;

	if (!info->dlpi_name[0] || info->dlpi_name[0] != '/')
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			eh = &info->dlpi_phdr[i];
	for (unsigned i = 0; eh && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type == PT_LOAD && eh->p_vaddr - ph->p_vaddr < ph->p_memsz)
			segment = ph;
		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X)
			code = ph;
	}
	int fd = open(info->dlpi_name, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	if (cfi && segment && code) {
		struct af_cfi tables = {
		    .image = {(const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
		              segment->p_filesz, segment->p_vaddr},
		    .machine = m,
		    .hdr = eh->p_vaddr - segment->p_vaddr};
		uint64_t step = code->p_memsz / MAX_PCS + 1;
		for (uint64_t at = 0; at < code->p_memsz; at += step)
			compare(cfi, &tables, code->p_vaddr + at, data);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return 0;
}

static void rules_are_those_of_elfutils(void **state)
{
	struct totals totals = {0};

	m = af_machine(AF_THIS_MACHINE);
	elf_version(EV_CURRENT);
	dl_iterate_phdr(compare_library, &totals);
	print_message("# %u rules the same, %u gaps, %u not supported\n", totals.nr_same,
	              totals.nr_gaps, totals.nr_unsupported);
	assert_true(totals.nr_same > 100000);
	/* Signal frames, which are known by their instructions. */
	assert_true(totals.nr_unsupported < totals.nr_same / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_are_those_of_elfutils),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
