/* Windows of samples as events of process 0: DEVICE, STALL, GPU_WINDOW, ADDRESS_SAMPLE. */
#include <stdio.h>
#include <string.h>

#include "collect/session/session.h"
#include "collect/xe/private.h"

enum {
	EVENT_BYTES = 128, /* at most, of an ADDRESS_SAMPLE */
};

static void number_note(struct af_event_writer *w, uint32_t device, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	if (value)
		af_event_writer_note(w, device, key, text);
}

static const struct af_xe_gt *main_gt(const struct af_xe_card *card)
{
	for (uint32_t i = 0; i < card->nr_gts; i++)
		if (!card->gts[i].media)
			return &card->gts[i];
	return NULL;
}

static void device_write(struct af_event_writer *w, uint32_t device, const struct af_xe_card *card)
{
	const struct af_xe_gt *gt = main_gt(card);
	uint64_t nr_xecores = 0;
	char name[64], version[32];

	af_xe_card_name(card, name, sizeof name);
	struct af_ev_device ev = {.device = device, .type = AF_DEVICE_GPU};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0},
	                         {"Intel", 5, 0},
	                         {card->driver_is, (uint32_t)strlen(card->driver_is), 0}};
	af_stream_put_tail(&w->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
	if (*card->pci)
		af_event_writer_note(w, device, "pci", card->pci);
	for (uint32_t i = 0; i < card->nr_gts; i++)
		nr_xecores += card->gts[i].nr_xecores;
	number_note(w, device, "processors", nr_xecores);
	number_note(w, device, "clock_khz", (uint64_t)card->max_mhz * 1000);
	snprintf(version, sizeof version, "%u.%u", gt ? gt->major : 0, gt ? gt->minor : 0);
	if (gt && gt->major)
		af_event_writer_note(w, device, "graphics", version);
}

static void reason_write(struct af_event_writer *w, enum af_xe_reason reason, const char *name)
{
	struct af_ev_stall ev = {.stall = reason + 1};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};

	af_stream_put_tail(&w->stream, AF_KIND_STALL, af_now_ns(), &ev, sizeof ev, tail, 1);
}

void af_xe_devices_write(struct af_event_writer *w, const struct af_xe_cards *cards,
                         uint32_t before)
{
	for (uint32_t i = 0; i < cards->nr; i++)
		device_write(w, before + i + 1, &cards->all[i]);
}

void af_xe_writer_define(struct af_xe_writer *w, const struct af_xe_cards *cards)
{
	if (!af_event_writer_is_new(&w->to))
		return;
	af_xe_devices_write(&w->to, cards, 0);
#define AF_R(NAME, name) reason_write(&w->to, AF_XE_##NAME, name);
	AF_XE_REASONS(AF_R)
#undef AF_R
}

static uint64_t sample_write(struct af_xe_writer *w, uint64_t time_ns, const struct af_xe_row *row)
{
	uint32_t counts[2 * AF_XE_NR_REASONS], nr = 0;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < AF_XE_NR_REASONS; i++) {
		if (!row->counts[i])
			continue;
		counts[nr++] = i + 1;
		counts[nr++] = row->counts[i];
		samples += row->counts[i];
	}
	if (!nr)
		return 0;
	struct af_ev_address_sample ev = {.window = w->nr_windows, .address = row->address};
	struct af_tail tail[] = {{counts, nr * 4, 4}};
	af_stream_put_tail(&w->to.stream, AF_KIND_ADDRESS_SAMPLE, time_ns, &ev, sizeof ev, tail, 1);
	af_event_writer_wrote(&w->to, EVENT_BYTES);
	return samples;
}

static uint64_t samples_in(const struct af_xe_rows *rows)
{
	uint64_t nr = rows->zero_counts;
	struct af_xe_row row;

	for (uint32_t i = 0; i < rows->nr; i++) {
		af_xe_rows_at(rows, i, &row);
		for (uint32_t k = 0; k < AF_XE_NR_REASONS; k++)
			nr += row.counts[k];
	}
	return nr;
}

void af_xe_window_write(struct af_xe_writer *w, const struct af_xe_window *window)
{
	const struct af_xe_rows *rows = window->rows;
	struct af_xe_row row;

	if (!w->to.is_open)
		return;
	af_stream_put(&w->to.stream, gpu_window, window->end_ns, .window = ++w->nr_windows,
	              .device = window->device,
	              .flags = window->flags | (window->dropped ? AF_WINDOW_FULL : 0) |
	                       (rows->layout == AF_XE_XE3P ? 0 : AF_WINDOW_ADDRESS_32),
	              .start_ns = window->start_ns, .end_ns = window->end_ns,
	              .period_cycles = window->period_cycles,
	              .samples = samples_in(rows) + window->dropped, .dropped = window->dropped,
	              .other = rows->zero_counts);
	if (window->dropped)
		af_stream_put(&w->to.stream, lost, window->end_ns, .reason = AF_LOST_DROPPED,
		              .count = window->dropped);
	for (uint32_t i = 0; i < rows->nr; i++) {
		af_xe_rows_at(rows, i, &row);
		w->nr_samples += sample_write(w, window->end_ns, &row);
	}
	w->nr_samples += rows->zero_counts;
}
