/* Modules of this very process, looked up by both ways; guarded reads; hostile ELF headers. */
#include "inject/walk/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulated.h"
#include "inject/walk/elf_image.h"
#include "inject/walk/maps.h"
#include "trace/layout.h"
#include "unwind_stacks.h"

static uint64_t here(void)
{
	return (uint64_t)here;
}

/* In libc itself: a sanitizer has functions of the same names. */
static void *libc_symbol(const char *name)
{
	return dlsym(dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW), name);
}

static uint64_t libc_address(void)
{
	return (uint64_t)libc_symbol("qsort");
}

static uint64_t vdso_address(void)
{
	const Elf64_Ehdr *ehdr = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Phdr *ph = (const void *)((const char *)ehdr + ehdr->e_phoff);

	for (unsigned i = 0; i < ehdr->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
			return (uint64_t)ehdr + ph[i].p_vaddr + ph[i].p_memsz / 2;
	return 0;
}

/* Both ways of looking up. */
static void with_each_way(void (*check)(void))
{
	for (int maps = 0; maps < 2; maps++) {
		af_modules_use_maps(maps);
		af_modules_forget();
		check();
	}
	af_modules_use_maps(false);
	af_modules_forget();
}

static void check_executable(void)
{
	char exe[PATH_MAX] = "";
	const struct af_module *m = af_module_find(here());

	assert_non_null(m);
	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	assert_string_equal(m->path, exe);
	assert_int_equal(m->flags, AF_MAPPING_MAIN);
	assert_in_range(here(), m->start, m->end - 1);
	assert_non_null(m->eh_frame_hdr);
	assert_in_range((uint64_t)m->eh_frame_hdr, m->eh_start, m->eh_end - 1);
	assert_int_equal(m->build_id_len, 20);
}

static void the_executable_is_found(void **state)
{
	with_each_way(check_executable);
}

static void check_libc(void)
{
	Dl_info info;
	const Elf64_Sym *sym;
	const struct af_module *m = af_module_find(libc_address());

	assert_non_null(m);
	assert_non_null(strstr(m->path, "libc"));
	assert_int_equal(m->path[0], '/');
	assert_int_equal(access(m->path, R_OK), 0);
	assert_int_equal(m->flags, 0);
	assert_true(dladdr1((void *)libc_address(), &info, (void **)&sym, RTLD_DL_SYMENT));
	assert_int_equal(libc_address() - m->bias, sym->st_value);
	assert_int_equal(m->build_id_len, 20);
}

static void a_library_is_found(void **state)
{
	SKIP_EMULATED("names of libraries are not those of files here");
	with_each_way(check_libc);
}

static void check_vdso(void)
{
	const struct af_module *m = af_module_find(vdso_address());

	assert_non_null(m);
	assert_string_equal(m->path, "[vdso]");
	assert_int_equal(m->flags, 0);
	assert_non_null(m->eh_frame_hdr);
	assert_true(m->build_id_len > 0);
	assert_int_not_equal(af_module_symbol(m, "__vdso_clock_gettime", NULL), 0);
}

static void the_vdso_is_found(void **state)
{
	SKIP_EMULATED("there is no vdso");
	with_each_way(check_vdso);
}

static void check_nothing(void)
{
	static char data[4096];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_null(af_module_find((uint64_t)page));
	munmap(page, 4096);
	assert_null(af_module_find((uint64_t)page));
	assert_null(af_module_find(0));
	assert_null(af_module_find(1));
	assert_null(af_module_find(UINT64_MAX));
	assert_null(af_module_find((uint64_t)&page));
	assert_null(af_module_find((uint64_t)data));
}

static void what_is_no_code_of_a_file_is_no_module(void **state)
{
	with_each_way(check_nothing);
}

/* A page of our own code, mapped again, and then moved. */
static void check_moved(void)
{
	uint64_t page = here() & ~4095ull;
	struct af_module own = *af_module_find(here());
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	/* In the file, code lies as far from its segment's start as in memory. */
	const Elf64_Ehdr *e = (const void *)own.elf_header;
	const Elf64_Phdr *ph = (const void *)(own.elf_header + e->e_phoff);
	off_t offset = -1;
	for (unsigned i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && own.bias + ph[i].p_vaddr == own.start)
			offset = (off_t)(page - own.start + ph[i].p_offset);
	void *again = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);

	assert_ptr_not_equal(again, MAP_FAILED);
	close(fd);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t at = (uint64_t)again + here() - page;
		const struct af_module *m = af_module_find(at);

		assert_non_null(m);
		assert_string_equal(m->path, own.path);
		assert_int_equal(m->flags, AF_MAPPING_MAIN);
		assert_int_equal(at - m->bias, here() - own.bias);
		assert_int_equal(at - m->moved, here());
		assert_int_equal(m->start, (uint64_t)again);
		assert_int_equal(m->end, (uint64_t)again + 4096);
		assert_ptr_equal(m->eh_frame_hdr, own.eh_frame_hdr);
		assert_memory_equal(m->build_id, own.build_id, sizeof own.build_id);
		if (!turn)
			again =
			    mremap(again, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
			           mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		assert_ptr_not_equal(again, MAP_FAILED);
	}
	munmap(again, 4096);
}

