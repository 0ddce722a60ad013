/* Findings about what the machine held back, each a row of the table `limits`. */
#include "analyse/limits/limits.h"

#include <stdio.h>
#include <string.h>

#include "analyse/findings/private.h"

enum { OF_A_KIND = 3 /* findings at most: the others are in the table */ };

static bool is_kind(const struct af_limit_row *row, enum af_limit_kind kind)
{
	return !strcmp(findings_text(&row->kind), af_limit_word(kind));
}

/* "throttled: power cap" without its first word; of a driver that has no reasons "". */
static const char *reason_of(const struct af_limit_row *row)
{
	const char *colon = strstr(findings_text(&row->limit), ": ");

	return colon ? colon + 2 : "";
}

static const char *whole(struct findings *s, const struct af_cell *cell)
{
	return findings_number(s, (findings_value(cell) + 500) / 1000);
}

/* "1.2 s (30.0 % of 4.0 s, the time in which it had work), from 0.2 s to 4.1 s after …" */
static const char *when_text(struct findings *s, const struct af_limit_row *row)
{
	uint64_t ns = row->time_ns.value, of_ns = row->of_ns.value;

	return af_tables_text(s->f, "%s (%s of %s, %s), between %s and %s after the run began",
	                      af_tables_ns(s->f, ns), findings_share(s, ns, of_ns),
	                      af_tables_ns(s->f, of_ns), findings_text(&row->of),
	                      af_tables_ns(s->f, row->from_ns.value),
	                      af_tables_ns(s->f, row->to_ns.value));
}

/* ": its clock was 1200 MHz then and 1980 MHz else, at 400 W, and up to 77 °C" */
static const char *clock_text(struct findings *s, const struct af_limit_row *row)
{
	const char *clock = "", *power = "", *heat = "";

	if (!row->value.unknown)
		clock = row->otherwise.unknown
		            ? af_tables_text(s->f, ": its clock was %s MHz on average",
		                             whole(s, &row->value))
		            : af_tables_text(s->f, ": its clock was %s MHz then and %s MHz else",
		                             whole(s, &row->value), whole(s, &row->otherwise));
	if (!row->power_w.unknown)
		power =
		    af_tables_text(s->f, "%s %s W", *clock ? "," : ":", whole(s, &row->power_w));
	if (!row->most_celsius.unknown)
		heat = af_tables_text(s->f, "%s up to %s °C", *clock || *power ? "," : ":",
		                      whole(s, &row->most_celsius));
	return af_tables_text(s->f, "%s%s%s", clock, power, heat);
}

static const char *throttled_helps(const struct af_limit_row *row)
{
	const char *reason = reason_of(row);

	if (strstr(reason, "power cap"))
		return "a higher power limit (nvidia-smi -q -d POWER shows it), fewer bits a "
		       "number, or "
		       "fewer bytes moved; runs are comparable only under the same limit";
	if (strstr(reason, "heat"))
		return "better cooling of this slot, or less load beside it: the machine's "
		       "administrator can tell why it is hot";
	if (strstr(reason, "sync boost"))
		return "finding the GPU of the sync boost group that is slow, or leaving the group";
	if (strstr(reason, "hardware") || strstr(reason, "brake"))
		return "a look at the machine's power supply and cooling: the device slows itself "
		       "down to protect itself";
	return "a look at the device's power limit, and at its temperature";
}

static void throttled(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	const char *reason = reason_of(row);

	x->helps = throttled_helps(row);
	x->what = af_tables_text(s->f, "%s was throttled%s%s%s for %s%s",
	                         findings_text(&row->device), *reason ? " (" : "", reason,
	                         *reason ? ")" : "", when_text(s, row), clock_text(s, row));
}

static void memory_full(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	uint64_t used = findings_value(&row->value) / 1000,
		 all = findings_value(&row->otherwise) / 1000;

	/* Full memory takes no time by itself. */
	x->no_time = true;
	x->helps = "smaller batches, or memory that is freed earlier: aflame report memory has who "
		   "allocates it";
	x->what =
	    af_tables_text(s->f, "the memory of %s was nearly full for %s: %s of %s in use",
	                   findings_text(&row->device), when_text(s, row),
	                   findings_bytes(s, used < all ? used : all), findings_bytes(s, all));
}

