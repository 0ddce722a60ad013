/*
 * The recorded processes' use of GPUs, as the kernel's drivers tell it of each open descriptor of a
 * GPU: Linux, Documentation/gpu/drm-usage-stats.rst. A client is what a process gets by opening a
 * GPU; its descriptors may be several, also in several processes, and count once: for the process
 * that it was first seen in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/proc.h"
#include "collect/telemetry/private.h"

enum {
	CLIENTS_MOST = 256,
	VALUES_MOST = 24, /* of a client */
	KEY_BYTES = 40,
	TEXT_BYTES = 8 << 10,
	REFRESH_NS = 1000000000, /* how often there may be new descriptors */
};

enum drm_kind {
	DRM_NS,           /* an engine's busy time */
	DRM_CYCLES,       /* its busy cycles, … */
	DRM_TOTAL_CYCLES, /* … of so many that have passed */
	DRM_BYTES,
};

static const struct drm_key {
	const char *starts;
	enum drm_kind kind;
} keys[] = {
    {"engine-", DRM_NS},
    {"cycles-", DRM_CYCLES},
    {"total-cycles-", DRM_TOTAL_CYCLES},
    {"resident-", DRM_BYTES},
    /* Older drivers have no resident; of others it is the same. */
    {"memory-", DRM_BYTES},
};

/* A counter: a process, its GPU, and an engine or a kind of memory. */
struct drm_slot {
	int pid;
	uint32_t device, counter;
	char name[KEY_BYTES];
	bool bytes;
	uint64_t sum;  /* of bytes: at this tick */
	uint32_t tick; /* the last one at which a client had it */
};

/* The last reading of an engine of a client. */
struct drm_value {
	uint32_t slot;
	char name[KEY_BYTES];
	bool in_ns;
	uint64_t ns, cycles, total, at_ns;
	uint64_t cycles_now, total_now; /* at this tick */
	bool has_cycles, has_total, total_known;
};

struct drm_client {
	uint64_t id;
	char pci[32];
	int pid, number; /* of the descriptor */
	int fd;          /* open: its fdinfo; -1: closed there, and may be seen at another one */
	uint32_t device;
	struct drm_value values[VALUES_MOST];
	uint32_t nr;
};

struct drm {
	char proc[256];
	struct drm_client *clients;
	uint32_t nr_clients, cap_clients;
	struct drm_slot *slots;
	uint32_t nr_slots, cap_slots;
	uint32_t tick, list; /* the list of processes whose descriptors are known */
	uint64_t refresh_ns, before_ns;
};

/* The value of "drm-KEY:" in @text; NULL: it has none. */
static const char *drm_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "drm-", 4) != 0 || strncmp(line + 4, key, len) != 0 ||
		    line[4 + len] != ':')
			continue;
		line += 4 + len + 1;
		return line + strspn(line, " \t");
	}
	return NULL;
}

/* A driver that gives its clients no number has one for each descriptor. */
static uint64_t client_id(const char *text, int pid, int number)
{
	const char *id = drm_line(text, "client-id");

	return id ? strtoull(id, NULL, 10)
	          : 1ull << 63 | (uint64_t)(uint32_t)pid << 31 | (uint32_t)number;
}

