#include "trace/parts/parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/system/threads.h"
#include "trace/read/merge.h"

enum { CALLS_NEAR = 256 /* a power of two */ };

/* A packet by its header. */
struct parts_packet {
	struct af_cursor_place place;
	uint64_t begin_ns, end_ns; /* end: UINT64_MAX where the header does not tell */
	uint32_t has;
	bool defines;
	uint64_t bytes;
};

/* One thread finds this out of a part. */
struct parts_seen {
	uint64_t kinds;
	bool strange; /* times that cannot be, events that cannot be */
	/* By stream: when its first packet begins, and its last event; 0: there is none. */
	uint64_t *span_ns;
};

struct parts_walk {
	struct af_parts *parts;
	const struct af_trace *trace;
	struct parts_packet **packets; /* by stream */
	uint32_t *nr;
	uint32_t *first;         /* by part and stream: the first of its packets */
	struct parts_seen *seen; /* by part */
	pthread_mutex_t lock;    /* of what follows, and of the calls of the parts */
	struct af_map calls;
	bool damaged; /* any packet */
};

/* The packets of a stream. */
static void packets_list(void *arg, uint32_t stream)
{
	struct parts_walk *w = arg;
	struct parts_packet **packets = &w->packets[stream];
	const struct af_trace *t = w->trace;
	uint32_t *nr = &w->nr[stream];
	const struct af_cursor *of = &t->cursors[stream];
	struct af_trace_damage damage = {0};
	struct af_cursor_place place = {0};
	struct af_filter filter;
	struct af_cursor c;
	uint32_t cap = 0;

	af_filter_init(&filter, 0, &damage);
	af_cursor_open(&c, &filter, of->data, of->size, of->name);
	for (bool more = c.started; more; more = af_cursor_packet(&c)) {
		const struct af_packet *p = &c.packet;
		AF_GROW(*packets, *nr, cap);
		if (!*nr)
			place.seq = p->seq; /* of a ring the first ones may be gone */
		(*packets)[(*nr)++] = (struct parts_packet){
		    .place = place,
		    .begin_ns = p->begin_ns,
		    .end_ns = p->end_ns > p->begin_ns ? p->end_ns : UINT64_MAX,
		    .has = p->has,
		    .bytes = c.next - place.at,
		};
		place = (struct af_cursor_place){c.next, c.seq, c.discarded};
	}
	pthread_mutex_lock(&w->lock);
	w->parts->discarded += damage.discarded;
	w->damaged |= damage.first[0] != 0;
	pthread_mutex_unlock(&w->lock);
}

static int begin_order(const void *a, const void *b)
{
	const struct parts_packet *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Begins of packets, so that about as many bytes lie between each two. */
static void parts_divide(struct parts_walk *w, uint64_t size, uint32_t most)
{
	struct af_parts *p = w->parts;
	struct parts_packet *all = NULL;
	uint32_t nr = 0, cap = 0;
	uint64_t before = 0;

	for (uint32_t s = 0; s < p->nr_streams; s++) {
		AF_ROOM(all, nr + w->nr[s], cap);
		if (w->nr[s])
			memcpy(all + nr, w->packets[s], w->nr[s] * sizeof *all);
		nr += w->nr[s];
	}
	AF_SORT(all, nr, begin_order);
	p->from_ns = af_xcalloc((size_t)most + 1, sizeof *p->from_ns);
	p->nr = 1;
	for (uint32_t i = 0; i < nr && p->nr < most; i++) {
		bool is_due = before >= size / most * p->nr;
		if (is_due && all[i].begin_ns > all[0].begin_ns &&
		    all[i].begin_ns > p->from_ns[p->nr - 1])
			p->from_ns[p->nr++] = all[i].begin_ns;
		before += all[i].bytes;
	}
	p->from_ns[p->nr] = UINT64_MAX;
	free(all);
}

/* The first packet that may have events of the part, or the end of the stream. */
static void parts_place(const struct parts_walk *w, uint32_t part, uint32_t stream)
{
	const struct parts_packet *packets = w->packets[stream];
	const uint32_t nr = w->nr[stream];
	struct af_parts *p = w->parts;
	size_t at = (size_t)part * p->nr_streams + stream;
	uint32_t i = part ? w->first[at - p->nr_streams] : 0;

	/* A packet whose end its header does not tell is over when the next one begins. */
	while (i < nr && (packets[i].end_ns < p->from_ns[part] ||
	                  (i + 1 < nr && packets[i + 1].begin_ns < p->from_ns[part])))
		i++;
	w->first[at] = i;
	if (i < nr)
		p->places[at] = packets[i].place;
	else
		p->places[at].at = w->trace->cursors[stream].size;
}

static int call_order(const void *a, const void *b)
{
	const struct af_part_call *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->payload > y->payload) - (x->payload < y->payload);
}

bool af_part_call_before(const struct af_part_call *c, const struct af_event *ev)
{
	const struct af_part_call is = {
	    .time_ns = ev->time_ns, .stream = ev->stream, .payload = ev->payload};

	return call_order(c, &is) < 0;
}

