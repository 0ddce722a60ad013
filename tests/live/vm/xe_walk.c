/*
 * Walks all ioctls of a card and all that they refuse, in the guest: xe_walk NODE DEBUG, DEBUG
 * being the folder of the card's stand-in in debugfs. Prints a line "ok NAME" or "not ok NAME: …"
 * for each fact, then their number.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xe_uapi.h"

enum { CHAIN_MAX = 7 };

static int card, facts;
static const char *debug;

static void fact(int holds, const char *form, ...)
{
	va_list words;

	facts++;
	fputs(holds ? "ok " : "not ok ", stdout);
	va_start(words, form);
	vprintf(form, words);
	va_end(words);
	putchar('\n');
}

/* A call's result: 0 or more, or the number of the error, negative. */
static int result(long returned)
{
	return returned < 0 ? -errno : (int)returned;
}

static void expect(long returned, int want, const char *name)
{
	int got = result(returned);

	fact(got == want, "%s: %d (%s)", name, got, got < 0 ? strerror(-got) : "");
}

static void event(const char *word)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/gt0/event", debug);
	fd = open(path, O_WRONLY);
	expect(write(fd, word, strlen(word)), (int)strlen(word), word);
	close(fd);
}

static void rows_add(__u64 first, int nr)
{
	__u64 rows[64][8] = {0};
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/gt0/rows", debug);
	fd = open(path, O_WRONLY);
	for (int i = 0; i < nr; i++)
		rows[i][0] = first + i;
	expect(write(fd, rows, (size_t)nr * XE_ROW), nr * XE_ROW, "rows written");
	close(fd);
}

