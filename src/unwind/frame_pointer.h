/*
 * Steps to callers by frame pointers, where no unwind table tells: the layouts of frames as the
 * psABIs of the machines have them. The caller reads the memory:
 *
 *	af_fp_slots → read slots.ra into frame.pc, slots.fp into frame.fp → af_fp_step
 *
 *	x86-64, AArch64   fp points to the caller's fp, the return address follows
 *	RISC-V            fp is the frame's end; the return address is at fp - 8, the caller's fp at
 *	                  fp - 16. A leaf saves only the caller's fp, at fp - 8
 *
 * The outermost frame has a frame pointer of 0 (psABI of x86-64, 3.4.1; AAPCS64, 6.4.6) or a caller
 * at 0. Both are left to the user.
 */
#ifndef AF_UNWIND_FRAME_POINTER_H
#define AF_UNWIND_FRAME_POINTER_H

#include "unwind/machine.h"

struct af_fp_frame {
	uint64_t pc, sp, fp;
	uint64_t ra;  /* the register of the return address, when @is_leaf */
	bool is_leaf; /* the thread was interrupted in this frame */
};

struct af_fp_slots {
	uint64_t ra, fp; /* addresses of the saved registers */
	uint64_t end;    /* sp of the caller */
};

/*
 * Where the frame @f of a file of machine @elf has saved its caller's registers. False: its frame
 * pointer does not point into the @reach bytes from sp on.
 */
static inline __attribute__((always_inline)) bool
af_fp_slots(uint16_t elf, const struct af_fp_frame *f, uint64_t reach, struct af_fp_slots *slots)
{
	bool below = elf == EM_RISCV;
	uint64_t low = below ? f->fp - 16 : f->fp;

	slots->ra = low + 8;
	slots->fp = low;
	slots->end = low + 16;
	return low % 8 == 0 && low >= f->sp && low - f->sp <= reach;
}

/*
 * Make @f, whose pc and fp hold the words of @slots, the caller's frame. @slots->fp becomes the
 * place where its frame pointer was saved.
 */
static inline __attribute__((always_inline)) void
af_fp_step(uint16_t elf, struct af_fp_frame *f, uint64_t reach, struct af_fp_slots *slots)
{
	/* A stack address where the return address would be: the frame pointer was saved alone. */
	if (elf == EM_RISCV && f->is_leaf &&
	    (!f->pc || (f->pc % 16 == 0 && f->pc >= slots->end && f->pc - f->sp <= reach))) {
		f->fp = f->pc;
		f->pc = f->ra;
		slots->fp = slots->ra;
	}
	f->pc = af_machine_address(elf, f->pc);
	f->sp = slots->end;
	f->is_leaf = false;
}

#endif
