#include "cmd/record/record.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/system/program.h"
#include "base/system/rights.h"
#include "cmd/piped/piped.h"
#include "cmd/record/begin.h"
#include "cmd/record/choose.h"
#include "cmd/record/hint.h"
#include "cmd/record/library.h"
#include "cmd/record/live.h"
#include "cmd/record/mpi.h"
#include "cmd/record/scope.h"
#include "cmd/record/unrecorded.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/names.h"
#include "cmd/shared/screen.h"
#include "collect/outside/outside.h"
#include "collect/session/session.h"
#include "collect/session/target.h"
#include "sym/sym.h"

const struct af_record_options af_record_defaults = {
    .sample = "auto",
    .rate = 99,
};

/* Before an old trace is moved away for nothing. */
static int program_check(const char *program, struct af_err *err)
{
	char path[PATH_MAX], hint[512];
	struct stat st = {0};

	af_program_hint(program, hint, sizeof hint);
	if (!af_program_find(program, path))
		return af_fail_plain(err, -ENOENT, "no program %s%s%s", program,
		                     strchr(program, '/') ? "" : " in $PATH", hint);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return af_fail_plain(err, -EACCES, "cannot run %s: it is a directory", program);
	if (!access(path, X_OK))
		return 0;
	if (*hint || !(st.st_mode & 0111))
		return af_fail_plain(err, -EACCES, "cannot run %s, which is not executable%s",
		                     program, hint);
	return af_fail(err, -errno, "cannot run %s", program);
}
/* A smaller bound would hold hardly more than the definitions that every trace needs. */
#define RING_LEAST_BYTES (1u << 20)

/* Slurm kills 30 s after SIGTERM, and the trace has to be written until then. */
#define GRACE_NS UINT64_C(20000000000)

static int bounds_check(const struct af_record_options *o, struct af_session_options *s,
                        int nr_words, struct af_err *err)
{
	if (o->steps && (o->delay_ns || o->duration_ns || !nr_words))
		return af_fail_plain(
		    err, -EINVAL,
		    "--steps records steps of a program that aflame starts: leave out %s",
		    nr_words ? "--delay and --duration, which count time" : "-p and -a");
	if (o->steps && af_steps_parse(&s->steps, o->steps, err))
		return -EINVAL;
	if (o->ring_bytes && o->max_bytes)
		return af_fail_plain(err, -EINVAL,
		                     "--ring keeps the newest events and --max-size the oldest: "
		                     "choose one of them");
	if (o->tally_only && (o->off_cpu || o->gpu_samples || o->autograd || o->api_stacks ||
	                      o->alloc || o->launch_metrics || o->launches || o->uprobes.nr))
		return af_fail_plain(
		    err, -EINVAL,
		    "--tally-only has no samples and no stacks: leave out --off-cpu, "
		    "--gpu-samples, --launch-metrics, --launches, --autograd, --api-stacks, "
		    "--alloc and --uprobe");
	if (o->launch_metrics && !nr_words)
		return af_fail_plain(err, -EINVAL,
		                     "--launch-metrics measures a program that aflame starts: "
		                     "leave out -p and -a");
	if (o->alloc && (o->ring_bytes || !nr_words))
		return af_fail_plain(
		    err, -EINVAL,
		    "--alloc counts all allocations of a program that aflame starts: leave out %s",
		    nr_words ? "--ring" : "-p and -a");
	if (o->ring_bytes && o->ring_bytes < RING_LEAST_BYTES)
		return af_fail_plain(
		    err, -EINVAL,
		    "--ring is too small for the definitions of events: give it 1M or more");
	return 0;
}

/* In a process of its own, beside the recording. */
static int snapshot_names(int dir_fd, const char *dir, struct af_err *err)
{
	return af_symbolize(dir_fd, dir, NULL, NULL, NULL, err);
}

static void snapshot_tell(const char *line)
{
	fprintf(stderr, "aflame: %s\n", line);
}

/* Calls of Level Zero with their arguments: an empty list has the sums of all. */
static int choose_ze(const struct af_record_options *o, struct af_session_options *s,
                     struct af_err *err)
{
	static char library[PATH_MAX];
	struct af_err why = {0};
	bool is_named = af_api_is_named(o->api, "ze");

