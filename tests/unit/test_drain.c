/* How the recorder treats rings that are not whole. */
#include <fcntl.h>
#include <sys/stat.h>

#include "collect/disk/drain.h"
#include "small_tmpfs.h"
#include "trace/write/stream.h"

static int ring_without_room(void)
{
	struct af_drain d;
	int full = open("/dev/shm/control", O_RDWR | O_CREAT, 0600);
	if (full < 0 || fallocate(full, 0, 0, 4096))
		return 1;
	/* As a process has it that has just found no room for a ring. */
	int ring = open("/dev/shm/s1-0", O_RDWR | O_CREAT, 0600);
	if (ring < 0 || ftruncate(ring, AF_RING_BYTES))
		return 2;
	int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	af_drain_open(&d, shm, shm, NULL);
	af_drain_poll(&d);
	uint32_t nr = d.nr;
	af_drain_close(&d);
	return nr ? 3 : 0;
}

static void ring_without_room_is_no_sigbus(void **state)
{
	(void)state;
	in_small_tmpfs("size=4k", ring_without_room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ring_without_room_is_no_sigbus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
