#include "cmd/prof/compile.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/program.h"
#include "base/system/threads.h"

extern char **environ;

/* The words of a command line. */
struct words {
	char **list;
	uint32_t nr, cap;
};

static void words_add(struct words *w, const char *word)
{
	AF_GROW(w->list, w->nr, w->cap);
	w->list[w->nr++] = af_xstrdup(word);
}

/* Words of an environment variable, apart by blanks. */
static void words_split(struct words *w, const char *text)
{
	scope_free char *copy = af_xstrdup(text);
	char *rest = copy, *word;

	while ((word = strtok_r(rest, " \t\n", &rest)))
		words_add(w, word);
}

static void words_free(struct words *w)
{
	for (uint32_t i = 0; i < w->nr; i++)
		free(w->list[i]);
	free(w->list);
}

static void words_options(struct words *w, char letter, const struct af_strings *values)
{
	struct af_buf text = {0};

	for (uint32_t i = 0; i < values->nr; i++) {
		text.len = 0;
		af_buf_fmt(&text, "-%c%s", letter, values->items[i]);
		af_buf_char(&text, 0);
		words_add(w, text.data);
	}
	af_buf_free(&text);
}

/* The flags without which stacks and lines would lack something come last. */
static const char *const forced[] = {
    "-g",
    "-fno-omit-frame-pointer",
#if defined(__riscv)
    "-mno-relax",
    "-fasynchronous-unwind-tables",
#endif
};

static void words_command(struct words *w, const struct af_compile *how, const char *file,
                          const char *object)
{
	const char *cc = getenv("CC"), *flags = getenv("CFLAGS");
	char level[32];

	words_split(w, !strcmp(how->jit, "tcc") ? "tcc" : cc && *cc ? cc : "cc");
	snprintf(level, sizeof level, "-O%s", how->level ? how->level : "2");
	words_add(w, level);
	if (flags)
		words_split(w, flags);
	words_options(w, 'I', &how->includes);
	words_options(w, 'D', &how->macros);
	for (unsigned i = 0; i < sizeof forced / sizeof *forced; i++)
		words_add(w, forced[i]);
	if (!strcmp(file, "-")) {
		words_add(w, "-x");
		words_add(w, "c");
	}
	words_add(w, "-c");
	words_add(w, "-o");
	words_add(w, object);
	if (*file == '-' && file[1])
		words_add(w, "--");
	words_add(w, file);
	AF_ROOM(w->list, w->nr + 1, w->cap);
	w->list[w->nr] = NULL;
}

/* The status that a program that ended so has for a shell. */
static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* All files of a call of af_compile(). */
struct compiling {
	const struct af_compile *how;
	char **files, **objects;
	struct compiled {
		int rc, status;
		struct af_err err;
	} * done;
};

bool af_compiles(const char *file)
{
	const char *dot = strrchr(file, '.');

	return !strcmp(file, "-") || (dot && !strcmp(dot, ".c"));
}

static void compile_one(void *arg, uint32_t i)
{
	const struct compiling *all = arg;
	struct compiled *done = &all->done[i];
	struct words w = {0};
	char path[PATH_MAX];
	pid_t pid;

	if (!af_compiles(all->files[i])) {
		all->objects[i] = af_xstrdup(all->files[i]);
		return;
	}
	struct af_buf name = {0};
	const char *slash = strrchr(all->files[i], '/'), *file = slash ? slash + 1 : all->files[i];
	af_buf_fmt(&name, "%s/%u.%s.o", all->how->folder, i, strcmp(file, "-") ? file : "stdin");
	af_buf_char(&name, 0);
	all->objects[i] = name.data;
	words_command(&w, all->how, all->files[i], all->objects[i]);
	/* An emulator does not report that it could not run a program. */
	done->rc = af_program_find(w.list[0], path)
	               ? -posix_spawnp(&pid, w.list[0], NULL, NULL, w.list, environ)
	               : -ENOENT;
	if (done->rc)
		af_fail(&done->err, done->rc,
		        "cannot run the compiler %s: install one, or name it in $CC", w.list[0]);
	else
		while (waitpid(pid, &done->status, 0) < 0 && errno == EINTR)
			;
	words_free(&w);
}

int af_compile(const struct af_compile *how, int nr_files, char **files, char **objects,
               struct af_err *err)
{
	scope_free struct compiled *done = af_xcalloc((size_t)nr_files + 1, sizeof *done);
	struct compiling all = {how, files, objects, done};

	af_threads_each(af_threads_allowed(), (uint32_t)nr_files, compile_one, &all);
	for (int i = 0; i < nr_files; i++)
		if (done[i].rc) {
			if (err)
				*err = done[i].err;
			return done[i].rc;
		}
	for (int i = 0; i < nr_files; i++)
		if (done[i].status)
			return status_of(done[i].status);
	return 0;
}
