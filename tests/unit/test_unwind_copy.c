/*
 * Stacks unwound from registers and copied memory: from each instruction of some code, by the
 * processor's trap flag where it has one, and as libgcc unwinds them.
 */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "base/system/fs.h"
#include "sym/elf/unwind_copy.h"
#include "trace/kinds.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum { TRAP_FLAG = 0x100, FRAMES = 64, MODULES = 64, STEPS = 1 << 15, STEPS_BYTES = 1 << 28 };

/* The mappings of this process. */
static struct module {
	struct af_file file;
	struct af_elf elf;
	struct af_frame_rules rules;
	struct af_unwind_code code;
	uint64_t start[16], end[16];
	uint32_t nr;
} modules[MODULES];
static uint32_t nr_modules;
static bool without_files;
static struct af_frame_rules *vdso; /* its */

static int module_add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = &modules[nr_modules];
	const char *path = info->dlpi_name;
	bool is_vdso = !strcmp(path, "linux-vdso.so.1");

	(void)size;
	(void)arg;
	assert_true(nr_modules < MODULES);
	if (is_vdso)
		assert_int_equal(0, af_elf_vdso(&m->elf));
	else if (af_file_map(&m->file, *path ? path : "/proc/self/exe", NULL) ||
	         af_elf_parse(&m->elf, m->file.data, m->file.size))
		return 0;
	af_frame_rules_open(&m->rules, &m->elf);
	vdso = is_vdso ? &m->rules : vdso;
	m->code =
	    (struct af_unwind_code){.mapped = true, .rules = &m->rules, .bias = info->dlpi_addr};
	for (int i = 0; i < info->dlpi_phnum && m->nr < 16; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD)
			continue;
		m->start[m->nr] = info->dlpi_addr + p->p_vaddr;
		m->end[m->nr] = m->start[m->nr] + p->p_memsz;
		m->nr++;
	}
	nr_modules++;
	return 0;
}

static const struct af_unwind_code *module_find(void *arg, uint64_t pc)
{
	static const struct af_unwind_code nothing, missing = {.mapped = true, .missing = true};

	(void)arg;
	for (uint32_t i = 0; i < nr_modules; i++)
		for (uint32_t k = 0; k < modules[i].nr; k++)
			if (modules[i].start[k] <= pc && pc < modules[i].end[k])
				return without_files ? &missing : &modules[i].code;
	return &nothing;
}

struct walk {
	uint64_t pcs[FRAMES];
	uint32_t nr;
	enum af_stop stop;
};

static uint64_t stack_end;

