#include "collect/disk/segments.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "collect/disk/checkpoint.h"
#include "trace/packet.h"
#include "trace/write/session.h"

#define SEGMENT_TEMPORARY ".segment" /* readers pass over names with a dot */

enum {
	PORTIONS = 16,       /* portions of the bound; one gives way at a time */
	BLOCK = 4096,        /* of most file systems */
	ENTRY = 512,         /* an inode and a name */
	INSTANCE_SHIFT = 40, /* of the segment's number in the stream's instance */
};

void af_segments_open(struct af_segments *s, int dir_fd, struct af_session *session)
{
	*s = (struct af_segments){.dir_fd = dir_fd, .session = session};
}

void af_segments_close(struct af_segments *s)
{
	free(s->files);
	free(s->streams);
	*s = (struct af_segments){.dir_fd = -1};
}

uint32_t af_segments_stream(struct af_segments *s, const char *name, uint32_t process)
{
	uint32_t free = s->nr_streams;

	for (uint32_t i = s->nr_streams; i-- > 0;) {
		if (!strcmp(s->streams[i].name, name))
			return i;
		if (!s->streams[i].name[0])
			free = i;
	}
	if (free == s->nr_streams) {
		AF_GROW(s->streams, s->nr_streams, s->cap_streams);
		s->nr_streams++;
	}
	struct af_segment_stream *st = &s->streams[free];
	*st = (struct af_segment_stream){
	    .process = process, .newest = UINT32_MAX, .epoch = s->session->epoch};
	snprintf(st->name, sizeof st->name, "%s", name);
	return free;
}

/* The size of a file on disk: whole blocks, and its entry in the directory. */
static uint64_t cost(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK + ENTRY;
}

/* @f has @bytes now. */
static void segment_size(struct af_segments *s, struct af_segment *f, uint64_t bytes)
{
	s->bytes += cost(bytes) - (f->bytes ? cost(f->bytes) : 0);
	f->bytes = bytes;
}

static void segment_name(const struct af_segments *s, uint32_t stream, uint32_t number,
                         char name[AF_SEGMENT_NAME])
{
	if (number)
		snprintf(name, AF_SEGMENT_NAME, "%s.%u", s->streams[stream].name, number);
	else
		snprintf(name, AF_SEGMENT_NAME, "%s", s->streams[stream].name);
}

uint64_t af_segments_name(const struct af_segments *s, uint32_t stream, char name[AF_SEGMENT_NAME])
{
	uint32_t newest = s->streams[stream].newest;

	if (newest == UINT32_MAX)
		newest = 0;
	segment_name(s, stream, newest, name);
	return (uint64_t)newest << INSTANCE_SHIFT;
}

static struct af_segment *segment_add(struct af_segments *s, uint32_t stream, uint32_t number)
{
	uint32_t i = 0;

	while (i < s->nr_files && !s->files[i].gone)
		i++;
	if (i == s->nr_files) {
		AF_GROW(s->files, s->nr_files, s->cap_files);
		s->nr_files++;
	}
	s->files[i] = (struct af_segment){.stream = stream, .number = number};
	return &s->files[i];
}

static struct af_segment *segment_newest(struct af_segments *s, uint32_t stream)
{
	for (uint32_t i = 0; i < s->nr_files; i++) {
		struct af_segment *f = &s->files[i];
		if (!f->gone && f->stream == stream && f->number == s->streams[stream].newest)
			return f;
	}
	s->streams[stream].newest = 0;
	return segment_add(s, stream, 0);
}

static void segment_remove(struct af_segments *s, struct af_segment *f)
{
	char name[AF_SEGMENT_NAME];

	segment_name(s, f->stream, f->number, name);
	/* In this order: who is killed within a system call has ended it. */
	atomic_fetch_add(&s->session->lost_oldest, f->events);
	unlinkat(s->dir_fd, name, 0);
	s->lost[AF_LOST_RING_FULL] += f->discarded;
	s->bytes -= f->bytes ? cost(f->bytes) : 0;
	f->gone = true;
}

/* Its LOST events go with it, so they are written again. */
static void segment_give_way(struct af_segments *s, struct af_segment *f)
{
	char name[AF_SEGMENT_NAME];
	struct af_checkpoint c;

	segment_name(s, f->stream, f->number, name);
	if (!af_checkpoint_read(&c, s->dir_fd, name))
		for (int i = 0; i < AF_LOST_END; i++)
			s->lost[i] += c.lost[i];
	af_checkpoint_free(&c);
	segment_remove(s, f);
}

