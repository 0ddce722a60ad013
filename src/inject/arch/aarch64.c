#include "inject/arch/arch.h"

#include <errno.h>
#include <string.h>

#include "inject/arch/guarded_words.h"
#include "unwind/cfi.h"

/* Instructions (Arm ARM, C6.2), as a value under a mask. */
struct insn {
	uint32_t mask, is;
};

static const struct insn insn_bl = {0xfc000000, 0x94000000};
static const struct insn insn_blr = {0xfffff000, 0xd63f0000}; /* and blraaz, blrabz */
static const struct insn insn_blra = {0xfffff000, 0xd73f0000};
static const struct insn insn_ret = {0xfffff000, 0xd65f0000}; /* and retaa, retab */
static const struct insn insn_br = {0xfffffc1f, 0xd61f0000};
static const struct insn insn_save = {0xffc07fff, 0xa9807bfd};   /* stp x29,x30,[sp,#-n]! */
static const struct insn insn_store = {0xffc07fff, 0xa9007bfd};  /* stp x29,x30,[sp,#n] */
static const struct insn insn_set_fp = {0xff8003ff, 0x910003fd}; /* add x29,sp,#n */

/* Instruction @i from the address on; it may be negative. */
static uint32_t code_insn(const uint8_t *code, int i)
{
	uint32_t insn;

	memcpy(&insn, code + AF_ARCH_CODE_BEFORE + i * 4, sizeof insn);
	return insn;
}

static bool code_is(const uint8_t *code, int i, struct insn insn)
{
	return (code_insn(code, i) & insn.mask) == insn.is;
}

static bool code_is_sigreturn(const uint8_t *code, int at)
{
	/* mov x8,#139; svc #0 */
	return code_insn(code, at) == 0xd2801168 && code_insn(code, at + 1) == 0xd4000001;
}

bool af_arch_special_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (code_is_sigreturn(code, 0) || (leaf && code_is_sigreturn(code, -1)))
		*rule = (struct af_rule){.cfa = AF_CFA_SIGNAL};
	else if (code_insn(code, 0) == 0xaa1303e0 &&
	         (code_insn(code, 1) & 0xff00001f) == 0xb5000000)
		/* glibc's __startcontext: mov x0,x19; cbnz x0,… */
		*rule = (struct af_rule){.cfa = AF_CFA_END};
	else
		return false;
	return true;
}

bool af_arch_after_call(const uint8_t *code)
{
	return code_is(code, -1, insn_bl) || code_is(code, -1, insn_blr) ||
	       code_is(code, -1, insn_blra);
}

/* The return address is in its register, and the stack as the caller left it. */
static bool code_linked(struct af_rule *rule)
{
	*rule = (struct af_rule){.cfa = AF_CFA_SP, .ra_in_register = true};
	return true;
}

/* Behind `stp x29,x30,[sp,#-n]!`: the frame has @size bytes, and the record is at its bottom. */
static bool code_saved(struct af_rule *rule, int32_t size)
{
	*rule = (struct af_rule){.cfa = AF_CFA_SP,
	                         .cfa_offset = size,
	                         .fp = AF_SAVED_CFA,
	                         .fp_offset = -size,
	                         .ra_offset = 8 - size};
	return true;
}

/* adrp x16; ldr x17,[x16,…]; add x16,x16,…; br x17: an entry of the linkage table. */
static bool code_plt(const uint8_t *code)
{
	for (int i = 0; i < 4; i++) {
		uint32_t insn = code_insn(code, i);
		if (insn == 0xd61f0220)
			return true;
		if ((insn & 0x9f00001f) != 0x90000010 && (insn & 0xffc003ff) != 0xf9400211 &&
		    (insn & 0xffc003ff) != 0x91000210)
			return false;
	}
	return false;
}

/*
 * Does the function that runs save x30? Looks back to the end of the function before it. Code that
 * follows an early return in a function with a frame passes for a leaf; its caller is then named
 * twice, or it once.
 */
static bool code_has_frame(const uint8_t *code)
{
	for (int i = -1; i >= -AF_ARCH_CODE_BEFORE / 4; i--) {
		if (code_is(code, i, insn_save) || code_is(code, i, insn_store) ||
		    code_is(code, i, insn_set_fp))
			return true;
		if (code_is(code, i, insn_ret) || code_is(code, i, insn_br) || !code_insn(code, i))
			return false;
	}
	return true;
}

bool af_arch_code_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (!leaf)
		return false;
	if (code_insn(code, 0) == 0xa9bf7bf0) /* PLT0: stp x16,x30,[sp,#-16]! */
		return code_linked(rule);
	if (code_is(code, -1, insn_save) && code_is(code, 0, insn_set_fp))
		return code_saved(rule, -((int32_t)(code_insn(code, -1) << 10) >> 25) * 8);
	if (code_is(code, 0, insn_save) || code_is(code, 0, insn_ret) || code_plt(code) ||
	    !code_has_frame(code))
		return code_linked(rule);
	return false;
}

/* Unwinders find back by the frame pointer. */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden af_arch_call_on\n"
        ".globl af_arch_call_on\n"
        ".type af_arch_call_on,%function\n"
        "af_arch_call_on:\n"
        "	.cfi_startproc\n"
        "	stp x29,x30,[sp,#-16]!\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset 29,-16\n"
        "	.cfi_offset 30,-8\n"
        "	mov x29,sp\n"
        "	.cfi_def_cfa_register 29\n"
        "	mov sp,x0\n"
        "	mov x0,x2\n"
        "	blr x1\n"
        "	mov sp,x29\n"
        "	.cfi_def_cfa_register 31\n"
        "	ldp x29,x30,[sp],#16\n"
        "	.cfi_def_cfa_offset 0\n"
        "	.cfi_restore 29\n"
        "	.cfi_restore 30\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size af_arch_call_on,.-af_arch_call_on\n"
        ".popsection\n");

/*
 * All instructions that may fault lie between af_guard_begin and af_guard_end, and nothing has
 * been pushed there: the repair returns from the function.
 */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden af_arch_guarded_copy\n"
        ".globl af_arch_guarded_copy\n"
        ".type af_arch_guarded_copy,%function\n"
        "af_arch_guarded_copy:\n"
        "	.cfi_startproc\n"
        "af_guard_begin:\n"
        "1:	subs x3,x2,#16\n"
        "	b.lo 4f\n"
        "	ldp x4,x5,[x1],#16\n"
        "	stp x4,x5,[x0],#16\n"
        "	mov x2,x3\n"
        "	b 1b\n"
        "4:	subs x3,x2,#8\n"
        "	b.lo 2f\n"
        "	ldr x4,[x1],#8\n"
        "	str x4,[x0],#8\n"
        "	mov x2,x3\n"
        "2:	cbz x2,3f\n"
        "	ldrb w4,[x1],#1\n"
        "	strb w4,[x0],#1\n"
        "	sub x2,x2,#1\n"
        "	b 2b\n"
        "af_guard_end:\n"
        "3:	mov w0,#0\n"
        "	ret\n"
        "af_guard_repair:\n"
        "	mov w0,#-14\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size af_arch_guarded_copy,.-af_arch_guarded_copy\n"
        ".popsection\n");

_Static_assert(EFAULT == 14, "the repair returns -EFAULT");

bool af_arch_guard_fault(ucontext_t *uc)
{
	uint64_t pc = uc->uc_mcontext.pc;
	bool repaired = guarded_words_repair(&pc);

	uc->uc_mcontext.pc = pc;
	return repaired;
}