static void code_that_was_moved_is_its_file_s(void **state)
{
	SKIP_EMULATED("the emulator's list of mappings is not the kernel's");
	with_each_way(check_moved);
}

static void code_without_a_file_has_an_entry(void **state)
{
	SKIP_EMULATED("the emulator's list of mappings is not the kernel's");
	void *page = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_null(af_module_find((uint64_t)page + 5000));
	uint32_t nr = af_modules_nr();
	const struct af_module *m = af_module_at(nr - 1);
	assert_int_equal(m->flags, AF_MAPPING_JIT);
	assert_string_equal(m->path, "[jit]");
	assert_in_range((uint64_t)page + 5000, m->start, m->end - 1);
	assert_null(af_module_find((uint64_t)page));
	assert_int_equal(af_modules_nr(), nr);
	munmap(page, 8192);
}

static void both_ways_tell_the_same(void **state)
{
	SKIP_EMULATED("there is no vdso");
	uint64_t at[] = {here(), libc_address(), vdso_address(), (uint64_t)_assert_true,
	                 (uint64_t)_cmocka_run_group_tests};

	for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
		struct af_module by_loader = *af_module_find(at[i]);
		af_modules_use_maps(true);
		af_modules_forget();
		const struct af_module *by_maps = af_module_find(at[i]);
		assert_non_null(by_maps);
		assert_int_equal(by_loader.start, by_maps->start);
		assert_int_equal(by_loader.end, by_maps->end);
		assert_int_equal(by_loader.bias, by_maps->bias);
		assert_int_equal(by_loader.elf_header, by_maps->elf_header);
		assert_ptr_equal(by_loader.eh_frame_hdr, by_maps->eh_frame_hdr);
		assert_int_equal(by_loader.eh_start, by_maps->eh_start);
		assert_int_equal(by_loader.eh_end, by_maps->eh_end);
		assert_memory_equal(by_loader.build_id, by_maps->build_id, 32);
		af_modules_use_maps(false);
		af_modules_forget();
	}
}

static void a_segment_ends_where_it_ends(void **state)
{
	const struct af_module *m = af_module_find(here());

	assert_ptr_equal(af_module_find(m->start), m);
	assert_ptr_equal(af_module_find(m->end - 1), m);
	assert_ptr_not_equal(af_module_find(m->end), m);
	assert_ptr_not_equal(af_module_find(m->start - 1), m);
}

