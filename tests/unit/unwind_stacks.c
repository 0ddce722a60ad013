#include "unwind_stacks.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "inject/core/thread.h"

struct af_unwinder *unwinder;
struct walk taken;

uint64_t noted[NOTED_MAX];
unsigned nr_noted;

struct af_unwinder *unwinder_make(void)
{
	struct af_unwinder *u = mmap(NULL, af_unwinder_size(), PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(u, MAP_FAILED);
	af_unwinder_init(u);
	return u;
}

void walk_from(const struct af_regs *regs, bool leaf, struct walk *w)
{
	memset(w->pcs, 0, sizeof w->pcs);
	w->nr = af_unwind_walk(unwinder, regs, leaf, w->pcs, AF_STACK_MAX, &w->stop);
}

KEEPS_FP NOINLINE void take(void)
{
	struct af_regs regs;

	AF_REGS_CALLER(&regs);
	NOTE_CALLER();
	walk_from(&regs, false, &taken);
}

void assert_noted(const struct walk *w, unsigned from)
{
	assert_int_equal(w->stop, AF_STOP_COMPLETE);
	assert_true(w->nr > from + nr_noted);
	for (unsigned i = 0; i < nr_noted; i++)
		assert_int_equal(w->pcs[from + i], noted[nr_noted - 1 - i] - 1);
	nr_noted = 0;
}

NOINLINE int shape_recursive(int n)
{
	NOTE_CALLER();
	if (n)
		shape_recursive(n - 1);
	else
		take();
	AFTER_CALL();
	return n;
}

NOINLINE static int shape_alloca(int n)
{
	volatile char *bytes = alloca((size_t)n);

	NOTE_CALLER();
	bytes[n - 1] = 1;
	take();
	AFTER_CALL();
	return bytes[n - 1];
}

NOINLINE static int shape_aligned(int n)
{
	_Alignas(128) volatile char line[128];

	NOTE_CALLER();
	line[n] = 1;
	shape_alloca(n);
	AFTER_CALL();
	return line[n];
}

/* More than a packed rule can say. */
NOINLINE static int shape_huge(int n)
{
	volatile char bytes[300000];

	NOTE_CALLER();
	bytes[n] = 1;
	shape_aligned(n);
	AFTER_CALL();
	return bytes[n];
}

/* Registers that belong to the caller. */
#if defined(__x86_64__)
#define CHANGE_KEPT() __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15")
#elif defined(__aarch64__)
#define CHANGE_KEPT() __asm__ volatile("" ::: "x19", "x20", "x21", "x22", "x28")
#else
#define CHANGE_KEPT() __asm__ volatile("" ::: "s1", "s2", "s3", "s4", "s11")
#endif

NOINLINE static int shape_registers(int n)
{
	NOTE_CALLER();
	CHANGE_KEPT();
	shape_huge(n);
	CHANGE_KEPT();
	AFTER_CALL();
	return n;
}

/* With the frame pointer as an ordinary register, where the compiler has it free. */
NOINLINE int shape_sum(const volatile int *v)
{
	int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6];

	NOTE_CALLER();
	shape_registers(7);
	AFTER_CALL();
	return a * b + c * d + e * f + g * a + b * c + d * e + f * g;
}

NOINLINE void shape_tail(int n)
{
	__asm__ volatile("" : "+r"(n));
	take();
}

void (*jit_make(const void *code, size_t len))(void (*)(void))
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, 0xcc, 4096);
	memcpy(page + 64, code, len);
	__builtin___clear_cache((char *)page, (char *)page + 4096);
	return (void (*)(void (*)(void)))(page + 64);
}

NOINLINE void shape_jit(void (*jit)(void (*)(void)), void (*target)(void))
{
	NOTE_CALLER();
	jit(target);
	AFTER_CALL();
}