	if (!af_api_is_traced_by(o->api, "ze") &&
	    !(o->tally_only && (!o->api || is_named || af_api_is_named(o->api, "all"))))
		return 0;
	int rc = af_library_find_other(library, s->library, "libaflame-ze.so",
	                               "calls of Level Zero", &why);
	if (!rc)
		s->ze_library = library;
	return rc && is_named ? af_fail_plain(err, rc, "%s", why.msg) : 0;
}

/* The wall clock goes by timers in the program alone. */
static int choose_wall(const struct af_record_options *o, struct af_session_options *s,
                       struct af_err *err)
{
	static char library[PATH_MAX];

	if (o->off_cpu || o->pids || o->all || o->uprobes.nr ||
	    (strcmp(af_cpu_sampler_of(o), "auto") && strcmp(o->sample, "timer")))
		return af_fail_plain(err, -EINVAL,
		                     "--wall samples a program that aflame starts by timers in it: "
		                     "leave out %s",
		                     o->off_cpu      ? "--off-cpu"
		                     : o->pids       ? "-p"
		                     : o->all        ? "-a"
		                     : o->uprobes.nr ? "--uprobe"
		                                     : "--sample");
	s->flags |= AF_SESSION_WALL;
	s->wall_library = library;
	return af_library_find_other(library, s->library, "libaflame-wall.so", "waits", err);
}

static int choose_alloc(struct af_session_options *s, struct af_err *err)
{
	static char library[PATH_MAX];

	s->alloc_library = library;
	return af_library_find_other(library, s->library, "libaflame-alloc.so", "allocations", err);
}

/* Everything that is known before a trace is made. */
static int record_choose(const struct af_record_options *o, int nr_words, char **words,
                         struct af_session_options *s, struct af_scope *scope, char *sampler,
                         size_t size, struct af_err *err)
{
	static char library[PATH_MAX];
	const char *const patterns[] = {o->output, o->report};
	char name[PATH_MAX];
	int rc = 0;

	for (int i = 0; i < 2 && rc >= 0; i++)
		rc = patterns[i] ? af_job_name(name, sizeof name, patterns[i], s->job, err) : 0;
	rc = rc < 0 ? rc : af_library_find(library, err);
	s->library = library;
	if (!rc)
		rc = af_mpi_choose(o, nr_words ? words : NULL, s, err);
	if (!rc)
		rc = af_hip_choose(o, nr_words ? words : NULL, s, err);
	if (!rc)
		rc = choose_ze(o, s, err);
	if (!rc && o->alloc)
		rc = choose_alloc(s, err);
	if (!rc && o->wall)
		rc = choose_wall(o, s, err);
	if (!rc && !o->wall)
		rc = af_scope_choose(o, nr_words, words, s, scope, sampler, size, err);
	if (!rc && !scope->bpf)
		rc = af_choose_sampler(o, s, sampler, size, err);
	/* Samples programs without a sampler inside, where no privileges allow watching all. */
	if (!s->watcher && s->cpu_mode != AF_CPU_OFF && !o->wall)
		s->watcher = &af_outside_watcher;
	if (!rc)
		rc = af_choose_apis(o, s, err);
	return rc;
}

/* To somebody who waits before a terminal: that it goes on, and how it ends. */
static void tell_that_it_goes_on(const struct af_record_options *o, const char *dir)
{
	char until[64] = "";

	if (o->quiet || o->live || !isatty(STDERR_FILENO) || (!o->pids && !o->all))
		return;
	if (o->duration_ns)
		snprintf(until, sizeof until, " after %.4g s, or", (double)o->duration_ns / 1e9);
	fprintf(stderr, "aflame: recording %s%s into %s; it ends%s with Ctrl-C\n",
	        o->pids ? "process " : "all processes", o->pids ? o->pids : "",
	        af_record_shown(dir), until);
}