static void pci_take(const char *text, char pci[32])
{
	const char *at = drm_line(text, "pdev");

	at = at ? at : drm_line(text, "driver");
	snprintf(pci, 32, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

static uint32_t device_of(struct telemetry_source *s, const struct drm_client *c, const char *text)
{
	char name[96], driver[32];
	const char *is = drm_line(text, "driver");

	for (uint32_t i = 0; i < s->nr_devices; i++)
		if (!strcmp(s->devices[i].pci, c->pci))
			return s->devices[i].number;
	snprintf(driver, sizeof driver, "%.*s", is ? (int)strcspn(is, "\n") : 0, is ? is : "");
	snprintf(name, sizeof name, "GPU %s (%s)", c->pci, driver);
	uint32_t number = TELEMETRY_DRM_FROM + s->nr_devices;
	telemetry_add_device(
	    s, &(struct telemetry_device){
		   .number = number, .name = name, .vendor = "", .driver = driver, .pci = c->pci});
	return number;
}

/* A counter of a process that began while it is recorded counts from 0 at the tick before. */
static uint32_t slot_of(struct telemetry_source *s, const struct drm_client *c, const char *name,
                        bool bytes)
{
	struct drm *d = s->own;
	char title[160], group[64], comm[32] = "", path[320];

	for (uint32_t i = 0; i < d->nr_slots; i++) {
		const struct drm_slot *is = &d->slots[i];
		if (is->pid == c->pid && is->device == c->device && is->bytes == bytes &&
		    !strcmp(is->name, name))
			return i;
	}
	if (s->nr == TELEMETRY_VALUES)
		return UINT32_MAX;
	snprintf(path, sizeof path, "%s/%d", d->proc, c->pid);
	telemetry_line(path, "comm", comm, sizeof comm);
	snprintf(group, sizeof group, "%s (%d)", comm, c->pid);
	snprintf(title, sizeof title, "%s %s of %s", name, bytes ? "memory" : "busy", group);
	struct drm_slot slot = {.pid = c->pid, .device = c->device, .bytes = bytes};
	snprintf(slot.name, sizeof slot.name, "%s", name);
	slot.counter = telemetry_add(s, c->device, bytes ? 0 : AF_COUNTER_AMOUNT,
	                             bytes ? 1 : 1000000000, title, bytes ? "bytes" : "s", group);
	if (s->processes->are_new && d->before_ns)
		s->totals[slot.counter] =
		    (struct telemetry_total){.known = true, .was_ns = d->before_ns};
	AF_GROW(d->slots, d->nr_slots, d->cap_slots);
	d->slots[d->nr_slots] = slot;
	return d->nr_slots++;
}

static struct drm_value *value_of(struct telemetry_source *s, struct drm_client *c,
                                  const char *name, bool bytes)
{
	struct drm *d = s->own;

	for (uint32_t i = 0; i < c->nr; i++)
		if (!strcmp(c->values[i].name, name) && d->slots[c->values[i].slot].bytes == bytes)
			return &c->values[i];
	uint32_t slot = c->nr < VALUES_MOST ? slot_of(s, c, name, bytes) : UINT32_MAX;
	if (slot == UINT32_MAX)
		return NULL;
	struct drm_value *v = &c->values[c->nr++];
	*v = (struct drm_value){.slot = slot};
	snprintf(v->name, sizeof v->name, "%s", name);
	return v;
}

/* "123 ns", "64 KiB", "5 MiB", "17". */
static uint64_t number_of(const char *text)
{
	char *unit;
	uint64_t number = strtoull(text, &unit, 10);

	unit += strspn(unit, " \t");
	uint64_t times = !strncmp(unit, "KiB", 3)   ? 1 << 10
	                 : !strncmp(unit, "MiB", 3) ? 1 << 20
	                 : !strncmp(unit, "GiB", 3) ? 1 << 30
	                                            : 1;
	return number > UINT64_MAX / times ? UINT64_MAX : number * times;
}

/* One line "drm-KEY: VALUE" of a client. */
static void line_take(struct telemetry_source *s, struct drm_client *c, const char *key, size_t len,
                      const char *text)
{
	struct drm *d = s->own;
	char name[KEY_BYTES], resident[KEY_BYTES + 16];

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		size_t start = strlen(keys[i].starts);
		if (len <= start || len - start >= KEY_BYTES ||
		    strncmp(key, keys[i].starts, start) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(len - start), key + start);
		/* drm-engine-capacity-NAME is a number of engines. */
		if (keys[i].kind == DRM_NS && !strncmp(name, "capacity-", 9))
			return;
		snprintf(resident, sizeof resident, "resident-%s", name);
		if (!strcmp(keys[i].starts, "memory-") && drm_line(text, resident))
			return;
		struct drm_value *v = value_of(s, c, name, keys[i].kind == DRM_BYTES);
		if (!v)
			return;
		struct drm_slot *slot = &d->slots[v->slot];
		uint64_t number = number_of(key + len + 1 + strspn(key + len + 1, " \t"));
		if (slot->tick != d->tick && slot->bytes)
			slot->sum = 0;
		slot->tick = d->tick;
		switch (keys[i].kind) {
		case DRM_NS:
			slot->sum += number > v->ns ? number - v->ns : 0;
			v->ns = number;
			v->in_ns = true;
			break;
		case DRM_CYCLES:
			v->cycles_now = number;
			v->has_cycles = true;
			break;
		case DRM_TOTAL_CYCLES:
			v->total_now = number;
			v->has_total = true;
			break;
		case DRM_BYTES:
			slot->sum += number;
			break;
		}
		return;
	}
}

/* Busy cycles are turned to time by how fast all cycles passed since the reading before. */
static void cycles_take(struct drm *d, struct drm_value *v, uint64_t time_ns)
{
	if (v->in_ns || !v->has_cycles || !v->has_total)
		return;
	uint64_t passed = v->total_known && v->total_now > v->total ? v->total_now - v->total : 0;
	if (passed) {
		uint64_t busy = v->cycles_now > v->cycles ? v->cycles_now - v->cycles : 0;
		d->slots[v->slot].sum +=
		    (uint64_t)((unsigned __int128)busy * (time_ns - v->at_ns) / passed);
		v->cycles = v->cycles_now;
	}
	v->total = v->total_now;
	v->at_ns = time_ns;
	v->total_known = true;
}

static void client_close(struct drm_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* False: the descriptor was closed, or is another one by now. */
static bool client_text(struct drm_client *c, char text[TEXT_BYTES])
{
	if (c->fd >= 0 && telemetry_text_read(c->fd, text, TEXT_BYTES) &&
	    drm_line(text, "driver") && client_id(text, c->pid, c->number) == c->id)
		return true;
	client_close(c);
	return false;
}

static void client_read(struct telemetry_source *s, struct drm_client *c, const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		size_t len = strncmp(line, "drm-", 4) ? 0 : strcspn(line + 4, ":\n");
		if (len && line[4 + len] == ':')
			line_take(s, c, line + 4, len, text);
	}
}

/* The first reading of a client of a process that ran before is what it had used by then. */
static void client_begin(struct telemetry_source *s, struct drm_client *c, const char *text)
{
	struct drm *d = s->own;

	c->device = device_of(s, c, text);
	client_read(s, c, text);
	for (uint32_t i = 0; i < c->nr; i++) {
		struct drm_value *v = &c->values[i];
		struct drm_slot *slot = &d->slots[v->slot];
		if (slot->bytes)
			continue;
		/* The reading that counts comes right after. */
		slot->sum -= v->ns;
		v->ns = s->processes->are_new ? 0 : v->ns;
		v->cycles = s->processes->are_new ? 0 : v->cycles_now;
	}
}

static struct drm_client *client_find(struct drm *d, uint64_t id, const char *pci)
{
	for (uint32_t i = 0; i < d->nr_clients; i++)
		if (d->clients[i].id == id && !strcmp(d->clients[i].pci, pci))
			return &d->clients[i];
	return NULL;
}

static void descriptor_open(struct telemetry_source *s, int pid, int number)
{
	struct drm *d = s->own;
	char path[320], text[TEXT_BYTES], pci[32];

	snprintf(path, sizeof path, "%s/%d/fdinfo/%d", d->proc, pid, number);
	int fd = af_open_regular(AT_FDCWD, path, 0);
	if (fd < 0)
		return;
	if (!telemetry_text_read(fd, text, sizeof text) || !drm_line(text, "driver")) {
		close(fd);
		return;
	}
	uint64_t id = client_id(text, pid, number);
	pci_take(text, pci);
	struct drm_client *c = client_find(d, id, pci);
	if ((c && c->fd >= 0) || (!c && d->nr_clients == CLIENTS_MOST)) {
		close(fd);
		return;
	}
	bool is_new = !c;
	if (is_new) {
		AF_GROW(d->clients, d->nr_clients, d->cap_clients);
		c = &d->clients[d->nr_clients++];
		*c = (struct drm_client){.id = id, .pid = pid};
		snprintf(c->pci, sizeof c->pci, "%s", pci);
	}
	c->number = number;
	c->fd = fd;
	if (is_new)
		client_begin(s, c, text);
}

static bool is_open(const struct drm *d, int pid, int number)
{
	for (uint32_t i = 0; i < d->nr_clients; i++)
		if (d->clients[i].fd >= 0 && d->clients[i].pid == pid &&
		    d->clients[i].number == number)
			return true;
	return false;
}

static void descriptor_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                            const char *path, const char *name)
{
	struct drm *d = s->own;
	char to[64], *end;
	(void)roots;

	ssize_t n = readlink(path, to, sizeof to - 1);
	to[n > 0 ? n : 0] = 0;
	int number = (int)strtol(name, &end, 10);
	int pid = (int)strtol(path + strlen(d->proc) + 1, NULL, 10);
	if (!strncmp(to, "/dev/dri/", 9) && !*end && !is_open(d, pid, number))
		descriptor_open(s, pid, number);
}

