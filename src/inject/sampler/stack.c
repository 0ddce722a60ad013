#include "inject/sampler/stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/arch/arch.h"
#include "inject/core/inject.h"
#include "inject/core/thread.h"

enum {
	STACKS_MAX = 8192,
	/* The end of a thread, a sample on top of it, and signal frames of up to 11 KiB for both
	 * and for a guarded read that faults. */
	STACK_BYTES = 64 << 10,
};

static struct stack {
	_Atomic uint32_t owner; /* tid, 0 while in the pool */
	_Atomic uint32_t in_use;
	char *low; /* NULL: not made */
} stacks[STACKS_MAX];
static _Atomic uint32_t nr_stacks;

static __thread struct {
	struct stack *stack;
	bool ending;
} self;

/* Not through libc, where sanitizers stand. */
static bool stack_make(struct stack *s)
{
	long low = s->low ? (long)s->low
	           : !af_inject_may_take_memory()
	               ? -ENOMEM
	               : af_arch_syscall6(SYS_mmap, 0, STACK_BYTES, PROT_READ | PROT_WRITE,
	                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (low < 0 && low >= -4095) {
		atomic_store(&s->owner, 0);
		return false;
	}
	s->low = (char *)low;
	atomic_store(&s->in_use, 0);
	return true;
}

static struct stack *stack_take(void)
{
	if (!af_inject_may_call())
		return NULL;
	uint32_t tid = (uint32_t)af_arch_syscall(SYS_gettid, 0, 0, 0, 0);

	for (uint32_t i = 0; i < STACKS_MAX; i++) {
		uint32_t nr = atomic_load(&nr_stacks);
		/* For threads that ended without destructors, now and then. */
		bool reclaim = i == nr && nr % 64 == 63;
		for (uint32_t j = 0; reclaim && j < nr; j++)
			if (af_owner_take(&stacks[j].owner, tid, true))
				return stack_make(&stacks[j]) ? &stacks[j] : NULL;
		if (!af_owner_take(&stacks[i].owner, tid, false))
			continue;
		while (nr <= i && !atomic_compare_exchange_weak(&nr_stacks, &nr, i + 1))
			;
		return stack_make(&stacks[i]) ? &stacks[i] : NULL;
	}
	return NULL;
}

static bool stands_on(const struct stack *s)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)s->low;

	return here >= low && here < low + STACK_BYTES;
}

/* In one instruction: a sample on the way to it would give it back, too. */
static void stack_give_back(void)
{
	struct stack *s = __atomic_exchange_n(&self.stack, NULL, __ATOMIC_ACQ_REL);

	if (s)
		atomic_store_explicit(&s->owner, 0, memory_order_release);
}

int af_stack_run(void (*run)(void *arg), void *arg)
{
	struct stack *s = self.stack;

	if (s && stands_on(s)) {
		run(arg);
		return 0;
	}
	if (!s)
		s = self.stack = stack_take();
	if (!s)
		return -ENOMEM;
	if (atomic_exchange_explicit(&s->in_use, 1, memory_order_acquire))
		return -EBUSY;
	af_arch_call_on(s->low + STACK_BYTES, run, arg);
	atomic_store_explicit(&s->in_use, 0, memory_order_release);
	if (self.ending)
		stack_give_back();
	return 0;
}

void af_stack_thread_ends(void)
{
	self.ending = true;
	stack_give_back();
}

void af_stack_after_fork(void)
{
	uint32_t tid = (uint32_t)af_arch_syscall(SYS_gettid, 0, 0, 0, 0);

	for (uint32_t i = 0; i < atomic_load(&nr_stacks); i++)
		atomic_store(&stacks[i].owner, &stacks[i] == self.stack ? tid : 0);
}
