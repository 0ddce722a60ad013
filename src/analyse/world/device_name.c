#include "analyse/world/device_name.h"

#include <string.h>

#include "analyse/table/table.h"
#include "analyse/world/world.h"

const char *af_device_name(struct af_tables *f, const struct af_world *w, uint32_t process,
                           uint32_t id)
{
	const struct af_device *d = af_world_device(w, process, id);
	uint32_t nr = 0;

	if (!d)
		return "unknown device";
	for (uint32_t i = 1; i < w->nr_devices; i++)
		nr += w->devices[i].process == process && !strcmp(w->devices[i].name, d->name);
	return nr > 1 ? af_tables_text(f, "%s #%u", d->name, id) : af_tables_text(f, "%s", d->name);
}

const char *af_process_label(struct af_tables *f, const struct af_world *w, uint32_t process)
{
	const struct af_process *p = af_world_process(w, process);

	return p ? af_tables_text(f, "%s [%u]", p->name, p->pid) : "";
}
