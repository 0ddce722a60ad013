#include "collect/disk/compact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/scope.h"
#include "base/system/fs.h"
#include "base/write.h"
#include "trace/packet.h"
#include "trace/packet_has.h"
#include "trace/write/session.h"

#define COMPACT_TEMPORARY ".segment" /* one that is left is removed as those of segments are */

enum {
	SHARE_MIN = 32, /* of the bound: not worth it below */
	SHARE_MOST = 8, /* more than this, and what nothing else is left of goes too */
};

struct compacting {
	struct af_segments *s;
	struct af_map alive; /* processes of which files are left, or will be */
	struct af_buf out;
	uint64_t until_ns, gone, lost[AF_LOST_END];
	uint32_t nr; /* packets kept */
	bool clock_kept;
};

/* Streams are named after their processes; the collector bpf's go by other numbers while they are
 * drained. */
static void alive_find(struct compacting *c)
{
	const struct af_segments *s = c->s;
	unsigned process;

	for (uint32_t i = 0; i < s->nr_streams; i++)
		if (!s->streams[i].ended && sscanf(s->streams[i].name, "s%u-", &process) == 1)
			af_map_at(&c->alive, process, NULL);
	for (uint32_t i = 0; i < s->nr_files; i++)
		if (!s->files[i].gone &&
		    sscanf(s->streams[s->files[i].stream].name, "s%u-", &process) == 1)
			af_map_at(&c->alive, process, NULL);
}

static bool event_stays(struct compacting *c, const struct af_packet *p,
                        const struct af_event_header *h, const uint8_t *payload)
{
	uint32_t process = p->process;
	size_t size = h->size - sizeof *h;
	struct af_ev_lost lost;

	if (h->time_ns >= c->until_ns || h->kind == AF_KIND_NOTE)
		return true;
	switch (h->kind) {
	case AF_KIND_CLOCK:
		if (c->clock_kept)
			return false;
		return c->clock_kept = true;
	case AF_KIND_LOST:
		if (size != sizeof lost)
			return false;
		memcpy(&lost, payload, sizeof lost);
		if (lost.reason == AF_LOST_PAUSED) /* belongs where it is */
			return true;
		if (lost.reason < AF_LOST_END)
			c->lost[lost.reason] += lost.count;
		return false;
	case AF_KIND_PROCESS_END:
	case AF_KIND_PROCESS_NOTE:
	case AF_KIND_USAGE:
	case AF_KIND_UNSAMPLED:
		if (size < sizeof process)
			return false;
		memcpy(&process, payload, sizeof process);
		/* fall through */
	case AF_KIND_PROCESS:
		if (af_map_get(&c->alive, process))
			return true;
		c->gone += h->kind == AF_KIND_PROCESS_END;
		return false;
	}
	return false;
}

/* Packets follow each other without padding. */
struct unaligned_packet {
	struct af_packet head;
} __attribute__((packed));

static struct unaligned_packet *packet_at(struct compacting *c, size_t at)
{
	return (void *)(c->out.data + at);
}

static void packet_end(struct compacting *c, size_t at)
{
	struct unaligned_packet *p = packet_at(c, at);

	p->head.packet_bits = p->head.content_bits = (c->out.len - at) * 8;
	c->nr++;
}

/* The definitions that a stream needs when it begins in the middle. */
static void first_packet(struct compacting *c, const struct af_packet *like)
{
	struct {
		struct af_event_header header;
		struct af_ev_lost lost;
	} __attribute__((packed)) first = {
	    .header = {.kind = AF_KIND_LOST, .size = sizeof first, .time_ns = like->begin_ns},
	    .lost = {.reason = AF_LOST_OLDEST},
	};
	struct af_packet p = *like;

	p.process = 0;
	p.end_ns = p.begin_ns;
	p.has = AF_HAS_DEFINITIONS;
	af_buf_add(&c->out, &p, sizeof p);
	af_buf_add(&c->out, &first, sizeof first);
	packet_end(c, 0);
}

