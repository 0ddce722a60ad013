/* The end of a recording: when the program has ended, or before it where the job is killed. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/program.h"
#include "base/system/rights.h"
#include "cmd/record/record.h"
#include "cmd/shared/names.h"
#include "collect/disk/recover.h"
#include "collect/session/session.h"

/* Is the program one that nothing can be loaded into? Words for the user, or NULL. */
static const char *why_not_loaded(const char *program)
{
	char path[PATH_MAX];

	if (!af_program_find(program, path))
		return NULL;
	switch (af_program_preload(path)) {
	case AF_PRELOAD_STATIC:
		return "it is statically linked";
	case AF_PRELOAD_32_BIT:
		return "it is a 32-bit program";
	case AF_PRELOAD_FOREIGN:
		return "it is a program for another machine";
	case AF_PRELOAD_MUSL:
		return "it is linked against musl, not glibc";
	case AF_PRELOAD_WORKS:
		return "it ended while its libraries were loaded, is set-user-id, or replaced its "
		       "environment";
	case AF_PRELOAD_UNKNOWN:
		break;
	}
	return NULL;
}

static void note_end(struct af_recording *r)
{
	if (r->hurry.left)
		af_session_note(r, "end.status", "after the recording, which SIGTERM ended");
	else if (WIFSIGNALED(r->status))
		af_session_note(r, "end.status", "by signal %d (%s)", WTERMSIG(r->status),
		                strsignal(WTERMSIG(r->status)));
	else
		af_session_note(r, "end.status", "with status %d", WEXITSTATUS(r->status));
	if (r->control->sampler_failed)
		af_session_note(r, "sampler_failed", "%llu",
		                (unsigned long long)r->control->sampler_failed);
}

static void warn_end(const struct af_recording *r)
{
	char why[512];

	if (r->still_running && !r->hurry.left)
		fprintf(
		    stderr,
		    "aflame: %u processes of the program still run; they are no longer recorded\n",
		    r->still_running);
	if (af_steps_missed(r, why, sizeof why))
		fprintf(stderr, "aflame: %s\n", why);
	if (r->control->sampler_failed)
		fprintf(stderr, "aflame: CPU samples could not be started in %llu processes\n",
		        (unsigned long long)r->control->sampler_failed);
	if (r->control->lost_no_stream && r->drain.packets)
		fprintf(stderr,
		        "aflame: %llu events were lost as no stream could be made: is /dev/shm "
		        "full or hidden from the program (chroot, another user), or ulimit -f or "
		        "-v too low?\n",
		        (unsigned long long)r->control->lost_no_stream);
}

/* Facts of the session, which are gone when it is settled. */
struct record_found {
	uint32_t nr_processes;
	bool no_streams;
};

static int record_check(const struct record_found *found, char **words, struct af_err *err)
{
	if (!found->nr_processes && !words[0])
		return af_fail_plain(err, -ESRCH, "nothing was recorded: no process ran");
	if (!found->nr_processes) {
		const char *why = why_not_loaded(words[0]);
		return af_fail_plain(
		    err, -EPERM, "nothing was recorded: libaflame.so was not loaded into %s%s%s",
		    words[0], why ? ", for " : "", why ? why : "");
	}
	if (found->no_streams)
		return af_fail_plain(
		    err, -ENOSPC,
		    "nothing was recorded: no stream could be made in /dev/shm: free some of it, "
		    "give the container more (--shm-size=1g), or lift the limit on the size of "
		    "files (ulimit -f)");
	return 0;
}

/*
 * A job that gets SIGTERM has no time for names. A signal that ended the program counts, too: it
 * may have come to the program first.
 */
static bool names_wait(const struct af_record_options *o, const struct af_recording *r)
{
	bool ending = r->hurry.since_ns ||
	              (!r->hurry.left && WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGTERM);

	return o->no_symbols || (ending && r->options->grace_ns);
}

