/* Interposes the functions that run another program (exec, posix_spawn, system, popen). */
#include "inject/sampler/exec.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/program.h"
#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/core/thread.h"
#include "inject/sampler/masks.h"
#include "inject/sampler/rest.h"
#include "inject/sampler/sampler.h"
#include "inject/sampler/signals.h"
#include "inject/sampler/usage.h"
#include "trace/write/stream.h"

/*
 * The functions that run another program, interposed for the signals that it is to inherit as
 * ignored (signals.h), and for those that our library would break (base/system/program.h): they are
 * run without it. system() and popen() start a shell from within glibc, which no interposer of ours
 * sees.
 */

enum { AWAITED_MOST = 4 };

static void (*_Atomic awaited[AWAITED_MOST])(void);

void af_exec_await(void (*wait)(void))
{
	for (int i = 0; i < AWAITED_MOST; i++) {
		void (*none)(void) = NULL;
		if (atomic_compare_exchange_strong(&awaited[i], &none, wait) || none == wait)
			return;
	}
}

static void exec_await(void)
{
	for (int i = 0; i < AWAITED_MOST; i++) {
		void (*wait)(void) = atomic_load(&awaited[i]);
		if (wait)
			wait();
	}
}

#define WITH_IGNORED(faults, call)                                                                 \
	({                                                                                         \
		af_signals_before_exec(faults);                                                    \
		struct af_mask_wish wish_ = af_masks_make_real();                                  \
		int rc_ = (call), saved_ = errno;                                                  \
		af_masks_put(wish_);                                                               \
		af_signals_after_exec();                                                           \
		errno = saved_;                                                                    \
		rc_;                                                                               \
	})

/* They return only where they failed. */
#define EXEC(call)                                                                                 \
	({                                                                                         \
		exec_await();                                                                      \
		af_rest_before_exec();                                                             \
		af_sampler_exec(true);                                                             \
		int failed_ = WITH_IGNORED(true, call), why_ = errno;                              \
		af_sampler_exec(false);                                                            \
		errno = why_;                                                                      \
		failed_;                                                                           \
	})

/* A fault in a guarded read must be survived meanwhile: other threads go on. */
#define SPAWN(call) WITH_IGNORED(false, call)

/*
 * Is it to be run without us? That our library would harm it is written, too. The next program
 * inherits what this one may not do.
 */
static bool path_harmed(const char *path)
{
	int saved = errno;
	af_usage_before_exec(path);
	bool harms = af_inject_is_over() || af_inject_is_forbidden() ||
	             af_preload_harms(af_program_preload(path));

	errno = saved;
	return harms;
}

/* The same of one to be searched for, and where it was found. */
static bool file_harmed(const char *file, char path[PATH_MAX])
{
	int saved = errno;
	bool found = af_program_find(file, path);

	errno = saved;
	return found && path_harmed(path);
}

static size_t nr_vars(char *const envp[])
{
	size_t nr = 1;

	for (; envp && envp[nr - 1]; nr++)
		;
	return nr;
}

#define PRELOAD "LD_PRELOAD="

/* For all that there are: a program may have two. */
static size_t preload_size(char *const envp[])
{
	size_t size = 1;

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, PRELOAD, strlen(PRELOAD)))
			size += strlen(*envp) + 1;
	return size;
}

static bool is_us(const char *name, size_t len)
{
	static const char *const us[] = {"libaflame.so",       "libaflame-mpi.so",
	                                 "libaflame-alloc.so", "libaflame-wall.so",
	                                 "libaflame-ze.so",    "libaflame-hip.so"};

	for (unsigned i = 0; i < sizeof us / sizeof *us; i++)
		if (len >= strlen(us[i]) &&
		    !memcmp(name + len - strlen(us[i]), us[i], strlen(us[i])))
			return true;
	return false;
}

/*
 * ld.so(8): the names are separated by colons or spaces. False when none but ours is in the list.
 * Both may be one.
 */
static bool preload_without_us(char *to, const char *from)
{
	size_t at = strlen(PRELOAD), len;

	memmove(to, from, at);
	for (from += at; *from; from += len) {
		len = strcspn(from, ": ");
		if (len && !is_us(from, len)) {
			if (to[at - 1] != '=')
				to[at++] = ':';
			memmove(to + at, from, len);
			at += len;
		}
		len += from[len] != 0;
	}
	to[at] = 0;
	return to[at - 1] != '=';
}

