/*
 * hostile_frames [SCALE]: unwind tables made to hurt whoever reads them. spin_wide's speaks of
 * register 134,217,727; spin_long's takes 8 million instructions to read, and remembers a row at
 * each second.
 *
 * Truth: main calls spin_wide and spin_long in turn, by as many microseconds each; they take half
 * of the CPU time, some 0.5 s in all. Neither touches the frame pointer, and both are long enough
 * that hardly two samples hit the same address. x86-64 only.
 *
 * Exit status: 0.
 */
#include "burn.h"

#ifdef __x86_64__
void spin_wide(unsigned long turns);
void spin_long(unsigned long turns);

#define SPIN(name, before, after)                                                                  \
	"	.type " name ", @function\n" name ":\n" before "1:\n"                              \
	"	.rept 2000\n"                                                                            \
	"	imul %rax, %rax\n"                                                                       \
	"	.endr\n"                                                                                 \
	"	dec %rdi\n"                                                                              \
	"	jnz 1b\n"                                                                                \
	"	ret\n" after "	.size " name ", . - " name "\n"

__asm__(
    /* DW_CFA_undefined */
    SPIN("spin_wide", "	.cfi_startproc\n	.cfi_escape 0x07, 0xff, 0xff, 0xff, 0x3f\n",
         "	.cfi_endproc\n") SPIN("spin_long", "", "")
    /* A CIE as compilers write it; in the FDE DW_CFA_remember_state and _restore_state. */
    "	.section .eh_frame, \"a\", @progbits\n"
    "1:	.long 3f - 2f\n"
    "2:	.long 0\n"
    "	.byte 1\n"
    "	.asciz \"zR\"\n"
    "	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0\n"
    "	.balign 8, 0\n"
    "3:	.long 5f - 4f\n"
    "4:	.long 4b - 1b\n"
    "	.long spin_long - .\n"
    "	.long 1b - 1b + 8 + 2000 * 4\n"
    "	.byte 0\n"
    "	.fill 4 << 20, 2, 0x0b0a\n"
    "	.balign 8, 0\n"
    "5:	.text\n");
#else
BURN_FUNCTION(spin_wide, BURN_A)
BURN_FUNCTION(spin_long, BURN_B)
#endif

enum { ROUNDS = 100, TURNS = 800 };

int main(int argc, char **argv)
{
	int scale = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < scale * ROUNDS; i++) {
		spin_wide(TURNS);
		spin_long(TURNS);
	}
	return 0;
}
