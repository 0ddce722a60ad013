/* The table `clocks`. */
#include <math.h>
#include <stdlib.h>

#include "analyse/clocks/private.h"

static void bound_cell(struct af_cell *cell, const struct af_set_host *h, int64_t at)
{
	uint64_t bound = clock_curve_at(&h->curve, at).bound_ns;

	cell->value = bound == AF_CLOCK_UNKNOWN ? 0 : bound;
	cell->unknown = bound == AF_CLOCK_UNKNOWN;
}

static void change_cell(struct af_cell *cell, int64_t value)
{
	cell->value = (uint64_t)llabs(value);
	cell->less = value < 0;
}

/* Over the whole time, in parts of a billion. */
static int64_t drift_ppb(const struct af_set_host *h)
{
	double length = (double)(h->end_ns - h->begin_ns);
	double more = (double)(clock_curve_at(&h->curve, h->end_ns).offset_ns -
	                       clock_curve_at(&h->curve, h->begin_ns).offset_ns);

	return length > 0 ? llround(1e9 * more / length) : 0;
}

static const char *known_by(const struct af_set_clocks *c, struct af_tables *f,
                            const struct af_set_host *h)
{
	const char *what = h->messages && h->collectives ? "messages and collectives"
	                   : h->collectives              ? "collectives"
	                                                 : "messages";

	switch (h->by) {
	case AF_CLOCK_BY_REFERENCE:
		return "the reference";
	case AF_CLOCK_BY_MESSAGES:
		return what;
	case AF_CLOCK_BY_PATH:
		return af_tables_text(f, "%s, over %s", what, c->hosts[h->via].name);
	case AF_CLOCK_BY_REALTIME:
		return h->contradicted ? "the time of day: messages contradict one another"
		                       : "the time of day";
	case AF_CLOCK_BY_NOTHING:
		break;
	}
	return "nothing: times of this host are as its clock has them";
}

static void row_add(const struct af_set_clocks *c, struct af_tables *f, struct af_table *t,
                    const struct af_set_host *h)
{
	struct af_clock_row *row = af_table_row(f, t);

	row->host.text = af_tables_text(f, "%s", h->name);
	row->boot_id.text = af_tables_text(f, "%s", h->boot_id);
	row->members.value = h->nr_members;
	change_cell(&row->offset_ns, clock_curve_at(&h->curve, h->begin_ns).offset_ns);
	change_cell(&row->drift_ppb, drift_ppb(h));
	row->offset_ns.unknown = row->drift_ppb.unknown = h->by == AF_CLOCK_BY_NOTHING;
	bound_cell(&row->bound_begin_ns, h, h->begin_ns);
	bound_cell(&row->bound_middle_ns, h, h->begin_ns + (h->end_ns - h->begin_ns) / 2);
	bound_cell(&row->bound_end_ns, h, h->end_ns);
	row->messages.value = h->messages;
	row->collectives.value = h->collectives;
	row->known_by.text = known_by(c, f, h);
}

void af_set_clocks_table(const struct af_set_clocks *c, struct af_tables *f)
{
	static const struct af_column columns[] = {AF_CLOCK_COLUMNS(AF_ROW_COLUMN)};

	struct af_table *t = AF_TABLE(
	    f, "clocks", af_tables_text(f, "Clocks of the hosts, against %s", c->hosts[0].name),
	    columns);
	if (c->nr_hosts > 1)
		t->note = "the offset is added to times of the host; a figure between two hosts "
			  "may be wrong by the sum of their errors. The error of the time of day "
			  "is not known: it is as good as the hosts keep it (NTP)";
	for (uint32_t i = 0; i < c->nr_hosts; i++)
		row_add(c, f, t, &c->hosts[i]);
}
