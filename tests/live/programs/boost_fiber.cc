/*
 * boost_fiber: Boost's coroutines on stacks of 8 KiB, one beside the other, each with a neighbour
 * beneath that is painted. They take turns in work(), some 0.3 s of CPU time. Compiled by tests.
 *
 * Truth: neighbour, the bytes of neighbours that are not as painted. Exit status: 0.
 */
#include <boost/context/fiber.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace ctx = boost::context;

enum { NR = 4, BYTES = 8 << 10, PAINT = 0xa5, TURNS = 10 };

static unsigned char stacks[2 * NR][BYTES] __attribute__((aligned(64)));
static volatile uint64_t sink;

/* The stack is ours to lay where we like. */
struct place {
	int i;

	ctx::stack_context allocate()
	{
		ctx::stack_context s;
		s.size = BYTES;
		s.sp = stacks[2 * i + 1] + BYTES;
		return s;
	}
	void deallocate(ctx::stack_context &)
	{
	}
};

__attribute__((noinline)) static void work()
{
	uint64_t x = sink;

	for (unsigned long n = 8000000; n; n--) {
		x = x * UINT64_C(6364136223846793005) + n;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
}

int main()
{
	ctx::fiber fibers[NR];
	long touched = 0;

	memset(stacks, PAINT, sizeof stacks);
	for (int i = 0; i < NR; i++)
		fibers[i] = ctx::fiber(std::allocator_arg, place{i}, [](ctx::fiber &&back) {
			for (int turn = 0; turn < TURNS; turn++) {
				work();
				back = std::move(back).resume();
			}
			return std::move(back);
		});
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < NR; i++)
			fibers[i] = std::move(fibers[i]).resume();
	for (int i = 0; i < NR; i++)
		for (int b = 0; b < BYTES; b++)
			touched += stacks[2 * i][b] != PAINT;
	printf("truth neighbour %ld\n", touched);
	for (int i = 0; i < NR; i++)
		fibers[i] = std::move(fibers[i]).resume();
	return 0;
}
