/*
 * Energy of CPUs and their memory by powercap's files, for Intel's and AMD's alike: Linux,
 * Documentation/power/powercap/powercap.rst.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/telemetry/private.h"

/* "package-0", "core", "dram": parts of a package lie below it, as "intel-rapl:0:1". */
static void zone_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                      const char *path, const char *name)
{
	char zone[64], of[64] = "", wraps[32], energy[800], parent[800], title[160];

	if (!strchr(name, ':') || !telemetry_line(path, "name", zone, sizeof zone))
		return;
	const char *last = strrchr(name, ':');
	if (last != strchr(name, ':')) {
		snprintf(parent, sizeof parent, "%s/class/powercap/%.*s", roots->sys,
		         (int)(last - name), name);
		telemetry_line(parent, "name", of, sizeof of);
	}
	snprintf(energy, sizeof energy, "%s/energy_uj", path);
	snprintf(title, sizeof title, "energy of %s%s%s", of, *of ? ", " : "", zone);
	uint32_t at = s->nr;
	if (!telemetry_add_file(s, &(struct telemetry_file){.path = energy}, 0, AF_COUNTER_AMOUNT,
	                        1000000, title, "J", *of ? of : zone))
		return;
	if (telemetry_line(path, "max_energy_range_uj", wraps, sizeof wraps))
		s->totals[at].wraps = strtoull(wraps, NULL, 10);
}

static void rapl_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	char folder[300];

	snprintf(folder, sizeof folder, "%s/class/powercap", roots->sys);
	/* intel-rapl-mmio has the same packages again. */
	telemetry_each(s, roots, folder, "intel-rapl:", zone_take);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why,
		         "%s has no intel-rapl zone: modprobe intel_rapl_msr, or a virtual machine",
		         folder);
}

static void rapl_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	(void)to;
	telemetry_files_read(s);
}

const struct telemetry_ops telemetry_rapl = {
    .name = "rapl",
    .summary = "energy of CPU packages, their cores and memory (powercap; for root)",
    .find = rapl_find,
    .read = rapl_read,
};