static void symbols_are_those_of_the_loader(void **state)
{
	static const char *const names[] = {"qsort",          "malloc", "free",
	                                    "printf",         "_exit",  "environ",
	                                    "pthread_create", "strtof", "wcscoll"};
	const struct af_module *m = af_module_find(libc_address());
	uint64_t size = 0;

#ifdef AF_SANITIZED
	skip(); /* the runtime stands in for some of them */
#endif
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(af_module_symbol(m, names[i], &size), libc_symbol(names[i]));
		assert_int_not_equal(size, 0);
	}
	assert_int_equal(af_module_symbol(m, "no such symbol", &size), 0);
	assert_int_equal(af_module_symbol(m, "", &size), 0);
	/* Here it is only used, not defined. */
	assert_int_equal(af_module_symbol(af_module_find(here()), "qsort", &size), 0);
}

static unsigned nr_met;
static const struct af_module *last_met;

static void met(const struct af_module *m)
{
	nr_met++;
	last_met = m;
}

static void modules_that_stay_keep_their_entry(void **state)
{
	const struct af_module *m = af_module_find(here()), *c = af_module_find(libc_address());
	uint32_t nr = af_modules_nr(), epoch = af_modules_epoch();

	af_modules_watch(met);
	nr_met = 0;
	af_modules_forget();
	assert_int_equal(af_modules_epoch(), epoch + 1);
	assert_ptr_equal(af_module_find(here()), m);
	assert_ptr_equal(af_module_find(libc_address()), c);
	assert_ptr_equal(af_module_find(libc_address()), c);
	assert_int_equal(nr_met, 2);
	assert_ptr_equal(last_met, c);
	assert_int_equal(af_modules_nr(), nr);
	af_modules_watch(NULL);
}

static void the_table_lists_what_was_found(void **state)
{
	const struct af_module *m = af_module_find(here());
	unsigned found = 0;

	for (uint32_t i = 0; i < af_modules_nr(); i++)
		found += af_module_at(i) == m;
	assert_int_equal(found, 1);
	assert_null(af_module_at(af_modules_nr()));
	assert_null(af_module_at(UINT32_MAX));
}

/* A library of our own, that may be unloaded and removed: a copy of cmocka's. */
static void library_copy(char *path)
{
	Dl_info info;
	char chunk[4096];
	ssize_t n;

	assert_true(dladdr((void *)_cmocka_run_group_tests, &info));
	int in = open(info.dli_fname, O_RDONLY), out = mkstemp(path);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, chunk, sizeof chunk)) > 0)
		assert_int_equal(write(out, chunk, (size_t)n), n);
	close(in);
	close(out);
}

static void unloaded_libraries_are_gone(void **state)
{
	char path[] = "/tmp/af-modules-XXXXXX";

	library_copy(path);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	uint64_t at = (uint64_t)dlsym(lib, "_cmocka_run_group_tests");
	const struct af_module *m = af_module_find(at);
	assert_non_null(m);
	assert_string_equal(m->path, path);
	dlclose(lib);
	af_modules_forget();
	assert_null(af_module_find(at));
	/* Its entry can still be read. */
	assert_string_equal(m->path, path);
	unlink(path);
}

static void check_removed(void)
{
	char path[] = "/tmp/af-modules-XXXXXX";

	library_copy(path);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	unlink(path);
	const struct af_module *m = af_module_find((uint64_t)dlsym(lib, "_cmocka_run_group_tests"));
	assert_non_null(m);
	assert_string_equal(m->path, path);
	assert_int_equal(m->flags, AF_MAPPING_DELETED);
	dlclose(lib);
}

static void removed_files_are_marked(void **state)
{
	with_each_way(check_removed);
}

static void relative_names_become_absolute(void **state)
{
	char path[] = "/tmp/af-modules-XXXXXX", cwd[PATH_MAX], relative[32];

	library_copy(path);
	assert_non_null(getcwd(cwd, sizeof cwd));
	assert_int_equal(chdir("/tmp"), 0);
	snprintf(relative, sizeof relative, "./%s", path + 5);
	void *lib = dlopen(relative, RTLD_NOW | RTLD_LOCAL);
	assert_int_equal(chdir(cwd), 0);
	assert_non_null(lib);
	const struct af_module *m = af_module_find((uint64_t)dlsym(lib, "_cmocka_run_group_tests"));
	assert_non_null(m);
	assert_string_equal(m->path, path);
	dlclose(lib);
	af_modules_forget();
	unlink(path);
}

