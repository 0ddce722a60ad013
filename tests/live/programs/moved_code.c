/*
 * Code that lies elsewhere than the loader put it: pages of this program mapped a second time
 * (spin_again), pages that were moved away (spin_moved), and code made at run time that no map
 * names. As long for each, by the thread's clock. The functions that spin keep no frame pointer,
 * so who called them is known from the tables of the file alone.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PART_NS = 400000000 };

static volatile unsigned sink;

/* Each in pages of its own; they call nothing, so they run anywhere. */
#define SPINS(name)                                                                                \
	unsigned name(unsigned n);                                                                 \
	APART __attribute__((section(".text." #name), aligned(4096))) unsigned name(unsigned n)    \
	{                                                                                          \
		unsigned keep[8] = {n}, s = 1;                                                     \
		for (unsigned i = 0; i < n; i++) {                                                 \
			s = s * 1664525 + 1013904223;                                              \
			keep[s >> 29] += s;                                                        \
			__asm__ volatile("" ::"r"(keep) : "memory");                               \
		}                                                                                  \
		return keep[0] ^ s;                                                                \
	}                                                                                          \
	__attribute__((section(".text." #name), aligned(4096), used)) static void name##_end(void) \
	{                                                                                          \
		__asm__ volatile("ret");                                                           \
	}

SPINS(spin_again)
SPINS(spin_moved)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void run_for(const char *name, unsigned (*spin)(unsigned))
{
	uint64_t begin = cpu_ns(), now;

	while ((now = cpu_ns()) - begin < PART_NS)
		sink += spin(100000);
	printf("truth %s %.9f\n", name, (double)(now - begin) / 1e9);
}

/* The offset in the file of what lies at @at. */
static off_t file_offset(const void *at)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (unsigned long)at >= start && (unsigned long)at < end) {
			fclose(f);
			return (off_t)(offset + (unsigned long)at - start);
		}
	exit(3);
}

int main(void)
{
	/* mov ecx, edi; loop: dec ecx; jnz loop; ret */
	static const uint8_t code[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	int fd = open("/proc/self/exe", O_RDONLY);
	void *again = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
	                   file_offset((void *)spin_again));
	void *moved = mremap((void *)spin_moved, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
	                     mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	uint8_t *made =
	    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || again == MAP_FAILED || moved == MAP_FAILED || made == MAP_FAILED)
		return 2;
	memcpy(made, code, sizeof code);
	if (mprotect(made, PAGE, PROT_READ | PROT_EXEC))
		return 2;
	run_for("spin_again", (unsigned (*)(unsigned))again);
	run_for("spin_moved", (unsigned (*)(unsigned))moved);
	run_for("made", (unsigned (*)(unsigned))made);
	return 0;
}
