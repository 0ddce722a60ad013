/*
 * The reader of unwind tables against anything, as each of those who ask has it: the input is where
 * .eh_frame_hdr lies (u16), a program counter (u32, with the machine in its two high bits), and the
 * image itself, which is .debug_frame as well.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/walk/unwinder.h"
#include "unwind/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool known(void *arg, uint64_t of, uint64_t *value)
{
	*value = of * 3;
	return of % 5;
}

/* A rule that fits into a packed one must come out of it as it went in. */
static void check_packed(const struct af_rule *rule)
{
	uint32_t packed = af_rule_pack(rule);
	struct af_rule again;

	if (!packed)
		return;
	af_rule_unpack(packed, &again);
	if (again.cfa != rule->cfa || af_rule_pack(&again) != packed)
		abort();
}

static void check_value(const struct af_cfi *c, const struct af_cfi_value *v)
{
	const struct af_expression of = {known, known, NULL};
	uint64_t cfa = 16, value;

	if (v->how == AF_CFI_UNSET || v->how > AF_CFI_VALUE_EXPRESSION)
		abort();
	if (v->how >= AF_CFI_AT_EXPRESSION)
		af_expression_value(&c->image, v, &cfa, &of, &value);
}

/* A caller that asks for few registers gets for them what a caller that asks for all gets. */
static void check(const struct af_cfi *c, uint64_t pc)
{
	uint32_t insns = AF_CFI_INSNS_MAX, left = insns;
	struct af_rule rule;
	struct af_cfi_row row;
	int rc = af_cfi_rule(c, pc, &insns, &rule), all = af_cfi_row(c, pc, &left, &row);

	if (!rc) {
		check_packed(&rule);
		if (all && rule.cfa != AF_CFA_END)
			abort();
		if (rule.cfa == AF_CFA_SP && row.cfa.how == AF_CFI_REGISTER &&
		    (row.cfa.number != c->machine->sp || row.cfa.offset != rule.cfa_offset))
			abort();
	}
	if (all)
		return;
	if (left != insns)
		abort();
	for (unsigned i = 0; i < c->machine->nr; i++)
		check_value(c, &row.regs[i]);
	check_value(c, &row.cfa);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV, EM_NONE};
	struct af_cfi_function f;
	uint16_t hdr;
	uint32_t pc;

	if (size < sizeof hdr + sizeof pc)
		return 0;
	memcpy(&hdr, data, sizeof hdr);
	memcpy(&pc, data + sizeof hdr, sizeof pc);
	uint16_t machine = machines[pc >> 30];
	pc &= (1u << 30) - 1;
	data += sizeof hdr + sizeof pc;
	size -= sizeof hdr + sizeof pc;

	/* A block of its own, so that a read past the end is seen. */
	uint8_t *bytes = malloc(size + 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	struct af_cfi c = {.image = {bytes, size, 0x40000},
	                   .machine = af_machine(machine),
	                   .hdr = hdr,
	                   .has_tables = true};
	check(&c, pc);
	af_cfi_function(&c, pc, &f);
	if (af_cfi_open_debug(&c, machine, bytes, size)) {
		check(&c, pc);
		if (af_cfi_function(&c, pc, &f))
			check(&c, f.start);
	}
	af_cfi_close(&c);
	free(bytes);
	return 0;
}
