#include "sym/resolve/running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "base/system/rights.h"

enum { RUNNING_PATH = 64, RUNNING_PROCESSES = 1 << 20 };

#define RUNNING_SLACK_NS UINT64_C(1000000000) /* the kernel tells when a process began in ticks */

static void running_path(char path[RUNNING_PATH + 64], const struct af_running *l, pid_t pid,
                         const char *file)
{
	snprintf(path, RUNNING_PATH + 64, "%s/%d/%s", l->proc, (int)pid, file);
}

static FILE *running_fopen(const struct af_running *l, pid_t pid, const char *file)
{
	char path[RUNNING_PATH + 64];

	running_path(path, l, pid, file);
	scope_rights(AF_RIGHTS_PROCESS);
	return fopen(path, "re");
}

/* Field 22 of stat(5), behind a name in parentheses that may hold anything. */
static bool running_start(const struct af_running *l, pid_t pid, uint64_t *start_ns)
{
	char text[1024];
	scope_fclose FILE *f = running_fopen(l, pid, "stat");
	size_t len = f ? fread(text, 1, sizeof text - 1, f) : 0;
	unsigned long long ticks;

	text[len] = 0;
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1)
		return false;
	*start_ns = ticks * (1000000000u / (unsigned long long)sysconf(_SC_CLK_TCK));
	return true;
}

/* The last of the ids in NSpid is the one in the innermost namespace. */
static bool running_status(const struct af_running *l, struct af_running_process *p)
{
	scope_fclose FILE *f = running_fopen(l, p->pid, "status");
	unsigned real, effective;
	char line[512];
	bool uid = false;

	p->own_pid = p->pid;
	while (f && fgets(line, sizeof line, f)) {
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');
			p->own_pid = last ? atoi(last) : p->pid;
		} else if (!strncmp(line, "Uid:", 4)) {
			uid = sscanf(line + 4, "%u %u", &real, &effective) == 2;
			p->uid = effective;
		}
	}
	return uid;
}

static bool running_is_elsewhere(const struct af_running *l, pid_t pid)
{
	char path[RUNNING_PATH + 64];
	struct stat theirs, ours;

	running_path(path, l, pid, "root");
	scope_rights(AF_RIGHTS_PROCESS);
	return !stat(path, &theirs) && !stat("/", &ours) &&
	       (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

void af_running_open(struct af_running *l, const char *proc)
{
	struct dirent *d;

	*l = (struct af_running){.proc = af_xstrndup(proc, strnlen(proc, RUNNING_PATH - 1))};
	DIR *dir = opendir(l->proc);
	while (dir && l->nr < RUNNING_PROCESSES && (d = readdir(dir))) {
		struct af_running_process p = {.pid = atoi(d->d_name)};

		if (p.pid <= 0 || !running_status(l, &p) || !running_start(l, p.pid, &p.start_ns))
			continue;
		AF_GROW(l->processes, l->nr, l->cap);
		p.elsewhere = running_is_elsewhere(l, p.pid);
		l->processes[l->nr++] = p;
	}
	if (dir)
		closedir(dir);
}

void af_running_close(struct af_running *l)
{
	free(l->processes);
	free(l->proc);
	*l = (struct af_running){0};
}

/* Whether what the kernel calls @reported is the file that was at @path. */
static bool running_is_file(const char *reported, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(reported, path, len) &&
	       (!reported[len] || !strcmp(reported + len, " (deleted)"));
}

/* The executable of the process, into @file; false when we may not see it. */
static bool running_exe(const struct af_running *l, const struct af_running_process *p, char *file,
                        size_t size)
{
	char link[RUNNING_PATH + 64];

	running_path(link, l, p->pid, "exe");
	scope_rights(AF_RIGHTS_PROCESS);
	ssize_t len = readlink(link, file, size - 1);
	file[len > 0 ? len : 0] = 0;
	return len > 0;
}

const struct af_running_process *af_running_find(const struct af_running *l, pid_t own_pid,
                                                 uint64_t seen_ns, const char *exe)
{
	const struct af_running_process *found = NULL;
	char file[4096];

	for (uint32_t i = 0; i < l->nr; i++) {
		const struct af_running_process *p = &l->processes[i];

		if (p->own_pid != own_pid || p->start_ns > seen_ns + RUNNING_SLACK_NS)
			continue;
		if (exe && (!running_exe(l, p, file, sizeof file) || !running_is_file(file, exe)))
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

int af_running_open_mapped(const struct af_running *l, const struct af_running_process *p,
                           uint64_t address, const char *path)
{
	scope_fclose FILE *f = running_fopen(l, p->pid, "maps");
	scope_free char *line = NULL;
	char link[RUNNING_PATH + 64], range[64];
	struct af_proc_mapping m;
	size_t cap = 0;

	while (af_proc_mapping_next(f, &line, &cap, &m)) {
		if (address < m.start || address >= m.end)
			continue;
		if (*m.path != '/' || (path && !running_is_file(m.path, path)))
			return -ENOENT;
		snprintf(range, sizeof range, "map_files/%llx-%llx", (unsigned long long)m.start,
		         (unsigned long long)m.end);
		running_path(link, l, p->pid, range);
		scope_rights(AF_RIGHTS_PROCESS);
		return af_open_regular(AT_FDCWD, link, 0);
	}
	return -ENOENT;
}

int af_running_open_exe(const struct af_running *l, const struct af_running_process *p,
                        const char *path)
{
	char link[RUNNING_PATH + 64], file[4096];

	if (!running_exe(l, p, file, sizeof file) || (path && !running_is_file(file, path)))
		return -ENOENT;
	running_path(link, l, p->pid, "exe");
	scope_rights(AF_RIGHTS_PROCESS);
	return af_open_regular(AT_FDCWD, link, 0);
}

int af_running_open_path(const struct af_running *l, const struct af_running_process *p,
                         const char *path)
{
	char root[RUNNING_PATH + 64];

	running_path(root, l, p->pid, "root");
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	scope_close int dirfd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	af_rights_restore(before);
	if (dirfd < 0)
		return -errno;
	return af_open_regular_in(dirfd, path);
}

char *af_running_jitdump(const struct af_running *l, const struct af_running_process *p,
                         uint32_t nth)
{
	scope_fclose FILE *f = running_fopen(l, p->pid, "maps");
	scope_free char *line = NULL;
	struct af_proc_mapping m;
	char name[64];
	size_t cap = 0;

	snprintf(name, sizeof name, "/jit-%d.dump", (int)p->own_pid);
	while (af_proc_mapping_next(f, &line, &cap, &m)) {
		size_t len = strlen(m.path), tail = strlen(name);
		if (*m.path == '/' && len >= tail && !strcmp(m.path + len - tail, name) && !nth--)
			return af_xstrdup(m.path);
	}
	return NULL;
}