/* New descriptors, once a second and when there is a new process. */
static void drm_refresh(struct telemetry_source *s)
{
	struct drm *d = s->own;
	int pids[TELEMETRY_PROCESSES];
	char folder[320];
	uint64_t now = af_now_ns();

	d->tick++;
	pthread_mutex_lock(&s->processes->lock);
	uint32_t nr = s->processes->nr, list = s->processes->list;
	memcpy(pids, s->processes->pids, nr * sizeof *pids);
	pthread_mutex_unlock(&s->processes->lock);
	if (now < d->refresh_ns && list == d->list)
		return;
	d->refresh_ns = now + REFRESH_NS;
	d->list = list;
	for (uint32_t i = 0; i < nr; i++) {
		snprintf(folder, sizeof folder, "%s/%d/fd", d->proc, pids[i]);
		telemetry_each(s, NULL, folder, "", descriptor_take);
	}
}

static void drm_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	struct drm *d = s->own;
	char text[TEXT_BYTES];

	for (uint32_t i = 0; i < d->nr_slots; i++)
		d->slots[i].sum = d->slots[i].bytes ? 0 : d->slots[i].sum;
	for (uint32_t i = 0; i < d->nr_clients; i++) {
		struct drm_client *c = &d->clients[i];
		if (!client_text(c, text))
			continue;
		client_read(s, c, text);
		for (uint32_t k = 0; k < c->nr; k++)
			cycles_take(d, &c->values[k], to->time_ns);
	}
	for (uint32_t i = 0; i < d->nr_slots; i++) {
		const struct drm_slot *slot = &d->slots[i];
		if (slot->tick != d->tick)
			continue;
		if (slot->bytes)
			telemetry_put(s, slot->counter, slot->sum);
		else
			telemetry_total(s, slot->counter, slot->sum);
	}
	d->before_ns = to->time_ns;
}

