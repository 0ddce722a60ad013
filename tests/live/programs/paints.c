/*
 * paints thread|small|alternate|fiber [SCALE]: how much of a program's stack its recorder takes.
 *
 * It paints the stack below where it stands, works there without a call for some 0.2 s of CPU time
 * in work(), and looks how far down the paint is gone: on a thread's stack of 256 KiB, or of 16 KiB
 * (small), on the alternate stack of a signal handler (64 KiB), or on a coroutine's 8 KiB between
 * two neighbours'. As a library (libpaint_here.so) it does so on the stack of whoever calls.
 *
 * Truth: taken, the bytes below that are not as painted; frame, what the kernel puts there for one
 * signal; neighbour, the bytes of the neighbour's stack that are not as painted.
 *
 * Exit status: 0, or 1 when something could not be had, or the handler's stack is no longer set.
 */
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	PAINT = 0xa5,
	RED_ZONE = 128,
	OWN = 256, /* for work() itself */
	SMALL = 16 << 10,
	LARGE = 256 << 10,
	ALTERNATE = 64 << 10,
	FIBER = 8 << 10,
};

BURN_SINK;

static double scale;
static long taken;

APART static void work(volatile unsigned char *low)
{
	volatile unsigned char *here, *at;
	uint64_t x = burn_sink;

	__asm__ volatile("mov %%rsp,%0" : "=r"(here));
	here -= OWN;
	for (at = low; at < here; at++)
		*at = PAINT;
	BURN(x, BURN_A, (unsigned long)(200000 * scale * BURN_PER_US));
	for (at = low; at < here && *at == PAINT; at++)
		;
	/* The kernel may take memory below the red zone. */
	taken = (long)(here - at) + OWN - RED_ZONE;
	burn_sink = x;
}

static void *thread(void *size)
{
	pthread_attr_t attr;
	void *low;
	size_t bytes;

	(void)size;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &bytes);
	pthread_attr_destroy(&attr);
	work(low);
	return NULL;
}

static int on_thread(size_t size)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, size) || pthread_create(&t, &attr, thread, NULL))
		return 1;
	return pthread_join(t, NULL);
}

static unsigned char *alternate;
static bool kept;

static void handle(int signo)
{
	stack_t now = {.ss_flags = 0};

	(void)signo;
	work(alternate);
	kept = !sigaltstack(NULL, &now) && now.ss_sp == alternate && now.ss_flags == SS_ONSTACK;
}

static int on_alternate(void)
{
	struct sigaction act = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	alternate = malloc(ALTERNATE);
	if (!alternate || sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = ALTERNATE}, NULL) ||
	    sigaction(SIGUSR1, &act, NULL))
		return 1;
	return raise(SIGUSR1) || !kept;
}

static ucontext_t home, fiber;
static unsigned char stacks[3][FIBER] __attribute__((aligned(64)));

static void fiber_work(void)
{
	work(stacks[1]);
}

static int on_fiber(void)
{
	static long touched;

	memset(stacks, PAINT, sizeof stacks);
	if (getcontext(&fiber))
		return 1;
	fiber.uc_stack.ss_sp = stacks[1];
	fiber.uc_stack.ss_size = FIBER;
	fiber.uc_link = &home;
	makecontext(&fiber, fiber_work, 0);
	swapcontext(&home, &fiber);
	for (int i = 0; i < FIBER; i++)
		touched += stacks[0][i] != PAINT;
	truth_number("neighbour", touched);
	return 0;
}

static volatile long frame;

static void measure(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)signo;
	(void)info;
	frame = (long)interrupted->uc_mcontext.gregs[REG_RSP] - RED_ZONE -
	        (long)__builtin_frame_address(0);
}

static int measure_frame(void)
{
	struct sigaction act = {.sa_sigaction = measure, .sa_flags = SA_SIGINFO};

	return sigaction(SIGUSR2, &act, NULL) || raise(SIGUSR2);
}

/* In the library, for other languages: on the stack that it is called on. @reported: the truth. */
__attribute__((visibility("default"))) int paint_here(double times, long reported[2]);

int paint_here(double times, long reported[2])
{
	scale = times;
	if (measure_frame())
		return 1;
	work((unsigned char *)__builtin_frame_address(0) - SMALL);
	reported[0] = taken;
	reported[1] = frame;
	return 0;
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "thread";
	int failed = measure_frame();

	scale = burn_scale(argc - 1, argv + 1);
	if (failed)
		return failed;
	if (!strcmp(where, "thread"))
		failed = on_thread(LARGE);
	else if (!strcmp(where, "small"))
		failed = on_thread(SMALL);
	else if (!strcmp(where, "alternate"))
		failed = on_alternate();
	else
		failed = on_fiber();
	truth_number("taken", taken);
	truth_number("frame", frame);
	return failed;
}
