#include "inject/walk/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

atomic_bool af_guard_armed;

void af_guard_arm(bool armed)
{
	atomic_store_explicit(&af_guard_armed, armed, memory_order_release);
}

/*
 * rt_sigprocmask copies the new mask in before it looks at an invalid `how`, so it tells a
 * readable address (EINVAL) from another one (EFAULT), needs no permission and changes nothing.
 */
bool af_guard_probe(uint64_t addr)
{
	uint64_t word = addr & ~7ull;

	/* A null pointer means that there is no new mask to copy. */
	return af_arch_syscall(SYS_rt_sigprocmask, ~0L, (long)(word ? word : 8), 0, 8) != -EFAULT;
}

/* The memory may be anybody's stack, redzones and all. */
__attribute__((no_sanitize("address"))) static void guard_copy(uint8_t *dst, const uint8_t *src,
                                                               size_t len)
{
	for (size_t i = 0; i < len; i++)
		((volatile uint8_t *)dst)[i] = ((const volatile uint8_t *)src)[i];
}

int af_probed_read(void *dst, uint64_t addr, size_t len)
{
	if (addr + len < addr)
		return -EFAULT;
	for (uint64_t page = addr & ~4095ull; len && page < addr + len; page += 4096)
		if (!af_guard_probe(page))
			return -EFAULT;
	guard_copy(dst, (const uint8_t *)addr, len);
	return 0;
}

int af_guarded_read(void *dst, uint64_t addr, size_t len)
{
	if (atomic_load_explicit(&af_guard_armed, memory_order_acquire) && addr + len >= addr)
		return af_arch_guarded_copy(dst, (const void *)addr, len);
	return af_probed_read(dst, addr, len);
}

bool af_guard_fault(void *ucontext)
{
	return af_arch_guard_fault(ucontext);
}
