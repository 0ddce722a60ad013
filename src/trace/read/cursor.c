#include "trace/read/cursor.h"

#include <stdio.h>
#include <sys/mman.h>

#include "trace/kinds.h"
#include "trace/read/near_memo.h"

/* A larger gap is not a loss of packets but a number that is wrong. */
enum { SEQ_GAP_MAX = 1 << 30 };

/*
 * Pages of a mapped file are given back in pieces of this size, a multiple of all page sizes. The
 * last ones may still be used: events are read ahead.
 */
enum { DROP_BYTES = 8 << 20, KEEP_BYTES = 1 << 20, PAGE_BYTES = 65536 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a trace is little-endian");

void af_filter_init(struct af_filter *f, uint64_t wanted, struct af_trace_damage *damage)
{
	*f = (struct af_filter){.wanted = wanted ? wanted : UINT64_MAX,
	                        .unknown = !wanted,
	                        .skips = wanted && !(wanted & AF_KINDS_MOMENTARY),
	                        .damage = damage};
	for (unsigned kind = 0; kind < AF_KIND_MAX; kind++) {
		const struct af_kind_info *info = af_kind_info(kind);
		f->exact[kind] = info && !info->nr_tails ? info->fixed_size : UINT32_MAX;
	}
}

void af_filter_far(struct af_filter *far, const struct af_filter *f)
{
	*far = *f;
	far->wanted &= ~AF_KINDS_MOMENTARY;
	far->unknown = false;
}

static bool is_far(const struct af_cursor *c, const struct af_packet *p)
{
	return c->far &&
	       ((p->end_ns > p->begin_ns && p->end_ns < c->since_ns) || p->begin_ns > c->until_ns);
}

/* Does the packet that was entered hold nothing but what counts at its moment? */
static bool is_momentary(const struct af_cursor *c)
{
	for (size_t at = c->at; at < c->end;) {
		const struct af_event_header *h = (const void *)(c->data + at);
		if (c->end - at < sizeof *h || h->size < sizeof *h || h->size > c->end - at ||
		    !(AF_KINDS_MOMENTARY & af_kind_bit(h->kind)))
			return false;
		at += h->size;
	}
	return true;
}

/* Does the header of the packet that was entered say that nothing of it is wanted? */
static bool is_skipped(const struct af_cursor *c)
{
	const uint32_t has = c->packet.has;

	return c->filter->skips && has && !(af_has_kinds(has) & c->filter->wanted);
}

/* Nothing is wanted of a far packet that defines nothing; others need not look at it again. */
static void far_enter(struct af_cursor *c, size_t at)
{
	bool known = c->memo && af_near_memo_has(c->memo, c->memo_at, at);

	c->filter = c->far;
	if (!known && (!c->memo || !is_momentary(c)))
		return;
	if (!known)
		af_near_memo_set(c->memo, c->memo_at, at);
	c->at = c->end;
}

/* Behind the range the recorder's streams have the names; what targets define there is not used. */
static bool is_behind(const struct af_cursor *c, const struct af_packet *p)
{
	return c->far && p->process && p->begin_ns > c->until_ns;
}

static void cursor_end(struct af_cursor *c)
{
	c->at = c->end = c->next = c->size;
}

void af_cursor_near(struct af_cursor *c, const struct af_filter *far, uint64_t since_ns,
                    uint64_t until_ns)
{
	c->near = c->filter;
	c->far = far;
	c->since_ns = since_ns;
	c->until_ns = until_ns;
	if (!c->started)
		return;
	c->filter = is_far(c, &c->packet) ? far : c->near;
	if (is_behind(c, &c->packet))
		cursor_end(c);
}

void af_cursor_only(struct af_cursor *c, const struct af_filter *far,
                    const struct af_cursor_place *places, uint32_t nr)
{
	c->filter = far;
	c->is_only = true;
	c->only = places;
	c->nr_only = nr;
	c->at = c->end = c->next = c->size;
}

void af_cursor_open(struct af_cursor *c, const struct af_filter *filter, const uint8_t *data,
                    size_t size, const char *name)
{
	*c = (struct af_cursor){.filter = filter, .data = data, .size = size};
	snprintf(c->name, sizeof c->name, "%s", name);
	af_terminal_text(c->name);

	/* The first packet is looked at here, so that start_ns is known before any event is. */
	c->start_ns = UINT64_MAX;
	if (af_cursor_packet(c))
		c->start_ns = c->packet.begin_ns;
}

__attribute__((format(printf, 3, 4), cold)) static void
cursor_damage(struct af_cursor *c, size_t at, const char *fmt, ...)
{
	struct af_trace_damage *d = c->filter->damage;
	char what[160];
	va_list ap;

	if (d->first[0])
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	snprintf(d->first, sizeof d->first, "stream %s, byte %zu: %s", c->name, at, what);
}

/* Whether a plausible packet header starts at @at. Copies it to @p. */
static bool header_at(const struct af_cursor *c, size_t at, struct af_packet *p)
{
	if (c->size - at < sizeof *p)
		return false;
	memcpy(p, c->data + at, sizeof *p);
	return p->magic == AF_PACKET_MAGIC && p->stream_id == 0 && p->packet_bits % 8 == 0 &&
	       p->content_bits % 8 == 0 && p->packet_bits / 8 >= sizeof *p &&
	       p->content_bits / 8 >= sizeof *p;
}

/* Where this stream's next plausible header is, at or after @from and before @to; @to if none. */
static size_t find_header(const struct af_cursor *c, size_t from, size_t to)
{
	static const uint32_t magic = AF_PACKET_MAGIC;
	struct af_packet p;

	while (from < to) {
		const uint8_t *hit = memmem(c->data + from, to - from, &magic, sizeof magic);
		if (!hit)
			return to;
		from = (size_t)(hit - c->data);
		if (header_at(c, from, &p) && (!c->started || p.instance == c->packet.instance))
			return from;
		from++;
	}
	return to;
}

/*
 * A file may begin in the middle of its stream, where --ring let the oldest give way: then the
 * first event says so.
 */
static bool begins_in_the_middle(const struct af_cursor *c, size_t at)
{
	struct {
		struct af_event_header header;
		struct af_ev_lost lost;
	} __attribute__((packed)) first;

	if (c->started || c->size - at < sizeof(struct af_packet) + sizeof first)
		return false;
	memcpy(&first, c->data + at + sizeof(struct af_packet), sizeof first);
	return first.header.kind == AF_KIND_LOST && first.header.size == sizeof first &&
	       first.lost.reason == AF_LOST_OLDEST;
}

/* Note what the sequence number and the count of discarded events say. */
static void packet_account(struct af_cursor *c, const struct af_packet *p)
{
	struct af_trace_damage *d = c->filter->damage;

	if (begins_in_the_middle(c, c->next)) {
		c->seq = p->seq;
		c->discarded = p->discarded;
	}

	if (p->seq < c->seq || p->seq - c->seq > SEQ_GAP_MAX) {
		cursor_damage(c, c->next, "packet %llu where packet %llu was due",
		              (unsigned long long)p->seq, (unsigned long long)c->seq);
		d->disordered++;
	} else {
		if (p->seq > c->seq)
			cursor_damage(c, c->next, "packets %llu to %llu are missing",
			              (unsigned long long)c->seq, (unsigned long long)p->seq - 1);
		d->missing += p->seq - c->seq;
		c->seq = p->seq + 1;
	}
	if (p->discarded > c->discarded) {
		d->discarded += p->discarded - c->discarded;
		c->discarded = p->discarded;
	}
}

/* A reader that began in the middle of the stream relies on the times in headers. */
static void packet_begins(struct af_cursor *c)
{
	const struct af_event_header *h = (const void *)(c->data + c->at);

	if (c->end - c->at < sizeof *h || h->time_ns >= c->packet.begin_ns)
		return;
	c->filter->damage->retimed++;
	cursor_damage(c, c->at, "an event is earlier than its packet");
}

/* Set the bounds of the packet @p at @at, as far as they can be believed. */
static void packet_enter(struct af_cursor *c, size_t at, const struct af_packet *p)
{
	struct af_trace_damage *d = c->filter->damage;
	uint64_t left = c->size - at;
	uint64_t packet = p->packet_bits / 8, content = p->content_bits / 8;

	c->packet = *p;
	c->tid = p->tid;
	c->started = true;
	if (packet > left) {
		/* A cut-off file, or a wrong size with good packets behind it. */
		packet = find_header(c, at + sizeof *p, c->size) - at;
		cursor_damage(c, at, "a packet of %llu bytes in the %llu that are left",
		              (unsigned long long)(p->packet_bits / 8), (unsigned long long)left);
		d->packets++;
		content = content < packet ? content : packet;
	} else if (content > packet) {
		cursor_damage(c, at, "a packet says that it holds more than its size");
		d->packets++;
		content = packet;
	} else if (content < packet) {
		/* Padding is legal, but there are no packets in padding. */
		uint64_t found = find_header(c, at + content, at + packet) - at;
		if (found < packet) {
			cursor_damage(c, at, "a packet's size reaches over the next packet");
			d->packets++;
			packet = found;
		}
	}
	c->at = at + sizeof *p;
	c->end = at + content;
	c->next = at + packet;
	c->resync = at + content;
	c->limit_ns = p->end_ns > p->begin_ns ? p->end_ns : UINT64_MAX;
	if (c->placed)
		packet_begins(c);
	if (c->far && is_far(c, p))
		far_enter(c, at);
	else if (c->far)
		c->filter = c->near;
}

/*
 * A large trace does not stay in memory because it was read. A pointer into what is given back
 * stays good: its page is read again.
 */
static void drop_pages(struct af_cursor *c)
{
	if (!c->mapped || c->next < c->dropped + DROP_BYTES + KEEP_BYTES)
		return;
	size_t whole = (c->next - KEEP_BYTES - c->dropped) / DROP_BYTES * DROP_BYTES;
	madvise((void *)(c->data + c->dropped), whole, MADV_DONTNEED);
	c->dropped += whole;
}

void af_cursor_drop(struct af_cursor *c)
{
	const size_t to = c->at / PAGE_BYTES * PAGE_BYTES;

	if (!c->mapped || !c->placed || c->is_only || to <= c->dropped)
		return;
	madvise((void *)(c->data + c->dropped), to - c->dropped, MADV_DONTNEED);
	c->dropped = to;
}

void af_cursor_go(struct af_cursor *c, const struct af_cursor_place *place)
{
	c->next = c->resync = place->at;
	c->at = c->end = place->at;
	c->seq = place->seq;
	c->discarded = place->discarded;
	c->dropped = (place->at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	c->placed = true;
}

bool af_cursor_packet(struct af_cursor *c)
{
	struct af_trace_damage *d = c->filter->damage;
	struct af_packet p;

	if (c->is_only && c->nr_only) {
		af_cursor_go(c, c->only++);
		c->nr_only--;
	} else if (c->is_only) {
		cursor_end(c);
	}
	if (c->next >= c->size) {
		cursor_end(c);
		return false;
	}
	drop_pages(c);
	if (!header_at(c, c->next, &p)) {
		size_t found = find_header(c, c->resync, c->size);
		cursor_damage(c, c->next, "no packet here: going on at byte %zu", found);
		d->packets++;
		d->bytes += found > c->next ? found - c->next : 0;
		c->next = found;
		if (found == c->size || !header_at(c, found, &p)) {
			c->at = c->end = found;
			return false;
		}
	}
	if (c->started && p.instance != c->packet.instance) {
		cursor_damage(c, c->next, "a packet of stream %llu in stream %llu",
		              (unsigned long long)p.instance,
		              (unsigned long long)c->packet.instance);
		d->disordered++;
	}
	if (is_behind(c, &p)) {
		cursor_end(c);
		return false;
	}
	packet_account(c, &p);
	packet_enter(c, c->next, &p);
	if (is_skipped(c))
		c->at = c->end;
	return true;
}

void af_cursor_bad_event(struct af_cursor *c)
{
	struct af_trace_damage *d = c->filter->damage;

	/* If it was the packet's size that lied, there are good packets inside it. */
	size_t found = find_header(c, c->at, c->next);
	size_t lost = (found < c->end ? found : c->end) - c->at;

	cursor_damage(c, c->at, "an event that cannot be; the packet's last %zu bytes are lost",
	              lost);
	d->events++;
	d->bytes += lost;
	c->resync = c->at;
	c->next = found;
	c->at = c->end;
}

uint64_t af_cursor_bad_time(struct af_cursor *c, uint64_t time_ns)
{
	c->filter->damage->retimed++;
	cursor_damage(c, c->at, "an event's time is not between its neighbours'");
	if (time_ns > c->limit_ns)
		time_ns = c->limit_ns;
	return time_ns > c->time_ns ? time_ns : c->time_ns;
}

bool af_cursor_valid(struct af_cursor *c, uint16_t kind, const uint8_t *payload, uint32_t size)
{
	if (af_payload_split(af_kind_info(kind), payload, size, NULL, NULL))
		return true;
	c->filter->damage->events++;
	cursor_damage(c, (size_t)(payload - c->data), "a malformed %s", af_kind_info(kind)->name);
	return false;
}
