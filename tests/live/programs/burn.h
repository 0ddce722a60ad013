/*
 * Shared by the programs of known behaviour: a loop that costs the same wherever it stands, and
 * the clock that says what it cost.
 *
 * Every program prints its truth as lines "truth KEY VALUE", so that a checker needs one parser.
 * Shares are of the CPU time that the program measured itself, between 0 and 1.
 */
#ifndef LIVE_BURN_H
#define LIVE_BURN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A function that is never inlined, cloned, merged with its twin or specialised for its caller. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

/* Iterations of BURN that take about one microsecond on a core of 4 GHz (four cycles each). */
#define BURN_PER_US 1050ul

/*
 * Burns CPU in place, without a call: a chain of dependent multiplications, so that neither the
 * alignment of the loop nor what runs beside it matters. The empty instruction keeps compilers from
 * rearranging the chain. @x is a local variable of type uint64_t.
 */
#define BURN(x, factor, iterations)                                                                \
	do {                                                                                       \
		for (unsigned long burn_i = (iterations); burn_i; burn_i--) {                      \
			(x) = (x) * (factor) + burn_i;                                             \
			__asm__ volatile("" : "+r"(x));                                            \
		}                                                                                  \
	} while (0)

/* The results of the loops go here, so that none of them can be left out. */
extern volatile uint64_t burn_sink;
#define BURN_SINK volatile uint64_t burn_sink

/* Defines a leaf, void name(unsigned long us), that burns about so many microseconds. */
#define BURN_FUNCTION(name, factor)                                                                \
	APART static void name(unsigned long us)                                                   \
	{                                                                                          \
		uint64_t x = burn_sink;                                                            \
                                                                                                   \
		BURN(x, factor, (us)*BURN_PER_US);                                                 \
		burn_sink = x;                                                                     \
	}

/*
 * Defines a leaf, int name(int fd, int64_t ns), that reads zeros from @fd, /dev/zero, until the
 * thread has spent that much; 0, or -1 when it cannot.
 */
#define READ_FUNCTION(name, bytes)                                                                 \
	APART static int name(int fd, int64_t ns)                                                  \
	{                                                                                          \
		static char page[bytes];                                                           \
		const int64_t end = burn_thread_ns() + ns;                                         \
                                                                                                   \
		while (burn_thread_ns() < end)                                                     \
			if (read(fd, page, sizeof page) != sizeof page)                            \
				return -1;                                                         \
		return 0;                                                                          \
	}

/* Odd factors, so that functions with the same loop are not the same code. */
#define BURN_A UINT64_C(0x9e3779b97f4a7c15)
#define BURN_B UINT64_C(0xbf58476d1ce4e5b9)
#define BURN_C UINT64_C(0x94d049bb133111eb)
#define BURN_D UINT64_C(0xd6e8feb86659fd93)
#define BURN_E UINT64_C(0xff51afd7ed558ccd)
#define BURN_F UINT64_C(0xc4ceb9fe1a85ec53)

static inline int64_t burn_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* CPU time of the calling thread. */
static inline int64_t burn_thread_ns(void)
{
	return burn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The first argument as a factor on the program's duration, 1 when it is missing. */
static inline double burn_scale(int argc, char **argv)
{
	const double scale = argc > 1 ? atof(argv[1]) : 1;

	return scale > 0 ? scale : 1;
}

static inline void truth_share(const char *name, int64_t part_ns, int64_t whole_ns)
{
	printf("truth share.%s %.4f\n", name, whole_ns ? (double)part_ns / (double)whole_ns : 0);
}

static inline void truth_number(const char *name, long value)
{
	printf("truth %s %ld\n", name, value);
}

/*
 * 1 when @part_ns of @whole_ns is not @want to within 0.06, else 0: for the exit status. Runs of
 * less than 300 ms are not checked: where recorders load and free BPF programs beside them,
 * interrupts take up to 90 ms of the CPU time of a thread that happens to be there.
 */
static inline int share_is_wrong(int64_t part_ns, int64_t whole_ns, double want)
{
	const double share = (double)part_ns / (double)whole_ns;

	return whole_ns >= 300000000 && !(share > want - 0.06 && share < want + 0.06);
}

#endif
