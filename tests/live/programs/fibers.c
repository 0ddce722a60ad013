/*
 * fibers [SCALE]: user-space threads that switch stacks.
 *
 * Truth: three fibers (ucontext), each on its own 64 KiB mapping, take turns in one thread. fiber_a
 * has 50 % of the CPU time, fiber_b 30 %, fiber_c 20 %, each in hot called through its own deeper
 * function: fiber_a;a_deeper;hot and so on. These stacks end at the fiber's start function (below
 * it glibc's makecontext trampoline): main is not on them. About 1 s of CPU.
 *
 * Exit status: 0, or 1 when the measured shares are not these.
 */
#include "burn.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { NR_FIBERS = 3, STACK_SIZE = 64 * 1024 };

BURN_SINK;

static ucontext_t home, fibers[NR_FIBERS];
static int64_t fiber_ns[NR_FIBERS];

BURN_FUNCTION(hot, BURN_A)

/* The two functions of a fiber: works for one turn, then goes home. */
#define FIBER(name, place, us)                                                                     \
	APART static void name##_deeper(void)                                                      \
	{                                                                                          \
		hot(us);                                                                           \
		burn_sink++;                                                                       \
	}                                                                                          \
	static void fiber_##name(void)                                                             \
	{                                                                                          \
		for (;;) {                                                                         \
			const int64_t start = burn_thread_ns();                                    \
                                                                                                   \
			name##_deeper();                                                           \
			fiber_ns[place] += burn_thread_ns() - start;                               \
			swapcontext(&fibers[place], &home);                                        \
		}                                                                                  \
	}

FIBER(a, 0, 100)
FIBER(b, 1, 60)
FIBER(c, 2, 40)

static int make_fiber(int place, void (*body)(void))
{
	void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED || getcontext(&fibers[place]))
		return -1;
	fibers[place].uc_stack.ss_sp = stack;
	fibers[place].uc_stack.ss_size = STACK_SIZE;
	fibers[place].uc_link = &home;
	makecontext(&fibers[place], body, 0);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long rounds = (unsigned long)(5000 * burn_scale(argc, argv));
	int64_t all;

	if (make_fiber(0, fiber_a) || make_fiber(1, fiber_b) || make_fiber(2, fiber_c))
		return 1;
	while (rounds--)
		for (int i = 0; i < NR_FIBERS; i++)
			swapcontext(&home, &fibers[i]);
	all = fiber_ns[0] + fiber_ns[1] + fiber_ns[2];
	truth_share("fiber_a", fiber_ns[0], all);
	truth_share("fiber_b", fiber_ns[1], all);
	truth_share("fiber_c", fiber_ns[2], all);
	truth_number("cpu_ms", all / 1000000);
	return share_is_wrong(fiber_ns[0], all, 0.5) || share_is_wrong(fiber_ns[1], all, 0.3) ||
	       share_is_wrong(fiber_ns[2], all, 0.2);
}
