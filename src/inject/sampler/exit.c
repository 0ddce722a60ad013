/* Interposes the end that runs no atexit handlers: _exit(), in libaflame.so alone. */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/core/inject.h"
#include "inject/sampler/exec.h"
#include "inject/sampler/usage.h"

enum { AWAITED_MOST = 4 };

static void (*_Atomic awaited[AWAITED_MOST])(void);

void af_exit_await(void (*last)(void))
{
	for (int i = 0; i < AWAITED_MOST; i++) {
		void (*none)(void) = NULL;
		if (atomic_compare_exchange_strong(&awaited[i], &none, last) || none == last)
			return;
	}
}

/* Python's os._exit, and children of multiprocessing. */
__attribute__((visibility("default"))) _Noreturn void _exit(int status)
{
	bool is_recorded = af_inject_session() && !af_inject_in_vfork_child();

	for (int i = 0; is_recorded && i < AWAITED_MOST; i++) {
		void (*last)(void) = atomic_load(&awaited[i]);
		if (last)
			last();
	}
	if (is_recorded)
		af_usage_process_ends();
	for (;;)
		syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) _Noreturn void _Exit(int status)
{
	_exit(status);
}
