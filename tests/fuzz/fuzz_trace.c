/*
 * The trace reader and the printer on hostile bytes. The first byte of the input chooses what the
 * rest is: metadata; two streams as they are; or two streams whose packets and events have headers
 * that are mostly right, so that what is behind them is reached. Checked on the way: times never
 * go back, on the devices' clocks neither, and what is handed over decodes. libaflame-trace's
 * look-ups run for every event.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/world/work.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/print/event.h"
#include "trace/read/clock.h"
#include "trace/read/merge.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_bytes(struct input *in, struct af_buf *b, size_t n)
{
	n = n < in->left ? n : in->left;
	if (n)
		af_buf_add(b, in->data, n);
	in->data += n;
	in->left -= n;
}

static void make_event(struct input *in, struct af_buf *b, uint64_t *time_ns)
{
	struct af_event_header h = {.kind = take_byte(in) % (AF_KIND_END + 1)};
	const struct af_kind_info *info = af_kind_info(h.kind);
	uint8_t what = take_byte(in);
	size_t at = b->len, payload = what >> 2;

	*time_ns += what & 1;
	if (info && what & 2)
		payload += info->fixed_size;
	h.time_ns = *time_ns;
	af_buf_add(b, &h, sizeof h);
	take_bytes(in, b, payload);
	h.size = (uint16_t)(b->len - at);
	memcpy(b->data + at, &h, sizeof h);
}

/* A packet whose header is right, but for what @twist says. */
static void make_packet(struct input *in, struct af_buf *b, uint64_t seq, uint64_t *time_ns)
{
	uint8_t twist = take_byte(in), nr_events = take_byte(in) % 8;
	size_t at = b->len;
	struct af_packet p = {.magic = AF_PACKET_MAGIC,
	                      .instance = twist & 1 ? take_byte(in) % 4 : 1,
	                      .begin_ns = *time_ns,
	                      .seq = twist & 2 ? take_byte(in) : seq,
	                      .pid = 1};

	af_buf_add(b, &p, sizeof p);
	while (nr_events--)
		make_event(in, b, time_ns);
	p.end_ns = *time_ns;
	p.packet_bits = p.content_bits = (b->len - at) * 8;
	if (twist & 4)
		p.packet_bits += 8 * (uint64_t)(int8_t)take_byte(in);
	if (twist & 8)
		p.content_bits += 8 * (uint64_t)(int8_t)take_byte(in);
	if (twist & 16)
		p.end_ns = take_byte(in);
	memcpy(b->data + at, &p, sizeof p);
	if (twist & 32)
		take_bytes(in, b, take_byte(in)); /* padding, or rubbish between packets */
	if (twist & 64)
		b->len -= take_byte(in) % 16; /* cut */
}

/* Whatever the pairs are, times do not run backwards. */
static void check_clocks(struct af_clocks *c)
{
	af_clocks_build(c);
	for (uint32_t i = 0; i < c->nr; i++) {
		struct af_clock *clock = &c->clocks[i];
		uint64_t before = 0, at = 0, doubt;

		if (af_clocks_find(c, clock->process, clock->device) != clock)
			abort();
		for (uint32_t k = 0; k < 4 * clock->nr; k++) {
			const struct af_clock_pair *pair = &clock->pairs[k / 4];
			uint64_t next = pair->foreign_ns + (k % 4) * 300000001u;
			if (next < at)
				continue;
			at = next;
			uint64_t ns = af_clock_convert(clock, at, &doubt);
			if (ns < before)
				abort();
			before = ns;
		}
	}
	af_clocks_free(c);
}