#if defined(__x86_64__)
static void copy_registers(const ucontext_t *uc, struct af_stack_copy *copy)
{
	static const int order[AF_X86_64_REGISTERS] = {
	    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
	    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	copy->machine = af_machine(EM_X86_64);
	copy->known = (1u << AF_X86_64_REGISTERS) - 1;
	for (int i = 0; i < AF_X86_64_REGISTERS; i++)
		copy->regs[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	copy->pc = copy->regs[AF_DWARF_RIP];
}
#elif defined(__aarch64__)
static void copy_registers(const ucontext_t *uc, struct af_stack_copy *copy)
{
	copy->machine = af_machine(EM_AARCH64);
	copy->known = UINT32_MAX;
	for (int i = 0; i <= AF_AARCH64_X30; i++)
		copy->regs[i] = uc->uc_mcontext.regs[i];
	copy->regs[AF_AARCH64_SP] = uc->uc_mcontext.sp;
	copy->pc = uc->uc_mcontext.pc;
}
#else
static void copy_registers(const ucontext_t *uc, struct af_stack_copy *copy)
{
	copy->machine = af_machine(EM_RISCV);
	copy->known = UINT32_MAX;
	for (int i = 1; i < AF_DWARF_REGISTERS; i++)
		copy->regs[i] = uc->uc_mcontext.__gregs[i];
	copy->pc = uc->uc_mcontext.__gregs[0];
}
#endif

/* The registers of @uc, and its stack up to @most bytes. */
static struct af_stack_copy copy_of(const ucontext_t *uc, uint64_t most)
{
	struct af_stack_copy copy = {.has_pc = true};

	copy_registers(uc, &copy);
	uint64_t sp = copy.regs[copy.machine->sp];
	copy.bytes = (const uint8_t *)sp;
	copy.size = stack_end - sp;
	copy.cut = copy.size > most;
	copy.size = copy.cut ? most : copy.size;
	return copy;
}

static void walk_copy(const struct af_stack_copy *copy, struct walk *w)
{
	const struct af_unwind_maps maps = {module_find, NULL};

	w->nr = af_unwind_copy(copy, &maps, w->pcs, FRAMES, &w->stop);
}

static void walk_from(const ucontext_t *uc, uint64_t most, struct walk *w)
{
	struct af_stack_copy copy = copy_of(uc, most);

	walk_copy(&copy, w);
}

#ifdef __x86_64__
/* The copies at each instruction; unwound afterwards, as that takes memory. */
static struct {
	struct af_stack_copy copies[STEPS];
	uint8_t *bytes;
	uint64_t nr, used;
	bool in_vdso;
} steps;

static void step_handle(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signo;
	if (info->si_code != TRAP_TRACE) {
		/* A breakpoint: begin, or end. */
		uc->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
		return;
	}
	struct af_stack_copy copy = copy_of(uc, UINT64_MAX);
	if (steps.nr == STEPS || steps.used + copy.size > STEPS_BYTES)
		return;
	copy.bytes = memcpy(steps.bytes + steps.used, copy.bytes, copy.size);
	steps.used += copy.size;
	steps.copies[steps.nr++] = copy;
}

/* All frames but the one that steps, whose own pc moves, are there, at the end. */
static void steps_check(const struct walk *base)
{
	uint32_t same = base->nr - 1;
	struct walk w;

	for (uint64_t i = 0; i < steps.nr; i++) {
		walk_copy(&steps.copies[i], &w);
		const struct af_unwind_code *code = module_find(NULL, w.pcs[0]);
		steps.in_vdso |= code->rules && code->rules == vdso;
		if (w.stop == AF_STOP_COMPLETE && w.nr > same &&
		    !memcmp(w.pcs + w.nr - same, base->pcs + 1, 8 * same))
			continue;
		fail_msg("step %llu at 0x%llx: %u frames, %s", (unsigned long long)i,
		         (unsigned long long)(w.pcs[0] - code->bias), w.nr, af_stop_text(w.stop));
	}
}

/* Call @run with a walk from each instruction of it. */
NOINLINE static void step_through(void (*run)(void))
{
	struct sigaction act = {.sa_sigaction = step_handle, .sa_flags = SA_SIGINFO}, old;
	struct walk base;
	ucontext_t here;

#ifdef AF_SANITIZED
	skip(); /* copies of stacks hold what AddressSanitizer guards */
#endif
	steps.nr = steps.used = 0;
	assert_int_equal(0, getcontext(&here));
	walk_from(&here, UINT64_MAX, &base);
	assert_int_equal(AF_STOP_COMPLETE, base.stop);
	assert_int_equal(0, sigaction(SIGTRAP, &act, &old));
	__asm__ volatile("int3" ::: "memory");
	run();
	__asm__ volatile("int3" ::: "memory");
	sigaction(SIGTRAP, &old, NULL);
	steps_check(&base);
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void run_library(void)
{
	char text[128];
	int numbers[64];
	volatile double value = 3.25;

	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof *numbers, compare_ints);
	snprintf(text, sizeof text, "%d %s %.3f", numbers[7], "text", value);
	free(strdup(text));
}

NOINLINE static long realigned(long n)
{
	_Alignas(64) volatile char bytes[64] = {0};
	volatile char *more = __builtin_alloca((size_t)n);

	more[0] = 1;
	return bytes[n % 64] + more[0];
}

static void run_frames(void)
{
	volatile long sum = 0;

	for (long i = 1; i < 5; i++)
		sum = sum + realigned(i * 8);
}

static void run_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void every_instruction_of_the_c_library(void **state)
{
	(void)state;
	step_through(run_library);
	assert_in_range(steps.nr, 2000, UINT32_MAX);
}

static void every_instruction_of_odd_frames(void **state)
{
	(void)state;
	step_through(run_frames);
	assert_in_range(steps.nr, 50, UINT32_MAX);
}

static void every_instruction_of_the_vdso(void **state)
{
	(void)state;
	step_through(run_clock);
	assert_true(steps.in_vdso);
}

#endif

struct backtrace {
	uint64_t pcs[FRAMES];
	uint32_t nr;
};

static _Unwind_Reason_Code backtrace_frame(struct _Unwind_Context *context, void *arg)
{
	struct backtrace *b = arg;
	int exact;
	uint64_t pc = _Unwind_GetIPInfo(context, &exact);

	if (b->nr < FRAMES && pc)
		b->pcs[b->nr++] = pc - !exact;
	return _URC_NO_REASON;
}

static struct backtrace by_libgcc;

static struct walk at_depth;

/* Frames of several kinds: with registers to save, without a fixed size, large. */
NOINLINE static long go_deep(long n)
{
	volatile char *bytes = __builtin_alloca((size_t)(n + 1) * 48);
	volatile long more[n & 1 ? 700 : 7], sum = n;
	ucontext_t here;

	bytes[n] = 1;
	more[n] = n;
	if (n) {
		for (long i = 0; i < 3; i++)
			sum += more[n] + bytes[n] + (i == 1 ? go_deep(n - 1) : i);
		return sum;
	}
	memset(&by_libgcc, 0, sizeof by_libgcc);
	getcontext(&here);
	walk_from(&here, UINT64_MAX, &at_depth);
	_Unwind_Backtrace(backtrace_frame, &by_libgcc);
	return sum;
}

static void callers_are_those_of_libgcc(void **state)
{
	(void)state;
	assert_true(go_deep(6) > 0);
	assert_int_equal(AF_STOP_COMPLETE, at_depth.stop);
	assert_int_equal(at_depth.nr, by_libgcc.nr);
	assert_in_range(at_depth.nr, 9, FRAMES);
	for (uint32_t i = 1; i < at_depth.nr; i++)
		assert_int_equal(at_depth.pcs[i], by_libgcc.pcs[i]);
}

#ifdef __x86_64__
static struct walk at_signal;

/* Both from here: as the handler's own frame is one of libgcc's, that is left out. */
NOINLINE static void handle(int signo)
{
	ucontext_t here;

	(void)signo;
	getcontext(&here);
	walk_from(&here, UINT64_MAX, &at_signal);
	_Unwind_Backtrace(backtrace_frame, &by_libgcc);
}

static void a_signal_handler_is_left_as_by_libgcc(void **state)
{
	(void)state;
	memset(&by_libgcc, 0, sizeof by_libgcc);
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(AF_STOP_COMPLETE, at_signal.stop);
	/* The handler's end is returned to: libgcc has the address less one for it too. */
	assert_int_equal(at_signal.nr, by_libgcc.nr);
	assert_in_range(at_signal.nr, 6, FRAMES);
	for (uint32_t i = 1; i < at_signal.nr; i++)
		assert_int_equal(at_signal.pcs[i], by_libgcc.pcs[i] + (i == 1));
}

#endif

NOINLINE static void cut_at(uint64_t most, struct walk *w)
{
	ucontext_t here;

	getcontext(&here);
	walk_from(&here, most, w);
}

static void a_copy_that_ends_is_reported(void **state)
{
	struct walk whole, cut;
	uint32_t last = 0;

	(void)state;
	cut_at(UINT64_MAX, &whole);
	assert_int_equal(AF_STOP_COMPLETE, whole.stop);
	for (uint64_t most = 0; most < UINT16_MAX; most += 8) {
		cut_at(most, &cut);
		assert_true(cut.nr >= 1 && cut.nr >= last && cut.nr <= whole.nr);
		assert_memory_equal(whole.pcs + 2, cut.pcs + 2, cut.nr > 2 ? 8 * (cut.nr - 2) : 0);
		if (cut.stop == AF_STOP_COMPLETE)
			break;
		assert_int_equal(AF_STOP_COPY_ENDS, cut.stop);
		last = cut.nr;
	}
	assert_int_equal(AF_STOP_COMPLETE, cut.stop);
	assert_int_equal(whole.nr, cut.nr);
}

static void a_file_that_is_missing_is_reported(void **state)
{
	struct walk w;

	(void)state;
	without_files = true;
	cut_at(UINT64_MAX, &w);
	without_files = false;
	assert_int_equal(1, w.nr);
	assert_int_equal(AF_STOP_NO_FILE, w.stop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
	    cmocka_unit_test(every_instruction_of_the_c_library),
	    cmocka_unit_test(every_instruction_of_odd_frames),
	    cmocka_unit_test(every_instruction_of_the_vdso),
	    cmocka_unit_test(a_signal_handler_is_left_as_by_libgcc),
#endif
	    cmocka_unit_test(callers_are_those_of_libgcc),
	    cmocka_unit_test(a_copy_that_ends_is_reported),
	    cmocka_unit_test(a_file_that_is_missing_is_reported),
	};

	stack_end = (uint64_t)(uintptr_t)environ & ~UINT64_C(7);
	dl_iterate_phdr(module_add, NULL);
#ifdef __x86_64__
	steps.bytes = mmap(NULL, STEPS_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#endif
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	for (uint32_t i = 0; i < nr_modules; i++) {
		af_frame_rules_close(&modules[i].rules);
		af_file_unmap(&modules[i].file);
	}
	return rc;
}
