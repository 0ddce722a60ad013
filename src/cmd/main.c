/* aflame: the table of commands, and what is the same for all of them. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "base/system/rights.h"
#include "cmd/help_output/help_output.h"
#include "cmd/options/command.h"
#include "cmd/options/nearest.h"
#include "cmd/shared/commands.h"
#include "collect/disk/place.h"
#include "collect/disk/recover.h"

const struct af_command *const af_commands[] = {
    &af_command_run,      &af_command_record,     &af_command_prof,          &af_command_flame,
    &af_command_report,   &af_command_open,       &af_command_serve,         &af_command_tui,
    &af_command_annotate, &af_command_diff,       &af_command_compare_scale, &af_command_tally,
    &af_command_timeline, &af_command_flamescope, &af_command_print,         &af_command_import,
    &af_command_export,   &af_command_gather,     &af_command_finish,        &af_command_api,
    &af_command_doctor,   &af_command_help,       &af_command_version,       NULL,
};

const char *af_trace_dir(int nr_words, char **words)
{
	return nr_words ? words[0] : AF_PLACE_DEFAULT;
}

struct help_options {
	const char *as;
};

static int help_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct help_options *o = state;

	if (strcmp(o->as, "text")) {
		af_help_output_print(o->as);
		return 0;
	}
	if (!nr_words) {
		af_help_print(NULL);
		return 0;
	}
	const struct af_command *cmd = af_command_find(words[0], err);
	if (!cmd)
		return -EINVAL;
	af_help_print(cmd);
	return 0;
}

static const struct af_option help_options[] = {
    {AF_OPT_CHOICE, "as", 0, "FORM", "the man page, or completions for a shell, of all commands",
     offsetof(struct help_options, as), "text|" AF_HELP_FORMATS},
    {AF_OPT_END},
};

const struct af_command af_command_help = {
    .name = "help",
    .usage = "[OPTIONS] [COMMAND]",
    .summary = "Show the commands, or the options of one",
    .examples = "aflame help --as man | man -l -\tthe man page, where it is not installed\n"
		"source <(aflame help --as bash)\tcompletions, likewise\n",
    .options = help_options,
    .state_size = sizeof(struct help_options),
    .defaults = &(const struct help_options){.as = "text"},
    .run = help_run,
};

static int version_run(void *state, int nr_words, char **words, struct af_err *err)
{
	(void)state;
	(void)nr_words;
	(void)words;
	(void)err;
	puts("aflame " AFLAME_VERSION);
	return 0;
}

const struct af_command af_command_version = {
    .name = "version",
    .usage = "",
    .summary = "Show the version",
    .run = version_run,
};

const struct af_command *af_command_find(const char *name, struct af_err *err)
{
	struct af_nearest n;

	af_nearest_init(&n, name);
	for (int i = 0; af_commands[i]; i++) {
		if (!strcmp(af_commands[i]->name, name))
			return af_commands[i];
		af_nearest_offer(&n, af_commands[i]->name);
	}
	if (af_nearest_best(&n))
		af_fail_plain(err, -EINVAL, "no command %s: did you mean `aflame %s`?", name,
		              af_nearest_best(&n));
	else
		af_fail_plain(err, -EINVAL, "no command %s: `aflame help` lists them", name);
	return NULL;
}

static int command_run(const struct af_command *cmd, int argc, char **argv, struct af_err *err)
{
	bool help = false;
	void *state = af_xcalloc(1, cmd->state_size);

	if (cmd->defaults)
		memcpy(state, cmd->defaults, cmd->state_size);
	int rc = af_options_parse(cmd, state, argc, argv, &help, err);
	if (help)
		af_help_print(cmd);
	else if (rc >= 0)
		rc = cmd->run(state, rc, argv, err);
	free(state);
	return rc;
}

/* A full disk behind standard output is a failure like any other. */
static int stdout_check(int rc, struct af_err *err)
{
	if ((fflush(stdout) || ferror(stdout)) && rc >= 0 && errno != EPIPE)
		return af_fail(err, -errno, "cannot write to standard output");
	return rc;
}

/*
 * Where the caller has closed a standard stream, the next file that is opened would take its
 * number, a trace among them, and messages would go there. A stand-in that refuses what it is for
 * keeps their errors, and is closed in the program that is recorded.
 */
static void standard_streams_keep(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) < 0)
			return;
}

/*
 * As the target ended, for who waits for us: a shell ends its loop at an interrupt, a launcher
 * tells a crash. The core is the target's. As the first process of a namespace we may survive it.
 */
static void end_by(int signo)
{
	sigset_t one;

	fflush(NULL);
	prctl(PR_SET_DUMPABLE, 0);
	signal(signo, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signo);
	exit(128 + signo);
}

_Noreturn void af_command_end(int rc)
{
	if (rc > AF_ENDED_BY)
		end_by(rc - AF_ENDED_BY);
	exit(rc);
}

/*
 * Large arrays that grow are moved and not copied, also after others were freed. What readers free
 * they need again soon, and memory that is fresh from the kernel costs more than what is put there;
 * a recorder gives it back.
 */
enum { LARGE_BYTES = 2 << 20, FRESH_BYTES = 64 << 20, SPARE_BYTES = 512 << 20 };

static void memory_plan(const struct af_command *cmd)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	if (!cmd || cmd->flags & AF_CMD_KEEPS_RIGHTS)
		return;
	mallopt(M_TOP_PAD, FRESH_BYTES);
	mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}

int main(int argc, char **argv)
{
	struct af_err err = {0};
	const char *name = argc > 1 ? argv[1] : "help";

	af_rights_begin();
	standard_streams_keep();
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";

	const struct af_command *cmd = af_command_find(name, &err);
	memory_plan(cmd);
	if (!cmd || !(cmd->flags & AF_CMD_KEEPS_RIGHTS))
		af_rights_drop();
	af_recover_sweep();
	int rc = cmd ? command_run(cmd, argc > 2 ? argc - 2 : 0, argv + 2, &err) : -EINVAL;

	rc = stdout_check(rc, &err);
	if (cmd && af_file_cut())
		fprintf(stderr,
		        "aflame %s: %s could not be read to its end (it was cut short, or the disk "
		        "failed): the rest is missing here\n",
		        cmd->name, af_file_cut());
	if (rc < 0) {
		if (cmd)
			fprintf(stderr, "aflame %s: %s\n", cmd->name, err.msg);
		else
			fprintf(stderr, "aflame: %s\n", err.msg);
	}
	if (rc < 0)
		return rc == -EINVAL ? 2 : 1;
	af_command_end(rc);
}
