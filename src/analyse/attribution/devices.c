/* Which device of a process is one that was sampled? */
#include "analyse/attribution/addresses.h"
#include "analyse/world/world.h"

enum { DEVICES_PARENTS = 4 }; /* more than there are of a device */

/* Names that tell devices apart: strings of the world, 0 where it is not known. */
struct identity {
	uint32_t pci, uuid;
};

/* A part of a device is where the whole is. */
static struct identity identity_of(const struct af_world *w, uint32_t process, uint32_t device)
{
	struct identity is = {0};

	for (int i = 0; i < DEVICES_PARENTS && device; i++) {
		const struct af_device *d = af_world_device(w, process, device);
		if (!is.pci)
			is.pci = af_world_pci(w, process, device);
		if (!is.uuid)
			is.uuid = af_world_gpu(w, process, device);
		device = d ? d->parent : 0;
	}
	return is;
}

/* Devices of the recorder's process that are GPUs, each once even if it has several parts. */
static bool only_one(const struct af_world *w)
{
	struct identity first = {0};
	uint32_t nr = 0;

	for (uint32_t i = 1; i < w->nr_devices; i++) {
		const struct af_device *d = &w->devices[i];
		if (d->process || d->parent || d->type == AF_DEVICE_CPU)
			continue;
		struct identity is = identity_of(w, 0, d->id);
		bool same = nr && is.pci && is.pci == first.pci;
		if (!nr)
			first = is;
		nr += !same;
	}
	return nr <= 1;
}

bool af_sampled_device_is(const struct af_world *w, uint32_t sampled, uint32_t process,
                          uint32_t device)
{
	if (!process && (device == sampled || !device))
		return true;
	const struct af_device *d = af_world_device(w, process, device);
	/* These tell their samples by themselves. */
	if (d && (d->type == AF_DEVICE_CPU || d->api == AF_API_CUDA))
		return false;
	struct identity is = identity_of(w, process, device), wanted = identity_of(w, 0, sampled);
	if (is.pci && wanted.pci)
		return is.pci == wanted.pci;
	if (is.uuid && wanted.uuid)
		return is.uuid == wanted.uuid;
	return only_one(w);
}