/*
 * The packet that a segment begins with. Its LOST tells readers that what came before is elsewhere,
 * or gave way, and is no damage.
 */
static int checkpoint_write(const struct af_segments *s, const struct af_checkpoint *c,
                            uint32_t number, const char *name)
{
	struct {
		struct af_event_header header;
		struct af_ev_lost lost;
	} __attribute__((packed)) first = {
	    .header = {.kind = AF_KIND_LOST, .size = sizeof first, .time_ns = c->first_ns},
	    .lost = {.reason = AF_LOST_OLDEST},
	};
	struct af_packet head = c->last;
	size_t size = sizeof head + sizeof first + c->len;
	struct iovec iov[] = {{&head, sizeof head}, {&first, sizeof first}, {c->data, c->len}};

	head.instance &= (1ull << INSTANCE_SHIFT) - 1;
	head.instance |= (uint64_t)number << INSTANCE_SHIFT;
	head.packet_bits = head.content_bits = size * 8;
	if (!c->len)
		first.header.time_ns = head.end_ns;
	head.begin_ns = first.header.time_ns;
	head.has = 0;

	scope_close int fd = af_create_private(s->dir_fd, SEGMENT_TEMPORARY);
	if (fd < 0)
		return fd;
	ssize_t n = writev(fd, iov, 3);
	int rc = n < 0 ? -errno : n != (ssize_t)size ? -ENOSPC : 0;
	if (!rc && renameat(s->dir_fd, SEGMENT_TEMPORARY, s->dir_fd, name))
		rc = -errno;
	if (rc)
		unlinkat(s->dir_fd, SEGMENT_TEMPORARY, 0);
	return rc;
}

/* Begin a new file of the stream. */
static int stream_roll(struct af_segments *s, uint32_t stream)
{
	struct af_segment_stream *st = &s->streams[stream];
	char name[AF_SEGMENT_NAME];
	struct af_checkpoint c;

	af_segments_name(s, stream, name);
	int rc = af_checkpoint_read(&c, s->dir_fd, name);
	if (rc)
		return rc;
	if (c.last.magic == AF_PACKET_MAGIC) {
		segment_name(s, stream, st->newest + 1, name);
		rc = checkpoint_write(s, &c, st->newest + 1, name);
	} else {
		rc = -ENODATA;
	}
	if (!rc) {
		st->newest++;
		st->epoch = s->session->epoch;
		st->checkpoint_bytes = c.len;
		struct af_segment *f = segment_add(s, stream, st->newest);
		segment_size(s, f,
		             sizeof c.last + sizeof(struct af_event_header) +
		                 sizeof(struct af_ev_lost) + c.len);
		f->end_ns = c.last.end_ns;
	}
	af_checkpoint_free(&c);
	return rc;
}

/* Has the process ended, with no event of it left? */
static bool process_is_over(const struct af_segments *s, uint32_t process)
{
	for (uint32_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].process == process && !s->streams[i].ended)
			return false;
	for (uint32_t i = 0; i < s->nr_files; i++)
		if (!s->files[i].gone && s->files[i].events &&
		    s->streams[s->files[i].stream].process == process)
			return false;
	return true;
}

static void process_forget(struct af_segments *s, uint32_t process)
{
	for (uint32_t i = 0; i < s->nr_files; i++)
		if (!s->files[i].gone && s->streams[s->files[i].stream].process == process)
			segment_give_way(s, &s->files[i]);
	for (uint32_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].process == process)
			s->streams[i] = (struct af_segment_stream){
			    .process = UINT32_MAX, .newest = UINT32_MAX, .ended = true};
}

/*
 * The file whose last event is the oldest, of those that have an event to lose, or are of a process
 * that has none.
 */
static struct af_segment *segment_oldest(struct af_segments *s)
{
	struct af_segment *oldest = NULL;

	for (uint32_t i = 0; i < s->nr_files; i++) {
		struct af_segment *f = &s->files[i];
		const struct af_segment_stream *st = &s->streams[f->stream];
		bool newest = f->number == st->newest;
		if (f->gone || (newest && !f->events && !st->over) ||
		    (newest && !st->ended && st->epoch == s->session->epoch))
			continue;
		if (!oldest || f->end_ns < oldest->end_ns)
			oldest = f;
	}
	return oldest;
}

