/*
 * All registers by every row of every FDE must be what elfutils reads out of the same tables: what
 * its operations come to, and ours, in a frame whose registers and memory are made up.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/system/fs.h"
#include "sym/elf/frame_rules.h"
#include "unwind/expression.h"

enum { VALUES = 16 };

struct totals {
	unsigned nr_rows, nr_gaps, nr_expressions, nr_refused, nr_rules;
};

static uint64_t made_up_register(uint64_t reg)
{
	return 0x7ffc00000000 + 0x10008 * reg;
}

static uint64_t made_up_word(uint64_t at)
{
	return at * 0x9e3779b97f4a7c15 ^ at >> 29;
}

static bool our_register(void *arg, uint64_t reg, uint64_t *value)
{
	*value = made_up_register(reg);
	return true;
}

static bool our_word(void *arg, uint64_t at, uint64_t *word)
{
	*word = made_up_word(at);
	return true;
}

static uint64_t pushed(const Dwarf_Op *op, uint64_t cfa)
{
	uint8_t code = op->atom;

	if (code == DW_OP_call_frame_cfa)
		return cfa;
	if (code >= DW_OP_lit0 && code <= DW_OP_lit31)
		return (uint64_t)(code - DW_OP_lit0);
	if ((code >= DW_OP_const1u && code <= DW_OP_consts) || code == DW_OP_addr)
		return op->number;
	if (code == DW_OP_bregx)
		return made_up_register(op->number) + op->number2;
	if (code < DW_OP_breg0 || code > DW_OP_breg31)
		fail_msg("operation 0x%x is new to this test", code);
	return made_up_register((uint64_t)(code - DW_OP_breg0)) + op->number;
}

static bool combined(uint8_t code, uint64_t a, uint64_t b, uint64_t *to)
{
	switch (code) {
	case DW_OP_plus:
		*to = a + b;
		return true;
	case DW_OP_minus:
		*to = a - b;
		return true;
	case DW_OP_mul:
		*to = a * b;
		return true;
	case DW_OP_and:
		*to = a & b;
		return true;
	case DW_OP_shl:
		*to = a << b;
		return true;
	case DW_OP_ge:
		*to = (int64_t)a >= (int64_t)b;
		return true;
	}
	return false;
}

/* The result of elfutils' operations; @load: they say where it is. */
static uint64_t theirs(const Dwarf_Op *ops, size_t nr_ops, uint64_t cfa, bool load)
{
	uint64_t values[VALUES + 1] = {0}, value;
	uint32_t nr = 0;

	for (size_t i = 0; i < nr_ops; i++) {
		uint8_t code = ops[i].atom;
		if (code == DW_OP_regx)
			return made_up_register(ops[i].number);
		if (code == DW_OP_stack_value)
			load = false;
		else if (code == DW_OP_plus_uconst)
			values[nr] += ops[i].number;
		else if (code == DW_OP_deref)
			values[nr] = made_up_word(values[nr]);
		else if (nr > 1 && combined(code, values[nr - 1], values[nr], &value))
			values[--nr] = value;
		else if (nr < VALUES)
			values[++nr] = pushed(&ops[i], cfa);
	}
	return load ? made_up_word(values[nr]) : values[nr];
}

static uint64_t ours(const struct af_frame_rule *rule, const struct af_cfi_value *v, uint64_t cfa,
                     bool is_cfa)
{
	const struct af_expression of = {our_register, our_word, NULL};
	uint64_t value = cfa + (uint64_t)v->offset;

	switch (v->how) {
	case AF_CFI_AT_CFA:
		return made_up_word(value);
	case AF_CFI_CFA:
		return value;
	case AF_CFI_REGISTER:
		return made_up_register(v->number) + (uint64_t)v->offset;
	}
	assert_in_range(v->how, AF_CFI_AT_EXPRESSION, AF_CFI_VALUE_EXPRESSION);
	assert_int_equal(af_expression_value(rule->image, v, is_cfa ? NULL : &cfa, &of, &value), 0);
	return v->how == AF_CFI_AT_EXPRESSION ? made_up_word(value) : value;
}

/*
 * elfutils 0.188 has rax, for rbx, among those that stay where tables say nothing. On RISC-V it
 * lacks ra, and registers that never change.
 */
static bool is_left_out(const struct af_machine *m, int reg)
{
	switch (m->elf) {
	case EM_X86_64:
		return reg == AF_DWARF_RAX || reg == AF_DWARF_RBX;
	case EM_RISCV:
		return reg == AF_RISCV_ZERO || reg == AF_RISCV_RA || reg == AF_RISCV_GP ||
		       reg == AF_RISCV_TP;
	}
	return false;
}

static bool register_agrees(Dwarf_Frame *frame, const struct af_machine *m,
                            const struct af_frame_rule *rule, int reg, uint64_t cfa)
{
	const struct af_cfi_value *v = &rule->row.regs[reg];
	Dwarf_Op memory[3], *ops;
	size_t nr;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &nr), 0);
	if (!nr && is_left_out(m, reg))
		return v->how == AF_CFI_SAME || v->how == AF_CFI_UNDEFINED;
	if (!nr)
		return v->how == (ops ? AF_CFI_UNDEFINED : AF_CFI_SAME);
	if (v->how == AF_CFI_SAME || v->how == AF_CFI_UNDEFINED)
		return false;
	return theirs(ops, nr, cfa, true) == ours(rule, v, cfa, false);
}

