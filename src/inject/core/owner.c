/* Resources of which each thread owns one. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/core/thread.h"

static bool thread_is_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;
}

bool af_owner_take(_Atomic uint32_t *owner, uint32_t tid, bool dead)
{
	uint32_t is = atomic_load(owner);

	if (is && (!dead || (is != tid && !thread_is_dead(is))))
		return false;
	return atomic_compare_exchange_strong(owner, &is, tid);
}
