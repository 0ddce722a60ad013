/*
 * The signals that a thread blocks while libaflame's handler of samples runs in it: all but faults,
 * which a guarded read repairs, and the two that belong to the C library. libaflame sets this mask.
 * The recorder and its BPF programs, which look at a thread from outside, recognise by it that the
 * thread does not block samples itself. Words are the kernel's sigset of Linux. The file includes
 * nothing, as BPF programs cannot.
 *
 * License of this file: that of whichever program includes it, Apache-2.0 or Dual BSD/GPL.
 */
#ifndef AF_BASE_SYSTEM_HANDLER_MASK_H
#define AF_BASE_SYSTEM_HANDLER_MASK_H

#define AF_SIGNAL_BIT(signo) (1ull << ((signo)-1))

enum {
	AF_SIGNAL_BUS = 7,
	AF_SIGNAL_KILL = 9,
	AF_SIGNAL_SEGV = 11,
	AF_SIGNAL_STOP = 19,
	AF_SIGNAL_LIBC = 32, /* and the next one */
};

#define AF_SIGNALS_FAULTS (AF_SIGNAL_BIT(AF_SIGNAL_BUS) | AF_SIGNAL_BIT(AF_SIGNAL_SEGV))
#define AF_SIGNALS_OF_LIBC (AF_SIGNAL_BIT(AF_SIGNAL_LIBC) | AF_SIGNAL_BIT(AF_SIGNAL_LIBC + 1))
#define AF_SIGNALS_UNBLOCKABLE (AF_SIGNAL_BIT(AF_SIGNAL_KILL) | AF_SIGNAL_BIT(AF_SIGNAL_STOP))

/* The signals that the handler asks the kernel to block. */
#define AF_HANDLER_MASK (~(AF_SIGNALS_FAULTS | AF_SIGNALS_OF_LIBC))

/* Does a thread with @blocked block @signo, and not because that handler runs? */
static inline _Bool af_blocks_samples(unsigned long long blocked, int signo)
{
	const unsigned long long any = AF_SIGNALS_OF_LIBC | AF_SIGNALS_UNBLOCKABLE;

	return (blocked & AF_SIGNAL_BIT(signo)) && (blocked | any) != (AF_HANDLER_MASK | any);
}

#endif
