#include "inject/arch/arch.h"

#include <errno.h>
#include <string.h>

#include "inject/arch/guarded_words.h"
#include "unwind/cfi.h"

static const uint8_t *code_at(const uint8_t *code, int offset)
{
	return code + AF_ARCH_CODE_BEFORE + offset;
}

#define CODE_IS(code, offset, bytes) (!memcmp(code_at(code, offset), bytes, sizeof(bytes) - 1))

static bool code_is_sigreturn(const uint8_t *code, bool leaf)
{
	static const char mov_rax[] = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05";
	static const char mov_eax[] = "\xb8\x0f\0\0\0\x0f\x05";

	if (CODE_IS(code, 0, mov_rax) || CODE_IS(code, 0, mov_eax))
		return true;
	return leaf && (CODE_IS(code, -7, mov_rax) || CODE_IS(code, -5, mov_eax));
}

bool af_arch_special_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	/* glibc's __start_context: mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi */
	static const char start_context[] = "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff";

	if (code_is_sigreturn(code, leaf))
		*rule = (struct af_rule){.cfa = AF_CFA_SIGNAL};
	else if (CODE_IS(code, 0, start_context))
		*rule = (struct af_rule){.cfa = AF_CFA_END};
	else
		return false;
	return true;
}

bool af_arch_after_call(const uint8_t *code)
{
	if (*code_at(code, -5) == 0xe8)
		return true;
	/* ff /2 with a ModRM byte, perhaps a SIB byte and a displacement. */
	for (int i = 2; i <= 7; i++)
		if (*code_at(code, -i) == 0xff && (*code_at(code, -i + 1) & 0x38) == 0x10)
			return true;
	return false;
}

static bool code_cfa_sp(struct af_rule *rule, int offset)
{
	*rule = (struct af_rule){
	    .cfa = AF_CFA_SP, .cfa_offset = offset, .ra_offset = AF_ARCH_RA_OFFSET};
	return true;
}

/* A leaf in the stub of a shared function: what has the linkage table pushed so far? */
static bool code_plt(const uint8_t *code, struct af_rule *rule)
{
	if (CODE_IS(code, 0, "\xff\x35")) /* PLT0: push GOT[1]; the index was pushed */
		return code_cfa_sp(rule, 16);
	if (CODE_IS(code, 0, "\xff\x25") || CODE_IS(code, 0, "\xf2\xff\x25"))
		return code_cfa_sp(rule, CODE_IS(code, -6, "\xff\x35") ? 24 : 8);
	if (CODE_IS(code, 0, "\x68") && *code_at(code, 5) == 0xe9)
		return code_cfa_sp(rule, 8);
	if (CODE_IS(code, 0, "\xe9") && CODE_IS(code, -5, "\x68"))
		return code_cfa_sp(rule, 16);
	return false;
}

/* At a return address: CPython's perf trampoline (Python/asm_trampoline.S). */
static bool code_trampoline(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (CODE_IS(code, 0, "\x48\x83\xc4\x08\xc3")) /* add $8,%rsp; ret */
		return code_cfa_sp(rule, 16);
	if (!leaf)
		return false;
	if (CODE_IS(code, 0, "\x48\x83\xec\x08\xff")) /* sub $8,%rsp; call *%rcx */
		return code_cfa_sp(rule, 8);
	if (CODE_IS(code, 0, "\xff") && CODE_IS(code, 2, "\x48\x83\xc4\x08\xc3"))
		return code_cfa_sp(rule, 16);
	if (CODE_IS(code, -4, "\x48\x83\xc4\x08\xc3"))
		return code_cfa_sp(rule, 8);
	return false;
}

bool af_arch_code_rule(const uint8_t *code, bool leaf, struct af_rule *rule)
{
	if (code_trampoline(code, leaf, rule))
		return true;
	if (!leaf)
		return false;
	if (code_plt(code, rule))
		return true;
	if (CODE_IS(code, 0, "\xf3\x0f\x1e\xfa")) /* endbr64: nothing has been pushed */
		return code_cfa_sp(rule, 8);
	if (CODE_IS(code, 0, "\x55\x48\x89\xe5") || CODE_IS(code, 0, "\x55\x48\x8b\xec"))
		return code_cfa_sp(rule, 8);
	if (CODE_IS(code, -1, "\x55\x48\x89\xe5") || CODE_IS(code, -1, "\x55\x48\x8b\xec")) {
		code_cfa_sp(rule, 16);
		rule->fp = AF_SAVED_CFA;
		rule->fp_offset = -16;
		return true;
	}
	if (CODE_IS(code, -1, "\x5d\xc3") || CODE_IS(code, -1, "\xc9\xc3"))
		return code_cfa_sp(rule, 8);
	return false;
}

/* Unwinders find back by the frame pointer. */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden af_arch_call_on\n"
        ".globl af_arch_call_on\n"
        ".type af_arch_call_on,@function\n"
        "af_arch_call_on:\n"
        "	.cfi_startproc\n"
        "	push %rbp\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset %rbp,-16\n"
        "	mov %rsp,%rbp\n"
        "	.cfi_def_cfa_register %rbp\n"
        "	mov %rdi,%rsp\n"
        "	mov %rdx,%rdi\n"
        "	call *%rsi\n"
        "	mov %rbp,%rsp\n"
        "	pop %rbp\n"
        "	.cfi_def_cfa %rsp,8\n"
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
        ".type af_arch_guarded_copy,@function\n"
        "af_arch_guarded_copy:\n"
        "	.cfi_startproc\n"
        "af_guard_begin:\n"
        "1:	cmp $16,%rdx\n"
        "	jb 4f\n"
        "	movups (%rsi),%xmm0\n"
        "	movups %xmm0,(%rdi)\n"
        "	add $16,%rsi\n"
        "	add $16,%rdi\n"
        "	sub $16,%rdx\n"
        "	jmp 1b\n"
        "4:	cmp $8,%rdx\n"
        "	jb 2f\n"
        "	mov (%rsi),%rax\n"
        "	mov %rax,(%rdi)\n"
        "	add $8,%rsi\n"
        "	add $8,%rdi\n"
        "	sub $8,%rdx\n"
        "2:	test %rdx,%rdx\n"
        "	je 3f\n"
        "	movzbl (%rsi),%eax\n"
        "	mov %al,(%rdi)\n"
        "	inc %rsi\n"
        "	inc %rdi\n"
        "	dec %rdx\n"
        "	jmp 2b\n"
        "af_guard_end:\n"
        "3:	xor %eax,%eax\n"
        "	ret\n"
        "af_guard_repair:\n"
        "	mov $-14,%eax\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size af_arch_guarded_copy,.-af_arch_guarded_copy\n"
        ".popsection\n");

_Static_assert(EFAULT == 14, "the repair returns -EFAULT");

bool af_arch_guard_fault(ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	bool repaired = guarded_words_repair(&pc);

	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	return repaired;
}
