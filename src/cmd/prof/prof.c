/* aflame prof: compiles C sources in memory, runs them and samples them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "cmd/flat/flat.h"
#include "cmd/prof/compile.h"
#include "cmd/prof/folder.h"
#include "cmd/prof/show.h"
#include "cmd/record/library.h"
#include "cmd/record/record.h"
#include "cmd/shared/commands.h"
#include "collect/probe/cpu.h"

enum {
	RATE_LEAST_US = 50,
	RATE_MOST_US = 10000000,
	DEPTH_LEAST = 8,
	DEPTH_MOST = 512,
	PROF_NOT_LINKED = 127, /* the status of aflame-guest that cannot link its inputs */
};

struct prof_options {
	uint64_t period_us, depth, cap, limit;
	const char *output, *trace, *jit, *level;
	struct af_strings libraries, includes, macros;
	bool no_folded, no_flat, lines, wall, alloc;
};

static const struct prof_options prof_defaults = {
    .period_us = 1000,
    .output = "prof.folded",
    .jit = "cc",
    .limit = AF_FLAT_ROWS,
};

/* A source that is not C, by its name. */
static bool is_other_language(const char *file)
{
	static const char *const ends[] = {".cc", ".cpp", ".cxx", ".C",  ".c++", ".m",
	                                   ".f",  ".f90", ".rs",  ".go", ".s",   ".S"};
	const char *dot = strrchr(file, '.');

	for (unsigned i = 0; dot && i < sizeof ends / sizeof *ends; i++)
		if (!strcmp(dot, ends[i]))
			return true;
	return false;
}

static int prof_check_files(int nr_files, char **files, struct af_err *err)
{
	if (!nr_files)
		return af_fail_plain(err, -EINVAL,
		                     "no file to run: aflame prof FILE.c [-- ARGUMENTS]");
	for (int i = 0; i < nr_files; i++)
		if (is_other_language(files[i]))
			return af_fail_plain(
			    err, -EINVAL,
			    "%s is not C: compile it to an object, and name that and its libraries "
			    "(g++ -g -fno-omit-frame-pointer -c x.cc; aflame prof -l stdc++ x.o)",
			    files[i]);
	return 0;
}

static int prof_check(const struct prof_options *o, struct af_err *err)
{
	if (o->period_us < RATE_LEAST_US || o->period_us > RATE_MOST_US)
		return af_fail_plain(err, -EINVAL,
		                     "--rate takes %d to %d microseconds between samples",
		                     RATE_LEAST_US, RATE_MOST_US);
	if (o->alloc && (o->wall || o->cap || o->depth))
		return af_fail_plain(
		    err, -EINVAL, "--alloc takes no samples: leave out --wall, --cap and --depth");
	if (o->depth && (o->depth < DEPTH_LEAST || o->depth > DEPTH_MOST))
		return af_fail_plain(err, -EINVAL, "--depth takes %d to %d frames", DEPTH_LEAST,
		                     DEPTH_MOST);
	return 0;
}

/* One call of the command. */
struct prof {
	const struct prof_options *o;
	int nr_files, nr_args;
	char **files, **args;
	struct af_prof_folder folder;
	char **objects; /* by file */
	/* The program that links and runs them, its words, and the file of the linked image. */
	char program[PATH_MAX], image[PATH_MAX + NAME_MAX];
	char **words;
	int nr_words;
};

static void prof_word(struct prof *p, const char *word)
{
	p->words[p->nr_words++] = (char *)word;
}

