/*
 * A stream while it is read: its bytes, and the packet and the event that the cursor stands at.
 * Internal to the reader. af_cursor_open → { af_cursor_next }*; the bytes stay the caller's.
 *
 * The cursor trusts a packet only as far as its header is plausible. Where it is not, the cursor
 * looks for the next header of the same stream, goes on there, and counts the damage; the whole
 * events before the damage are kept.
 */
#ifndef AF_TRACE_READ_CURSOR_H
#define AF_TRACE_READ_CURSOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/packet.h"
#include "trace/packet_has.h"
#include "trace/read/near.h"
#include "trace/read/reader.h"

/* A packet of a stream, and what is due there. */
struct af_cursor_place {
	size_t at;
	uint64_t seq, discarded;
};

/* The part that is the same for all streams of one reading. */
struct af_filter {
	uint64_t wanted; /* bits of af_kind_bit() */
	bool unknown;    /* hand over unknown kinds too */
	bool skips; /* packets whose headers say that nothing of them is wanted, and their damage */
	uint32_t exact[AF_KIND_MAX];    /* payload bytes of kinds without tails, else UINT32_MAX */
	struct af_trace_damage *damage; /* counts of all streams go here */
};

/*
 * @wanted is a mask of af_kind_bit(); 0: all kinds, and unknown ones as well. Where none
 * of AF_KINDS_MOMENTARY are wanted, most packets are skipped. @damage is borrowed.
 */
void af_filter_init(struct af_filter *f, uint64_t wanted, struct af_trace_damage *damage);

/* Make @far of @f: what is wanted of packets that are far from the time range, see near.h. */
void af_filter_far(struct af_filter *far, const struct af_filter *f);

struct af_cursor {
	/* The event af_cursor_next() found. */
	const uint8_t *payload;
	uint32_t payload_size;
	uint16_t kind;
	uint64_t time_ns;
	uint32_t tid; /* the thread that wrote it: a THREAD event changes that within a packet */
	struct af_packet packet; /* its packet's header */

	const struct af_filter *filter;
	const uint8_t *data;
	size_t size;
	size_t at;         /* where the next event starts */
	size_t end;        /* of the packet's content */
	size_t next;       /* where the next packet starts */
	size_t resync;     /* where to look for a header when no packet starts there */
	uint64_t limit_ns; /* no event of this packet can be later */
	uint64_t seq;      /* expected number of the next packet */
	uint64_t discarded;
	uint64_t start_ns; /* when the stream's first packet begins; UINT64_MAX: has none */
	bool started;
	bool mapped;    /* the bytes are a file's: pages that were read are given back */
	size_t dropped; /* so many bytes of them */
	/* af_cursor_near(): packets that end before since_ns or begin after until_ns are far. */
	const struct af_filter *near, *far; /* NULL: nothing is far */
	bool is_only;                       /* af_cursor_only(): these packets are left */
	const struct af_cursor_place *only;
	uint32_t nr_only;
	bool placed;               /* by af_cursor_go() */
	struct af_near_memo *memo; /* or NULL */
	uint64_t memo_at;          /* where this stream begins in it */
	uint64_t since_ns, until_ns;
	char name[64]; /* for messages */
};

/* Stand before the first event of @size bytes at @data. */
void af_cursor_open(struct af_cursor *c, const struct af_filter *filter, const uint8_t *data,
                    size_t size, const char *name);

/*
 * Read only what is near the time from @since_ns to @until_ns, of the trace's clock. Of far packets
 * only what @far wants is handed over, and a target's stream ends at the first one behind. Call it
 * before the first af_cursor_next(). @far is borrowed.
 */
void af_cursor_near(struct af_cursor *c, const struct af_filter *far, uint64_t since_ns,
                    uint64_t until_ns);

/*
 * Only the packets at @places are read, and of them only what @far wants is handed over. Both are
 * borrowed. Call it before the first af_cursor_next().
 */
void af_cursor_only(struct af_cursor *c, const struct af_filter *far,
                    const struct af_cursor_place *places, uint32_t nr);

/*
 * Go on at the packet @place of the stream, which no other packet is missing before. Call it before
 * the first af_cursor_next().
 */
void af_cursor_go(struct af_cursor *c, const struct af_cursor_place *place);

/* A stream that began in the middle gives back the pages that @c has read, but for single ones. */
void af_cursor_drop(struct af_cursor *c);

/* Slow path of af_cursor_next: the next packet; false at the end of the stream. */
bool af_cursor_packet(struct af_cursor *c);

/*
 * Slow paths: an impossible event (the rest of the packet is dropped), and an event with an
 * impossible time.
 */
void af_cursor_bad_event(struct af_cursor *c);
uint64_t af_cursor_bad_time(struct af_cursor *c, uint64_t time_ns);

/* Is the payload as the table describes it? Counts it when not. For kinds with tails. */
bool af_cursor_valid(struct af_cursor *c, uint16_t kind, const uint8_t *payload, uint32_t size);

/* Go to the next wanted event. False at the end of the stream. */
static inline bool af_cursor_next(struct af_cursor *c)
{
	const struct af_filter *f = c->filter;

	for (;;) {
		size_t left = c->end - c->at;
		if (!left) {
			if (!af_cursor_packet(c))
				return false;
			f = c->filter; /* a far packet has another */
			continue;
		}

		const struct af_event_header *h = (const void *)(c->data + c->at);
		if (left < sizeof *h || h->size < sizeof *h || h->size > left) {
			af_cursor_bad_event(c);
			continue;
		}

		uint16_t kind = h->kind;
		uint32_t payload_size = h->size - (uint32_t)sizeof *h;
		uint64_t time_ns = h->time_ns;
		c->at += h->size;
		if (kind == AF_KIND_THREAD && payload_size >= sizeof c->tid)
			memcpy(&c->tid, h + 1, sizeof c->tid);
		if (kind >= AF_KIND_API) {
			if (!(f->wanted >> AF_KIND_API_BIT & 1))
				continue;
			if (payload_size < sizeof(struct af_api_head)) {
				f->damage->events++;
				continue;
			}
		} else if (kind && kind < AF_KIND_END) {
			if (!(f->wanted & AF_KIND_BIT(kind)))
				continue;
			if (payload_size != f->exact[kind] &&
			    !af_cursor_valid(c, kind, (const uint8_t *)(h + 1), payload_size))
				continue;
		} else {
			f->damage->unknown++;
			if (!f->unknown)
				continue;
		}
		if (__builtin_expect(time_ns < c->time_ns || time_ns > c->limit_ns, 0))
			time_ns = af_cursor_bad_time(c, time_ns);
		c->kind = kind;
		c->time_ns = time_ns;
		c->payload = (const uint8_t *)(h + 1);
		c->payload_size = payload_size;
		return true;
	}
}

#endif
