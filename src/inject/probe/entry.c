/* The code that a probe leads to: it calls probe_hit() with all registers kept. */
#include "inject/probe/private.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <stddef.h>

/* State components (Intel SDM, volume 1, 13.1): SSE, AVX, and three of AVX-512. */
enum { STATE_MASK = 1 << 1 | 1 << 2 | 7 << 5, STATE_LEGACY = 512 + 64, STATE_LEAF = 0xd };

/* For XSAVE: the components to keep, and the bytes that they take. */
uint32_t probe_state_mask __attribute__((visibility("hidden")));
uint32_t probe_state_bytes __attribute__((visibility("hidden")));

static uint32_t states_enabled(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

bool probe_entry_prepare(void)
{
	uint32_t a, b, c, d, bytes = STATE_LEGACY;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return false;
	uint32_t mask = states_enabled() & STATE_MASK;
	for (uint32_t i = 2; i < 8; i++)
		if (mask & 1u << i && __get_cpuid_count(STATE_LEAF, i, &a, &b, &c, &d) &&
		    a + b > bytes)
			bytes = a + b;
	probe_state_mask = mask;
	probe_state_bytes = bytes;
	return true;
}

/*
 * Makes struct probe_frame. At probe_entry the caller's frame follows this one for unwinders, as if
 * the function was not there yet, or no longer. At probe_entry_red it is not known where it is, and
 * r12 to r15 are there as well. The header that XSAVE finds is to be zero (Intel SDM, volume 1,
 * 13.7).
 */
#define ENTRY(name, caller, more, less, registers)                                                 \
	".text\n"                                                                                  \
	".p2align 4\n"                                                                             \
	".globl " name "\n"                                                                        \
	".hidden " name "\n"                                                                       \
	".type " name ", @function\n" name ":\n"                                                   \
	"	.cfi_startproc\n"                                                                        \
	"	.cfi_def_cfa %rsp, 24\n" caller "	pushfq\n"                                        \
	"	.cfi_def_cfa_offset 32\n"                                                                \
	"	push %rbp\n"                                                                             \
	"	.cfi_def_cfa_offset 40\n"                                                                \
	"	.cfi_offset %rbp, -40\n"                                                                 \
	"	mov %rsp, %rbp\n"                                                                        \
	"	.cfi_def_cfa_register %rbp\n"                                                            \
	"	cld\n"                                                                                   \
	"	push %rax\n"                                                                             \
	"	push %rbx\n"                                                                             \
	"	.cfi_offset %rbx, -56\n"                                                                 \
	"	push %rcx\n"                                                                             \
	"	push %rdx\n"                                                                             \
	"	push %rsi\n"                                                                             \
	"	push %rdi\n"                                                                             \
	"	push %r8\n"                                                                              \
	"	push %r9\n"                                                                              \
	"	push %r10\n"                                                                             \
	"	push %r11\n" more "	mov probe_state_bytes(%rip), %eax\n"                           \
	"	sub %rax, %rsp\n"                                                                        \
	"	and $-64, %rsp\n"                                                                        \
	"	mov %rsp, %rbx\n"                                                                        \
	"	xor %eax, %eax\n"                                                                        \
	"	mov %rax, 512(%rbx)\n"                                                                   \
	"	mov %rax, 520(%rbx)\n"                                                                   \
	"	mov %rax, 528(%rbx)\n"                                                                   \
	"	mov %rax, 536(%rbx)\n"                                                                   \
	"	mov %rax, 544(%rbx)\n"                                                                   \
	"	mov %rax, 552(%rbx)\n"                                                                   \
	"	mov %rax, 560(%rbx)\n"                                                                   \
	"	mov %rax, 568(%rbx)\n"                                                                   \
	"	mov probe_state_mask(%rip), %eax\n"                                                      \
	"	xor %edx, %edx\n"                                                                        \
	"	xsave64 (%rbx)\n"                                                                        \
	"	lea -80(%rbp), %rdi\n"                                                                   \
	"	call probe_hit\n"                                                                        \
	"	mov probe_state_mask(%rip), %eax\n"                                                      \
	"	xor %edx, %edx\n"                                                                        \
	"	xrstor64 (%rbx)\n"                                                                       \
	"	lea -" registers "(%rbp), %rsp\n" less "	pop %r11\n"                               \
	"	pop %r10\n"                                                                              \
	"	pop %r9\n"                                                                               \
	"	pop %r8\n"                                                                               \
	"	pop %rdi\n"                                                                              \
	"	pop %rsi\n"                                                                              \
	"	pop %rdx\n"                                                                              \
	"	pop %rcx\n"                                                                              \
	"	pop %rbx\n"                                                                              \
	"	pop %rax\n"                                                                              \
	"	pop %rbp\n"                                                                              \
	"	.cfi_def_cfa %rsp, 32\n"                                                                 \
	"	popfq\n"                                                                                 \
	"	.cfi_def_cfa_offset 24\n"                                                                \
	"	ret\n"                                                                                   \
	"	.cfi_endproc\n"                                                                          \
	".size " name ", . - " name "\n"

__asm__(ENTRY("probe_entry", "", "", "", "80"));
__asm__(ENTRY("probe_entry_red", "	.cfi_undefined %rip\n",
              "	push %r12\n"
              "	push %r13\n"
              "	push %r14\n"
              "	push %r15\n",
              "	pop %r15\n"
              "	pop %r14\n"
              "	pop %r13\n"
              "	pop %r12\n",
              "112"));

#else

bool probe_entry_prepare(void)
{
	return false;
}

void probe_entry(void)
{
}

void probe_entry_red(void)
{
}

#endif
