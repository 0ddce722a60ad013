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

/*
 * Microseconds of one round's user_work, 365 to 1095. Rounds of one length come to be in step with
 * the kernel's ticks on a machine of the right speed: at 1.33 ms a round and 250 ticks a second,
 * getrusage itself was seen to tell 27 % of system time where there was half.
 */
static unsigned long odd_us(void)
{
	static uint32_t x = 2463534242;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return 365 + x % 731;
}

READ_FUNCTION(kernel_work, 256 * 1024)

int main(int argc, char **argv)
{
	unsigned long rounds = (unsigned long)(700 * burn_scale(argc, argv));
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int64_t user_ns = 0, kernel_ns = 0, user_us, system_us;
	struct rusage usage;

	while (rounds--) {
		int64_t start = burn_thread_ns(), between;

		user_work(odd_us());
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