/* Once all that was given for is known to make sense. */
static void tell_what_is_less(const struct af_record_options *o, const struct af_scope *scope,
                              const struct af_session_options *s, const char *sampler)
{
	if (*scope->left_out && !o->quiet)
		fprintf(stderr,
		        "aflame: kernel stacks and programs that cannot be loaded into are left "
		        "out: %s\n",
		        scope->left_out);
	if (*s->functions_less && !o->quiet)
		fprintf(stderr, "aflame: --uprobe: %s\n", s->functions_less);
	if (*s->launch_metrics_why && !o->quiet)
		fprintf(stderr, "aflame: launches are not measured: %s\n", s->launch_metrics_why);
	if (!strncmp(sampler, "timer: perf", 11) || !strncmp(sampler, "no CPU", 6))
		fprintf(stderr, "aflame: %s\n", sampler);
}

/* 0: the program has run. Else nothing is left, and *@unstarted says whether it may yet run. */
static int record_target(struct af_recording *r, const struct af_record_options *o,
                         const struct af_recorded *done, const char *sampler, int nr_words,
                         char **words, bool *unstarted, struct af_err *err)
{
	af_begin_notes(r, o, done, sampler, nr_words, words);
	int live = o->live ? af_live_show(r->place.dir, err) : 0;
	int rc = live < 0 ? live : af_target_run(r, nr_words ? words : NULL, err);

	af_live_hide(live);
	/* It may be what we add to the environment that is too much. */
	*unstarted = rc && (r->child <= 0 || rc == -E2BIG || rc == -ENOMEM || rc == -EAGAIN);
	if (rc)
		af_session_abandon(r);
	return rc;
}

int af_record_failed(const struct af_record_options *o, const char *who, int status, int rc,
                     const struct af_err *err)
{
	if (o->strict)
		return rc;
	fprintf(stderr, "aflame %s: %s\n", who, err->msg);
	return status;
}

/* The program was not started: it runs without us, unless that is not wanted. */
static int record_refused(const struct af_record_options *o, int nr_words, char **words,
                          const struct af_recorded *done, int rc, struct af_err *err)
{
	if (o->strict || !nr_words) {
		af_unrecorded_disarm();
		return rc;
	}
	return af_unrecorded_run(done->who, words, err);
}

/* The command line gives these by itself; record_choose() adds the rest. */
static struct af_session_options record_session(const struct af_record_options *o,
                                                const struct af_recorded *done)
{
	return (struct af_session_options){
	    .output = o->output,
	    .job = &done->job,
	    .force = o->force,
	    .flags = (o->no_python ? 0 : AF_SESSION_PYTHON) | (o->verify ? AF_SESSION_VERIFY : 0) |
	             (o->autograd ? AF_SESSION_AUTOGRAD : 0) | (o->alloc ? AF_SESSION_ALLOC : 0) |
	             (o->tally_only ? AF_SESSION_SUMS : 0) | (o->held ? AF_SESSION_HELD : 0),
	    .delay_ns = o->delay_ns,
	    .duration_ns = o->duration_ns,
	    .max_bytes = o->max_bytes,
	    .ring_bytes = o->ring_bytes,
	    .ctl = o->ctl,
	    .stage = o->stage ? o->stage : getenv("AFLAME_STAGE"),
	    .finish_copy = snapshot_names,
	    .tell = snapshot_tell,
	};
}

int af_record(const struct af_record_options *given, int nr_words, char **words,
              struct af_recorded *done, struct af_err *err)
{
	static struct af_record_options own;
	const struct af_record_options *o = &own;

	own = *given;
	if (own.tally_only)
		own.sample = "none";
	struct af_session_options s = record_session(o, done);
	struct af_scope scope = {0};
	char sampler[600];
	static struct af_recording r;
	bool unstarted = true;

