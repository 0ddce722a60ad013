/* Samples one device: begins, reads, adapts the period and ends, all under the lock of pc.c. */
#include "inject/cuda/pc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/core/inject.h"
#include "inject/cuda/cuda.h"

enum {
	/*
	 * How old what is read may be: CUPTI's own thread takes it over from the device every 20
	 * ms, and falls behind when there is much. (A few samples of each processor stay in the
	 * device when it falls idle, and come with the next kernel.)
	 */
	LATE_MS = 100,
	LAST_US = 50000, /* after which what the device found before can be read */
	PASSES_MAX = 64,
	RESTARTS_MAX = 6,
	COARSER = 2, /* after a full buffer: powers of two */
	FINER_MOST = 5,
	ADAPT_MS = 2000, /* a period is judged by so long */
	FAR_OFF = 4,     /* factor of what was asked for */
	/* Exact without a pause: as many as in windows are more than CUPTI keeps until they are
	 * read, and it then adds them to wrong launches. */
	WHOLE_FEWER = 16,
};

static void say(const struct af_pc_device *d, const char *what, const char *why)
{
	char words[800];

	snprintf(words, sizeof words, "device %u: %s%s", d->device, what, why);
	af_inject_note("cuda.samples", words);
}

static struct af_pc_window window_until_now(const struct af_pc_device *d)
{
	return (struct af_pc_window){d->since_ns, af_now_ns(), d->exact ? AF_WINDOW_SERIALIZED : 0};
}

void af_pc_kept_read(struct af_pc_device *d)
{
	struct af_pc_window w = window_until_now(d);

	if (!d->kept->nr)
		return;
	af_pc_write(d, &w, d->kept);
	af_pc_buffer_empty(d->kept, d->nr_reasons);
}

static void device_give_up(struct af_pc_device *d, const char *why)
{
	say(d, d->since_ns ? "no more samples: " : "no samples: ", why);
	d->is_broken = true;
	d->context = NULL;
	af_pc_unclaim(d->claim);
}

/* Off and on again, with another period; unless a launch takes long, then later. */
static void device_restart(struct af_pc_device *d, int step)
{
	char words[600];

	if (d->nr_restarts >= RESTARTS_MAX || !af_pc_gate_close())
		return;
	af_pc_disable(d);
	af_pc_kept_read(d);
	d->period = (uint32_t)((int)d->period + step);
	d->nr_restarts++;
	d->is_full = false;
	bool works = af_pc_enable(d, words, sizeof words);
	d->since_ns = d->enabled_ns = af_now_ns();
	d->nr_samples = 0;
	af_pc_gate_open();
	if (!works) {
		device_give_up(d, words);
		return;
	}
	snprintf(words, sizeof words, "each processor every 2^%u cycles from here on", d->period);
	say(d, words, "");
}

/* Powers of two from @a to @b, rounded down. */
static int steps_between(double a, double b)
{
	int steps = 0;

	for (; a * 2 <= b; a *= 2)
		steps++;
	return steps;
}

void af_pc_adapt(struct af_pc_device *d)
{
	double wanted = (double)d->samples_second;
	double ms = (double)(af_now_ns() - d->enabled_ns) / 1e6;
	double brought = (double)d->nr_samples / ms * 1e3;

	if (d->is_full) {
		device_restart(d, COARSER);
		return;
	}
	/* From the first samples on: programs load for long. */
	if (!d->nr_samples)
		d->enabled_ns = af_now_ns();
	if (d->exact || ms < ADAPT_MS || !d->nr_samples)
		return;
	if (brought > FAR_OFF * wanted) {
		device_restart(d, steps_between(wanted, brought));
	} else if (brought * FAR_OFF < wanted && !d->nr_restarts) {
		int steps = steps_between(brought, wanted);
		device_restart(d, -(steps < FINER_MOST ? steps : FINER_MOST));
	}
}

bool af_pc_window_turn(struct af_pc_device *d)
{
	if (!af_pc_gate_close())
		return false;
	if (d->in_window)
		af_pc_stop(d);
	else
		d->since_ns = af_now_ns();
	if (!d->in_window)
		af_pc_start(d);
	af_pc_gate_open();
	if (d->in_window)
		af_pc_read(d);
	d->in_window = !d->in_window;
	return true;
}

/* That is counted, as a window without samples; af_pc_adapt() sees to the rest. */
static void device_full(struct af_pc_device *d)
{
	struct af_pc_window w = window_until_now(d);
	struct af_cupti_pc_data nothing = {.full = 1};

	if (d->is_full)
		return;
	d->is_full = true;
	af_pc_write(d, &w, &nothing);
	if (d->nr_restarts >= RESTARTS_MAX)
		device_give_up(d, "its buffer was full again: ask for fewer samples a second");
}

void af_pc_read(struct af_pc_device *d)
{
	uint64_t begin_ns = af_now_ns(), late_ns = LATE_MS * 1000000ull;
	struct af_cupti_pc_get get = {sizeof get, NULL, d->context, d->data};
	uint64_t before = d->nr_samples, nr = 0;
	uint32_t rc = 0;
	char why[600];

	for (int i = 0; i < PASSES_MAX && !rc; i++) {
		af_pc_buffer_empty(d->data, d->nr_reasons);
		rc = af_cupti_pc.PCSamplingGetData(&get);
		struct af_pc_window w = window_until_now(d);
		nr += d->data->nr;
		if (d->exact && nr + d->data->nr_remaining >= AF_PC_KEPT_EXACT)
			w.flags |= AF_WINDOW_FULL;
		if (!rc && (!i || d->data->nr))
			af_pc_write(d, &w, d->data);
		d->nr_samples += rc ? 0 : d->data->samples;
		if (!d->data->nr_remaining)
			break;
	}
	if (rc == AF_CUPTI_OUT_OF_MEMORY) {
		device_full(d);
	} else if (rc) {
		af_pc_refusal(rc, "cuptiPCSamplingGetData", why, sizeof why);
		device_give_up(d, why);
	} else if (d->nr_samples != before && begin_ns > d->since_ns + late_ns) {
		d->since_ns = begin_ns - late_ns;
	}
}

void af_pc_begin(struct af_pc_device *d, void *context)
{
	const struct af_session *session = af_inject_session();
	char why[600], words[200];

	d->context = context;
	d->samples_second = session ? session->gpu_samples_second : 0;
	if (d->exact && !d->by_windows)
		d->samples_second /= WHOLE_FEWER;
	d->claim = af_pc_claim(d->ordinal);
	if (!d->claim) {
		say(d, "no samples: ", "another process of this recording samples it already");
		d->context = NULL;
		return;
	}
	if (!af_pc_enable(d, why, sizeof why)) {
		device_give_up(d, why);
		return;
	}
	d->since_ns = d->enabled_ns = af_now_ns();
	d->nr_samples = 0;
	af_pc_gate_use();
	snprintf(words, sizeof words, "each processor every 2^%u cycles, %u reasons to stall%s",
	         d->period, d->nr_reasons, d->exact ? "; one kernel after the other" : "");
	say(d, words, "");
}

void af_pc_end(struct af_pc_device *d)
{
	af_pc_read(d);
	if (!d->context)
		return;
	usleep(LAST_US);
	af_pc_read(d);
	d->context = NULL;
	af_pc_unclaim(d->claim);
}
