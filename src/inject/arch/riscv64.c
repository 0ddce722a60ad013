#include "inject/arch/arch.h"

#include <errno.h>
#include <string.h>

#include "inject/arch/guarded_words.h"
#include "unwind/cfi.h"

/* Instructions of 4 bytes, and of 2, begin at any even address (unprivileged ISA, 1.5). */
struct insn {
	uint32_t mask, is;
};

static const struct insn insn_jal_ra = {0x00000fff, 0x000000ef};
static const struct insn insn_jalr_ra = {0x00007fff, 0x000000e7};
static const struct insn insn_c_jalr = {0xf07f, 0x9002};
static const struct insn insn_ret = {0xffffffff, 0x00008067};
static const struct insn insn_c_ret = {0xffff, 0x8082};
static const struct insn insn_save_ra = {0x01fff07f, 0x00113023}; /* sd ra,n(sp) */
static const struct insn insn_c_save_ra = {0xe07f, 0xe006};
static const struct insn insn_save_s0 = {0x01fff07f, 0x00813023}; /* sd s0,n(sp) */
static const struct insn insn_c_save_s0 = {0xe07f, 0xe022};

/* The 4 bytes at @offset from the address. */
static uint32_t code_insn(const uint8_t *code, int offset)
{
	uint32_t insn;

	memcpy(&insn, code + AF_ARCH_CODE_BEFORE + offset, sizeof insn);
	return insn;
}

static bool code_is(const uint8_t *code, int offset, struct insn insn)
{
	return (code_insn(code, offset) & insn.mask) == insn.is;
}

static bool code_is_sigreturn(const uint8_t *code, int offset)
{
	/* li a7,139; ecall */
	return code_insn(code, offset) == 0x08b00893 && code_insn(code, offset + 4) == 0x00000073;
}

/* glibc's __start_context, behind its call: jalr s1; mv a0,s2; beqz s2,8 */
static bool code_is_start_context(const uint8_t *code)
{
	return code_insn(code, -2) == 0x854a9482 && code_insn(code, 2) == 0x00090463;
}

bool af_arch_special_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (code_is_sigreturn(code, 0) || (leaf && code_is_sigreturn(code, -4)))
		*rule = (struct af_rule){.cfa = AF_CFA_SIGNAL};
	else if (code_is_start_context(code))
		*rule = (struct af_rule){.cfa = AF_CFA_END};
	else
		return false;
	return true;
}

bool af_arch_after_call(const uint8_t *code)
{
	/* c.ebreak is c.jalr of no register. */
	return code_is(code, -4, insn_jal_ra) || code_is(code, -4, insn_jalr_ra) ||
	       (code_is(code, -2, insn_c_jalr) && code_insn(code, -2) & 0xf80);
}

/* auipc t3,…; ld t3,…(t3); jalr t1,t3: an entry of the linkage table. */
static bool code_plt(const uint8_t *code)
{
	for (int i = 0; i < 12; i += 4) {
		uint32_t insn = code_insn(code, i);
		if (insn == 0x000e0367)
			return true;
		if ((insn & 0xfff) != 0xe17 && (insn & 0xfffff) != 0xe3e03)
			return false;
	}
	return false;
}

static bool code_returns(const uint8_t *code, int offset)
{
	return code_is(code, offset, insn_c_ret) || code_is(code, offset, insn_ret);
}

/* Does the function that runs save ra or s0? Looks back to the end of the function before it. */
static bool code_has_frame(const uint8_t *code)
{
	for (int at = -2; at >= -AF_ARCH_CODE_BEFORE; at -= 2) {
		if (at < -2 && (code_is(code, at, insn_save_ra) || code_is(code, at, insn_save_s0)))
			return true;
		if (code_is(code, at, insn_c_save_ra) || code_is(code, at, insn_c_save_s0))
			return true;
		if (code_returns(code, at) || !code_insn(code, at))
			return false;
	}
	return true;
}

bool af_arch_code_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (!leaf || !(code_returns(code, 0) || code_plt(code) || !code_has_frame(code)))
		return false;
	/* The return address is in its register, and the stack as the caller left it. */
	*rule = (struct af_rule){.cfa = AF_CFA_SP, .ra_in_register = true};
	return true;
}

/* Unwinders find back by the frame pointer. */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden af_arch_call_on\n"
        ".globl af_arch_call_on\n"
        ".type af_arch_call_on,%function\n"
        "af_arch_call_on:\n"
        "	.cfi_startproc\n"
        "	addi sp,sp,-16\n"
        "	.cfi_def_cfa_offset 16\n"
        "	sd ra,8(sp)\n"
        "	sd s0,0(sp)\n"
        "	.cfi_offset ra,-8\n"
        "	.cfi_offset s0,-16\n"
        "	addi s0,sp,16\n"
        "	.cfi_def_cfa s0,0\n"
        "	mv sp,a0\n"
        "	mv a0,a2\n"
        "	jalr a1\n"
        "	addi sp,s0,-16\n"
        "	.cfi_def_cfa sp,16\n"
        "	ld ra,8(sp)\n"
        "	.cfi_restore ra\n"
        "	ld s0,0(sp)\n"
        "	.cfi_restore s0\n"
        "	addi sp,sp,16\n"
        "	.cfi_def_cfa_offset 0\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size af_arch_call_on,.-af_arch_call_on\n"
        ".popsection\n");

/*
 * All instructions that may fault lie between af_guard_begin and af_guard_end, and nothing has
 * been pushed there: the repair returns from the function. Words are copied only where they are
 * aligned, because other loads may be emulated.
 */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden af_arch_guarded_copy\n"
        ".globl af_arch_guarded_copy\n"
        ".type af_arch_guarded_copy,%function\n"
        "af_arch_guarded_copy:\n"
        "	.cfi_startproc\n"
        "	li t0,8\n"
        "	or t1,a0,a1\n"
        "	andi t1,t1,7\n"
        "	bnez t1,2f\n"
        "af_guard_begin:\n"
        "1:	bltu a2,t0,2f\n"
        "	ld t1,0(a1)\n"
        "	sd t1,0(a0)\n"
        "	addi a1,a1,8\n"
        "	addi a0,a0,8\n"
        "	addi a2,a2,-8\n"
        "	j 1b\n"
        "2:	beqz a2,3f\n"
        "	lbu t1,0(a1)\n"
        "	sb t1,0(a0)\n"
        "	addi a1,a1,1\n"
        "	addi a0,a0,1\n"
        "	addi a2,a2,-1\n"
        "	j 2b\n"
        "af_guard_end:\n"
        "3:	li a0,0\n"
        "	ret\n"
        "af_guard_repair:\n"
        "	li a0,-14\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size af_arch_guarded_copy,.-af_arch_guarded_copy\n"
        ".popsection\n");

_Static_assert(EFAULT == 14, "the repair returns -EFAULT");

bool af_arch_guard_fault(ucontext_t *uc)
{
	uint64_t pc = uc->uc_mcontext.__gregs[REG_PC];
	bool repaired = guarded_words_repair(&pc);

	uc->uc_mcontext.__gregs[REG_PC] = pc;
	return repaired;
}