	if (!nr_words && !o->pids && !o->all)
		return af_fail_plain(err, -EINVAL,
		                     "no program to record: aflame %s -- PROGRAM [ARGUMENTS]",
		                     done->who);
	int rc = bounds_check(o, &s, nr_words, err);
	if (!rc && nr_words)
		rc = program_check(words[0], err);
	if (rc)
		return rc;
	if (nr_words)
		af_unrecorded_arm(words, &r.child);
	rc = af_begin_rank(o, words, done, err);
	s.grace_ns = o->grace_ns ? o->grace_ns : af_job_may_be_killed(&done->job) ? GRACE_NS : 0;
	if (!rc)
		rc = record_choose(o, nr_words, words, &s, &scope, sampler, sizeof sampler, err);
	if (rc == -EINVAL) /* the command line makes no sense */
		return rc;
	if (rc)
		return record_refused(o, nr_words, words, done, rc, err);
	rc = af_session_open(&r, &s, err);
	if (!rc) {
		tell_what_is_less(o, &scope, &s, sampler);
		tell_that_it_goes_on(o, r.place.dir);
	}
	if (!rc)
		rc = record_target(&r, o, done, sampler, nr_words, words, &unstarted, err);
	if (rc && unstarted)
		return record_refused(o, nr_words, words, done, rc, err);
	af_unrecorded_disarm();
	return rc ? rc : af_record_end(o, &r, words, done, err);
}

const char *af_record_shown(const char *dir)
{
	static char here[PATH_MAX];
	size_t len = getcwd(here, sizeof here) ? strlen(here) : 0;

	return len > 1 && !strncmp(dir, here, len) && dir[len] == '/' ? dir + len + 1 : dir;
}

/* The trace goes to standard output. */
static int record_piped(const struct af_record_options *given, int nr_words, char **words,
                        struct af_err *err)
{
	struct af_record_options o = *given;
	struct af_recorded done = {.who = "record"};
	struct af_job_rank job;
	struct af_piped piped;
	int rc;

	af_job_find(&job);
	if (job.is_rank)
		return af_fail_plain(err, -EINVAL,
		                     "-o - is for one recording, and this is a rank of a job: "
		                     "give all ranks one directory");
	rc = af_piped_begin(&piped, o.format, o.stage ? o.stage : getenv("AFLAME_STAGE"), err);
	if (rc)
		return rc;
	o.output = piped.dir;
	o.stage = NULL;
	int status = af_record(&o, nr_words, words, &done, err);
	rc = af_piped_end(&piped, !done.dir[0], err);
	if (rc == -EPIPE)
		rc = 0; /* the reader has seen enough */
	return status < 0 || !rc ? status : af_record_failed(&o, done.who, status, rc, err);
}

static int record_run(void *state, int nr_words, char **words, struct af_err *err)
{
	struct af_record_options *o = state;
	struct af_recorded done = {.who = "record"};
	struct af_buf word = {0};

	bool no_words = !nr_words && !o->pids && !o->all;

	o->all |= no_words; /* the system */
	if (o->output && !strcmp(o->output, "-"))
		return record_piped(o, nr_words, words, err);
	if (o->format)
		return af_fail_plain(err, -EINVAL,
		                     "--format is of the trace on standard output: -o -");
	int status = af_record(o, nr_words, words, &done, err);

	if (status < 0 && no_words)
		return af_while(
		    err, status,
		    "without a program (aflame record -- PROGRAM) or -p all is recorded");
	if (status < 0 || o->quiet || !done.dir[0])
		return status;
	if (done.unnamed)
		return status;
	if (done.job.is_rank) {
		fprintf(stderr, "aflame: the trace of rank %s is %s\n", done.job.rank,
		        af_record_shown(done.dir));
		return status;
	}
	const char *shown = af_record_shown(done.dir);
	int rc = o->tally_only ? 0 : af_screen_show(done.dir, shown, err);
	if (rc)
		return af_record_failed(o, done.who, status, rc, err);
	af_buf_word(&word, shown);
	if (o->tally_only)
		fprintf(stderr, "The sums are in %s: `aflame tally %.*s` shows them.\n", shown,
		        (int)word.len, word.data);
	else
		fprintf(stderr, "The trace is in %s: `aflame flame %.*s -o flame.svg` draws it.\n",
		        shown, (int)word.len, word.data);
	af_buf_free(&word);
	return status;
}

