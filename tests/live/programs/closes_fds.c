/*
 * closes_fds [SCALE]: a program that closes every descriptor, as daemons do.
 *
 * Truth: 200 ms of CPU in before_close, then descriptors 0 to 1023 are closed, its own and whatever
 * else is there, then 200 ms in after_close. Nothing is written after the close. Then the first
 * descriptor opened is 0 and the next is 1: nobody took the free numbers back.
 *
 * Exit status: 0, or 1 when a descriptor below 1024 came back by itself.
 */
#include "burn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

BURN_SINK;

enum { NR_FDS = 1024 };

BURN_FUNCTION(before_close, BURN_A)
BURN_FUNCTION(after_close, BURN_B)

int main(int argc, char **argv)
{
	const unsigned long us = (unsigned long)(200000 * burn_scale(argc, argv));

	printf("truth share.before_close 0.5\ntruth share.after_close 0.5\n");
	fflush(stdout);
	before_close(us);
	for (int fd = 0; fd < NR_FDS; fd++)
		close(fd);
	after_close(us);
	for (int fd = 0; fd < NR_FDS; fd++)
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			return 1;
	return open("/dev/null", O_WRONLY) != 0 || open("/dev/null", O_WRONLY) != 1;
}