/* One stream of a part, while it is walked through. */
struct parts_stream {
	struct parts_walk *w;
	struct parts_seen *seen;
	uint64_t *span_ns;
	uint32_t stream;
	struct af_cursor c;
	uint64_t near[CALLS_NEAR]; /* functions that were called last, by their low bits */
};

/* The first call of a function by a process that this thread comes across in the stream. */
static void call_note(struct parts_walk *w, const struct af_part_call *call)
{
	struct af_parts *p = w->parts;
	bool fresh;

	pthread_mutex_lock(&w->lock);
	uint64_t *slot = af_map_at(&w->calls, (uint64_t)call->process << 16 | call->kind, &fresh);
	if (fresh) {
		AF_GROW(p->calls, p->nr_calls, p->cap_calls);
		*slot = p->nr_calls++;
	}
	if (fresh || call_order(call, &p->calls[*slot]) < 0)
		p->calls[*slot] = *call;
	pthread_mutex_unlock(&w->lock);
}

static inline void call_see(struct parts_stream *s, const struct af_event_header *h)
{
	const struct af_part_call call = {
	    .process = s->c.packet.process,
	    .stream = s->stream,
	    .kind = h->kind,
	    .time_ns = h->time_ns,
	    .payload = (const uint8_t *)(h + 1),
	};
	const uint64_t key = (uint64_t)call.process << 16 | call.kind;

	s->seen->strange |= h->size < sizeof *h + sizeof(struct af_api_head);
	if (s->near[call.kind % CALLS_NEAR] == key)
		return;
	s->near[call.kind % CALLS_NEAR] = key;
	call_note(s->w, &call);
}

/* The kinds of the events of the packet that was entered, whose times are checked. */
static uint64_t packet_kinds(struct parts_stream *s)
{
	const struct af_cursor *c = &s->c;
	uint64_t kinds = 0, last_ns = c->packet.begin_ns;
	bool strange = last_ns < s->span_ns[1];

	for (size_t at = c->at; at < c->end;) {
		const struct af_event_header *h = (const void *)(c->data + at);
		if (c->end - at < sizeof *h || h->size < sizeof *h || h->size > c->end - at) {
			strange = true;
			break;
		}
		strange |= h->time_ns < last_ns || h->time_ns > c->limit_ns;
		last_ns = h->time_ns;
		strange |= !af_kind_bit(h->kind);
		kinds |= af_kind_bit(h->kind);
		if (h->kind >= AF_KIND_API)
			call_see(s, h);
		at += h->size;
	}
	s->seen->strange |= strange;
	s->span_ns[1] = last_ns;
	return kinds;
}

/* A packet that says that it defines nothing is not walked through. */
static bool is_clear(const struct parts_packet *p)
{
	return p->has && !(p->has & (AF_HAS_DEFINITIONS | AF_HAS_API_CALLS));
}

/* Walk through the packet @is, unless it says enough; its kinds. */
static uint64_t packet_see(struct parts_stream *s, const struct parts_packet *is)
{
	const struct af_cursor *of = &s->w->trace->cursors[s->stream];
	const struct af_filter *filter = s->c.filter;

	s->span_ns[0] = s->span_ns[0] ? s->span_ns[0] : is->begin_ns;
	if (is_clear(is)) {
		s->seen->strange |= is->begin_ns < s->span_ns[1];
		s->span_ns[1] = is->end_ns == UINT64_MAX ? is->begin_ns : is->end_ns;
		return af_has_kinds(is->has);
	}
	af_cursor_open(&s->c, filter, of->data, of->size, "");
	af_cursor_go(&s->c, &is->place);
	if (af_cursor_packet(&s->c))
		return packet_kinds(s);
	s->seen->strange = true;
	return 0;
}

static void part_see(void *arg, uint32_t part)
{
	struct parts_walk *w = arg;
	struct af_parts *p = w->parts;
	struct parts_seen *seen = &w->seen[part];
	struct af_trace_damage damage = {0};
	struct af_filter filter;

	af_filter_init(&filter, 0, &damage);
	for (uint32_t n = 0; n < p->nr_streams; n++) {
		const uint32_t *first = &w->first[(size_t)part * p->nr_streams + n];
		const uint32_t end = part + 1 < p->nr ? first[p->nr_streams] : w->nr[n];
		struct parts_stream s = {.w = w,
		                         .seen = seen,
		                         .span_ns = &seen->span_ns[(size_t)n * 2],
		                         .stream = n,
		                         .c.filter = &filter};
		for (uint32_t i = *first; i < end; i++) {
			struct parts_packet *is = &w->packets[n][i];
			uint64_t kinds = packet_see(&s, is);
			seen->kinds |= kinds;
			is->defines = kinds & ~AF_KINDS_MOMENTARY;
		}
	}
	seen->strange |= damage.first[0];
}

