/*
 * syscall_bound [SCALE]: time in the kernel.
 *
 * Truth: about half of the CPU time is user_work and half is the kernel's, in read() of /dev/zero
 * called by kernel_work, called by main. The exact split is printed, by thread CPU time around the
 * two and by getrusage, whose system time is what a profiler of user mode only cannot see. About 1
 * s of CPU.
 *
 * Exit status: 0, or 1 when read() failed or the system time is less than a tenth.
 */
#include "burn.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

BURN_SINK;

static int64_t timeval_us(struct timeval tv)
{
	return tv.tv_sec * INT64_C(1000000) + tv.tv_usec;
}

BURN_FUNCTION(user_work, BURN_A)

READ_FUNCTION(kernel_work, 256 * 1024)

int main(int argc, char **argv)
{
	unsigned long rounds = (unsigned long)(700 * burn_scale(argc, argv));
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int64_t user_ns = 0, kernel_ns = 0, user_us, system_us;
	struct rusage usage;

	while (rounds--) {
		int64_t start = burn_thread_ns(), between;

		user_work(730); /* not in step with a tick or a sampling period */
		between = burn_thread_ns();
		user_ns += between - start;
		if (kernel_work(fd, between - start))
			return 1;
		kernel_ns += burn_thread_ns() - between;
	}
	getrusage(RUSAGE_SELF, &usage);
	user_us = timeval_us(usage.ru_utime);
	system_us = timeval_us(usage.ru_stime);
	truth_share("user_work", user_ns, user_ns + kernel_ns);
	truth_share("kernel_work", kernel_ns, user_ns + kernel_ns);
	truth_share("rusage_system", system_us, user_us + system_us);
	truth_number("cpu_ms", (user_us + system_us) / 1000);
	return system_us * 10 < user_us + system_us;
}
