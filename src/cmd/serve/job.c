/* Reports that are made by children, so that the server answers meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "cmd/output/picture.h"
#include "cmd/serve/private.h"
#include "cmd/shared/load.h"

enum { WHOLE_NICE = 10 };

static struct job_shared *child_shared; /* in a child */

static void child_say(int rc, const char *why)
{
	snprintf(child_shared->why, sizeof child_shared->why, "%s", why);
	atomic_store(&child_shared->rc, rc);
}

static void child_no_memory(void)
{
	child_say(-ENOMEM, "");
	_exit(1);
}

/* A part has no steady part of its own, and needs no more of the trace than what is near it. */
static struct af_query query_of(const struct served *s, const char *sources, struct job_range range)
{
	struct af_query query = AF_QUERY_ALL;

	query.trace = s->dir;
	query.sources = sources;
	query.threads = 1; /* more take more memory, and the next report is made beside this one */
	if (!range.to_ns)
		return query;
	query.answers &= ~AF_ANSWER_STEADY;
	query.from_ns = range.from_ns;
	query.to_ns = range.to_ns;
	query.near_run_ns = s->overview.span_ns;
	query.near_memo = s->memo;
	return query;
}

static int child_report(const struct served *s, const struct af_query *query,
                        const char *served_json, struct af_err *err)
{
	struct af_results r;
	struct af_picture picture = {.served = served_json};
	struct af_picture_request request = {.format = af_format_for("html"),
	                                     .to = {.file = "-"},
	                                     .picture = &picture,
	                                     .results = &r,
	                                     .dir = s->dir};
	int rc = af_load(s->dir, query, &r, err);

	if (!rc)
		rc = af_picture_write(&request, err);
	af_results_close(&r);
	return rc;
}

/* Standard output is the report. Nothing else of the server's is left open. */
static void child_files(int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(report, STDOUT_FILENO);
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = af_dir_next(d));) {
		int fd = atoi(e->d_name);
		if (fd > STDERR_FILENO && fd != dirfd(d))
			close(fd);
	}
	if (d)
		closedir(d);
}

_Noreturn static void child_run(const struct jobs *jobs, const struct job *job,
                                const struct served *s, const char *served_json)
{
	const struct rlimit most = {jobs->memory, jobs->memory};
	struct af_query query = query_of(s, jobs->sources, job->range);
	struct af_err err = {0};
	char id[SERVE_ID];
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* the server ends it */
	child_files(job->fd);
	if (!job->range.to_ns && !s->small && nice(WHOLE_NICE) == -1)
		errno = 0;
	child_shared = job->shared;
	af_out_of_memory(child_no_memory);
	setrlimit(RLIMIT_DATA, &most);
	af_progress_share(&job->shared->progress);
	int rc = child_report(s, &query, served_json, &err);
	/* Half of it may be of the one and half of the other. */
	served_identify(s->dir, id);
	if (strcmp(id, s->id) != 0)
		child_say(-ESTALE, "the trace was replaced while it was read");
	else
		child_say(rc ? rc : 1, rc ? err.msg : "");
	_exit(0);
}

struct job *job_find(struct jobs *jobs, struct job_range range)
{
	for (int i = 0; i < SERVE_JOBS; i++) {
		struct job *job = &jobs->all[i];
		if (job->state != JOB_NONE && job->range.from_ns == range.from_ns &&
		    job->range.to_ns == range.to_ns) {
			job->used = ++jobs->used;
			return job;
		}
	}
	return NULL;
}

void job_forget(struct job *job)
{
	if (job->state == JOB_NONE)
		return;
	if (job->state == JOB_RUNS) {
		kill(job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	close(job->fd);
	munmap(job->shared, sizeof *job->shared);
	*job = (struct job){0};
}

void jobs_clear(struct jobs *jobs)
{
	for (int i = 0; i < SERVE_JOBS; i++)
		job_forget(&jobs->all[i]);
}

/* A place for one more: a free one, or that of the report that nobody looked at for longest. */
static struct job *job_place(struct jobs *jobs)
{
	struct job *best = NULL;

	for (int i = 0; i < SERVE_JOBS; i++) {
		struct job *job = &jobs->all[i];
		if (job->state == JOB_NONE)
			return job;
		if (job->state != JOB_RUNS && (!best || job->used < best->used))
			best = job;
	}
	if (best)
		job_forget(best);
	return best;
}

struct job *job_start(struct jobs *jobs, const struct served *s, struct job_range range,
                      const char *served_json)
{
	struct job *job = job_find(jobs, range);

	if (job)
		return job;
	job = job_place(jobs);
	if (!job)
		return NULL;
	*job = (struct job){.range = range, .used = ++jobs->used, .fd = -1};
	job->shared = mmap(NULL, sizeof *job->shared, PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	job->fd = memfd_create("aflame report", MFD_CLOEXEC);
	if (job->shared == MAP_FAILED || job->fd < 0)
		af_memory_is_out();
	job->pid = fork();
	if (!job->pid)
		child_run(jobs, job, s, served_json);
	job->state = job->pid > 0 ? JOB_RUNS : JOB_FAILED;
	if (job->pid < 0)
		snprintf(job->why, sizeof job->why, "no process could be started for it: %s",
		         strerror(errno));
	return job;
}

static void job_ended(const struct jobs *jobs, struct job *job, int status)
{
	int rc = atomic_load(&job->shared->rc);

	job->state = rc > 0 ? JOB_DONE : JOB_FAILED;
	if (rc == -ENOMEM)
		snprintf(job->why, sizeof job->why,
		         "it takes more than %llu MB of memory: choose a shorter time, or start "
		         "`aflame serve` with a larger --memory",
		         (unsigned long long)(jobs->memory >> 20));
	else if (rc < 0)
		memcpy(job->why, job->shared->why, sizeof job->why);
	else if (!rc && WIFSIGNALED(status))
		snprintf(job->why, sizeof job->why,
		         "the process that made it was ended by signal %d", WTERMSIG(status));
	else if (!rc)
		snprintf(job->why, sizeof job->why, "the process that made it ended too early");
}

void jobs_reap(struct jobs *jobs)
{
	int status;

	for (int i = 0; i < SERVE_JOBS; i++) {
		struct job *job = &jobs->all[i];
		if (job->state == JOB_RUNS && waitpid(job->pid, &status, WNOHANG) == job->pid)
			job_ended(jobs, job, status);
	}
}

void job_progress(const struct job *job, char *text, size_t size, unsigned *percent)
{
	const struct af_progress_shared *p = &job->shared->progress;
	const char *what = atomic_load(&p->what);
	uint64_t done = atomic_load(&p->done), all = atomic_load(&p->size);

	*percent = all && done <= all ? (unsigned)((double)done * 100 / (double)all) : 0;
	snprintf(text, size, "%s", what ? what : "beginning");
}
