/*
 * The image as others find it: gdb by its JIT interface (GDB's manual, "JIT Compilation
 * Interface"), perf by a map of names, unwinders of C++ by the table of frames.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "guest/guest.h"

enum { JIT_VERSION = 1, JIT_REGISTER = 1 };

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile;
	uint64_t size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

/* The names are gdb's: it puts a breakpoint at the function, and reads the variable there. */
__attribute__((visibility("default"))) void __jit_debug_register_code(void);
__attribute__((visibility("default"))) struct jit_descriptor __jit_debug_descriptor;

struct jit_descriptor __jit_debug_descriptor = {.version = JIT_VERSION};

__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static struct {
	struct jit_code_entry entry;
	char map[64]; /* "": none was written */
	int pid;
} registered;

static void register_gdb(const struct af_link *l, int fd)
{
	uint64_t size = af_link_file_size(l);
	void *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (file == MAP_FAILED)
		return;
	registered.entry.symfile = file;
	registered.entry.size = size;
	__jit_debug_descriptor.first = &registered.entry;
	__jit_debug_descriptor.relevant = &registered.entry;
	__jit_debug_descriptor.action = JIT_REGISTER;
	__jit_debug_register_code();
}

static void perf_line(void *arg, const char *name, uint64_t start, uint64_t size)
{
	if (size)
		af_buf_fmt(arg, "%llx %llx %s\n", (unsigned long long)start,
		           (unsigned long long)size, name);
}

/* Nobody's file is overwritten, and no link followed. */
static void register_perf(const struct af_link *l)
{
	struct af_buf text = {0};

	registered.pid = getpid();
	snprintf(registered.map, sizeof registered.map, "/tmp/perf-%d.map", registered.pid);
	int fd = open(registered.map, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		registered.map[0] = 0;
		return;
	}
	af_link_functions(l, perf_line, &text);
	af_buf_flush(&text, fd);
	af_buf_free(&text);
	close(fd);
}

void guest_register(const struct af_link *l, int fd)
{
	void (*frames)(void *) = NULL;

	register_gdb(l, fd);
	register_perf(l);
	/*
	 * Only with a library of C++, or another that throws, is there an unwinder to register
	 * with.
	 */
	*(void **)&frames = dlsym(RTLD_DEFAULT, "__register_frame");
	if (frames)
		frames((void *)af_link_frames(l));
}

void guest_unregister(void)
{
	if (registered.map[0] && registered.pid == getpid())
		unlink(registered.map);
	registered.map[0] = 0;
}
