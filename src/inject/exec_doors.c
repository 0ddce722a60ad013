#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "inject/doors.h"
#include "inject/signals.h"

/*
 * The functions that run another program, interposed for the signals that it is to inherit as
 * ignored (signals.h). glibc's system() and popen() start a shell from within: there they are as by
 * default.
 */

#define WITH_IGNORED(faults, call)                                                                 \
	({                                                                                         \
		af_signals_before_exec(faults);                                                    \
		int rc_ = (call), saved_ = errno;                                                  \
		af_signals_after_exec();                                                           \
		errno = saved_;                                                                    \
		rc_;                                                                               \
	})

/* They return only where they failed. */
#define EXEC(call) WITH_IGNORED(true, call)

/* A fault in a guarded read must be survived meanwhile: other threads go on. */
#define SPAWN(call) WITH_IGNORED(false, call)

DOOR int execve(const char *path, char *const argv[], char *const envp[])
{
	return EXEC(REAL(execve)(path, argv, envp));
}

DOOR int execv(const char *path, char *const argv[])
{
	return EXEC(REAL(execve)(path, argv, environ));
}

DOOR int execvp(const char *file, char *const argv[])
{
	return EXEC(REAL(execvp)(file, argv));
}

DOOR int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return EXEC(REAL(execvpe)(file, argv, envp));
}

DOOR int fexecve(int fd, char *const argv[], char *const envp[])
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

DOOR int execl(const char *path, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	va_end(ap);
	return EXEC(REAL(execve)(path, argv, environ));
}

DOOR int execlp(const char *file, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	va_end(ap);
	return EXEC(REAL(execvp)(file, argv));
}

DOOR int execle(const char *path, const char *arg, ...)
{
	va_list ap;

	va_start(ap, arg);
	size_t nr = nr_words(arg, ap);
	char *argv[nr];
	take_words(argv, arg, nr, &ap);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	return EXEC(REAL(execve)(path, argv, envp));
}

DOOR int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return SPAWN(REAL(posix_spawn)(pid, path, actions, attr, argv, envp));
}

DOOR int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return SPAWN(REAL(posix_spawnp)(pid, file, actions, attr, argv, envp));
}
