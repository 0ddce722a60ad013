/*
 * Trace points for other tracers (USDT, as systemtap's sys/sdt.h makes them, with its notes of
 * version 3; bpftrace, perf and bcc know them by provider and name). With no tracer attached, one
 * costs a load and a branch that is not taken. The probed instruction is a nop of one byte: a
 * longer nop would be patched to a call, which writes below the stack pointer, where code may have
 * data.
 */
#ifndef AF_INJECT_API_USDT_H
#define AF_INJECT_API_USDT_H

#include <stdint.h>

/* Counts the attached tracers; the kernel increments it. Once a place, at file level. */
#define AF_USDT_PLACE(name)                                                                        \
	__attribute__((visibility("hidden"), section(".probes"),                                   \
	               used)) volatile uint16_t aflame_##name##_semaphore

#if defined(__x86_64__)
/* aflame:@name, with two unsigned arguments of 32 bits. */
#define AF_USDT(name, first, second)                                                               \
	do {                                                                                       \
		if (__builtin_expect(aflame_##name##_semaphore, 0))                                \
			__asm__ volatile(                                                          \
			    "990:	nop\n"                                                           \
			    "	.pushsection .note.stapsdt, \"\", \"note\"\n"                        \
			    "	.balign 4\n"                                                         \
			    "	.4byte 992f - 991f, 994f - 993f, 3\n"                                \
			    "991:	.asciz \"stapsdt\"\n"                                            \
			    "992:	.balign 4\n"                                                     \
			    "993:	.8byte 990b\n"                                                   \
			    "	.8byte _.stapsdt.base\n"                                             \
			    "	.8byte aflame_" #name "_semaphore\n"                               \
			    "	.asciz \"aflame\"\n"                                                 \
			    "	.asciz \"" #name "\"\n"                                            \
			    "	.asciz \"4@%%edi 4@%%esi\"\n"                                        \
			    "994:	.balign 4\n"                                                     \
			    "	.popsection\n"                                                       \
			    "	.ifndef _.stapsdt.base\n"                                            \
			    "	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, "   \
			    "comdat\n"                                                             \
			    "	.weak _.stapsdt.base\n"                                              \
			    "	.hidden _.stapsdt.base\n"                                            \
			    "_.stapsdt.base:	.space 1\n"                                           \
			    "	.size _.stapsdt.base, 1\n"                                           \
			    "	.popsection\n"                                                       \
			    "	.endif\n"                                                            \
			    :                                                                      \
			    : "D"((uint32_t)(first)), "S"((uint32_t)(second)));                    \
	} while (0)
#else
#define AF_USDT(name, first, second) ((void)(first), (void)(second))
#endif

#endif
