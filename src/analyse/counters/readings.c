/* Readings taken apart, their units, and the devices that they are of. */
#include <string.h>
#include <strings.h>

#include "analyse/counters/counters.h"
#include "analyse/world/device_name.h"

enum { DEVICE_PARENTS = 4 }; /* more than there are of a device */

bool af_counter_values(const struct af_event *ev, struct af_counter_values *values)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_work_reading work;
	struct af_ev_reading reading;

	*values = (struct af_counter_values){.process = ev->process, .end_ns = ev->time_ns};
	if (ev->kind == AF_KIND_READING) {
		if (!af_event_decode(ev, &reading, sizeof reading, tails))
			return false;
		values->start_ns =
		    reading.span_ns < ev->time_ns ? ev->time_ns - reading.span_ns : 0;
	} else {
		if (ev->kind != AF_KIND_WORK_READING ||
		    !af_event_decode(ev, &work, sizeof work, tails))
			return false;
		values->start_ns = ev->time_ns;
		values->call = work.call;
		values->node = work.node;
	}
	values->at = tails[0].data;
	values->left = tails[0].len / 2;
	return true;
}

bool af_counter_next(struct af_counter_values *values, const struct af_world *w, uint32_t *counter,
                     uint64_t *value)
{
	uint64_t two[2];

	while (values->left) {
		memcpy(two, values->at, sizeof two);
		values->at += sizeof two;
		values->left--;
		*counter = af_world_counter(w, values->process, two[0]);
		*value = two[1];
		if (*counter)
			return true;
	}
	return false;
}

bool af_counter_chosen(const struct af_counter *c, const char *list)
{
	if (!list)
		return true;
	for (const char *word = list;; word++) {
		const size_t len = strcspn(word, ",");
		for (const char *at = c->name; len && strlen(at) >= len; at++)
			if (!strncasecmp(at, word, len))
				return true;
		word += len;
		if (!*word)
			return false;
	}
}

uint64_t af_counter_rate(unsigned __int128 amount, uint64_t ns)
{
	const uint64_t scale = 1000000000ull * AF_COUNTER_SCALE;
	unsigned __int128 most = (unsigned __int128)-1 / scale;

	if (!ns)
		return 0;
	amount = (amount < most ? amount * scale : most * scale) / ns;
	return amount < UINT64_MAX ? (uint64_t)amount : UINT64_MAX;
}

uint64_t af_counter_cell(unsigned __int128 value, uint64_t per)
{
	unsigned __int128 most = (unsigned __int128)-1 / AF_COUNTER_SCALE - per;

	value = ((value < most ? value : most) * AF_COUNTER_SCALE + per / 2) / per;
	return value < UINT64_MAX ? (uint64_t)value : UINT64_MAX;
}

uint64_t af_counter_cell_of(double value, uint64_t per)
{
	return af_tables_count(value * AF_COUNTER_SCALE / (double)per);
}

const char *af_counter_unit(struct af_tables *f, const struct af_counter *c, bool rate)
{
	if (!rate)
		return af_tables_text(f, "%s", c->unit);
	return af_tables_text(f, "%s/s", *c->unit ? c->unit : "1");
}

const char *af_counter_device(struct af_tables *f, const struct af_world *w,
                              const struct af_counter *c)
{
	return c->device ? af_device_name(f, w, c->process, c->device) : AF_COUNTER_HOST;
}

/* Strings of the world; 0 where it is not known. A part of a device is where the whole is. */
static uint32_t identity(const struct af_world *w, uint32_t process, uint32_t device,
                         uint32_t (*of)(const struct af_world *, uint32_t, uint32_t))
{
	for (int i = 0; i < DEVICE_PARENTS && device; i++) {
		const struct af_device *d = af_world_device(w, process, device);
		uint32_t is = of(w, process, device);
		if (is)
			return is;
		device = d ? d->parent : 0;
	}
	return 0;
}

/* GPUs of the recorder's own that are no parts of others. */
static uint32_t recorders_gpus(const struct af_world *w)
{
	uint32_t nr = 0;

	for (uint32_t i = 1; i < w->nr_devices; i++)
		nr += !w->devices[i].process && !w->devices[i].parent &&
		      w->devices[i].type != AF_DEVICE_CPU;
	return nr;
}

static bool is_part_of(const struct af_world *w, uint32_t process, uint32_t device, uint32_t whole)
{
	for (int i = 0; i < DEVICE_PARENTS && device; i++) {
		const struct af_device *d = af_world_device(w, process, device);
		if (device == whole)
			return true;
		device = d ? d->parent : 0;
	}
	return false;
}

bool af_counter_is_of(const struct af_world *w, const struct af_counter *c, uint32_t process,
                      uint32_t device)
{
	if (!c->device || !device)
		return false;
	if (c->process == process)
		return is_part_of(w, process, device, c->device);
	uint32_t mine = identity(w, c->process, c->device, af_world_pci);
	uint32_t its = identity(w, process, device, af_world_pci);
	if (mine && its)
		return mine == its;
	mine = identity(w, c->process, c->device, af_world_gpu);
	its = identity(w, process, device, af_world_gpu);
	if (mine && its)
		return mine == its;
	const struct af_device *d = af_world_device(w, process, device);
	return !c->process && d && d->type != AF_DEVICE_CPU && recorders_gpus(w) == 1;
}