/* @envp into @vars, of nr_vars(); its LD_PRELOAD, without us, into @text, of preload_size(). */
static void env_without_us(char **vars, char *text, char *const envp[])
{
	for (; envp && *envp; envp++) {
		if (strncmp(*envp, PRELOAD, strlen(PRELOAD))) {
			*vars++ = *envp;
		} else if (preload_without_us(text, *envp)) {
			*vars++ = text;
			text += strlen(text) + 1;
		}
	}
	*vars = NULL;
}

void af_exec_hide_us(void)
{
	char **to = environ;

	for (char **from = environ; from && *from; from++)
		if (strncmp(*from, PRELOAD, strlen(PRELOAD)) || preload_without_us(*from, *from))
			*to++ = *from;
	if (to)
		*to = NULL;
}

/* The stack is all the memory that a child of vfork() may use. */
static int exec_without_us(const char *path, char *const argv[], char *const envp[])
{
	char *vars[nr_vars(envp)], text[preload_size(envp)];

	env_without_us(vars, text, envp);
	return EXEC(REAL(execve)(path, argv, vars));
}

static int spawn_without_us(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *vars[nr_vars(envp)], text[preload_size(envp)];

	env_without_us(vars, text, envp);
	return SPAWN(REAL(posix_spawn)(pid, path, actions, attr, argv, vars));
}

/* A path is not searched for. */
static int exec_path(const char *path, char *const argv[], char *const envp[])
{
	if (path_harmed(path))
		return exec_without_us(path, argv, envp);
	return EXEC(REAL(execve)(path, argv, envp));
}

static int exec_file(const char *file, char *const argv[])
{
	char path[PATH_MAX];

	if (file_harmed(file, path))
		return exec_without_us(path, argv, environ);
	return EXEC(REAL(execvp)(file, argv));
}

INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	return exec_path(path, argv, envp);
}

INTERPOSE int execv(const char *path, char *const argv[])
{
	return exec_path(path, argv, environ);
}

INTERPOSE int execvp(const char *file, char *const argv[])
{
	return exec_file(file, argv);
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
	char path[PATH_MAX];

	if (file_harmed(file, path))
		return exec_without_us(path, argv, envp);
	return EXEC(REAL(execvpe)(file, argv, envp));
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
	return EXEC(REAL(fexecve)(fd, argv, envp));
}

/* How many words there are, with the NULL that ends them. */
static size_t nr_words(const char *first, va_list ap)
{
	va_list copy;
	size_t nr = 2;

	if (!first)
		return 1;
	va_copy(copy, ap);
	while (va_arg(copy, char *))
		nr++;
	va_end(copy);
	return nr;
}

static void take_words(char **argv, const char *first, size_t nr, va_list *ap)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i < nr; i++)
		argv[i] = va_arg(*ap, char *);
}

INTERPOSE int execl(const char *path, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	va_end(ap);
	return exec_path(path, argv, environ);
}

INTERPOSE int execlp(const char *file, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	va_end(ap);
	return exec_file(file, argv);
}

INTERPOSE int execle(const char *path, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	return exec_path(path, argv, envp);
}

INTERPOSE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	if (path_harmed(path))
		return spawn_without_us(pid, path, actions, attr, argv, envp);
	return SPAWN(REAL(posix_spawn)(pid, path, actions, attr, argv, envp));
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char path[PATH_MAX];

	if (file_harmed(file, path))
		return spawn_without_us(pid, path, actions, attr, argv, envp);
	return SPAWN(REAL(posix_spawnp)(pid, file, actions, attr, argv, envp));
}

INTERPOSE FILE *popen(const char *command, const char *type)
{
	af_signals_before_exec(false);
	struct af_mask_wish wish = af_masks_make_real();
	FILE *f = REAL(popen)(command, type);
	int saved = errno;
	af_masks_put(wish);
	af_signals_after_exec();
	errno = saved;
	return f;
}

/*
 * It also waits for the shell. Where the program ignores the signal of samples, other threads have
 * none meanwhile: what they use is counted as lost.
 */
INTERPOSE int system(const char *command)
{
	struct af_session *session = af_inject_recording();

	if (!af_signals_sampling_is_ignored() || !session)
		return SPAWN(REAL(system)(command));
	uint64_t begin_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int status = SPAWN(REAL(system)(command)), saved = errno;
	uint64_t passed_ns = af_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	af_inject_lost(AF_LOST_THROTTLED, passed_ns / session->sample_period_ns);
	errno = saved;
	return status;
}
