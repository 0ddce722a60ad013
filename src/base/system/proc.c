#include "base/system/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/system/handler_mask.h"
#include "base/system/rights.h"

size_t af_read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

size_t af_proc_read(int pid, const char *name, char *text, size_t size)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	else
		snprintf(path, sizeof path, "/proc/self/%s", name);
	scope_rights(AF_RIGHTS_PROCESS);
	return af_read_text(path, text, size);
}

FILE *af_proc_open_maps(unsigned pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	scope_rights(AF_RIGHTS_PROCESS);
	return fopen(path, "re");
}

static bool mapping_parse(char *line, struct af_proc_mapping *m)
{
	unsigned long long start, end, offset, inode;
	char flags[5];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, flags, &offset,
	           &m->major, &m->minor, &inode, &at) != 7 ||
	    !at)
		return false;
	m->start = start;
	m->end = end;
	m->offset = offset;
	m->inode = inode;
	m->executable = flags[0] && flags[1] && flags[2] == 'x';
	m->shared = strlen(flags) == 4 && flags[3] == 's';
	m->path = line + at;
	return true;
}

bool af_proc_mapping_next(FILE *maps, char **line, size_t *cap, struct af_proc_mapping *m)
{
	while (maps && getline(line, cap, maps) > 0)
		if (mapping_parse(*line, m))
			return true;
	return false;
}

size_t af_proc_read_exe(unsigned pid, char *path, size_t size)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	scope_rights(AF_RIGHTS_PROCESS);
	ssize_t n = readlink(link, path, size);
	return n > 0 ? (size_t)n : 0;
}

void af_boot_id(char id[AF_BOOT_ID_SIZE])
{
	af_read_text("/proc/sys/kernel/random/boot_id", id, AF_BOOT_ID_SIZE);
	id[strcspn(id, "\n")] = 0;
}

/* The file has the offsets of the namespace that children are born in: mostly its own. */
int64_t af_time_namespace_now_ns(void)
{
	struct stat own, children;
	char text[256];
	long long s, ns;

	if (stat("/proc/self/ns/time", &own) ||
	    stat("/proc/self/ns/time_for_children", &children) || own.st_ino != children.st_ino ||
	    !af_read_text("/proc/self/timens_offsets", text, sizeof text) ||
	    sscanf(text, "monotonic %lld %lld", &s, &ns) != 2)
		return 0;
	return s * 1000000000 + ns;
}

uint64_t af_time_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/time", &st) ? 0 : st.st_ino;
}

int64_t af_time_namespace_ns(void)
{
	static int64_t found_ns;
	static bool found;

	if (!found)
		found_ns = af_time_namespace_now_ns();
	found = true;
	return found_ns;
}

bool af_status_is_traced(const char *status)
{
	static const char key[] = "\nTracerPid:\t";
	const char *tracer = strstr(status, key);

	return tracer && tracer[strlen(key)] != '0';
}

bool af_status_waits_for_disk(const char *status)
{
	static const char key[] = "\nState:\t";
	const char *state = strstr(status, key);

	return state && state[strlen(key)] == 'D';
}

bool af_proc_is_traced(int pid)
{
	char text[512];

	af_proc_read(pid, "status", text, sizeof text);
	return af_status_is_traced(text);
}

bool af_status_blocks(const char *status, int signo)
{
	const char *line = strstr(status, "\nSigBlk:");

	return line && af_blocks_samples(strtoull(line + strlen("\nSigBlk:"), NULL, 16), signo);
}

bool af_linux_is_at_least(unsigned major, unsigned minor)
{
	unsigned at = 0, is[2] = {0};
	struct utsname u;

	if (uname(&u))
		return false;
	for (int i = 0; i < 2; i++, at++)
		for (; u.release[at] >= '0' && u.release[at] <= '9'; at++)
			is[i] = is[i] * 10 + (unsigned)(u.release[at] - '0');
	return is[0] > major || (is[0] == major && is[1] >= minor);
}