/* Walk through all events; false if any of them, or its time, cannot be. */
static bool parts_see(struct parts_walk *w, uint32_t threads)
{
	struct af_parts *p = w->parts;
	uint64_t *spans = af_xcalloc((size_t)p->nr * p->nr_streams * 2 + 1, sizeof *spans);
	bool fine = true;

	w->seen = af_xcalloc(p->nr, sizeof *w->seen);
	for (uint32_t i = 0; i < p->nr; i++)
		w->seen[i].span_ns = spans + (size_t)i * p->nr_streams * 2;
	af_threads_each(threads, p->nr, part_see, w);
	for (uint32_t i = 0; i < p->nr; i++) {
		p->kinds |= w->seen[i].kinds;
		fine &= !w->seen[i].strange;
	}
	for (uint32_t s = 0; s < p->nr_streams; s++) {
		uint64_t last_ns = 0;
		for (uint32_t i = 0; i < p->nr; i++) {
			const uint64_t *span = w->seen[i].span_ns + (size_t)s * 2;
			fine &= !span[0] || span[0] >= last_ns;
			last_ns = span[0] ? span[1] : last_ns;
		}
	}
	free(spans);
	free(w->seen);
	return fine;
}

/* Lists the packets that define something. */
static void parts_defining(const struct parts_walk *w)
{
	struct af_parts *p = w->parts;
	uint32_t nr = 0, cap = 0;

	p->defining_of = af_xcalloc((size_t)p->nr_streams + 1, sizeof *p->defining_of);
	for (uint32_t s = 0; s < p->nr_streams; s++) {
		for (uint32_t i = 0; i < w->nr[s]; i++) {
			if (!w->packets[s][i].defines)
				continue;
			AF_GROW(p->defining, nr, cap);
			p->defining[nr++] = w->packets[s][i].place;
		}
		p->defining_of[s + 1] = nr;
	}
}

static bool parts_walk(struct parts_walk *w, uint64_t size, uint32_t most, uint32_t threads)
{
	struct af_parts *p = w->parts;

	af_threads_each(threads, p->nr_streams, packets_list, w);
	if (w->damaged)
		return false;
	parts_divide(w, size, most);
	if (p->nr < 2)
		return false;
	p->places = af_xcalloc((size_t)p->nr * p->nr_streams, sizeof *p->places);
	w->first = af_xcalloc((size_t)p->nr * p->nr_streams, sizeof *w->first);
	for (uint32_t i = 0; i < p->nr; i++)
		for (uint32_t s = 0; s < p->nr_streams; s++)
			parts_place(w, i, s);
	if (!parts_see(w, threads))
		return false;
	parts_defining(w);
	return true;
}

bool af_parts_find(struct af_parts *p, const struct af_trace *t, uint64_t bytes, uint32_t most,
                   uint32_t threads)
{
	const uint64_t size = af_trace_size(t), nr = bytes ? size / bytes : 0;
	struct parts_walk w = {.parts = p, .trace = t};

	*p = (struct af_parts){.nr_streams = t->nr_streams};
	if (nr < 2 || most < 2)
		return false;
	w.packets = af_xcalloc(t->nr_streams, sizeof *w.packets);
	w.nr = af_xcalloc(t->nr_streams, sizeof *w.nr);
	pthread_mutex_init(&w.lock, NULL);
	bool fine = parts_walk(&w, size, nr < most ? (uint32_t)nr : most, threads);
	pthread_mutex_destroy(&w.lock);
	af_map_free(&w.calls);
	AF_SORT(p->calls, p->nr_calls, call_order);
	for (uint32_t s = 0; s < t->nr_streams; s++)
		free(w.packets[s]);
	free(w.packets);
	free(w.nr);
	free(w.first);
	if (!fine)
		af_parts_free(p);
	return fine;
}

void af_parts_free(struct af_parts *p)
{
	free(p->from_ns);
	free(p->places);
	free(p->calls);
	free(p->defining);
	free(p->defining_of);
	*p = (struct af_parts){0};
}

struct af_trace *af_trace_open_part(const struct af_trace *of, uint64_t wanted,
                                    const struct af_parts *p, uint32_t part)
{
	struct af_trace *t = af_trace_reopen(of, wanted);

	for (uint32_t s = 0; s < t->nr_streams; s++)
		af_cursor_go(&t->cursors[s], &p->places[part * p->nr_streams + s]);
	af_merge_start(t);
	return t;
}

struct af_trace *af_trace_open_definitions(const struct af_trace *of, uint64_t wanted,
                                           const struct af_parts *p)
{
	struct af_trace *t = af_trace_reopen(of, wanted);

	af_filter_far(&t->far, &t->filter);
	for (uint32_t s = 0; s < t->nr_streams; s++) {
		const uint32_t first = p->defining_of[s], nr = p->defining_of[s + 1] - first;
		af_cursor_only(&t->cursors[s], &t->far, nr ? p->defining + first : NULL, nr);
	}
	af_merge_start(t);
	return t;
}
