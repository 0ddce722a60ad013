/* Copies perf maps: their new lines, and all lines of one that was written anew. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/system/clock.h"
#include "base/system/fs.h"
#include "base/system/rights.h"
#include "collect/jit/private.h"
#include "trace/write/stream.h"

enum {
	MAP_CHUNK = 16 << 10,       /* bytes of one event */
	MAP_POLL_CHUNKS = 256,      /* events of one poll */
	MAP_MOST_BYTES = 256 << 20, /* of all maps */
};

#define MAP_SLACK_NS UINT64_C(1000000000) /* files' times are coarse */

/*
 * A map is believed if it belongs to the user of its process, or to root: others can make a file of
 * that name as well.
 */
static bool map_is_theirs(const struct stat *st, int pid)
{
	char path[32];
	struct stat process;

	snprintf(path, sizeof path, "/proc/%d", pid);
	return S_ISREG(st->st_mode) &&
	       (!st->st_uid || (!stat(path, &process) && process.st_uid == st->st_uid));
}

void jit_map_close(struct jit_map *map)
{
	if (map->fd >= 0)
		close(map->fd);
	*map = (struct jit_map){.fd = -1};
}

/* The file that the process sees under the name; one that took its place is another map. */
static void map_open(struct jit_watched *p)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/tmp/perf-%u.map", p->of.own_pid);
	uint64_t before = af_rights_raise(AF_RIGHTS_PROCESS);
	int fd = af_open_regular_of((unsigned)p->of.pid, path);
	af_rights_restore(before);
	if (fd < 0)
		return;
	bool fits = !fstat(fd, &st) && map_is_theirs(&st, p->of.pid);
	bool same = p->map.fd >= 0 && p->map.device == st.st_dev && p->map.inode == st.st_ino;
	if (!fits || same) {
		close(fd);
		return;
	}
	jit_map_close(&p->map);
	p->map.fd = fd;
	p->map.device = st.st_dev;
	p->map.inode = st.st_ino;
}

/* Are the last bytes that were copied still there? If not, the map was written anew. */
static bool map_goes_on(const struct jit_map *map, uint64_t size)
{
	char now[JIT_TAIL];

	return size >= map->copied &&
	       pread(map->fd, now, map->tail_size, (off_t)(map->copied - map->tail_size)) ==
	           (ssize_t)map->tail_size &&
	       !memcmp(now, map->tail, map->tail_size);
}

/* The time of the last change on CLOCK_MONOTONIC. */
static uint64_t map_changed_ns(const struct stat *st, uint64_t now_ns)
{
	uint64_t age_ns = af_clock_ns(CLOCK_REALTIME) - af_timespec_ns(&st->st_mtim);

	return age_ns < now_ns ? now_ns - age_ns : 0;
}

/* When the lines were written: at the last change, if that was since the last poll. */
static uint64_t map_written_ns(const struct jit_watched *p, const struct stat *st, uint64_t now_ns)
{
	uint64_t written_ns = map_changed_ns(st, now_ns);

	if (!p->polled_ns || (written_ns > p->polled_ns && written_ns <= now_ns))
		return written_ns;
	return p->polled_ns + (now_ns - p->polled_ns) / 2;
}

/* @len bytes at the end of those that were copied are done with. */
static void map_pass(struct jit_map *map, const char *text, size_t len)
{
	map->copied += len;
	map->tail_size = (uint32_t)(len < JIT_TAIL ? len : JIT_TAIL);
	memcpy(map->tail, text + len - map->tail_size, map->tail_size);
}

/*
 * Pass by a line that no event has room for: all of @text, or its rest in it. False: there is none.
 */
static bool map_skip(struct jit_map *map, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);

	if (!map->skips && (end || len < MAP_CHUNK))
		return false;
	map->skips = !end;
	map_pass(map, text, end ? (size_t)(end + 1 - text) : len);
	return true;
}

/* Write @len bytes, whole lines, at the end of those that were copied. */
static void map_put(struct af_jit_watch *w, const struct af_jit_trace *trace, struct jit_watched *p,
                    uint64_t written_ns, uint64_t now_ns, const char *text, size_t len)
{
	struct af_ev_perf_map ev = {.process = p->of.process, .written_ns = written_ns};
	struct af_tail tail = {text, (uint32_t)len, 0};

	af_stream_put_tail(trace->stream, AF_KIND_PERF_MAP, now_ns, &ev, sizeof ev, &tail, 1);
	map_pass(&p->map, text, len);
	w->map_bytes += len;
}

void jit_map_copy(struct af_jit_watch *w, const struct af_jit_trace *trace, struct jit_watched *p,
                  uint64_t now_ns)
{
	struct jit_map *map = &p->map;
	char text[MAP_CHUNK];
	struct stat st;

	if (fstat(map->fd, &st) || map_changed_ns(&st, now_ns) + MAP_SLACK_NS < p->of.since_ns ||
	    (st.st_mtim.tv_sec == map->changed_s && st.st_mtim.tv_nsec == map->changed_ns &&
	     (uint64_t)st.st_size == map->copied))
		return;
	if (!map_goes_on(map, (uint64_t)st.st_size)) {
		map->copied = map->tail_size = 0;
		map->skips = false;
	}
	map->changed_s = st.st_mtim.tv_sec;
	map->changed_ns = st.st_mtim.tv_nsec;
	uint64_t written_ns = map_written_ns(p, &st, now_ns);
	for (int i = 0; i < MAP_POLL_CHUNKS; i++) {
		ssize_t n = pread(map->fd, text, sizeof text, (off_t)map->copied);
		if (n > 0 && map_skip(map, text, (size_t)n))
			continue;
		const char *last = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;

		w->is_full |= w->map_bytes + sizeof text > MAP_MOST_BYTES;
		/* A line that is not whole is read again later. */
		if (!last || w->is_full)
			return;
		map_put(w, trace, p, written_ns, now_ns, text, (size_t)(last + 1 - text));
	}
}

void jit_map_poll(struct af_jit_watch *w, const struct af_jit_trace *trace, struct jit_watched *p,
                  uint64_t now_ns)
{
	map_open(p);
	if (p->map.fd >= 0)
		jit_map_copy(w, trace, p, now_ns);
}
