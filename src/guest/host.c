/* External symbols, and the thread-local storage that linked objects may use. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/machine.h"
#include "guest/guest.h"

enum {
	HOST_THREAD_ROOM = 16 << 10,
	HOST_LIBRARIES_MAX = 64,
	HOST_VERSIONS = 32, /* lib*.so.0 to .so.31 */
};

/*
 * Linked objects have their thread-local variables here: the loader gives each thread a copy of it,
 * and copies its initial values from the template of this program, which guest_threads_begin()
 * changes. It has a value, or it would be no part of the template.
 */
static __thread uint8_t room[HOST_THREAD_ROOM]
    __attribute__((aligned(64), tls_model("local-exec"))) = {1};

static struct {
	void *libraries[HOST_LIBRARIES_MAX];
	unsigned nr;
	/* The template of `room`, and the part of this program that is read-only by now. */
	uint8_t *template;
	uint64_t read_only_start, read_only_end;
} host;

static void *library_open(const char *name)
{
	char file[NAME_MAX];

	if (strchr(name, '/'))
		return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	/* Without a version it is for linkers, and may be their script. */
	for (int version = 0; version < HOST_VERSIONS; version++) {
		snprintf(file, sizeof file, "lib%s.so.%d", name, version);
		void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
		if (library)
			return library;
	}
	snprintf(file, sizeof file, "lib%s.so", name);
	return dlopen(file, RTLD_NOW | RTLD_GLOBAL);
}

int guest_library(const char *name, struct af_err *err)
{
	void *library = library_open(name);

	if (!library)
		return af_fail_plain(err, -ENOENT, "--lib %s: %s", name, dlerror());
	if (host.nr == HOST_LIBRARIES_MAX)
		return af_fail_plain(err, -E2BIG, "--lib %s: more than %d libraries", name,
		                     HOST_LIBRARIES_MAX);
	host.libraries[host.nr++] = library;
	return 0;
}

/*
 * Functions that ld links into each program from libc_nonshared.a, so that dlsym() does not find
 * them; the calls on files only in a libc before 2.33.
 */
static void *host_static(const char *name)
{
	static const struct {
		const char *name;
		void *address;
	} all[] = {{"atexit", (void *)atexit},
	           {"at_quick_exit", (void *)at_quick_exit},
	           {"pthread_atfork", (void *)pthread_atfork},
	           {"stat", (void *)stat},
	           {"fstat", (void *)fstat},
	           {"lstat", (void *)lstat},
	           {"fstatat", (void *)fstatat},
	           {"stat64", (void *)stat64},
	           {"fstat64", (void *)fstat64},
	           {"lstat64", (void *)lstat64},
	           {"fstatat64", (void *)fstatat64},
	           {"mknod", (void *)mknod},
	           {"mknodat", (void *)mknodat}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, name))
			return all[i].address;
	return NULL;
}

/* The object that @at lies in; NULL: none. */
static const void *object_of(const void *at)
{
	Dl_info info;

	return at && dladdr(at, &info) ? info.dli_fbase : NULL;
}

/*
 * The order is that of a program that ld made: libraries that are preloaded come first, then those
 * of --lib, then libc. A library's handle finds libc's symbols as well, but past the preloaded
 * ones: those of libaflame.so would not see what the program does.
 */
static void *host_symbol(const char *name)
{
	void *usual = dlsym(RTLD_DEFAULT, name);
	const void *libc = object_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));

	if (usual && object_of(usual) != libc)
		return usual;
	for (unsigned i = 0; i < host.nr; i++) {
		void *at = dlsym(host.libraries[i], name);
		if (at && object_of(at) != libc)
			return at;
	}
	return usual;
}

static bool host_find(void *arg, const char *name, struct af_link_external *e)
{
	void *at = host_symbol(name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!at && (at = host_static(name))) {
		*e = (struct af_link_external){(uint64_t)at, true};
		return true;
	}
	if (!at)
		return false;
	/* Data that dlsym() finds has a symbol; the code that an ifunc chose may have none. */
	bool has = dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol;
	unsigned type = has ? ELF64_ST_TYPE(symbol->st_info) : STT_FUNC;
	*e = (struct af_link_external){(uint64_t)at, type == STT_FUNC || type == STT_GNU_IFUNC};
	return true;
}

static uint64_t thread_pointer(void)
{
#ifdef __x86_64__
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
#else
	return (uint64_t)__builtin_thread_pointer();
#endif
}

/* The first object is this program. */
static int host_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct af_link_threads *t = arg;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO) {
			host.read_only_start = at;
			host.read_only_end = at + p->p_memsz;
		}
		if (p->p_type != PT_TLS || !info->dlpi_tls_data)
			continue;
		t->module = info->dlpi_tls_modid;
		t->offset = (uint64_t)room - (uint64_t)info->dlpi_tls_data;
		t->tp_offset = (int64_t)((uint64_t)room - thread_pointer());
		t->size = sizeof room;
		host.template = (uint8_t *)at + t->offset;
	}
	return 1;
}

struct af_link_host guest_host(void)
{
	struct af_link_host h = {.machine = AF_THIS_MACHINE,
	                         .find = host_find,
	                         .near = (uint64_t)dlsym(RTLD_DEFAULT, "environ")};

	dl_iterate_phdr(host_program, &h.threads);
	return h;
}

void guest_threads_begin(const struct af_link *l)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = (uint64_t)host.template & ~(page - 1);
	uint64_t end = ((uint64_t)host.template + sizeof room + page - 1) & ~(page - 1);

	if (!host.template || mprotect((void *)start, end - start, PROT_READ | PROT_WRITE))
		return;
	af_link_fill_thread(l, host.template);
	af_link_fill_thread(l, room);
	if (end > host.read_only_end)
		end = host.read_only_end & ~(page - 1);
	if (start >= (host.read_only_start & ~(page - 1)) && start < end)
		mprotect((void *)start, end - start, PROT_READ);
}