/* False when nothing is left that could. */
static bool oldest_gives_way(struct af_segments *s)
{
	struct af_segment *f = segment_oldest(s);

	if (!f)
		return false;
	uint32_t stream = f->stream, process = s->streams[stream].process;
	uint32_t at = (uint32_t)(f - s->files);
	s->gone_ns = f->end_ns;
	if (s->streams[stream].over) {
		process_forget(s, process);
		return true;
	}
	if (f->number == s->streams[stream].newest && stream_roll(s, stream))
		return false;
	segment_give_way(s, &s->files[at]);
	if (process_is_over(s, process))
		process_forget(s, process);
	return true;
}

uint64_t af_segments_place(struct af_segments *s, uint32_t stream, size_t size,
                           char name[AF_SEGMENT_NAME], uint64_t *offset)
{
	struct af_segment_stream *st = &s->streams[stream];
	struct af_segment *f = segment_newest(s, stream);
	uint64_t bound = s->session->ring_bytes;

	if (s->portion_bytes > bound / PORTIONS) {
		s->portion_bytes = 0;
		atomic_fetch_add(&s->session->epoch, 1);
	}
	/* Not for so few events that what is carried along would be most of the trace. */
	if (st->epoch != s->session->epoch && f->bytes >= 3 * st->checkpoint_bytes && f->events)
		stream_roll(s, stream); /* when it fails the old file goes on */
	while (s->bytes + s->own_bytes + cost(size) > bound - bound / PORTIONS &&
	       oldest_gives_way(s))
		;
	*offset = segment_newest(s, stream)->bytes;
	return af_segments_name(s, stream, name);
}

void af_segments_wrote(struct af_segments *s, uint32_t stream, const struct af_packet *head,
                       const void *content)
{
	struct af_segment *f = segment_newest(s, stream);
	struct af_segment_stream *st = &s->streams[stream];
	uint64_t size = head->packet_bits / 8;

	segment_size(s, f, f->bytes + size);
	f->events += af_checkpoint_events(content, size - sizeof *head);
	f->end_ns = head->end_ns;
	if (head->discarded > st->last_discarded)
		f->discarded += head->discarded - st->last_discarded;
	st->last_discarded = head->discarded;
	s->portion_bytes += size;
}

void af_segments_end(struct af_segments *s, uint32_t stream)
{
	uint32_t process = s->streams[stream].process;

	s->streams[stream].ended = true;
	if (!process_is_over(s, process))
		return;
	for (uint32_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].process == process)
			s->streams[i].over = true;
}

/* "s1-0" and "s1-0.2", with the number behind the dot. */
static bool segment_parse(const char *file, char stream[40], uint32_t *number)
{
	unsigned process, n;
	int at = 0;

	if (sscanf(file, "s%u-%u%n", &process, &n, &at) != 2 || at >= 40)
		return false;
	memcpy(stream, file, (size_t)at);
	stream[at] = 0;
	*number = 0;
	if (!file[at])
		return true;
	int end = 0;
	return sscanf(file + at, ".%u%n", number, &end) == 1 && !file[at + end];
}

static void segment_load(struct af_segments *s, const char *file)
{
	char name[40];
	uint32_t number;
	struct af_checkpoint c;

	if (!segment_parse(file, name, &number) || af_checkpoint_read(&c, s->dir_fd, file))
		return;
	uint32_t stream = af_segments_stream(s, name, c.last.process);
	struct af_segment_stream *st = &s->streams[stream];
	struct af_segment *f = segment_add(s, stream, number);
	segment_size(s, f, c.bytes);
	f->events = c.events;
	f->discarded = c.discarded;
	f->end_ns = c.last.end_ns;
	if (st->newest == UINT32_MAX || number > st->newest) {
		st->newest = number;
		st->last_discarded = c.last.discarded;
		st->checkpoint_bytes = c.len;
	}
	st->ended = true; /* until somebody goes on with it */
	af_checkpoint_free(&c);
}

void af_segments_load(struct af_segments *s)
{
	DIR *dir = af_dir_list(s->dir_fd);

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] == 's' && isdigit((unsigned char)e->d_name[1]))
			segment_load(s, e->d_name);
	closedir(dir);
	unlinkat(s->dir_fd, SEGMENT_TEMPORARY, 0);
}
