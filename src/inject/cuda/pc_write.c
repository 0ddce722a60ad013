/* Writes the samples of a device into the trace: STALL, CODE, GPU_WINDOW, GPU_SAMPLE. */
#include "inject/cuda/pc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"

enum { NAME_MAX_BYTES = 60000 };

static struct af_handles codes = AF_HANDLES_INIT;    /* hash of CRC, symbol and name → id */
static struct af_handles programs = AF_HANDLES_INIT; /* CRC → program */
static _Atomic uint32_t nr_windows, nr_stalls;

void af_pc_crc_define(uint32_t program, uint64_t crc)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	af_stream_put(&t->stream, program_crc, af_now_ns(), .program = program, .crc = crc);
	af_thread_leave(t);
	af_handles_set(&programs, crc, program);
}

/* The name without the word that tells it from its namesake. */
static uint32_t stall_flags(const char *name)
{
	static const char word[] = "_not_issued";
	size_t len = strlen(name);

	return len > sizeof word && !strcmp(name + len - (sizeof word - 1), word)
	           ? AF_STALL_NOT_ISSUED
	           : 0;
}

static void stall_define(struct af_thread_context *t, struct af_pc_device *d, uint32_t index,
                         const char *name)
{
	struct af_ev_stall ev = {.stall = af_inject_next_id(&nr_stalls),
	                         .device = d->device,
	                         .flags = stall_flags(name)};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}};

	d->stalls[index] = ev.stall;
	af_stream_put_tail(&t->stream, AF_KIND_STALL, af_now_ns(), &ev, sizeof ev, tail, 1);
}

static bool reasons_write(struct af_pc_device *d, size_t nr, const uint32_t *indices, char **names)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return false;
	for (size_t i = 0; i < nr; i++) {
		names[i][AF_CUPTI_PC_NAME_BYTES - 1] = 0;
		if (indices[i] < AF_PC_REASONS_MAX && !d->stalls[indices[i]])
			stall_define(t, d, indices[i], names[i]);
	}
	af_thread_leave(t);
	return true;
}

bool af_pc_reasons_define(struct af_pc_device *d)
{
	size_t nr = 0;
	uint32_t indices[AF_PC_REASONS_MAX];
	char *names[AF_PC_REASONS_MAX];
	struct af_cupti_pc_nr_reasons count = {sizeof count, NULL, d->context, &nr};

	if (af_cupti_pc.PCSamplingGetNumStallReasons(&count) || !nr || nr > AF_PC_REASONS_MAX)
		return false;
	char *text = calloc(nr, AF_CUPTI_PC_NAME_BYTES);
	if (!text)
		return false;
	for (size_t i = 0; i < nr; i++)
		names[i] = text + i * AF_CUPTI_PC_NAME_BYTES;
	struct af_cupti_pc_reasons all = {sizeof all, NULL, d->context, nr, indices, names};
	d->nr_reasons = (uint32_t)nr;
	bool ok =
	    !af_cupti_pc.PCSamplingGetStallReasons(&all) && reasons_write(d, nr, indices, names);
	free(text);
	return ok;
}

/* Names are copied at once: they are gone when their module is. */
static uint32_t code_of(struct af_thread_context *t, const struct af_cupti_pc *pc)
{
	const char *name = pc->name ? pc->name : "";
	size_t len = strnlen(name, NAME_MAX_BYTES);
	const uint64_t what[] = {pc->crc, pc->symbol, af_scatter_bytes(name, len)};
	/* By a hash that nobody can make a name for (base/hash.h). */
	uint64_t key = af_scatter_bytes(what, sizeof what) | 1;
	uint64_t known = af_handles_get(&codes, key);

	if (__builtin_expect(known != 0, 1))
		return (uint32_t)known;
	uint32_t id = af_inject_new_id(AF_ID_CODE);
	known = af_handles_claim(&codes, key, id);
	if (known != id)
		return (uint32_t)known;
	struct af_ev_code ev = {.code = id,
	                        .program = (uint32_t)af_handles_get(&programs, pc->crc),
	                        .symbol = pc->symbol,
	                        .crc = pc->crc};
	struct af_tail tail[] = {{name, (uint32_t)len, 0}};
	af_stream_put_tail(&t->stream, AF_KIND_CODE, af_now_ns(), &ev, sizeof ev, tail, 1);
	return id;
}

static void instruction_write(struct af_thread_context *t, const struct af_pc_device *d,
                              uint32_t window, const struct af_cupti_pc *pc)
{
	uint32_t counts[2 * AF_PC_REASONS_MAX], nr = 0;

	for (size_t i = 0; i < pc->nr_stalls && i < d->nr_reasons; i++) {
		const struct af_cupti_pc_stall *s = &pc->stalls[i];
		if (!s->samples || s->index >= AF_PC_REASONS_MAX)
			continue;
		counts[nr++] = d->stalls[s->index];
		counts[nr++] = s->samples;
	}
	if (!nr)
		return;
	struct af_ev_gpu_sample ev = {.window = window,
	                              .code = code_of(t, pc),
	                              .offset = (uint32_t)pc->offset,
	                              .correlation = pc->correlation};
	struct af_tail tail[] = {{counts, nr * 4, 4}};
	af_stream_put_tail(&t->stream, AF_KIND_GPU_SAMPLE, af_now_ns(), &ev, sizeof ev, tail, 1);
}

void af_pc_write(const struct af_pc_device *d, const struct af_pc_window *w,
                 const struct af_cupti_pc_data *data)
{
	struct af_thread_context *t = af_inject_recording() ? af_thread_enter() : NULL;
	uint32_t window = t ? af_inject_next_id(&nr_windows) : 0;
	size_t nr = data->nr < data->nr_max ? data->nr : data->nr_max;

	if (!t)
		return;
	af_stream_put(&t->stream, gpu_window, af_now_ns(), .window = window, .device = d->device,
	              .flags = w->flags | (data->full ? AF_WINDOW_FULL : 0),
	              .start_ns = w->start_ns, .end_ns = w->end_ns,
	              .period_cycles = 1ull << d->period, .samples = data->samples,
	              .dropped = data->dropped, .other = data->other);
	for (size_t i = 0; i < nr; i++)
		instruction_write(t, d, window, &data->pcs[i]);
	af_thread_leave(t);
}
