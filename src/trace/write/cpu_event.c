#include "trace/write/cpu_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Alone we exclude the kernel's time: perf_event_paranoid 2 grants no more, and a tick there would
 * have no user stack of its own to stand on.
 */
static int event_open(int tid, uint64_t period_ns, bool kernel, bool enabled, bool inherited,
                      uint64_t cookie)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .sample_period = period_ns,
	    .disabled = !enabled,
	    .exclude_kernel = !kernel,
	    .exclude_hv = 1,
	    .inherit = inherited,
	    .inherit_thread = inherited,
	    .remove_on_exec = 1,
	    .sigtrap = 1,
	    .sig_data = cookie,
	};

	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int af_cpu_event_open(uint64_t period_ns, bool kernel, bool enabled, uint64_t cookie)
{
	return event_open(0, period_ns, kernel, enabled, true, cookie);
}

int af_cpu_event_open_of(int tid, uint64_t period_ns, bool inherited, uint64_t cookie)
{
	return event_open(tid, period_ns, false, true, inherited, cookie);
}

bool af_cpu_timer_is_overdue(int timer)
{
	struct itimerspec left;

	return !syscall(SYS_timer_gettime, timer, &left) && !left.it_value.tv_sec &&
	       left.it_value.tv_nsec == 1;
}