struct drm_version_name {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

static void walk_version(void)
{
	char name[16] = "";
	struct drm_version_name v = {.name_len = sizeof name - 1, .name = name};

	expect(ioctl(card, _IOWR('d', 0, struct drm_version_name), &v), 0, "version");
	fact(!strcmp(name, "xe"), "the driver is xe: %s", name);
}

/* Asks for the size, then for the data, then with another size. */
static void query(__u32 what, void *to, __u32 size, const char *name)
{
	struct drm_xe_device_query q = {.query = what};

	expect(ioctl(card, XE_IOCTL_QUERY, &q), 0, name);
	fact(q.size == size, "its size is %u: %u", size, q.size);
	q.data = (__u64)(unsigned long)to;
	expect(ioctl(card, XE_IOCTL_QUERY, &q), 0, "its data");
	q.size++;
	expect(ioctl(card, XE_IOCTL_QUERY, &q), -EINVAL, "with another size");
}

static void walk_queries(void)
{
	struct drm_xe_query_config config;
	struct drm_xe_query_gt_list gts;
	struct drm_xe_query_eu_stall stalls;
	struct drm_xe_device_query q = {.query = 99};

	query(XE_QUERY_CONFIG, &config, sizeof config, "configuration");
	fact((config.info[0] & 0xffff) == 0xe20b, "device %#llx", config.info[0] & 0xffff);
	query(XE_QUERY_GT_LIST, &gts, sizeof gts, "list of GTs");
	fact(gts.num_gt == 2 && gts.gt_list[0].type == 0 && gts.gt_list[1].type == 1, "two GTs");
	fact(gts.gt_list[0].ip_ver_major == 20, "version %u", gts.gt_list[0].ip_ver_major);
	query(XE_QUERY_EU_STALL, &stalls, sizeof stalls, "stalls");
	fact(stalls.record_size == XE_ROW && stalls.num_sampling_rates == 7 &&
	         stalls.sampling_rates[6] == 1757,
	     "rows of 64 bytes, 7 rates");
	expect(ioctl(card, XE_IOCTL_QUERY, &q), -EINVAL, "an unknown query");
	q.query = XE_QUERY_CONFIG;
	q.extensions = 1;
	expect(ioctl(card, XE_IOCTL_QUERY, &q), -EINVAL, "a query with extensions");
}

/* Opens stalls with @nr properties: pairs of a property and its value. */
static int stalls_open(int nr, const __u64 *pairs)
{
	struct drm_xe_ext_set_property chain[CHAIN_MAX] = {0};
	struct drm_xe_observation_param p = {.observation_type = XE_OBSERVE_EU_STALL};

	for (int i = 0; i < nr; i++) {
		chain[i].property = pairs[2 * i];
		chain[i].value = pairs[2 * i + 1];
		if (i + 1 < nr)
			chain[i].base.next_extension = (__u64)(unsigned long)&chain[i + 1];
	}
	p.param = nr ? (__u64)(unsigned long)chain : 0;
	return ioctl(card, XE_IOCTL_OBSERVATION, &p);
}

#define STALLS_OPEN(...)                                                                           \
	stalls_open(sizeof((__u64[]){__VA_ARGS__}) / 16, (const __u64[]){__VA_ARGS__})

static void walk_refusals(void)
{
	struct drm_xe_ext_set_property p = {.property = XE_STALL_GT};
	struct drm_xe_observation_param o = {.param = (__u64)(unsigned long)&p};

	expect(ioctl(card, XE_IOCTL_OBSERVATION, &o), -EINVAL, "observation of OA");
	o.observation_type = XE_OBSERVE_EU_STALL;
	o.extensions = 1;
	expect(ioctl(card, XE_IOCTL_OBSERVATION, &o), -EINVAL, "observation with extensions");
	o.extensions = 0;
	o.observation_op = 1;
	expect(ioctl(card, XE_IOCTL_OBSERVATION, &o), -EINVAL, "another operation");
	o.observation_op = 0;
	p.pad = 1;
	expect(ioctl(card, XE_IOCTL_OBSERVATION, &o), -EINVAL, "a property with padding");
	p.pad = 0;
	p.base.name = 1;
	expect(ioctl(card, XE_IOCTL_OBSERVATION, &o), -EINVAL, "another extension");
	expect(stalls_open(0, NULL), -EFAULT, "no properties");
	expect(STALLS_OPEN(XE_STALL_RATE, 1004), -EINVAL, "no GT");
	expect(STALLS_OPEN(XE_STALL_GT, 2), -EINVAL, "a GT that is not there");
	expect(STALLS_OPEN(XE_STALL_GT, 1), -EINVAL, "a GT without XeCores");
	expect(STALLS_OPEN(XE_STALL_GT, 0, 0, 0), -EINVAL, "property 0");
	expect(STALLS_OPEN(XE_STALL_GT, 0, 4, 0), -EINVAL, "property 4");
	expect(STALLS_OPEN(XE_STALL_GT, 0, XE_STALL_RATE, 250), -EINVAL, "too high a rate");
	expect(STALLS_OPEN(XE_STALL_GT, 0, XE_STALL_RATE, 2008), -EINVAL, "too low a rate");
	expect(STALLS_OPEN(XE_STALL_GT, 0, XE_STALL_WAIT, 0), -EINVAL, "to wait for no row");
	expect(STALLS_OPEN(XE_STALL_GT, 0, XE_STALL_WAIT, 32769), -EINVAL, "to wait for too many");
	expect(STALLS_OPEN(1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0), -E2BIG, "six properties");
}

static int polled(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

static void nothing(int signal)
{
	(void)signal;
}

static void walk_waits(int fd)
{
	__u64 rows[64][8];
	const struct sigaction action = {.sa_handler = nothing};

	sigaction(SIGALRM, &action, NULL);
	alarm(1);
	expect(read(fd, rows, sizeof rows), -EINTR, "read that waits, interrupted");
	if (!fork()) {
		struct timespec later = {.tv_nsec = 200000000};

		nanosleep(&later, NULL);
		freopen("/dev/null", "w", stdout);
		rows_add(70, 3);
		exit(0);
	}
	expect(read(fd, rows, sizeof rows), 3 * XE_ROW, "read that waits for rows");
	fact(rows[2][0] == 72, "they are those that came: %llu", rows[2][0]);
	wait(NULL);
}

static void walk_rows(int fd)
{
	__u64 rows[64][8];

	expect(read(fd, rows, sizeof rows), -EAGAIN, "read of no rows");
	fact(!polled(fd, 20), "nothing to read");
	rows_add(10, 5);
	fact(polled(fd, 1000) == POLLIN, "rows to read");
	expect(read(fd, rows, XE_ROW - 1), -EINVAL, "read of less than a row");
	expect(read(fd, rows, 2 * XE_ROW + 63), 2 * XE_ROW, "read of two rows and a bit");
	fact(rows[0][0] == 10 && rows[1][0] == 11, "in their order");
	expect(read(fd, rows, sizeof rows), 3 * XE_ROW, "read of the others");
	fact(rows[0][0] == 12 && rows[2][0] == 14, "in their order");
	rows_add(20, 8);
	event("drop");
	expect(read(fd, rows, sizeof rows), -EIO, "read after a drop");
	expect(read(fd, rows, sizeof rows), 4 * XE_ROW, "read of what was left");
	fact(rows[0][0] == 24, "the oldest were lost: %llu", rows[0][0]);
	expect(read(fd, rows, sizeof rows), -EAGAIN, "read of no rows");
}

static void walk_reset(int fd)
{
	__u64 row[8];

	rows_add(40, 1);
	event("reset");
	fact(polled(fd, 1000) == POLLIN, "a reset is to be read");
	expect(read(fd, row, sizeof row), -ENODEV, "read after a reset");
	expect(read(fd, row, sizeof row), -ENODEV, "and again");
	expect(STALLS_OPEN(XE_STALL_GT, 0), -EBUSY, "open while it is open");
	close(fd);
	fd = result(STALLS_OPEN(XE_STALL_GT, 0));
	fact(fd >= 0, "opened again: %d", fd);
	expect(ioctl(fd, XE_IOCTL_ENABLE), 0, "enabled again");
	expect(read(fd, row, sizeof row), XE_ROW, "read from the new stream");
	close(fd);
}

static void walk_stream(void)
{
	int fd = result(STALLS_OPEN(XE_STALL_GT, 0, XE_STALL_RATE, 753, XE_STALL_WAIT, 2));
	__u64 row[8];

	fact(fd >= 0, "opened: %d", fd);
	expect(STALLS_OPEN(XE_STALL_GT, 0), -EBUSY, "the same GT again");
	expect(read(fd, row, sizeof row), -EINVAL, "read before it is enabled");
	expect(ioctl(fd, _IO('i', 2)), -EINVAL, "an unknown ioctl");
	expect(ioctl(fd, XE_IOCTL_ENABLE), 0, "enabled");
	expect(ioctl(fd, XE_IOCTL_ENABLE), 0, "enabled twice");
	walk_waits(fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	walk_rows(fd);
	expect(ioctl(fd, XE_IOCTL_DISABLE), 0, "disabled");
	expect(read(fd, row, sizeof row), -EINVAL, "read after that");
	expect(ioctl(fd, XE_IOCTL_ENABLE), 0, "enabled anew");
	walk_reset(fd);
}

static void paranoid_set(const char *to)
{
	int fd = open("/proc/sys/dev/xe/observation_paranoid", O_WRONLY);

	expect(write(fd, to, strlen(to)), (int)strlen(to), "dev.xe.observation_paranoid");
	close(fd);
}

/* As a user without privileges, who has the card open. */
static int open_as_user(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		int got = setuid(65534) ? -EPERM : result(STALLS_OPEN(XE_STALL_GT, 0));

		_exit(got < 0 ? -got : 0);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void walk_gate(void)
{
	int got = open_as_user();

	fact(got == EACCES, "refused to a user: %s", strerror(got));
	paranoid_set("0");
	got = open_as_user();
	fact(got == 0, "open to users by sysctl: %s", strerror(got));
	paranoid_set("1");
}

static void walk_work(void)
{
	struct drm_xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = 1};
	struct drm_xe_exec exec = {.num_batch_buffer = 1, .address = 0x10001};
	struct drm_xe_vm_bind bind = {.vm_id = 1, .num_binds = 1};
	struct drm_xe_gem_create buffer = {.size = 8192}, none = {.size = 100};
	struct drm_xe_gem_mmap_offset offset = {0};

	expect(ioctl(card, XE_IOCTL_EXEC, &exec), -ENOENT, "work for a queue that is not there");
	expect(ioctl(card, XE_IOCTL_QUEUE_CREATE, &queue), 0, "a queue");
	exec.exec_queue_id = queue.exec_queue_id;
	expect(ioctl(card, XE_IOCTL_EXEC, &exec), 0, "work for it");
	expect(ioctl(card, XE_IOCTL_VM_BIND, &bind), 0, "a mapping");
	bind.num_binds = 0;
	expect(ioctl(card, XE_IOCTL_VM_BIND, &bind), -EINVAL, "no mapping");
	expect(ioctl(card, XE_IOCTL_GEM_CREATE, &none), -EINVAL, "a buffer of less than pages");
	expect(ioctl(card, XE_IOCTL_GEM_CREATE, &buffer), 0, "a buffer");
	offset.handle = buffer.handle;
	expect(ioctl(card, XE_IOCTL_MMAP_OFFSET, &offset), 0, "a buffer's place");
	char *mapped =
	    mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)offset.offset);
	fact(mapped != MAP_FAILED, "mapped from its place: %llu", offset.offset);
	mapped[8191] = 1;
	expect(munmap(mapped, 8192), 0, "unmapped");
	offset.handle = buffer.handle + 100;
	expect(ioctl(card, XE_IOCTL_MMAP_OFFSET, &offset), -ENOENT, "no buffer");
}

int main(int nr, char **words)
{
	if (nr != 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	debug = words[2];
	card = open(words[1], O_RDWR);
	fact(card >= 0, "the card is there");
	walk_version();
	walk_queries();
	walk_refusals();
	walk_stream();
	walk_gate();
	walk_work();
	printf("%d facts\n", facts);
	return 0;
}
