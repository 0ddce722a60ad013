/*
 * modes calls|faults: a second of CPU time that goes back and forth between the two modes, many
 * times within a tick: in system calls that do next to nothing, or in page faults.
 *
 * Truth: user_us and system_us, by getrusage.
 *
 * Exit status: 0, or 1 when a tenth of the time at least was not in each of the modes.
 */
#include "burn.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROOM = 1 << 20, PAGE = 4096 };

static volatile unsigned sum;

static int64_t micro(struct timeval tv)
{
	return tv.tv_sec * INT64_C(1000000) + tv.tv_usec;
}

__attribute__((noinline)) static void call_often(int fd)
{
	char byte;

	for (int i = 0; i < 100; i++)
		if (read(fd, &byte, 1) == 1)
			sum += (unsigned char)byte;
}

/* Some work between two faults, or all of it would be the kernel's. */
__attribute__((noinline)) static void fault_often(char *room)
{
	for (int at = 0; at < ROOM; at += PAGE) {
		room[at] = 1;
		for (int i = 0; i < PAGE / 8; i++)
			sum += (unsigned char)room[at + i];
	}
	if (!madvise(room, ROOM, MADV_DONTNEED)) /* no tail call */
		sum++;
}

int main(int argc, char **argv)
{
	const int calls = argc > 1 && !strcmp(argv[1], "calls");
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rusage r;
	int64_t user_us, system_us;

	if (room == MAP_FAILED || fd < 0 || madvise(room, ROOM, MADV_NOHUGEPAGE))
		return 1;
	do {
		for (int i = 0; i < 10; i++)
			calls ? call_often(fd) : fault_often(room);
		getrusage(RUSAGE_SELF, &r);
		user_us = micro(r.ru_utime);
		system_us = micro(r.ru_stime);
	} while (user_us + system_us < 1000000);
	truth_number("user_us", user_us);
	truth_number("system_us", system_us);
	return user_us < 100000 || system_us < 100000;
}
