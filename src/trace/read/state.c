#include "trace/read/state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/proc.h"
#include "trace/read/files.h"
#include "trace/write/session.h"

enum { TEXT_BYTES = 512 };

/* The second line of AF_SESSION_FILE: the boot id and the name of the host. */
struct host {
	const char *boot, *name;
	size_t boot_len, name_len;
};

static struct host host_of(const char *text)
{
	const char *line = strchr(text, '\n');
	struct host h = {.boot = line ? line + 1 : ""};

	h.boot_len = strcspn(h.boot, " \n");
	h.name = h.boot + h.boot_len;
	h.name += *h.name == ' ';
	h.name_len = strcspn(h.name, "\n");
	return h;
}

bool af_trace_is_elsewhere(const char *text)
{
	const struct host h = host_of(text);
	char boot[AF_BOOT_ID_SIZE], name[256] = "";

	af_boot_id(boot);
	if (!h.name_len ||
	    (*boot && strlen(boot) == h.boot_len && !strncmp(h.boot, boot, h.boot_len)))
		return false;
	if (h.boot_len && *boot)
		return true;
	gethostname(name, sizeof name - 1);
	return strlen(name) != h.name_len || strncmp(h.name, name, h.name_len) != 0;
}

bool af_trace_is_locked(int fd)
{
	if (!flock(fd, LOCK_SH | LOCK_NB)) {
		flock(fd, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

/* "/dev/shm/aflame." and six characters of mkdtemp. */
static bool shm_name_is_ours(const char *s)
{
	static const char prefix[] = "/dev/shm/aflame.";

	if (strncmp(s, prefix, sizeof prefix - 1) || strlen(s) != sizeof prefix - 1 + 6)
		return false;
	for (s += sizeof prefix - 1; *s; s++)
		if (!isalnum((unsigned char)*s))
			return false;
	return true;
}

int af_trace_shm_open(const char *path)
{
	struct stat st;

	if (!shm_name_is_ours(path))
		return -1;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Does the recorder hold the shared directory? It tells where the trace's disk has no locks. */
static bool shm_is_locked(const char *text)
{
	char path[64];

	snprintf(path, sizeof path, "%.*s", (int)strcspn(text, "\n"), text);
	scope_close int fd = af_trace_shm_open(path);
	return fd >= 0 && af_trace_is_locked(fd);
}

/* The time of a file that is made now, on the clock of whoever keeps the file system. */
static uint64_t file_time_ns(int dir_fd)
{
	char name[32] = "";
	struct stat dir, st;

	if (fstat(dir_fd, &dir) || dir.st_uid != geteuid())
		return 0;
	int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) { /* NFS has no files without names */
		snprintf(name, sizeof name, ".clock-%d", (int)getpid());
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		            0600);
	}
	if (fd < 0)
		return 0;
	uint64_t ns = fstat(fd, &st) ? 0 : af_timespec_ns(&st.st_mtim);
	close(fd);
	if (*name)
		unlinkat(dir_fd, name, 0);
	return ns;
}

/* The age of the last heartbeat. A recorder's clock that is ahead of the file system's is new. */
static uint64_t age_ns(int dir_fd, int fd, uint64_t *now_ns)
{
	struct stat st;

	if (!*now_ns)
		*now_ns = file_time_ns(dir_fd);
	if (!*now_ns)
		*now_ns = af_clock_ns(CLOCK_REALTIME);
	if (fstat(fd, &st) || st.st_mtim.tv_sec < 0)
		return 0;
	uint64_t beat_ns = af_timespec_ns(&st.st_mtim);
	return beat_ns < *now_ns ? *now_ns - beat_ns : 0;
}

/* "12 s", "5 min", "3 h", "9 days" */
static void age_text(uint64_t ns, char text[32])
{
	unsigned long long s = ns / 1000000000u;

	if (s < 120)
		snprintf(text, 32, "%llu s", s);
	else if (s < 7200)
		snprintf(text, 32, "%llu min", s / 60);
	else if (s < 172800)
		snprintf(text, 32, "%llu h", s / 3600);
	else
		snprintf(text, 32, "%llu days", s / 86400);
}

static void status_elsewhere(int dir_fd, int fd, const char *text, uint64_t *now_ns,
                             struct af_trace_status *is)
{
	const struct host h = host_of(text);
	char age[32];

	is->has_age = true;
	is->age_ns = age_ns(dir_fd, fd, now_ns);
	age_text(is->age_ns, age);
	is->state = is->locked || is->age_ns < AF_DEAD_AFTER_NS ? AF_TRACE_LIVE : AF_TRACE_DEAD;
	snprintf(is->why, sizeof is->why,
	         is->state == AF_TRACE_LIVE
	             ? "it is recorded on %.*s, whose recorder was alive %s ago"
	             : "it was recorded on %.*s, whose recorder has been silent for %s: let a "
	               "command read it there, which finishes it",
	         (int)(h.name_len < 128 ? h.name_len : 128), h.name, age);
}

void af_trace_status(int dir_fd, uint64_t *now_ns, struct af_trace_status *status)
{
	char text[TEXT_BYTES];
	scope_close int fd = af_trace_file(dir_fd, AF_SESSION_FILE);

	*status = (struct af_trace_status){.state = AF_TRACE_COMPLETE};
	if (fd < 0) {
		if (af_trace_has(dir_fd, AF_RECOVERED_STREAM))
			status->state = AF_TRACE_RECOVERED;
		return;
	}
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	status->locked = af_trace_is_locked(fd);
	if (af_trace_is_elsewhere(text)) {
		status_elsewhere(dir_fd, fd, text, now_ns, status);
	} else if (status->locked || shm_is_locked(text)) {
		status->state = AF_TRACE_LIVE;
		snprintf(status->why, sizeof status->why, "it is being recorded on this host");
	} else {
		status->state = AF_TRACE_UNFINISHED;
		snprintf(status->why, sizeof status->why,
		         "its recorder was killed, and the trace is not finished yet");
	}
}