/* Everything that libaflame-trace finds for an event, by its fields. */
static void check_lookups(struct af_trace *t, const struct af_event *ev)
{
	struct af_field field;
	struct af_event found;
	struct af_symbol_frame frames[2];
	uint64_t ns;

	for (uint32_t i = 0; af_event_field_at(ev, i, &field); i++) {
		uint32_t id = (uint32_t)field.number;
		af_field_value_name(&field);
		af_seq_at(&field.seq, field.seq.nr / 2);
		for (uint16_t kind = 0; kind < AF_KIND_MAX; kind++)
			if (af_trace_definition(t, ev, kind, id, &found) &&
			    (found.kind != kind || found.time_ns > ev->time_ns))
				abort();
		uint32_t nr = af_trace_symbol(t, ev->process, field.number, id, frames, 2);
		for (uint32_t k = 0; k < nr && k < 2; k++)
			if (frames[k].function && strlen(frames[k].function) > UINT16_MAX)
				abort();
		af_trace_device_time(t, ev->process, id, field.number, &ns, NULL);
	}
}

static void read_all(const struct af_stream_bytes *streams, uint32_t nr, uint64_t wanted)
{
	static struct af_event_printer text, json;
	struct af_trace *t;
	struct af_event ev;
	struct af_buf b = {0};
	struct af_clocks clocks = {0};
	uint64_t last_ns = 0;

	af_trace_open_memory(&t, streams, nr, wanted);
	af_event_printer_init(&text, false, af_trace_start_ns(t));
	af_event_printer_init(&json, true, af_trace_start_ns(t));
	while (af_trace_next(t, &ev)) {
		const struct af_kind_info *info = af_kind_info(ev.kind);
		struct af_tail_view tails[AF_TAILS_MAX];
		uint8_t fixed[256];

		if (ev.time_ns < last_ns ||
		    (info && !af_event_decode(&ev, fixed, info->fixed_size, tails)))
			abort();
		last_ns = ev.time_ns;
		b.len = 0;
		struct af_work work = {.queued_ns = ev.time_ns, .start_ns = ~ev.time_ns};
		text.raw = json.raw = last_ns & 1;
		af_event_print(&text, &ev, &work, &b);
		af_event_print(&json, &ev, NULL, &b);
		af_clocks_event(&clocks, &ev);
		check_lookups(t, &ev);
		for (size_t i = 0; i < b.len; i++)
			if ((unsigned char)b.data[i] < ' ' && b.data[i] != '\n')
				abort();
	}
	if (af_trace_position(t) != af_trace_size(t))
		abort();
	check_clocks(&clocks);
	char damage[600];
	af_trace_damage_text(af_trace_damage(t), damage, sizeof damage);
	af_buf_free(&b);
	af_trace_close(t);
}

/* Copies of the exact size, so that a read past the end is seen. */
static struct af_stream_bytes exact(const void *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	return (struct af_stream_bytes){copy, size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t mode = take_byte(&in);
	uint64_t wanted = mode & 4 ? 1ull << take_byte(&in) % 64 : 0;
	struct af_stream_bytes streams[2];

	if (mode % 4 == 0) {
		struct af_env env;
		struct af_buf text = {0};
		af_buf_str(&text, "/* CTF 1.8 */ env {");
		take_bytes(&in, &text, in.left);
		streams[0] = exact(text.data, text.len);
		af_metadata_read(&env, (const char *)streams[0].data, streams[0].size, "fuzz",
		                 NULL);
		af_env_free(&env);
		free((void *)streams[0].data);
		af_buf_free(&text);
		return 0;
	}
	if (mode % 4 == 1) {
		size_t split = take_byte(&in) * 16u;
		split = split < in.left ? split : in.left;
		streams[0] = exact(in.data, split);
		streams[1] = exact(in.data + split, in.left - split);
	} else {
		struct af_buf made[2] = {{0}, {0}};
		uint64_t seq[2] = {0}, time_ns[2] = {1, 1};
		while (in.left) {
			int s = take_byte(&in) & 1;
			make_packet(&in, &made[s], seq[s]++, &time_ns[s]);
		}
		for (int s = 0; s < 2; s++) {
			streams[s] = exact(made[s].data, made[s].len);
			af_buf_free(&made[s]);
		}
	}
	read_all(streams, 2, wanted);
	free((void *)streams[0].data);
	free((void *)streams[1].data);
	return 0;
}