static int prof_words(struct prof *p, struct af_err *err)
{
	const struct af_strings *libraries = &p->o->libraries;
	int rc = af_library_find_program(p->program, err);

	if (rc)
		return rc;
	/* A module of that name is in reports. */
	const char *slash = strrchr(p->files[0], '/'), *name = slash ? slash + 1 : p->files[0];
	snprintf(p->image, sizeof p->image, "%s/%s", p->folder.path,
	         strcmp(name, "-") ? name : "stdin");
	scope_close int image = open(p->image, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (image < 0)
		return af_fail(err, -errno, "cannot make %s", p->image);
	p->words = af_xcalloc(3 * (size_t)p->nr_files + (size_t)p->nr_args + 2 * libraries->nr + 8,
	                      sizeof *p->words);
	prof_word(p, p->program);
	prof_word(p, "--image");
	prof_word(p, p->image);
	prof_word(p, "--name");
	prof_word(p, strcmp(p->files[0], "-") ? p->files[0] : "stdin");
	for (uint32_t i = 0; i < libraries->nr; i++) {
		prof_word(p, "--lib");
		prof_word(p, libraries->items[i]);
	}
	for (int i = 0; i < p->nr_files; i++) {
		if (af_compiles(p->files[i])) {
			prof_word(p, "--from");
			prof_word(p, strcmp(p->files[i], "-") ? p->files[i] : "standard input");
		}
		prof_word(p, p->objects[i]);
	}
	prof_word(p, "--");
	for (int i = 0; i < p->nr_args; i++)
		prof_word(p, p->args[i]);
	return 0;
}

/* The command line that the trace has: FILES ARGUMENTS. */
static void prof_command(const struct prof *p, struct af_buf *b)
{
	for (int i = 0; i < p->nr_files + p->nr_args; i++) {
		if (i)
			af_buf_char(b, ' ');
		af_buf_str(b, i < p->nr_files ? p->files[i] : p->args[i - p->nr_files]);
	}
	af_buf_char(b, 0);
}

/* How it is recorded: without privileges, from within. */
static struct af_record_options prof_recording(const struct prof_options *o)
{
	struct af_record_options record = af_record_defaults;
	char why[256];
	struct af_err none = {0};

	record.quiet = true;
	record.no_python = true;
	record.api = "none";
	record.held = true;
	record.wall = o->wall;
	record.alloc = o->alloc;
	if (o->alloc)
		record.sample = "none";
	else if (!o->wall)
		record.sample = af_cpu_perf_probe(why, sizeof why, &none) ? "timer" : "perf";
	record.rate = 1000000 / o->period_us ? 1000000 / o->period_us : 1;
	record.period_ns = o->period_us * 1000;
	record.samples_most = o->cap;
	record.stack_depth = (uint32_t)o->depth;
	return record;
}

/* A program that a signal ended has left its map of names for perf. */
static void perf_map_remove(int pid)
{
	char map[64];
	struct stat st;

	snprintf(map, sizeof map, "/tmp/perf-%d.map", pid);
	if (pid > 0 && !lstat(map, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		unlink(map);
}

/* Has the program been linked? It is mapped from the file of the image, which is empty before. */
static bool prof_is_linked(const struct prof *p)
{
	struct stat st;

	return !stat(p->image, &st) && st.st_size;
}

/* Record the program, and show what the trace says of it. Its status, or -errno with a message. */
static int prof_record(struct prof *p, struct af_err *err)
{
	const struct prof_options *o = p->o;
	struct af_record_options record = prof_recording(o);
	struct af_recorded done = {.who = "prof"};
	char trace[PATH_MAX + 16];
	struct af_buf command = {0};

	snprintf(trace, sizeof trace, "%s/.trace", p->folder.path);
	record.output = o->trace ? o->trace : trace;
	prof_command(p, &command);
	record.command = command.data;
	int status = af_record(&record, p->nr_words, p->words, &done, err);
	af_buf_free(&command);
	perf_map_remove(done.pid);
	/* The reason why there is nothing to show has been printed. */
	if (status < 0 || !done.dir[0] || (status == PROF_NOT_LINKED && !prof_is_linked(p)))
		return status;
	const struct af_prof_show show = {
	    .folded = o->no_folded ? NULL : o->output,
	    .wall = o->wall,
	    .alloc = o->alloc,
	    .flat = !o->no_flat,
	    .lines = o->lines,
	    .limit = o->limit < UINT32_MAX ? (uint32_t)o->limit : 0,
	};
	int rc = af_prof_show(&show, done.dir, err);
	if (rc == -ENODATA)
		af_fail_plain(err, rc,
		              "no samples: the program took hardly any CPU time; --rate 100 takes "
		              "more of them, --wall also those of waits");
	return rc ? af_record_failed(&record, done.who, status, rc, err) : status;
}

/* The same, of sources that are compiled first. */
static int prof_in_folder(struct prof *p, struct af_err *err)
{
	const struct af_compile how = {p->o->jit, p->o->level, p->folder.path, p->o->includes,
	                               p->o->macros};

	p->objects = af_xcalloc((size_t)p->nr_files + 1, sizeof *p->objects);
	int rc = af_compile(&how, p->nr_files, p->files, p->objects, err);
	if (!rc)
		rc = prof_words(p, err);
	if (!rc)
		rc = prof_record(p, err);
	for (int i = 0; i < p->nr_files; i++)
		free(p->objects[i]);
	free(p->objects);
	free(p->words);
	return rc;
}

static int prof_run(void *state, int nr_words, char **words, struct af_err *err)
{
	struct prof p = {.o = state, .files = words};

	while (p.nr_files < nr_words && strcmp(words[p.nr_files], "--"))
		p.nr_files++;
	p.nr_args = p.nr_files < nr_words ? nr_words - p.nr_files - 1 : 0;
	p.args = words + p.nr_files + 1;
	int rc = prof_check_files(p.nr_files, p.files, err);
	if (!rc)
		rc = prof_check(p.o, err);
	if (!rc)
		rc = af_prof_folder_make(&p.folder, err);
	if (rc)
		return rc;
	rc = prof_in_folder(&p, err);
	af_prof_folder_remove(&p.folder);
	return rc;
}

#define AT(member) offsetof(struct prof_options, member)

static const struct af_option prof_options[] = {
    {AF_OPT_U64, "rate", 0, "MICROSECONDS", "CPU time between samples of a thread (1000)",
     AT(period_us)},
    {AF_OPT_U64, "depth", 0, "N", "frames that are kept of a stack, 8 to 512 (512)", AT(depth)},
    {AF_OPT_U64, "cap", 0, "N",
     "keep the first N samples; those that come after them are counted as dropped (all are kept)",
     AT(cap)},
    {AF_OPT_STRING, "output", 'o', "FILE",
     "folded stacks by samples, with --wall by nanoseconds, with --alloc by bytes (prof.folded)",
     AT(output)},
    {AF_OPT_FLAG, "no-folded", 0, NULL, "do not write them", AT(no_folded)},
    {AF_OPT_FLAG, "no-flat", 0, NULL, "no flat report", AT(no_flat)},
    {AF_OPT_FLAG, "lines", 0, NULL, "also the hottest lines", AT(lines)},
    {AF_OPT_U64, "limit", 0, "N", "rows of each part of the report; 0: all of them (20)",
     AT(limit)},
    {AF_OPT_FLAG, "wall", 0, NULL, "sample by the wall clock: threads that wait, too", AT(wall)},
    {AF_OPT_FLAG, "alloc", 0, NULL,
     "instead of time: bytes that were allocated, and those in use at the end, by stack",
     AT(alloc)},
    {AF_OPT_STRING, "trace", 0, "DIR", "keep the trace, for every other command", AT(trace)},
    {AF_OPT_CHOICE, "jit", 0, "COMPILER",
     "what compiles: $CC or cc, with $CFLAGS; or tcc, at once and without lines (cc)", AT(jit),
     "cc|tcc"},
    {AF_OPT_LIST, "lib", 'l', "NAME", "search this library for symbols; may be given again",
     AT(libraries)},
    {AF_OPT_LIST, "include", 'I', "DIR", "for the compiler; may be given again", AT(includes)},
    {AF_OPT_LIST, "define", 'D', "NAME[=TEXT]", "for the compiler; may be given again", AT(macros)},
    {AF_OPT_STRING, "optimize", 'O', "LEVEL", "for the compiler (2)", AT(level), "0|1|2|3|s|g"},
    {AF_OPT_END},
};

const struct af_command af_command_prof = {
    .name = "prof",
    .usage = "[OPTIONS] FILE… [-- ARGUMENTS]",
    .summary = "Compile C in memory, run it and sample it",
    .details =
	"Files are C sources, objects (.o), archives (.a), or - for C on standard input. They are\n"
	"compiled with debug information and frame pointers, linked in memory and run, without\n"
	"privileges; nothing is left behind but the folded stacks. Libraries that are not\n"
	"given are those of C. The flat report goes to standard error, because standard output is\n"
	"the program's. The exit status is the program's or the compiler's, and a signal that\n"
	"ends the program ends aflame too, behind the report. Ctrl-C ends the program, and\n"
	"the report is of all that was sampled until then.",
    .examples = "aflame prof fib.c -- 35\ta flat report, and prof.folded\n"
		"aflame prof --rate 100 --lines -l m a.c b.c\tten times the samples, and lines\n"
		"aflame prof --trace run1 a.c; aflame flame run1 -o a.html\tas any other trace",
    .flags = AF_CMD_KEEPS_DASHES,
    .options = prof_options,
    .state_size = sizeof(struct prof_options),
    .defaults = &prof_defaults,
    .run = prof_run,
};