/* All ranks print this: one command does it for the set. */
static void later_tell(const struct af_record_options *o, const struct af_recording *r)
{
	char set[sizeof r->place.dir];
	const char *shown = af_record_shown(r->place.dir);
	const char *end = r->place.job_in_fd >= 0 ? strrchr(shown, '/') : NULL;

	snprintf(set, sizeof set, "%.*s", end ? (int)(end - shown) : (int)strlen(shown), shown);
	fprintf(stderr,
	        "aflame: %s has no names of functions yet%s: `aflame finish %s` writes them\n",
	        shown, o->no_symbols ? "" : ", because SIGTERM ended the job", set);
}

/* The streams are whole: bring the trace to its place, and name its addresses. */
static int record_complete(const struct af_record_options *o, struct af_recording *r,
                           struct af_recorded *done, struct af_err *err)
{
	int marked = af_session_settle(r);
	int rc = af_session_unstage(r, err);
	if (rc)
		return rc;
	if (marked) { /* the next command tries again */
		rc = af_names_add(r->place.dir_fd, r->place.dir, NULL, err);
		if (!rc)
			af_recovered(r->place.dir_fd);
		return rc;
	}
	done->unnamed = names_wait(o, r);
	if (!done->unnamed) {
		rc = af_names_complete(r->place.dir_fd, r->place.dir, false, NULL, err);
		return rc == -EBUSY ? 0 : rc; /* `aflame finish` was faster */
	}
	if (!o->quiet)
		later_tell(o, r);
	return 0;
}

static int record_end(const struct af_record_options *o, struct af_recording *r, char **words,
                      struct af_recorded *done, struct af_err *err)
{
	struct af_err moved_err = {0};

	note_end(r);
	int rc = af_session_finish(r, err);
	int moved = af_session_find(r, &moved_err);
	struct record_found found = {r->control->nr_processes,
	                             r->control->lost_no_stream && !r->drain.packets};
	warn_end(r);
	int completed = moved == -ENOENT ? 0 : record_complete(o, r, done, rc ? NULL : err);
	if (!rc)
		rc = completed;
	af_session_close(r);
	if (moved && (!rc || moved == -ENOENT)) {
		*err = moved_err;
		return moved;
	}
	return rc ? rc : record_check(&found, words, err);
}

/*
 * The program's status is not lost with what is still to be written; the next command writes that.
 */
static volatile int ended_as;

static void ends_early(void)
{
	af_command_end(ended_as);
}

/* Before the launcher kills us. All but the names is on the disk, and marked so. */
static void ends_at_once(int signo)
{
	if (ended_as <= AF_ENDED_BY)
		_exit(ended_as);
	signo = ended_as - AF_ENDED_BY;
	signal(signo, SIG_DFL);
	raise(signo);
	_exit(128 + signo);
}

static int status_of(const struct af_recording *r)
{
	return WIFSIGNALED(r->status) ? AF_ENDED_BY + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

int af_record_end(const struct af_record_options *o, struct af_recording *r, char **words,
                  struct af_recorded *done, struct af_err *err)
{
	struct sigaction act = {.sa_handler = ends_at_once, .sa_flags = SA_NODEFER};
	int status = r->hurry.left ? AF_ENDED_BY + SIGTERM : status_of(r);

	ended_as = status;
	done->pid = r->child;
	if (!o->strict)
		af_out_of_memory(ends_early);
	if (words[0] && r->options->grace_ns)
		sigaction(SIGTERM, &act, NULL);
	int rc = record_end(o, r, words, done, err);
	if (r->hurry.left) {
		af_hurry_wait(r);
		ended_as = status = status_of(r);
	}

	af_rights_drop(); /* what follows reads a trace as any command does */
	if (rc)
		return words[0] ? af_record_failed(o, done->who, status, rc, err) : rc;
	snprintf(done->dir, sizeof done->dir, "%s", r->place.dir);
	af_sudo_owner_give(done->dir);
	return status;
}