static const struct af_option record_options[] = {
    AF_RECORD_OPTIONS(struct af_record_options),
    {AF_OPT_STRING, "stage", 0, "DIR",
     "record into a directory of this host and move the trace to its place at the end "
     "($AFLAME_STAGE)",
     offsetof(struct af_record_options, stage)},
    {AF_OPT_FLAG, "no-symbols", 0, NULL,
     "leave the names of functions to `aflame finish`, or to the next command that reads the trace",
     offsetof(struct af_record_options, no_symbols)},
    {AF_OPT_TIME, "grace", 0, "TIME",
     "in a job: end the recording so long after SIGTERM, before the launcher kills it (20)",
     offsetof(struct af_record_options, grace_ns)},
    {AF_OPT_CHOICE, "format", 0, "NAME",
     "of -o -: a tar of the trace, or another tool's format as aflame export writes it (tar)",
     offsetof(struct af_record_options, format), AF_PIPED_FORMATS},
    {AF_OPT_END},
};

const struct af_command af_command_record = {
    .name = "record",
    .usage = "[OPTIONS] [-p PID | -a | [--] PROGRAM [ARGUMENTS]]",
    .summary = "Run a program and record where its time goes",
    .details =
	"The program runs as it would without aflame: same output, same exit status, same "
	"signals.\n"
	"CPU samples, Python frames and OpenCL work are recorded with their stacks into a\n"
	"trace directory, which the other commands read. The exit status is the program's, and\n"
	"a signal that ends it ends aflame too. A program that cannot be recorded still runs,\n"
	"and aflame prints why (--strict fails instead).\n"
	"\n"
	"Where mpirun, srun or torchrun start recorders, DIR is a folder with a trace of each\n"
	"rank, DIR/rank-0017, which other commands read with --rank 17. In DIR %h is the host,\n"
	"%r the rank, %p the process id, %j the job and %% a %: with one of these it is the\n"
	"whole name. --ranks, --hosts and --every record some ranks; the others become their\n"
	"program at once, and nothing of aflame's is left.\n"
	"\n"
	"Without a program or process all that runs is recorded, as -a does, until Ctrl-C.\n"
	"With -o - the trace goes to standard output when it is complete: as a tar, or as\n"
	"--format says; what the program prints goes to standard error then.\n"
	"\n"
	"With --stage a trace is written to a disk of its host and moved at the end;\n"
	"`aflame gather` moves what a killed recorder left. docs/ranks.md says more.\n"
	"\n"
	"In a job, SIGTERM means that the job is killed soon: the trace is written at once, or\n"
	"after --grace while the program goes on, and has no names of functions until `aflame\n"
	"finish`, or the next command that reads it, adds them.\n"
	"\n"
	"Bounds do not touch the program: it runs on when --duration or --max-size ends the\n"
	"recording. --max-size counts what threads hold, and is exceeded by what comes in 10 ms\n"
	"(the kernel's part: in 200 ms); names and GPU code come on top, as they do for --ring.\n"
	"--ring keeps a recording of any length within its size: what is left is the newest\n"
	"events and the processes that they are of. --duration counts from the end of --delay.\n"
	"A SIGUSR2 to the recorder makes a snapshot: DIR.1, DIR.2, … are traces of their own\n"
	"with all there is so far, while recording goes on. --ctl makes FIFO and FIFO.ack where\n"
	"they are not; each line in it is answered by a line, \"ok …\" or \"error …\".",
    .examples = "aflame record -- python3 train.py\trecord into aflame.data\n"
		"aflame record -F 999 -o run2 -- ./solver -n 100\tten times the samples, another "
		"name\n"
		"mpirun -n 64 aflame record -- ./app\taflame.data/rank-0000 to rank-0063\n"
		"srun aflame record --every 8 --steps 100:110@step -- ./app\televen steps of every "
		"eighth rank\n"
		"aflame record --ring 64M -- ./server\tits newest events; kill -USR2 keeps them as "
		"aflame.data.1\n"
		"aflame record --ctl ctl --delay 1d -- ./job\toff until `echo on >ctl`",
    .flags = AF_CMD_STOP_AT_WORD | AF_CMD_KEEPS_RIGHTS,
    .options = record_options,
    .state_size = sizeof(struct af_record_options),
    .defaults = &af_record_defaults,
    .run = record_run,
};
