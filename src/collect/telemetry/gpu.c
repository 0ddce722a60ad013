/*
 * GPUs by the files of their drivers: amdgpu, xe and i915. Sources: Linux, Documentation/hwmon/
 * sysfs-interface.rst, Documentation/gpu/amdgpu/thermal.rst, Documentation/ABI/testing/
 * sysfs-driver-intel-xe-hwmon, sysfs-driver-intel-i915-hwmon, sysfs-driver-intel-xe.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/telemetry/private.h"

/* A file of a card's device, or of its hwmon: "…/hwmonN/NAME". */
struct gpu_file {
	const char *name, *counter, *unit;
	uint32_t flags;
	uint64_t per, by;
};

static const struct gpu_file device_files[] = {
    {"gpu_busy_percent", "GPU busy", "%", 0, 1, 1},
    {"mem_busy_percent", "memory busy", "%", 0, 1, 1},
    {"mem_info_vram_used", "memory used", "bytes", 0, 1, 1},
    {"mem_info_gtt_used", "host memory used", "bytes", 0, 1, 1},
    {"tile0/gt0/freq0/act_freq", "GPU clock", "MHz", 0, 1, 1},
    {"tile0/gt0/freq0/throttle/status", "throttled", "", 0, 1, 1},
    {"../../gt_act_freq_mhz", "GPU clock", "MHz", 0, 1, 1},
};

/* Each channel from 1 to 3 may have them; its label is part of the counter's name. */
static const struct {
	const char *kind, *file;
	struct gpu_file is;
} hwmon_files[] = {
    {"energy", "input", {NULL, "energy", "J", AF_COUNTER_AMOUNT, 1000000, 1}},
    {"power", "average", {NULL, "power", "W", 0, 1000, 1000}},
    {"power", "input", {NULL, "power", "W", 0, 1000, 1000}},
    {"temp", "input", {NULL, "temperature", "°C", 0, 1000, 1}},
    {"freq", "input", {NULL, "clock", "MHz", 0, 1, 1000000}},
};

enum {
	DEVICE_FILES = sizeof device_files / sizeof *device_files,
	HWMON_FILES = sizeof hwmon_files / sizeof *hwmon_files,
	CHANNELS = 3,
};

static uint32_t device_of(const struct telemetry_source *s)
{
	return TELEMETRY_GPUS_FROM + s->nr_devices;
}

static void file_add(struct telemetry_source *s, const char *path, const struct gpu_file *is,
                     const char *name)
{
	const struct telemetry_file file = {.path = path, .by = is->by};

	telemetry_add_file(s, &file, device_of(s), is->flags, is->per, name, is->unit, "");
}

/* "power": "power of PPT", but for labels that say nothing. */
static void channel_name(char *text, size_t size, const char *path, const char *kind, int channel,
                         const char *name)
{
	char file[64], label[64] = "";

	snprintf(file, sizeof file, "%s%d_label", kind, channel);
	telemetry_line(path, file, label, sizeof label);
	if (!*label && channel == 1)
		snprintf(text, size, "%s", name);
	else if (!*label)
		snprintf(text, size, "%s %d", name, channel);
	else if (!strcmp(label, "PPT") || !strcmp(label, "card"))
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%s, %s", name, label);
}

/* Power has an average, or what it is now: either is enough. */
static void hwmon_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                       const char *path, const char *name)
{
	char from[900], title[160];
	(void)roots;
	(void)name;

	for (int channel = 1; channel <= CHANNELS; channel++)
		for (int i = 0; i < HWMON_FILES; i++) {
			snprintf(from, sizeof from, "%s/%s%d_%s", path, hwmon_files[i].kind,
			         channel, hwmon_files[i].file);
			channel_name(title, sizeof title, path, hwmon_files[i].kind, channel,
			             hwmon_files[i].is.counter);
			uint32_t before = s->nr;
			file_add(s, from, &hwmon_files[i].is, title);
			if (s->nr > before && !strcmp(hwmon_files[i].file, "average"))
				i++;
		}
}

/* The last part of the link PATH/NAME. */
static bool link_read(const char *path, const char *name, char *text, size_t size)
{
	char from[800], to[PATH_MAX];

	snprintf(from, sizeof from, "%s/%s", path, name);
	ssize_t n = readlink(from, to, sizeof to - 1);
	if (n <= 0)
		return false;
	to[n] = 0;
	const char *last = strrchr(to, '/');
	snprintf(text, size, "%.63s", last ? last + 1 : to);
	return true;
}

static void card_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                      const char *path, const char *name)
{
	char device[800], from[900], folder[900], driver[64] = "", pci[64] = "", title[160];
	uint32_t before = s->nr;

	/* "card0", and not its connectors, "card0-DP-1". */
	if (strspn(name + strlen("card"), "0123456789") != strlen(name + strlen("card")))
		return;
	snprintf(device, sizeof device, "%s/device", path);
	link_read(device, "driver", driver, sizeof driver);
	link_read(path, "device", pci, sizeof pci);
	if (strcmp(driver, "amdgpu") != 0 && strcmp(driver, "xe") != 0 &&
	    strcmp(driver, "i915") != 0)
		return;
	s->nr_devices++; /* its number, while its files are added */
	for (int i = 0; i < DEVICE_FILES; i++) {
		const struct gpu_file *is = &device_files[i];
		bool of_card = !strncmp(is->name, "../../", 6);
		snprintf(from, sizeof from, "%s/%s", of_card ? path : device,
		         of_card ? is->name + 6 : is->name);
		file_add(s, from, is, is->counter);
	}
	snprintf(folder, sizeof folder, "%s/hwmon", device);
	telemetry_each(s, roots, folder, "hwmon", hwmon_take);
	s->nr_devices--;
	if (s->nr == before)
		return;
	bool amd = !strcmp(driver, "amdgpu");
	snprintf(title, sizeof title, "%s GPU %s", amd ? "AMD" : "Intel", pci);
	telemetry_add_device(s, &(struct telemetry_device){.number = device_of(s) + 1,
	                                                   .name = title,
	                                                   .vendor = amd ? "AMD" : "Intel",
	                                                   .driver = driver,
	                                                   .pci = pci});
}

static void gpu_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	char folder[300];

	snprintf(folder, sizeof folder, "%s/class/drm", roots->sys);
	telemetry_each(s, roots, folder, "card", card_take);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why, "%s has no card of amdgpu, xe or i915", folder);
}

static void gpu_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	(void)to;
	telemetry_files_read(s);
}

const struct telemetry_ops telemetry_gpu = {
    .name = "gpu",
    .summary =
	"power, energy, clocks, temperature, use and memory of AMD's and Intel's GPUs (sysfs)",
    .find = gpu_find,
    .read = gpu_read,
};
