/*
 * Part of the tarball's programs only (./setup dist), which run with glibc 2.17 and later although
 * they are linked against a newer one.
 *
 * A program asks for each function by the version it has in the glibc it was linked with, and an
 * older glibc does not know the newer versions. Most of those say only that a function has moved
 * from libpthread or libdl into libc: the one of before is still there under its old version, so
 * the functions below, hidden in the program, hand on to that. They are taken by the static
 * libraries in the program as well. What is not used, --gc-sections throws away again; what is
 * missing here, tests/dist/test_dist.py names.
 */
/* With 64 the headers would make stat64 of every stat, and both are defined here. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define OURS __attribute__((visibility("hidden")))

/* The same under its old version: result, name, version, parameters, arguments. */
#define OLD(type, name, version, parameters, arguments)                                            \
	extern type old_##name parameters;                                                         \
	__asm__(".symver old_" #name ", " #name "@GLIBC_" version);                                \
	OURS type name parameters                                                                  \
	{                                                                                          \
		return old_##name arguments;                                                       \
	}

/* libdl, until 2.34. */
OLD(void *, dlopen, "2.2.5", (const char *name, int mode), (name, mode))
#ifndef OWN_DLSYM /* libaflame.so stands in for it */
OLD(void *, dlsym, "2.2.5", (void *from, const char *name), (from, name))
#endif
OLD(void *, dlvsym, "2.2.5", (void *from, const char *name, const char *version),
    (from, name, version))
OLD(char *, dlerror, "2.2.5", (void), ())
OLD(int, dladdr, "2.2.5", (const void *address, Dl_info *info), (address, info))
OLD(int, dladdr1, "2.3.3", (const void *address, Dl_info *info, void **more, int flags),
    (address, info, more, flags))
OLD(int, dlinfo, "2.3.3", (void *library, int what, void *info), (library, what, info))

/* Without the handler of errors that programs could have, since 2.29. */
OLD(double, log, "2.2.5", (double x), (x))

/* libpthread, until 2.34. */
OLD(int, pthread_join, "2.2.5", (pthread_t thread, void **result), (thread, result))
OLD(int, pthread_timedjoin_np, "2.3.3",
    (pthread_t thread, void **result, const struct timespec *until), (thread, result, until))
OLD(int, pthread_detach, "2.2.5", (pthread_t thread), (thread))
OLD(int, pthread_kill, "2.2.5", (pthread_t thread, int signal), (thread, signal))
OLD(int, pthread_attr_setstacksize, "2.2.5", (pthread_attr_t * attr, size_t size), (attr, size))
OLD(int, pthread_attr_getstacksize, "2.2.5", (const pthread_attr_t *attr, size_t *size),
    (attr, size))
OLD(int, pthread_once, "2.2.5", (pthread_once_t * once, void (*run)(void)), (once, run))
OLD(int, pthread_key_create, "2.2.5", (pthread_key_t * key, void (*end)(void *)), (key, end))
OLD(int, pthread_key_delete, "2.2.5", (pthread_key_t key), (key))
OLD(int, pthread_setspecific, "2.2.5", (pthread_key_t key, const void *value), (key, value))
OLD(void *, pthread_getspecific, "2.2.5", (pthread_key_t key), (key))
OLD(int, pthread_mutex_trylock, "2.2.5", (pthread_mutex_t * mutex), (mutex))
OLD(int, pthread_mutex_timedlock, "2.2.5", (pthread_mutex_t * mutex, const struct timespec *until),
    (mutex, until))
OLD(int, pthread_condattr_setclock, "2.3.3", (pthread_condattr_t * attr, clockid_t clock),
    (attr, clock))
OLD(int, pthread_rwlock_init, "2.2.5", (pthread_rwlock_t * lock, const pthread_rwlockattr_t *attr),
    (lock, attr))
OLD(int, pthread_rwlock_destroy, "2.2.5", (pthread_rwlock_t * lock), (lock))
OLD(int, pthread_rwlock_rdlock, "2.2.5", (pthread_rwlock_t * lock), (lock))
OLD(int, pthread_rwlock_tryrdlock, "2.2.5", (pthread_rwlock_t * lock), (lock))
OLD(int, pthread_rwlock_wrlock, "2.2.5", (pthread_rwlock_t * lock), (lock))
OLD(int, pthread_rwlock_unlock, "2.2.5", (pthread_rwlock_t * lock), (lock))

#ifndef FOR_LIBAFLAME /* which puts its own in the place of these, for the whole program */
OLD(int, dlclose, "2.2.5", (void *library), (library))
OLD(int, pthread_sigmask, "2.2.5", (int how, const sigset_t *set, sigset_t *before),
    (how, set, before))
OLD(int, pthread_create, "2.2.5",
    (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
    (thread, attr, run, arg))
#endif

/* One that looks at what a broken link points to as well (2.27). */
OLD(int, glob64, "2.2.5",
    (const char *restrict pattern, int flags, int (*failed)(const char *path, int error),
     glob64_t *restrict found),
    (pattern, flags, failed, found))

/* One that differs in what a "b" in the mode means (2.22). */
OLD(FILE *, fmemopen, "2.2.5", (void *bytes, size_t size, const char *mode), (bytes, size, mode))

/* C23's, which differ in taking 0b101 (2.38). */
#define OLD_NUMBER(type, name)                                                                     \
	extern type old_##name(const char *text, char **end, int base);                            \
	__asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5");                                   \
	OURS type __isoc23_##name(const char *text, char **end, int base)                          \
	{                                                                                          \
		return old_##name(text, end, base);                                                \
	}

OLD_NUMBER(long, strtol)
OLD_NUMBER(long long, strtoll)
OLD_NUMBER(unsigned long, strtoul)
OLD_NUMBER(unsigned long long, strtoull)

OURS int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	int n = vsscanf(text, format, list);
	va_end(list);
	return n;
}

/* A fcntl that knows of large files (2.28): there are no others here. */
extern int old_fcntl(int fd, int command, ...);
__asm__(".symver old_fcntl, fcntl@GLIBC_2.2.5");

OURS int fcntl64(int fd, int command, ...)
{
	va_list list;

	va_start(list, command);
	void *argument = va_arg(list, void *);
	va_end(list);
	return old_fcntl(fd, command, argument);
}

/* Until 2.33 these were inline functions. glibc's struct stat is the kernel's on this machine. */
OURS int fstatat(int dir, const char *restrict path, struct stat *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
}

OURS int fstatat64(int dir, const char *restrict path, struct stat64 *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
}

OURS int stat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

OURS int stat64(const char *restrict path, struct stat64 *restrict st)
{
	return fstatat64(AT_FDCWD, path, st, 0);
}

OURS int lstat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

OURS int lstat64(const char *restrict path, struct stat64 *restrict st)
{
	return fstatat64(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

OURS int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

OURS int fstat64(int fd, struct stat64 *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

/* System calls whose functions are younger than 2.17. */
OURS ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                             unsigned flags)
{
	return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
}

OURS int memfd_create(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

OURS ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
	return syscall(SYS_getrandom, bytes, size, flags);
}

OURS int statx(int dirfd, const char *restrict name, int flags, unsigned mask,
               struct statx *restrict st)
{
	return (int)syscall(SYS_statx, dirfd, name, flags, mask, st);
}

OURS pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}
