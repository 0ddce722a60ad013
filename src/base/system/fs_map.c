/*
 * Mapped files. A page of a mapping that the file does not reach any more is a SIGBUS when it is
 * touched (mmap(2)). Reading into memory instead would cost a trace its size again and a fifth of
 * the time; so the handler puts zeros there and notes it, and readers, to whom all bytes are
 * hostile anyway, go on.
 */
#include "base/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/scope.h"

/* One for each mapping; never freed, as the handler may follow the list at any time. */
struct af_file_watch {
	struct af_file_watch *next, *next_spare;
	_Atomic uintptr_t start; /* 0: maps nothing */
	_Atomic size_t size;
	_Atomic bool cut;
	char path[256];
};

static _Atomic(struct af_file_watch *) watches;
static struct af_file_watch *watches_spare; /* under the lock, as all that adds to the list */
static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sigaction sigbus_before;
static uintptr_t page_size;

static struct af_file_watch *watch_find(uintptr_t address)
{
	for (struct af_file_watch *w = atomic_load(&watches); w; w = w->next) {
		uintptr_t start = atomic_load(&w->start);
		if (start && address - start < atomic_load(&w->size))
			return w;
	}
	return NULL;
}

/* Zeros from the page of @address to the mapping's end. Writable, as libelf has it. */
static bool watch_fill(struct af_file_watch *w, uintptr_t address)
{
	uintptr_t from = address & ~(page_size - 1), end = w->start + w->size;

	if (mmap((void *)from, end - from, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return false;
	atomic_store(&w->cut, true);
	return true;
}

static void sigbus_handle(int signo, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	int saved = errno;

	(void)context;
	struct af_file_watch *w = info->si_code > 0 ? watch_find(address) : NULL;
	if (!w || !watch_fill(w, address)) {
		/* A fault comes again on return, a signal that was sent does not. */
		sigaction(signo, &sigbus_before, NULL);
		if (info->si_code <= 0)
			raise(signo);
	}
	errno = saved;
}

/* Ignored, it stays so: programs that are started inherit that, and not a handler. */
static void sigbus_listen(void)
{
	struct sigaction act = {.sa_sigaction = sigbus_handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (!sigaction(SIGBUS, NULL, &sigbus_before) && sigbus_before.sa_handler != SIG_IGN)
		sigaction(SIGBUS, &act, NULL);
}

static struct af_file_watch *watch_start(void *data, size_t size, int fd)
{
	char link[32];

	pthread_mutex_lock(&watches_lock);
	struct af_file_watch *w = watches_spare;
	if (w) {
		watches_spare = w->next_spare;
	} else {
		if (!atomic_load(&watches))
			sigbus_listen();
		w = af_xcalloc(1, sizeof *w);
		w->next = atomic_load(&watches);
		atomic_store(&watches, w);
	}
	pthread_mutex_unlock(&watches_lock);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, w->path, sizeof w->path - 1);
	if (len <= 0)
		len = snprintf(w->path, sizeof w->path, "a file");
	w->path[len] = 0;
	atomic_store(&w->size, size);
	atomic_store(&w->start, (uintptr_t)data);
	return w;
}

/* One that was cut is kept as it is: it is what af_file_cut() tells. */
static void watch_stop(struct af_file_watch *w)
{
	atomic_store(&w->start, 0);
	if (atomic_load(&w->cut))
		return;
	pthread_mutex_lock(&watches_lock);
	w->next_spare = watches_spare;
	watches_spare = w;
	pthread_mutex_unlock(&watches_lock);
}

struct af_file_watch *af_file_guard(void *data, size_t size, int fd)
{
	return watch_start(data, size, fd);
}

void af_file_unguard(struct af_file_watch *watch)
{
	watch_stop(watch);
}

int af_file_map_fd(struct af_file *f, int fd)
{
	struct stat st;

	*f = (struct af_file){0};
	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		return 0;

	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->data = p;
	f->size = (size_t)st.st_size;
	f->watch = watch_start(p, f->size, fd);
	return 0;
}

static int file_map(struct af_file *f, int dirfd, const char *name, int flags)
{
	scope_close int fd = af_open_regular(dirfd, name, flags);

	*f = (struct af_file){0};
	return fd < 0 ? fd : af_file_map_fd(f, fd);
}

int af_file_map(struct af_file *f, const char *path, struct af_err *err)
{
	int rc = file_map(f, AT_FDCWD, path, 0);

	if (rc == -EISDIR)
		return af_fail_plain(err, rc, "%s is a directory, not a file", path);
	if (rc == -EINVAL)
		return af_fail_plain(err, rc, "%s is not a regular file", path);
	return rc ? af_fail(err, rc, "cannot read %s", path) : 0;
}

int af_file_map_at(struct af_file *f, int dirfd, const char *name)
{
	return file_map(f, dirfd, name, O_NOFOLLOW);
}

void af_file_unmap(struct af_file *f)
{
	if (f->data) {
		watch_stop(f->watch);
		munmap((void *)f->data, f->size);
	}
	*f = (struct af_file){0};
}

bool af_file_guard_is_cut(const struct af_file_watch *watch)
{
	return watch && atomic_load(&watch->cut);
}

bool af_file_is_cut(const struct af_file *f)
{
	return af_file_guard_is_cut(f->watch);
}

const char *af_file_cut(void)
{
	for (struct af_file_watch *w = atomic_load(&watches); w; w = w->next)
		if (atomic_load(&w->cut))
			return w->path;
	return NULL;
}