/* The rule that walks follow must lead to the same caller. */
static void compare_rule(const struct af_cfi *tables, const struct af_frame_rule *rule, uint64_t pc,
                         struct totals *totals)
{
	const struct af_machine *m = tables->machine;
	const struct af_cfi_value *cfa = &rule->row.cfa, *ra = &rule->row.regs[m->ra];
	uint32_t insns = AF_CFI_INSNS_MAX;
	struct af_rule found;
	int rc = tables->has_tables ? af_cfi_rule(tables, pc, &insns, &found) : -ENOENT;

	if (rc == -ENOENT || rc == -ENOTSUP)
		return;
	assert_int_equal(rc, 0);
	assert_int_equal(found.cfa == AF_CFA_END, ra->how == AF_CFI_UNDEFINED);
	if (found.cfa == AF_CFA_END)
		return;
	assert_int_equal(found.ra_in_register, ra->how == AF_CFI_SAME);
	if (!found.ra_in_register && (ra->how != AF_CFI_AT_CFA || ra->offset != found.ra_offset))
		fail_msg("%lx: another return address", (long)pc);
	if (found.cfa != AF_CFA_SP && found.cfa != AF_CFA_FP)
		return;
	if (cfa->how != AF_CFI_REGISTER || cfa->offset != found.cfa_offset ||
	    cfa->number != (found.cfa == AF_CFA_SP ? m->sp : m->fp))
		fail_msg("%lx: another frame address by the rule", (long)pc);
	totals->nr_rules++;
}

static void compare(Dwarf_Frame *frame, const struct af_cfi *tables,
                    const struct af_frame_rule *rule, uint64_t pc, struct totals *totals)
{
	Dwarf_Op *ops;
	size_t nr;
	bool is_signal;
	const struct af_machine *m = tables->machine;

	/* rawmemchr() of AArch64 and millicode of RISC-V have their own for the return address. */
	if (dwarf_frame_info(frame, NULL, NULL, &is_signal) != m->ra) {
		assert_int_equal(rule->kind, AF_FRAME_BAD_RULE);
		totals->nr_refused++;
		return;
	}
	if (rule->kind != AF_FRAME_RULE)
		fail_msg("%lx: no rule", (long)pc);
	assert_int_equal(is_signal, rule->row.is_signal);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &nr), 0);
	uint64_t cfa = ours(rule, &rule->row.cfa, 0, true);
	if (theirs(ops, nr, 0, false) != cfa)
		fail_msg("%lx: another frame address", (long)pc);
	totals->nr_expressions += rule->row.cfa.how == AF_CFI_VALUE_EXPRESSION;
	for (int reg = 0; reg < m->nr; reg++)
		if (!register_agrees(frame, m, rule, reg, cfa))
			fail_msg("%lx: register %d is not as elfutils has it", (long)pc, reg);
	totals->nr_rows++;
	compare_rule(tables, rule, pc, totals);
}

/* Every row of the code from @pc to @end. */
static void compare_code(Dwarf_CFI **tables, struct af_frame_rules *rules, uint64_t pc,
                         uint64_t end, struct totals *totals)
{
	while (pc < end) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr row_end = 0;
		for (int i = 0; i < 2 && !frame; i++)
			if (!tables[i] || dwarf_cfi_addrframe(tables[i], pc, &frame))
				frame = NULL;
		const struct af_frame_rule *rule = af_frame_rule(rules, pc);
		if (!frame) {
			if (rule->kind != AF_FRAME_NO_RULE)
				fail_msg("%lx: a rule where elfutils has none", (long)pc);
			totals->nr_gaps++;
			pc++;
			continue;
		}
		compare(frame, &rules->tables[0], rule, pc, totals);
		dwarf_frame_info(frame, NULL, &row_end, NULL);
		/* Its last address, too. */
		if (row_end > pc + 1)
			compare(frame, &rules->tables[0], af_frame_rule(rules, row_end - 1),
			        row_end - 1, totals);
		pc = row_end > pc ? row_end : pc + 1;
		free(frame);
	}
}