static void *finding_thread(void *data)
{
	uint64_t at[] = {here(), libc_address(), vdso_address(), (uint64_t)_cmocka_run_group_tests};

	for (unsigned i = 0; i < 4000; i++) {
		const struct af_module *m = af_module_find(at[i % 4]);
		if (!m || at[i % 4] < m->start || at[i % 4] >= m->end || !m->path[0])
			return "wrong";
		if (i % 64 == 0)
			af_modules_forget();
	}
	return NULL;
}

static void threads_find_and_forget_together(void **state)
{
	SKIP_EMULATED("there is no vdso");
	pthread_t threads[4];
	void *wrong;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, finding_thread, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	/* Duplicates are allowed, but only as many as raced. */
	assert_in_range(af_modules_nr(), 4, 64);
}

static void every_mapping_is_read(void **state)
{
	struct af_maps maps;
	struct af_maps_entry e;
	char name[PATH_MAX] = "", line[PATH_MAX + 128];
	unsigned long start = 0, end = 0;

	FILE *f = fopen("/proc/self/maps", "r");
	assert_non_null(f);
	assert_int_equal(af_maps_open(&maps), 0);
	while (fgets(line, sizeof line, f)) {
		/* Reading may have moved the heap's end. */
		assert_int_equal(sscanf(line, "%lx-%lx", &start, &end), 2);
		assert_true(af_maps_next(&maps, &e, start, name, sizeof name));
		assert_int_equal(e.start, start);
		const char *wanted = strchr(line, '/') ?: strchr(line, '[');
		line[strcspn(line, "\n")] = 0;
		assert_string_equal(name, wanted ? wanted : "");
	}
	assert_false(af_maps_next(&maps, &e, 0, name, sizeof name));
	af_maps_close(&maps);
	fclose(f);
}

/* Guarded reads */

static void repair(int signo, siginfo_t *info, void *context)
{
	if (!af_guard_fault(context))
		abort();
}

/* A readable page with one behind it that is not. */
static char *two_pages(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	for (int i = 0; i < 4096; i++)
		pages[i] = (char)i;
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	return pages;
}

static void check_guarded_reads(void)
{
	char *pages = two_pages(), got[64];

	for (size_t len = 0; len < sizeof got; len++) {
		memset(got, 0x55, sizeof got);
		assert_int_equal(af_guarded_read(got, (uint64_t)pages + 4096 - len, len), 0);
		assert_memory_equal(got, pages + 4096 - len, len);
		if (len < sizeof got)
			assert_int_equal(got[len], 0x55);
		assert_int_equal(af_guarded_read(got, (uint64_t)pages + 4097 - len, len),
		                 len ? -EFAULT : 0);
	}
	for (uint64_t at = (uint64_t)pages + 4080; at <= (uint64_t)pages + 4100; at++) {
		uint64_t word = 0x55, wanted;
		bool there = at <= (uint64_t)pages + 4088;
		assert_int_equal(af_guarded_word(&word, at), there ? 0 : -EFAULT);
		memcpy(&wanted, there ? (char *)at : (char *)&(uint64_t){0x55}, sizeof wanted);
		assert_int_equal(word, wanted);
	}
	assert_int_equal(af_guarded_word(&(uint64_t){0}, 1ull << 63), -EFAULT);
	assert_int_equal(af_guarded_read(got, (uint64_t)pages + 4096, 1), -EFAULT);
	assert_int_equal(af_guarded_read(got, 0, 8), -EFAULT);
	assert_int_equal(af_guarded_read(got, 8, 8), -EFAULT);
	assert_int_equal(af_guarded_read(got, UINT64_MAX, 8), -EFAULT);
	assert_int_equal(af_guarded_read(got, 1ull << 63, 8), -EFAULT);
	munmap(pages, 8192);
	assert_int_equal(af_guarded_read(got, (uint64_t)pages, 8), -EFAULT);
}

