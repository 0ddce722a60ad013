/* The gate that launches pass, closed while CUPTI's PC sampling changes its state: see pc.h. */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/cuda/pc.h"
#include "trace/write/stream.h"

enum {
	CLOSE_MS = 50,  /* what those who are inside get to leave */
	ENTER_MS = 500, /* what those outside wait at most */
	CLOSE_STEP_US = 20,
};

static struct {
	_Atomic uint32_t on;
	_Atomic uint32_t closed; /* futex */
	_Atomic uint32_t inside;
} gate;

void af_pc_gate_use(void)
{
	atomic_store(&gate.on, 1);
}

bool af_pc_gate_is_used(void)
{
	return atomic_load_explicit(&gate.on, memory_order_relaxed);
}

void af_pc_gate_enter(void)
{
	struct timespec t = {.tv_nsec = ENTER_MS * 1000000l};
	int saved = errno;

	atomic_fetch_add(&gate.inside, 1);
	if (__builtin_expect(!atomic_load(&gate.closed), 1))
		return;
	atomic_fetch_sub(&gate.inside, 1);
	syscall(SYS_futex, &gate.closed, FUTEX_WAIT_PRIVATE, 1, &t, NULL, 0);
	errno = saved;
	atomic_fetch_add(&gate.inside, 1);
}

void af_pc_gate_leave(void)
{
	atomic_fetch_sub(&gate.inside, 1);
}

bool af_pc_gate_close(void)
{
	uint64_t until_ns = af_now_ns() + CLOSE_MS * 1000000ull;

	atomic_store(&gate.closed, 1);
	while (atomic_load(&gate.inside) && af_now_ns() < until_ns)
		usleep(CLOSE_STEP_US);
	if (!atomic_load(&gate.inside))
		return true;
	af_pc_gate_open();
	return false;
}

void af_pc_gate_open(void)
{
	atomic_store(&gate.closed, 0);
	syscall(SYS_futex, &gate.closed, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