static struct totals compare_file(const char *path)
{
	struct totals totals = {0};
	struct af_frame_rules rules;
	struct af_file file;
	struct af_elf elf;
	GElf_Phdr p;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return totals;
	assert_int_equal(af_file_map(&file, path, NULL), 0);
	assert_int_equal(af_elf_parse(&elf, file.data, file.size), 0);
	af_frame_rules_open(&rules, &elf);
	Elf *theirs_elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf *dwarf = dwarf_begin_elf(theirs_elf, DWARF_C_READ, NULL);
	Dwarf_CFI *tables[2] = {dwarf_getcfi_elf(theirs_elf), dwarf ? dwarf_getcfi(dwarf) : NULL};
	for (int i = 0; gelf_getphdr(theirs_elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			compare_code(tables, &rules, p.p_vaddr, p.p_vaddr + p.p_memsz, &totals);
	dwarf_cfi_end(tables[0]);
	dwarf_end(dwarf);
	elf_end(theirs_elf);
	af_frame_rules_close(&rules);
	af_file_unmap(&file);
	close(fd);
	print_message("# %s: %u rows and %u rules the same, %u with an expression, %u refused, "
	              "%u bytes without\n",
	              path, totals.nr_rows, totals.nr_rules, totals.nr_expressions,
	              totals.nr_refused, totals.nr_gaps);
	assert_true(totals.nr_refused < 100);
	return totals;
}

static void every_row_of_libraries_and_programs(void **state)
{
	static const char *const paths[] = {
	    "/lib/x86_64-linux-gnu/libc.so.6",
	    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	    "/usr/bin/python3",
	    "/lib64/libc.so.6",
	    "/usr/lib64/libstdc++.so.6",
	    "/usr/lib64/libcrypto.so.3",
	    "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	};
	unsigned nr = 0;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		nr += compare_file(paths[i]).nr_rows;
	assert_true(nr > 20000);
}

/* As the packages libc6-*-cross, libgcc-s1-*-cross and libstdc++6-*-cross of Debian have them. */
static void every_row_of_libraries_of(const char *machine, unsigned least)
{
	static const char *const names[] = {"libc.so.6", "libm.so.6", "libgcc_s.so.1",
	                                    "libstdc++.so.6"};
	char path[128];
	unsigned nr = 0, nr_rules = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "/usr/%s-linux-gnu/lib/%s", machine, names[i]);
		struct totals totals = compare_file(path);
		nr += totals.nr_rows;
		nr_rules += totals.nr_rules;
	}
	if (!nr) {
		print_message("# no libraries of %s: apt install gcc-%s-linux-gnu\n", machine,
		              machine);
		return;
	}
	assert_true(nr >= least);
	assert_true(nr - nr_rules < nr / 100);
}

static void every_row_of_libraries_of_aarch64(void **state)
{
	every_row_of_libraries_of("aarch64", 90000);
}

/* gcc leaves tables out of C where nothing asks for them: libm has none. */
static void every_row_of_libraries_of_riscv64(void **state)
{
	every_row_of_libraries_of("riscv64", 15000);
}

/* Compiles @source by @command, a format of output and source; false: it cannot be. */
static bool compiled(char path[64], const char *end, const char *source, const char *command)
{
	char name[80], line[512];

	strcpy(path, "/tmp/af_test_rows.XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(name, sizeof name, "%s%s", path, end);
	FILE *f = fopen(name, "w");
	fputs(source, f);
	fclose(f);
	snprintf(line, sizeof line, command, path, name);
	bool done = !system(line);
	unlink(name);
	return done;
}

static void every_row_of_a_go_program(void **state)
{
	/* Compressed by the linker, and as it is. */
	static const char *const commands[] = {
	    "GO111MODULE=off GOTOOLCHAIN=local go build -o %s %s >/dev/null 2>&1",
	    "GO111MODULE=off GOTOOLCHAIN=local go build -ldflags=-compressdwarf=false -o %s %s "
	    ">/dev/null 2>&1",
	};
	char path[64];

	for (int i = 0; i < 2; i++) {
		bool done = compiled(
		    path, ".go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(1) }\n",
		    commands[i]);
		unsigned nr = done ? compare_file(path).nr_rows : 0;
		unlink(path);
		if (!done)
			skip(); /* no go here */
		assert_true(nr > 3000);
	}
}

static void every_row_of_frames_that_are_realigned(void **state)
{
	/* Values on the stack are found by the caller's frame. */
	static const char source[] =
	    "__attribute__((noinline)) void use(void *p) {\n"
	    "	__asm__ volatile(\"\" : : \"r\"(p) : \"memory\", \"r12\", \"r13\", \"rbx\"); }\n"
	    "__attribute__((noinline)) int realigned(int a, int b, int c, int d, int e, int f, int "
	    "g) {\n"
	    "	_Alignas(64) int v[9]; char *more = __builtin_alloca(a); use(more); use(v);\n"
	    "	return v[a] + g; }\n"
	    "int main(int argc, char **argv) { return realigned(1, 2, 3, 4, 5, 6, argc); }\n";
	char path[64];

	bool done = compiled(path, ".c", source, "cc -O2 -o %s %s >/dev/null 2>&1");
	struct totals totals = done ? compare_file(path) : (struct totals){0};
	unlink(path);
	if (!done)
		skip(); /* no compiler here */
	assert_true(totals.nr_expressions > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_of_libraries_and_programs),
	    cmocka_unit_test(every_row_of_libraries_of_aarch64),
	    cmocka_unit_test(every_row_of_libraries_of_riscv64),
	    cmocka_unit_test(every_row_of_a_go_program),
	    cmocka_unit_test(every_row_of_frames_that_are_realigned),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
