#include "collect/writer/writer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "collect/session/session.h"

enum {
	FIRST_NUMBER = 2000000, /* of streams: those of the watchers begin at 1000000 */
	/* The ring holds 16 MiB, and nobody else empties it while we write. */
	DRAIN_BYTES = 1 << 20,
};

bool af_event_writer_open(struct af_event_writer *w, struct af_recording *r)
{
	struct af_session *control = r->control;
	uint64_t instance = atomic_fetch_add(&control->nr_instances, 1) + 1;
	uint32_t pid = control->recorder_pid;
	char path[PATH_MAX];

	*w = (struct af_event_writer){.r = r, .epoch = UINT32_MAX};
	snprintf(path, sizeof path, "%s/s0-%u", r->shm, FIRST_NUMBER + (uint32_t)instance);
	if (af_stream_open_ring(&w->stream, path, instance, 0, pid, pid)) {
		control->lost_no_stream++;
		return false;
	}
	/* Rings are finished by process, and of process 0 there are others. */
	w->finish_as = 1u << 31 | (uint32_t)instance;
	w->stream.ring->process = w->finish_as;
	w->is_open = true;
	return true;
}

void af_event_writer_close(struct af_event_writer *w)
{
	if (!w->is_open)
		return;
	af_stream_close(&w->stream);
	af_drain_poll(&w->r->drain);
	af_drain_finish(&w->r->drain, w->finish_as);
	w->is_open = false;
}

void af_event_writer_note(struct af_event_writer *w, uint32_t device, const char *key,
                          const char *value)
{
	struct af_ev_device_note ev = {.device = device};
	struct af_tail tail[] = {{key, (uint32_t)strlen(key), 0},
	                         {value, (uint32_t)strlen(value), 0}};

	af_stream_put_tail(&w->stream, AF_KIND_DEVICE_NOTE, af_now_ns(), &ev, sizeof ev, tail, 2);
}

bool af_event_writer_is_new(struct af_event_writer *w)
{
	uint32_t epoch = atomic_load_explicit(&w->r->control->epoch, memory_order_relaxed);

	if (!w->is_open || w->epoch == epoch)
		return false;
	w->epoch = epoch;
	return true;
}

void af_event_writer_wrote(struct af_event_writer *w, uint32_t bytes)
{
	w->written += bytes;
	if (w->written < DRAIN_BYTES || w->beside)
		return;
	af_drain_poll(&w->r->drain);
	af_drain_pump(&w->r->drain);
	w->written = 0;
}
