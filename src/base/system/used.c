#include "base/system/used.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system/clock.h"
#include "base/system/proc.h"

enum {
	THREADS_MAX = 1024,
	THREADS_POLL_NS = 10000000, /* who used less since the last look has nothing to tell */
};

/* clock_getcpuclockid(3) knows only the exact one. */
static bool clock_read(int pid, enum af_cpu_clock which, uint64_t *ns)
{
	return af_clock_read(af_clock_of_process((uint32_t)pid, which), ns);
}

/* As the kernel does it for wait(2): the exact sum, shared out by ticks (cputime_adjust()). */
bool af_used_read(int pid, struct af_used *used)
{
	uint64_t all, user, ticks;

	if (!clock_read(pid, AF_CLOCK_VIRT, &user) || !clock_read(pid, AF_CLOCK_PROF, &ticks) ||
	    !clock_read(pid, AF_CLOCK_SCHED, &all))
		return false;
	uint64_t kernel = ticks > user ? ticks - user : 0;
	used->kernel_ns =
	    kernel ? (uint64_t)((double)all * (double)kernel / (double)(kernel + user)) : 0;
	if (used->kernel_ns > all)
		used->kernel_ns = all;
	used->user_ns = all - used->kernel_ns;
	return true;
}

/* utime, stime, cutime, cstime are fields 14 to 17 of a stat, num_threads 20: proc(5). */
struct stat_line {
	unsigned long user, kernel, threads;
	long children_user, children_kernel;
};

static bool stat_read(int pid, const char *file, struct stat_line *s)
{
	char line[1024];

	if (!af_proc_read(pid, file, line, sizeof line))
		return false;
	const char *rest = strrchr(line, ')'); /* the name may hold anything */
	return rest && sscanf(rest + 1,
	                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d "
	                      "%*d %lu",
	                      &s->user, &s->kernel, &s->children_user, &s->children_kernel,
	                      &s->threads) == 5;
}

static uint64_t ticks_ns(unsigned long ticks)
{
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool af_used_children(int pid, struct af_used *used)
{
	struct stat_line s;

	if (!stat_read(pid, "stat", &s) || s.children_user < 0 || s.children_kernel < 0)
		return false;
	*used = (struct af_used){ticks_ns((unsigned long)s.children_user),
	                         ticks_ns((unsigned long)s.children_kernel)};
	return true;
}

struct af_used_machine af_used_by_machine(void)
{
	unsigned long long user, nice, system, irq, softirq, stolen;
	struct af_used_machine m = {0};
	FILE *f = fopen("/proc/stat", "re");

	if (f && fscanf(f, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system, &irq,
	                &softirq, &stolen) == 6)
		m = (struct af_used_machine){user + nice + system + irq + softirq, stolen};
	if (f)
		fclose(f);
	return m;
}

struct af_used af_used_of(const struct rusage *r)
{
	return (struct af_used){af_timeval_ns(&r->ru_utime), af_timeval_ns(&r->ru_stime)};
}

static struct af_used_thread *thread_at(struct af_used_threads *t, uint32_t tid)
{
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->all[i].tid == tid)
			return &t->all[i];
	if (t->nr == THREADS_MAX)
		return NULL;
	AF_GROW(t->all, t->nr, t->cap);
	t->all[t->nr] = (struct af_used_thread){.tid = tid};
	return &t->all[t->nr++];
}

static void thread_poll(struct af_used_threads *t, int pid, const char *name)
{
	struct stat_line s;
	char file[64];

	snprintf(file, sizeof file, "task/%.20s/stat", name);
	struct af_used_thread *thread = thread_at(t, (uint32_t)strtoul(name, NULL, 10));
	if (thread && stat_read(pid, file, &s))
		thread->used = (struct af_used){ticks_ns(s.user), ticks_ns(s.kernel)};
}

void af_used_threads_poll(struct af_used_threads *t, int pid, uint64_t cpu_ns)
{
	char path[64];
	struct stat_line s;
	const struct dirent *e;

	if (cpu_ns < t->polled_ns + THREADS_POLL_NS || !stat_read(pid, "stat", &s) ||
	    (s.threads < 2 && !t->nr))
		return;
	t->polled_ns = cpu_ns;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *all = opendir(path);
	while (all && (e = readdir(all)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			thread_poll(t, pid, e->d_name);
	if (all)
		closedir(all);
}
