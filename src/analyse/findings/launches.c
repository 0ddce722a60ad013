/* Findings about the data of devices: launches whose work was not seen, and work without times. */
#include "analyse/findings/private.h"

enum { DEVICES_NAMED = 8 };

/* "; with work: 4 on NVIDIA H200 #1, 0 on NVIDIA H200 #2": only where there are several. */
static const char *launches_devices(struct findings *s, const struct af_coverage_launches *l,
                                    uint32_t nr)
{
	const char *reported = "";
	uint32_t named = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!l[i].device || named == DEVICES_NAMED)
			continue;
		reported =
		    af_tables_text(s->f, "%s%s%s on %s", reported, named++ ? ", " : "; with work: ",
		                   findings_number(s, l[i].joined), l[i].device_text);
	}
	return reported;
}

/* Launches without work, of the rows of one process and API. */
static void find_launches(struct findings *s, const struct af_coverage_launches *l, uint32_t nr)
{
	struct finding x = {.kind = "not-joined",
	                    .of = "launches",
	                    .no_time = true,
	                    .check = "aflame report coverage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .rank = FINDING_DATA};
	uint64_t joined = 0;
	bool is_short = false;

	for (uint32_t i = 0; i < nr; i++) {
		x.of_ns += l[i].calls;
		joined += l[i].joined;
		is_short |= l[i].short_of;
	}
	if (!is_short)
		return;
	x.ns = af_covered_missing(x.of_ns, joined);
	const char *device = nr == 1 && l->device ? l->device_text : NULL;
	x.what = af_tables_text(
	    s->f, "%s of %s launches of %s%s%s have no device work in the trace (%s)%s%s%s",
	    findings_number(s, x.ns), findings_number(s, x.of_ns), l->text, device ? " on " : "",
	    device ? device : "", findings_share(s, x.ns, x.of_ns),
	    device ? "" : launches_devices(s, l, nr), l->dropped ? "; dropped: " : "",
	    l->dropped ? findings_count(s, l->dropped, "record") : "");
	findings_add(s, &x);
}

static void find_untimed(struct findings *s, const struct af_coverage_launches *l)
{
	struct finding x = {.kind = "not-timed",
	                    .ns = l->untimed,
	                    .of_ns = l->works,
	                    .of = "device work",
	                    .no_time = true,
	                    .check = "aflame report coverage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .rank = FINDING_DATA};

	x.what = af_tables_text(s->f, "%s of %s pieces of work of %s on %s have no times (%s)",
	                        findings_number(s, x.ns), findings_number(s, x.of_ns), l->text,
	                        l->device ? l->device_text : "a device",
	                        findings_share(s, x.ns, x.of_ns));
	findings_add(s, &x);
}

void findings_launches(struct findings *s)
{
	const struct af_coverage *c = &s->r->coverage;

	for (uint32_t i = 0, nr; i < c->nr_launches; i += nr) {
		const struct af_coverage_launches *l = &c->launches[i];
		for (nr = 1;
		     i + nr < c->nr_launches && l[nr].process == l->process && l[nr].api == l->api;)
			nr++;
		find_launches(s, l, nr);
	}
	for (uint32_t i = 0; i < c->nr_launches; i++)
		if (c->launches[i].short_of_times)
			find_untimed(s, &c->launches[i]);
}