static void gpu_take(struct telemetry_source *s, const struct telemetry_roots *roots,
                     const char *path, const char *name)
{
	(void)roots;
	(void)path;
	(void)name;
	s->grows = true;
}

static void drm_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	struct drm *d = s->own = af_xcalloc(1, sizeof *d);
	char folder[300];

	snprintf(d->proc, sizeof d->proc, "%s", roots->proc);
	snprintf(folder, sizeof folder, "%s/class/drm", roots->sys);
	telemetry_each(s, roots, folder, "renderD", gpu_take);
	if (!s->grows)
		snprintf(s->why, sizeof s->why, "%s has no renderD*: no driver of a GPU is loaded",
		         folder);
}

static void drm_close(struct telemetry_source *s)
{
	struct drm *d = s->own;

	for (uint32_t i = 0; d && i < d->nr_clients; i++)
		client_close(&d->clients[i]);
	if (d) {
		free(d->clients);
		free(d->slots);
	}
	free(d);
	s->own = NULL;
}

const struct telemetry_ops telemetry_drm = {
    .name = "drm",
    .summary = "busy time of engines and memory of GPUs, by recorded process (/proc/PID/fdinfo)",
    .of_processes = true,
    .find = drm_find,
    .refresh = drm_refresh,
    .read = drm_read,
    .close = drm_close,
};