static void shared_device(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	x->helps = "a device for this program alone: nvidia-smi, or aflame record -a, shows who "
		   "else uses it";
	x->what =
	    af_tables_text(s->f, "%s was %s %% busy with work of others for %s",
	                   findings_text(&row->device), whole(s, &row->value), when_text(s, row));
}

static void neighbour_busy(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	x->helps = "the same run while nobody else uses the host: neighbours share its CPUs, its "
		   "memory, its links and its cooling";
	x->what = af_tables_text(
	    s->f,
	    "%s, on which nothing of this trace ran, was %s %% busy while this trace's devices "
	    "were idle, for %s%s",
	    findings_text(&row->device), whole(s, &row->value), when_text(s, row),
	    clock_text(s, &(struct af_limit_row){.value.unknown = true,
	                                         .power_w = row->power_w,
	                                         .most_celsius = row->most_celsius}));
}

static void neighbour_hot(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	x->no_time = true;
	x->helps = "better cooling of the host: a hot neighbour heats the air of this one";
	x->what = af_tables_text(
	    s->f, "%s, on which nothing of this trace ran, was throttled (%s) for %s%s",
	    findings_text(&row->device), reason_of(row), when_text(s, row), clock_text(s, row));
}

/* "generation 4 of 5, 8 of 16 lanes": is it less than there could be? */
static bool is_slow_link(const char *link)
{
	unsigned now[2], most[2];

	return sscanf(link, "generation %u of %u, %u of %u", &now[0], &most[0], &now[1],
	              &most[1]) == 4 &&
	       (now[0] < most[0] || now[1] < most[1]);
}

static void link_full(struct findings *s, const struct af_limit_row *row, struct finding *x)
{
	uint64_t moved = findings_value(&row->value) / 1000,
		 most = findings_value(&row->otherwise) / 1000;
	const char *link = findings_text(&row->link);

	x->helps = is_slow_link(link)
	               ? "a link as fast as the device and its slot can have: its slot, its riser "
	                 "and the firmware's settings (nvidia-smi -q shows the link); then fewer "
	                 "bytes moved"
	               : "fewer bytes moved: data that stays on the device, smaller types; aflame "
	                 "tally has the copies";
	x->what = af_tables_text(
	    s->f, "the PCIe link of %s was full (%s) for %s: %s of %s a second, %s",
	    findings_text(&row->device), findings_text(&row->limit), when_text(s, row),
	    findings_bytes(s, moved), findings_bytes(s, most), link);
}

static void (*const limits[AF_LIMIT_KINDS])(struct findings *s, const struct af_limit_row *row,
                                            struct finding *x) = {
    [AF_LIMIT_THROTTLED] = throttled,         [AF_LIMIT_MEMORY_FULL] = memory_full,
    [AF_LIMIT_SHARED] = shared_device,        [AF_LIMIT_NEIGHBOUR_BUSY] = neighbour_busy,
    [AF_LIMIT_NEIGHBOUR_HOT] = neighbour_hot, [AF_LIMIT_LINK_FULL] = link_full,
};

void findings_limits(struct findings *s)
{
	const struct af_table *t = findings_table(s, "limits");
	uint32_t found[AF_LIMIT_KINDS] = {0};

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_limit_row *row = AF_ROW_AT(struct af_limit_row, t, i);
		int kind = 0;
		while (row && kind < AF_LIMIT_KINDS && !is_kind(row, (enum af_limit_kind)kind))
			kind++;
		if (!row || kind == AF_LIMIT_KINDS || found[kind] == OF_A_KIND)
			continue;
		struct finding x = {.kind = af_limit_word((enum af_limit_kind)kind),
		                    .ns = row->time_ns.value,
		                    .of_ns = row->of_ns.value,
		                    .of = findings_text(&row->of),
		                    .check = "aflame report limits",
		                    .view = "facts",
		                    .hash = "#tab=facts"};
		limits[kind](s, row, &x);
		found[kind] += findings_add(s, &x);
	}
}