static void packet_compact(struct compacting *c, const uint8_t *at)
{
	struct af_packet p;
	struct af_event_header h;
	size_t begin = c->out.len, size;

	memcpy(&p, at, sizeof p);
	size = p.content_bits / 8;
	af_buf_add(&c->out, &p, sizeof p);
	for (size_t k = sizeof p; size - k >= sizeof h; k += h.size) {
		memcpy(&h, at + k, sizeof h);
		if (h.size < sizeof h || h.size > size - k)
			break;
		if (event_stays(c, &p, &h, at + k + sizeof h))
			af_buf_add(&c->out, at + k, h.size);
	}
	if (c->out.len - begin > sizeof p)
		packet_end(c, begin);
	else
		c->out.len = begin;
}

/* Numbered so that the next one of @stream follows. */
static void packets_number(struct compacting *c, const struct af_stream *stream)
{
	uint64_t seq = stream->seq - c->nr;

	for (size_t at = 0; at < c->out.len;) {
		struct unaligned_packet *p = packet_at(c, at);
		p->head.seq = seq++;
		at += p->head.packet_bits / 8;
	}
}

static int builder_write(struct compacting *c, struct af_stream *stream, const char *name)
{
	int fd = af_create_private(c->s->dir_fd, COMPACT_TEMPORARY);

	if (fd < 0)
		return fd;
	int rc = af_write_all(fd, c->out.data, c->out.len);
	if (!rc && renameat(c->s->dir_fd, COMPACT_TEMPORARY, c->s->dir_fd, name))
		rc = -errno;
	if (rc) {
		unlinkat(c->s->dir_fd, COMPACT_TEMPORARY, 0);
		close(fd);
		return rc;
	}
	close(stream->fd);
	stream->fd = fd;
	return 0;
}

int af_compact(struct af_segments *s, struct af_stream *stream, const char *name, uint64_t until_ns)
{
	struct compacting c = {.s = s, .until_ns = until_ns};
	struct af_packet p;
	struct af_file f;

	af_stream_flush(stream);
	int rc = stream->error ? stream->error : af_file_map_at(&f, s->dir_fd, name);
	if (rc)
		return rc;
	alive_find(&c);
	for (size_t at = 0; f.size - at >= sizeof p; at += p.packet_bits / 8) {
		memcpy(&p, f.data + at, sizeof p);
		if (p.magic != AF_PACKET_MAGIC || p.packet_bits / 8 > f.size - at ||
		    p.content_bits > p.packet_bits || p.content_bits / 8 < sizeof p)
			break;
		if (!at)
			first_packet(&c, &p);
		packet_compact(&c, f.data + at);
	}
	af_file_unmap(&f);
	/* The mark that the file began with already, and nothing to leave out. */
	rc = c.nr && c.nr <= stream->seq ? 0 : -ENODATA;
	if (!rc) {
		packets_number(&c, stream);
		rc = builder_write(&c, stream, name);
	}
	if (!rc) {
		atomic_fetch_add(&s->session->lost_oldest, c.gone);
		for (int i = 0; i < AF_LOST_END; i++)
			s->lost[i] += c.lost[i];
	}
	af_buf_free(&c.out);
	af_map_free(&c.alive);
	return rc;
}

static uint64_t own_bytes(const struct af_stream *stream)
{
	struct stat st;

	return fstat(stream->fd, &st) ? 0 : (uint64_t)st.st_size;
}

void af_compact_poll(struct af_segments *s, struct af_stream *stream, const char *name)
{
	uint64_t bound = s->session->ring_bytes;

	s->own_bytes = own_bytes(stream);
	if (s->own_bytes < bound / SHARE_MIN || s->own_bytes < 2 * s->compacted_bytes)
		return;
	if (s->gone_ns && !af_compact(s, stream, name, s->gone_ns))
		s->own_bytes = own_bytes(stream);
	/* Where nothing gives way for long, processes without an event are all that there is. */
	if (s->own_bytes > bound / SHARE_MOST && !af_compact(s, stream, name, af_now_ns()))
		s->own_bytes = own_bytes(stream);
	s->compacted_bytes = s->own_bytes;
}
