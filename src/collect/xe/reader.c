/*
 * The thread that reads stall streams. A busy GPU fills its buffers in some milliseconds, and the
 * recorder may be busy for longer, so rows are taken out and added up beside it; the recorder's
 * thread takes the tables over and writes them. The thread touches nothing of the session.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/write.h"
#include "collect/xe/private.h"
#include "collect/xe/uapi.h"

enum {
	READ_ROWS = 4096, /* that stay in a core's own cache until they are added up */
	READ_BYTES = READ_ROWS * AF_XE_ROW_BYTES,
	TICK_MS = 50,        /* fewer rows than the kernel wakes us for are taken so often */
	CHUNKS_AT_ONCE = 64, /* of a stream, before others get their turn */
	LAST_CHUNKS = 4096,
	GIVE_WAY_US = 50,
	NS_PER_US = 1000,
	/* The kernel looks at the device every 5 ms, so rows may be so much older than a read. */
	LATE_US = 10000,
};

static bool stream_can_read(const struct xe_stream *s)
{
	return s->fd >= 0 && s->enabled && af_xe_rows_room(s->rows) >= READ_ROWS;
}

static void stream_fail(struct xe_stream *s, int error)
{
	close(s->fd);
	s->fd = -1;
	s->error = error;
	s->enabled = false;
	s->nr_resets += error == ENODEV;
}

static void rows_take(struct xe_stream *s, const uint8_t *bytes, size_t size)
{
	size_t cut = size % AF_XE_ROW_BYTES, whole = size - cut;

	if (s->card->driver == AF_XE_DRIVER_I915)
		s->dropped += af_xe_rows_marked(bytes, whole / AF_XE_ROW_BYTES);
	af_xe_rows_add(s->rows, bytes, whole);
	s->nr_rows += whole / AF_XE_ROW_BYTES;
	s->nr_cut += cut != 0;
	s->dropped += cut != 0;
}

/* read(2) of xe_eu_stall.c: EIO once after the device dropped rows, ENODEV after a reset. */
bool xe_stream_read(struct xe_reader *r, struct xe_stream *s)
{
	uint64_t begin_ns = af_now_ns();

	if (!stream_can_read(s))
		return false;
	ssize_t n = read(s->fd, r->buffer, READ_BYTES);
	if (n > 0) {
		rows_take(s, r->buffer, (size_t)n);
		s->read_ns = af_now_ns();
		if (n < READ_BYTES)
			s->emptied_ns = begin_ns;
		return n == READ_BYTES;
	}
	if (n < 0 && errno == EIO) {
		s->dropped++;
		s->read_ns = af_now_ns();
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno != EAGAIN)
		stream_fail(s, errno);
	s->emptied_ns = begin_ns;
	return false;
}

static void stream_drain(struct xe_reader *r, struct xe_stream *s, bool broken)
{
	for (int i = 0; i < CHUNKS_AT_ONCE; i++) {
		while (atomic_load(&r->waiting))
			usleep(GIVE_WAY_US);
		pthread_mutex_lock(&r->lock);
		bool more = xe_stream_read(r, s);
		/* A descriptor that has ended and gives nothing would wake us for ever. */
		if (!more && !i && broken && s->fd >= 0 && s->emptied_ns > s->read_ns)
			stream_fail(s, ENODEV);
		pthread_mutex_unlock(&r->lock);
		if (!more)
			return;
	}
}

static void wake_take(const struct xe_reader *r)
{
	uint64_t nr;

	while (read(r->wake, &nr, sizeof nr) == sizeof nr)
		;
}

static void *read_until_end(void *arg)
{
	struct xe_reader *r = arg;
	struct pollfd *fds = af_xcalloc(r->nr + 1, sizeof *fds);

	while (!atomic_load(&r->stop)) {
		fds[0] = (struct pollfd){.fd = r->wake, .events = POLLIN};
		pthread_mutex_lock(&r->lock);
		for (uint32_t i = 0; i < r->nr; i++)
			fds[i + 1] = (struct pollfd){
			    .fd = stream_can_read(&r->streams[i]) ? r->streams[i].fd : -1,
			    .events = POLLIN};
		pthread_mutex_unlock(&r->lock);
		poll(fds, r->nr + 1, TICK_MS);
		wake_take(r);
		for (uint32_t i = 0; i < r->nr && !atomic_load(&r->stop); i++)
			stream_drain(r, &r->streams[i],
			             fds[i + 1].revents & (POLLERR | POLLHUP | POLLNVAL));
	}
	free(fds);
	return NULL;
}

int xe_reader_open(struct xe_reader *r, struct xe_stream *streams, uint32_t nr)
{
	*r = (struct xe_reader){.streams = streams, .nr = nr};
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		return -errno;
	int rc = pthread_mutex_init(&r->lock, NULL);
	r->buffer = af_xcalloc(READ_BYTES, 1);
	return -rc;
}

int xe_reader_start(struct xe_reader *r)
{
	sigset_t all, was;

	/* Signals are the recorder's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	int rc = pthread_create(&r->thread, NULL, read_until_end, r);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	r->runs = !rc;
	return -rc;
}

void xe_reader_lock(struct xe_reader *r)
{
	atomic_fetch_add(&r->waiting, 1);
	pthread_mutex_lock(&r->lock);
	atomic_fetch_sub(&r->waiting, 1);
}

void xe_reader_unlock(struct xe_reader *r)
{
	pthread_mutex_unlock(&r->lock);
}

void xe_reader_wake(struct xe_reader *r)
{
	const uint64_t one = 1;

	af_write_all(r->wake, &one, sizeof one);
}

void xe_reader_stop(struct xe_reader *r)
{
	bool sampled = false;

	for (uint32_t i = 0; i < r->nr; i++)
		sampled |= r->streams[i].enabled;
	if (sampled)
		usleep(LATE_US);
	atomic_store(&r->stop, true);
	if (r->runs) {
		xe_reader_wake(r);
		pthread_join(r->thread, NULL);
	}
	r->runs = false;
	for (uint32_t i = 0; i < r->nr; i++)
		for (int k = 0; k < LAST_CHUNKS && xe_stream_read(r, &r->streams[i]); k++)
			;
}

void xe_reader_close(struct xe_reader *r)
{
	if (r->wake >= 0)
		close(r->wake);
	pthread_mutex_destroy(&r->lock);
	free(r->buffer);
}