static void guarded_reads_fail_without_a_signal(void **state)
{
	check_guarded_reads();
}

static void guarded_reads_are_repaired_when_armed(void **state)
{
	struct sigaction act = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO}, segv, bus;
	char path[] = "/tmp/af-guard-XXXXXX", got[8];

	sigaction(SIGSEGV, &act, &segv);
	sigaction(SIGBUS, &act, &bus);
	af_guard_arm(true);
	check_guarded_reads();

	/* A file that shrank under its mapping. */
	int fd = mkstemp(path);
	unlink(path);
	assert_int_equal(ftruncate(fd, 4096), 0);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_int_equal(af_guarded_read(got, (uint64_t)page, 8), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(af_guarded_read(got, (uint64_t)page, 8), -EFAULT);
	close(fd);

	af_guard_arm(false);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
}

static void other_faults_are_not_ours(void **state)
{
	ucontext_t uc = {0};

	assert_false(af_guard_fault(&uc));
	*unwind_pc(&uc) = (uint64_t)here;
	assert_false(af_guard_fault(&uc));
	assert_int_equal(*unwind_pc(&uc), (uint64_t)here);
}

static void damaged_headers_are_survived(void **state)
{
	const struct af_module *m = af_module_find(libc_address());
	struct af_elf_image image;
	uint64_t seed = 1;
	uint8_t id[32];

	_Alignas(4096) static uint8_t copy[16384];
	for (unsigned i = 0; i < 3000; i++) {
		assert_int_equal(af_guarded_read(copy, m->elf_header, sizeof copy), 0);
		for (unsigned k = 0; k < 1 + i % 16; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			copy[(seed >> 33) % 1024] = (uint8_t)(seed >> 56);
		}
		if (af_elf_image_open(&image, (uint64_t)copy))
			continue;
		assert_true(af_elf_image_build_id(&image, id, sizeof id) <= sizeof id);
		af_elf_image_symbol(&image, "qsort", NULL);
		af_elf_image_segment(&image, (uint64_t)copy + i);
	}
	memset(copy, 0, sizeof copy);
	assert_int_equal(af_elf_image_open(&image, (uint64_t)copy), -ENOEXEC);
	assert_int_equal(af_elf_image_open(&image, 4096), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_executable_is_found),
	    cmocka_unit_test(a_library_is_found),
	    cmocka_unit_test(the_vdso_is_found),
	    cmocka_unit_test(what_is_no_code_of_a_file_is_no_module),
	    cmocka_unit_test(code_that_was_moved_is_its_file_s),
	    cmocka_unit_test(code_without_a_file_has_an_entry),
	    cmocka_unit_test(both_ways_tell_the_same),
	    cmocka_unit_test(a_segment_ends_where_it_ends),
	    cmocka_unit_test(symbols_are_those_of_the_loader),
	    cmocka_unit_test(modules_that_stay_keep_their_entry),
	    cmocka_unit_test(the_table_lists_what_was_found),
	    cmocka_unit_test(unloaded_libraries_are_gone),
	    cmocka_unit_test(removed_files_are_marked),
	    cmocka_unit_test(relative_names_become_absolute),
	    cmocka_unit_test(threads_find_and_forget_together),
	    cmocka_unit_test(every_mapping_is_read),
	    cmocka_unit_test(guarded_reads_fail_without_a_signal),
	    cmocka_unit_test(guarded_reads_are_repaired_when_armed),
	    cmocka_unit_test(other_faults_are_not_ours),
	    cmocka_unit_test(damaged_headers_are_survived),
	};

	af_modules_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
