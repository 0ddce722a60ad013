#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/sampler.h"

/*
 * One event on the calling thread; threads it creates inherit it (perf_event_open(2): sigtrap,
 * inherit_thread and remove_on_exec are of Linux 5.13). In the constructor there is only this
 * thread. Kernel time is excluded: that is all perf_event_paranoid 2 grants, and a tick there would
 * have no user stack of its own to stand on.
 */
int af_sampler_perf_start(uint64_t period_ns, int *fd)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof attr,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .sample_period = period_ns,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .inherit = 1,
	    .inherit_thread = 1,
	    .remove_on_exec = 1,
	    .sigtrap = 1,
	    .sig_data = AF_SAMPLER_COOKIE,
	};

	*fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}
