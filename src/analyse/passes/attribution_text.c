/* How much of the samples of instructions belongs where? In words, and as a table by device. */
#include <stdio.h>
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/pass/pass.h"
#include "analyse/passes/rows.h"
#include "analyse/world/device_name.h"

static void say(char *text, const char *what, uint64_t count)
{
	size_t used = strlen(text);

	if (count)
		snprintf(text + used, AF_SAMPLED_TEXT - used, "%s%llu %s", used ? ", " : "",
		         (unsigned long long)count, what);
}

/* For a requested time range: the part that is apportioned, and the part that is missing. */
static void say_time(char *text, const struct af_sampled_device *d, double share)
{
	size_t used = strlen(text);

	if (d->edge)
		snprintf(text + used, AF_SAMPLED_TEXT - used,
		         "; %llu (%.1f %%) of windows that reach out of that time, apportioned by "
		         "when their kernels ran",
		         (unsigned long long)d->edge, share * (double)d->edge);
	used = strlen(text);
	if (d->bare_ns)
		snprintf(text + used, AF_SAMPLED_TEXT - used,
		         "; kernels of %.6g of %.6g ms in that time have none",
		         (double)d->bare_ns / 1e6, (double)d->ran_ns / 1e6);
}

bool af_sampled_text(char text[AF_SAMPLED_TEXT], const struct af_sampled_device *d)
{
	uint64_t reported = d->exact + d->apportioned + d->unattributed;

	*text = 0;
	if (!reported && !d->dropped && !d->other && !d->bare_ns)
		return false;
	double share = reported ? 100.0 / (double)reported : 0;
	snprintf(text, AF_SAMPLED_TEXT, "no samples of instructions");
	if (reported)
		snprintf(text, AF_SAMPLED_TEXT,
		         "%llu samples of instructions: %.1f %% exact, %.1f %% apportioned by busy "
		         "time, ",
		         (unsigned long long)reported, share * (double)d->exact,
		         share * (double)(d->apportioned - d->by_launches));
	size_t used = strlen(text);
	if (d->by_launches)
		snprintf(text + used, AF_SAMPLED_TEXT - used,
		         "%.1f %% by the number of launches (the driver gave no times), ",
		         share * (double)d->by_launches);
	used = strlen(text);
	if (reported)
		snprintf(text + used, AF_SAMPLED_TEXT - used, "%.1f %% of no recorded kernel",
		         share * (double)d->unattributed);
	say(text, "of them at addresses where code of several processes lies", d->shared);
	say(text, "more dropped by the device", d->dropped);
	say(text, "in the driver's own code", d->other);
	say_time(text, d, share);
	return true;
}

/* Samples that the device counted and the trace does not have. */
static uint64_t samples_lost(const struct af_sampled_device *d)
{
	uint64_t has = d->exact + d->apportioned + d->unattributed + d->dropped + d->other;

	return d->samples > has ? d->samples - has : 0;
}

static void table_row(struct af_tables *f, struct af_table *t, const struct af_world *w,
                      const struct af_sampled_device *d)
{
	uint64_t reported = d->exact + d->apportioned + d->unattributed;
	struct af_sampled_row *c = af_table_row(f, t);

	c->device.text = af_device_name(f, w, d->process, d->device);
	c->samples.value = reported;
	c->exact_percent.value = af_tables_ratio(d->exact, reported, 1e4);
	c->apportioned_percent.value = af_tables_ratio(d->apportioned, reported, 1e4);
	c->no_kernel_percent.value = af_tables_ratio(d->unattributed, reported, 1e4);
	c->by_launches.value = d->by_launches;
	c->shared.value = d->shared;
	c->dropped.value = d->dropped;
	c->driver.value = d->other;
	c->lost.value = samples_lost(d);
	c->period_cycles.value = d->period_cycles;
	c->windows.value = d->windows;
	c->full_windows.value = d->full_windows;
	c->cut_windows.value = d->edge;
	c->process.text = d->process ? af_process_label(f, w, d->process) : "";
}

static const char *sampled_note(struct af_tables *f, const struct af_world *w, bool by_launches)
{
	return af_tables_text(
	    f,
	    "apportioned: over call paths of the same kernel by their busy time%s; no kernel: no "
	    "work "
	    "that was recorded ran that code then%s",
	    by_launches ? ", or by the number of launches where the driver gave no times" : "",
	    w->time_range.to_ns ? "; of cut windows: as many as their kernels' part of that time"
				: "");
}

static void sampled_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_column columns[] = {AF_SAMPLED_COLUMNS(AF_ROW_COLUMN)};
	const struct af_attribution *a = out->attribution;
	struct af_tables *f = &out->tables;
	struct af_table *t = NULL;
	bool by_launches = false;

	(void)self;
	for (uint32_t i = 0; a && i < a->nr_devices; i++) {
		const struct af_sampled_device *d = &a->devices[i];
		if (!d->windows && !d->samples && !d->unattributed)
			continue;
		if (!t)
			t = AF_TABLE(f, "samples", "Samples of instructions", columns);
		table_row(f, t, w, d);
		by_launches |= d->by_launches != 0;
	}
	if (t)
		t->note = sampled_note(f, w, by_launches);
}

const struct af_pass_ops af_pass_sampled = {
    .name = "sampled",
    .question = "whose are the samples of instructions?",
    .answers = AF_ANSWER_TABLES,
    .attributes = AF_ANSWER_TABLES,
    .finish = sampled_finish,
};
