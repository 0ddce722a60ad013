#include "inject/cuda_pc.h"

#include <stdio.h>
#include <string.h>

#include "inject/cuda.h"
#include "inject/inject.h"

enum {
	/*
	 * How old what is read may be: CUPTI's own thread takes it over from the device every 20
	 * ms, and falls behind when there is much.
	 */
	LATE_MS = 200,
	ROUNDS_MAX = 64,
	RECOVERIES_MAX = 8,
	COARSER = 2, /* after a full buffer, as a power of two */
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
	say(d, "no more samples: ", why);
	d->is_broken = true;
	d->context = NULL;
}

/*
 * The device's buffer was full, after which CUPTI gives nothing any more until it has been off. So
 * that it does not happen again samples come less often.
 */
static void device_recover(struct af_pc_device *d)
{
	struct af_pc_window w = window_until_now(d);
	struct af_cupti_pc_data nothing = {.full = 1};
	char why[600];

	af_pc_write(d, &w, &nothing);
	af_pc_disable(d);
	af_pc_kept_read(d);
	d->period += COARSER;
	d->since_ns = af_now_ns();
	if (d->nr_recoveries++ >= RECOVERIES_MAX)
		device_give_up(d, "its buffer was full again and again");
	else if (!af_pc_enable(d, why, sizeof why))
		device_give_up(d, why);
	else
		say(d, "its buffer was full, so it samples four times less often", "");
}

void af_pc_read(struct af_pc_device *d)
{
	uint64_t begin_ns = af_now_ns(), late_ns = LATE_MS * 1000000ull;
	struct af_cupti_pc_get get = {sizeof get, NULL, d->context, d->data};
	uint32_t rc = 0;
	char why[600];

	for (int i = 0; i < ROUNDS_MAX && !rc; i++) {
		af_pc_buffer_empty(d->data, d->nr_reasons);
		rc = af_cupti_pc.PCSamplingGetData(&get);
		struct af_pc_window w = window_until_now(d);
		if (!rc && (!i || d->data->nr))
			af_pc_write(d, &w, d->data);
		if (!d->data->nr_remaining)
			break;
	}
	if (rc == AF_CUPTI_OUT_OF_MEMORY) {
		device_recover(d);
	} else if (rc) {
		af_pc_refusal(rc, "cuptiPCSamplingGetData", why, sizeof why);
		af_pc_disable(d);
		device_give_up(d, why);
	} else if (begin_ns > d->since_ns + late_ns) {
		d->since_ns = begin_ns - late_ns;
	}
}

void af_pc_begin(struct af_pc_device *d, void *context)
{
	char why[600], words[200];

	d->context = context;
	if (!af_pc_enable(d, why, sizeof why)) {
		say(d, "no samples: ", why);
		d->context = NULL;
		d->is_broken = true;
		return;
	}
	d->since_ns = af_now_ns();
	snprintf(words, sizeof words, "each processor every 2^%u cycles, %u reasons to stall%s",
	         d->period, d->nr_reasons, d->exact ? "; one kernel after the other" : "");
	say(d, words, "");
}

void af_pc_end(struct af_pc_device *d)
{
	af_pc_read(d);
	if (!d->context)
		return;
	af_pc_disable(d);
	af_pc_kept_read(d);
	d->context = NULL;
}
