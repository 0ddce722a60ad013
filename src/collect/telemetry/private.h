/* Inside src/collect/telemetry. */
#ifndef AF_COLLECT_TELEMETRY_PRIVATE_H
#define AF_COLLECT_TELEMETRY_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "collect/writer/counters.h"
#include "collect/writer/heartbeat.h"

enum {
	TELEMETRY_VALUES = 1024, /* of one source, at most */
	TELEMETRY_TEXT = 16 << 10,
	TELEMETRY_GPUS_FROM = 2000, /* numbers of devices in the trace, above those of others */
	TELEMETRY_NVML_FROM = 3000,
	TELEMETRY_DRM_FROM = 4000,
	TELEMETRY_PROCESSES = 1024, /* that are recorded, at most */
};

/* Where the kernel's files are. */
struct telemetry_roots {
	const char *sys, *proc;
};
extern const struct telemetry_roots telemetry_roots_usual;

/* A device that has counters: DEVICE, and its PCI address as a note, which names it for others. */
struct telemetry_device {
	uint32_t number;
	const char *name, *vendor, *driver, *pci;
};

/* The recorded processes that are alive, as the recorder's thread knows them. */
struct telemetry_processes {
	pthread_mutex_t lock;
	int pids[TELEMETRY_PROCESSES];
	uint32_t nr;
	uint32_t list; /* which list this is: another one has another number */
	bool are_new;  /* they began while it was recorded; never changes */
};

/* The values that telemetry_put() and telemetry_total() took at this tick. */
struct telemetry_reading {
	bool again; /* nothing is known of the time before */
	uint64_t time_ns;
	struct af_source_value levels[TELEMETRY_VALUES], amounts[TELEMETRY_VALUES];
	uint64_t since_ns[TELEMETRY_VALUES]; /* of each amount: it was added from then on */
	uint32_t nr_levels, nr_amounts;
};

struct telemetry_source;

struct telemetry_ops {
	const char *name, *summary;
	uint64_t period_ns; /* where the user gives none; 0: the usual one */
	bool of_processes;  /* of the recorded ones, not of the host */
	/* Add counters, or @s->grows; where there is none, why to @s->why. */
	void (*find)(struct telemetry_source *s, const struct telemetry_roots *roots);
	/* Before _read(): add counters and devices that are new; NULL: there never are */
	void (*refresh)(struct telemetry_source *s);
	void (*read)(struct telemetry_source *s, struct telemetry_reading *to);
	/* How long _read() at @time_ns takes, about; NULL: never long. @again: it was off before */
	uint64_t (*takes)(const struct telemetry_source *s, uint64_t time_ns, bool again);
	void (*close)(struct telemetry_source *s); /* or NULL */
};

extern const struct telemetry_ops telemetry_system, telemetry_memory, telemetry_pressure,
    telemetry_disk, telemetry_network, telemetry_lustre, telemetry_rapl, telemetry_gpu,
    telemetry_nvml, telemetry_nvml_links, telemetry_drm;

/* A file that holds one number, of which a counter is made. */
struct telemetry_file {
	const char *path;
	int fd; /* open while it can be read; else -1 */
	uint32_t counter;
	uint64_t times, by; /* the value is the number times @times, divided by @by */
};

/* The last total of an AMOUNT. */
struct telemetry_total {
	uint64_t was, was_ns; /* at the tick of that time */
	uint64_t wraps;       /* it begins at 0 again after this; 0: never */
	uint64_t once_ns;     /* in a longer time it may do so more than once; 0: it does not */
	bool known;
};

struct telemetry_source {
	const struct telemetry_ops *ops;
	struct af_beat beat; /* while it goes on the rest is its thread's */
	struct af_event_writer writer;
	struct af_arena texts;
	struct af_source_counters known; /* @all below, as the trace has it */
	struct af_source_counter *all;
	struct telemetry_total *totals; /* beside them */
	uint32_t nr, cap, cap_totals;
	bool grows; /* counters come while it is read */
	struct telemetry_processes *processes;
	struct telemetry_device *devices;
	uint32_t nr_devices, cap_devices;
	struct telemetry_file *files;
	uint32_t nr_files, cap_files;
	void *own;                    /* of the source */
	uint64_t nr_failed;           /* values that could not be had */
	char failed[200], why[400];   /* the first of those; why there is nothing, or less */
	struct telemetry_reading now; /* while it is read */
};

/* All that a source has below @roots, without a recording; _free() in any case. */
void telemetry_source_open(struct telemetry_source *s, const struct telemetry_ops *ops,
                           const struct telemetry_roots *roots);
void telemetry_source_free(struct telemetry_source *s);

/*
 * Add a counter, whose texts are copied; its place. @flags: enum af_counter_flag. Source of names
 * and units: docs/telemetry.md.
 */
uint32_t telemetry_add(struct telemetry_source *s, uint32_t device, uint32_t flags, uint64_t per,
                       const char *name, const char *unit, const char *group);

/* A counter whose value is the number in a file; without effect where that cannot be read. */
bool telemetry_add_file(struct telemetry_source *s, const struct telemetry_file *file,
                        uint32_t device, uint32_t flags, uint64_t per, const char *name,
                        const char *unit, const char *group);

/* Add a device, whose texts are copied. */
void telemetry_add_device(struct telemetry_source *s, const struct telemetry_device *device);

/* The value of a level; of an AMOUNT its total, of which the difference to the last is read. */
void telemetry_put(struct telemetry_source *s, uint32_t counter, uint64_t value);
void telemetry_total(struct telemetry_source *s, uint32_t counter, uint64_t total);

/*
 * A question that takes long is asked no more often than that it takes one part in @apart of a
 * core's time. At the first tick and the last all are asked: so totals are of the whole recording.
 */
struct telemetry_pace {
	uint64_t took_ns, due_ns; /* @took_ns: a mean of the last */
};
bool telemetry_is_due(const struct telemetry_source *s, const struct telemetry_pace *p,
                      uint64_t time_ns, bool again);
void telemetry_asked(struct telemetry_pace *p, uint64_t begin_ns, uint32_t apart);
enum { TELEMETRY_TEXT_APART = 1000 }; /* for a text that the kernel adds up over all CPUs */

/* A value could not be had: @what says which, and is kept of the first. */
void telemetry_failed(struct telemetry_source *s, const char *what);

/* Values of all counters that are files. */
void telemetry_files_read(struct telemetry_source *s);

/* Add counters of InfiniBand's and Slingshot's ports, which are files. */
void telemetry_fabric_find(struct telemetry_source *s, const struct telemetry_roots *roots);

/*
 * Each entry of @folder whose name begins with @start, in order of name, to @take with its path.
 */
void telemetry_each(struct telemetry_source *s, const struct telemetry_roots *roots,
                    const char *folder, const char *start,
                    void (*take)(struct telemetry_source *s, const struct telemetry_roots *roots,
                                 const char *path, const char *name));

/* The first line of PATH/NAME; false: there is none. */
bool telemetry_line(const char *path, const char *name, char *text, size_t size);

/*
 * A text file of the kernel: open it, then read it whole as often as is wanted, with a 0 behind it.
 * Returns its length; 0: it cannot be read.
 */
int telemetry_text_open(const struct telemetry_roots *roots, const char *name);
size_t telemetry_text_read(int fd, char *text, size_t size);

/*
 * The numbers of a line of @text that begins with @key: how many of @most there are. @key NULL: the
 * line at @text.
 */
uint32_t telemetry_numbers(const char *text, const char *key, uint64_t *numbers, uint32_t most);

#endif
