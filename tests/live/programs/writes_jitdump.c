/*
 * A run-time compiler at its smallest: it makes functions, moves one before it runs, replaces them
 * when they have run, and says so in a jitdump
 * (linux/tools/perf/Documentation/jitdump-specification.txt) in the current directory. Each of
 * jit_first, jit_second and jit_moved runs for about a third of the time, jit_wrong never.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"
#include "jit_code.h"

struct record {
	uint32_t id, size;
	uint64_t time_ns;
	uint32_t pid, tid;
	uint64_t words[5]; /* a move has five, a load four */
};

static int dump;

static void say(const void *data, size_t size)
{
	if (write(dump, data, size) != (ssize_t)size)
		exit(1);
}

static uint64_t now_ns(void)
{
	return (uint64_t)burn_clock_ns(CLOCK_MONOTONIC);
}

static void say_load(const void *at, const char *name, uint64_t index)
{
	struct record r = {.id = 0,
	                   .time_ns = now_ns(),
	                   .words = {(uintptr_t)at, (uintptr_t)at, sizeof code, index}};
	const size_t fixed = sizeof r - sizeof(uint64_t);

	r.size = (uint32_t)(fixed + strlen(name) + 1 + sizeof code);
	say(&r, fixed);
	say(name, strlen(name) + 1);
	say(code, sizeof code);
}

static void say_move(const void *from, const void *to, uint64_t index)
{
	struct record r = {
	    .id = 1,
	    .size = sizeof r,
	    .time_ns = now_ns(),
	    .words = {(uintptr_t)to, (uintptr_t)from, (uintptr_t)to, sizeof code, index}};

	say(&r, sizeof r);
}

static void run(uint8_t *at, int64_t ns)
{
	void (*function)(unsigned n);
	int64_t end = burn_thread_ns() + ns;

	memcpy(&function, &at, sizeof function);
	while (burn_thread_ns() < end)
		function(1 << 20);
}

int main(void)
{
	const uint32_t pid = (uint32_t)getpid();
	const uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, pid};
	char path[64];

	snprintf(path, sizeof path, "jit-%u.dump", pid);
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (dump < 0)
		return 1;
	say(header, sizeof header);
	/* Profilers see by this mapping where the dump is. */
	void *mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0);
	uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
	                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mark == MAP_FAILED || memory == MAP_FAILED)
		return 1;

	memcpy(memory, code, sizeof code);
	say_load(memory, "jit_first", 1);
	run(memory, 200000000);
	memcpy(memory + 64, code, sizeof code);
	say_load(memory + 64, "jit_second", 2);
	run(memory + 64, 200000000);
	say_load(memory + 2048, "jit_moved", 3);
	memcpy(memory + 4096, code, sizeof code);
	say_move(memory + 2048, memory + 4096, 3);
	run(memory + 4096, 200000000);
	/* Code that comes to lie there later did not run. */
	say_load(memory, "jit_wrong", 4);
	say_load(memory + 4096, "jit_wrong", 5);
	return 0;
}
