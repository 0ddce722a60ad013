/*
 * A stand-in for the kernel's xe driver (and for Intel's i915), to be preloaded into the recorder:
 * no such GPU is needed, and nothing here is a driver. It shows the directories below $XE_STAND_IN
 * in place of /dev/dri, /sys/class/drm and /proc/sys/dev, and answers the real calls on the render
 * nodes in there. Its numbers and structs are written anew from the kernel's headers
 * (include/uapi/drm/xe_drm.h), so that a mistake in those of the product shows.
 *
 * $XE_STAND_IN/dri/NODE is a file of lines, in order:
 *
 *	driver NAME                     the answer of DRM_IOCTL_VERSION
 *	device ID                       in hexadecimal digits
 *	gt TYPE TILE ID MAJOR MINOR XECORES
 *	engine CLASS INSTANCE GT
 *	unit ID GT HZ                   an observation unit of that GT
 *	grant OPERATION ERRNO           of the next call for it: 0 open, 1 add a config, 2 remove it
 *	stalls ERRNO                    of the query EU_STALL; 0: it is answered
 *	row BYTES
 *	open GT ERRNO                   of the next opening of that GT's stream; 0: it works
 *	rows GT FILE                    a read hands out the content of $XE_STAND_IN/FILE
 *	error GT ERRNO                  a read fails, once
 *	pause GT                        nothing is readable until the stream was found empty
 *	wait GT FILE                    nothing is readable until there is a file $XE_STAND_IN/FILE
 *
 * Openings beyond the last line of a GT work. What is asked for is written into $XE_STAND_IN/log.
 *
 * A read of an observation unit's stream takes $XE_STAND_IN/oa/ID: its reports, or "errno N".
 *
 * It answers perf_event_open(2) for the event source whose number is 7777, too: a read gives the
 * number in $XE_STAND_IN/counts/CONFIG, which is in hexadecimal digits; without that file there is
 * no such event. $XE_STAND_IN/counts/refused has an errno for all of them.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FDS = 4096,
	STEPS = 256,
	GTS = 8,
	NODES = 8,
	NODE = 1,
	STREAM = 2,
	EVENT = 3,
	UNIT = 4,
	SOURCE = 7777,
	CONFIG = 7
};

struct step {
	char what; /* o, r, e, p, w */
	uint32_t gt;
	int error;
	uint8_t *bytes;
	size_t size;
	int done;
};

struct node {
	char name[64], driver[16];
	uint32_t device, row;
	int stalls;
	struct {
		uint32_t type, tile, id, major, minor, xecores;
	} gts[GTS];
	struct {
		uint16_t class, instance, gt;
	} engines[16];
	uint32_t nr_engines;
	struct {
		uint32_t id, gt, hz;
	} units[GTS];
	uint32_t nr_units, has_config, unit_busy;
	uint32_t nr_gts, nr_steps, busy;
	struct step steps[STEPS];
};

struct file {
	int kind;
	struct node *node;
	uint32_t gt;
	int enabled;
	uint64_t config; /* of an event */
};

static struct node nodes[NODES];
static unsigned nr_nodes;
static struct file files[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name)                                                                                 \
	static __typeof__(&name) real;                                                             \
	if (!real)                                                                                 \
	real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static const char *root(void)
{
	return getenv("XE_STAND_IN");
}

/* Where @path is: below the root, or where it was. */
static const char *moved(const char *path, char to[PATH_MAX])
{
	static const char *const from[][2] = {{"/dev/dri", "dri"},
	                                      {"/sys/class/drm", "drm"},
	                                      {"/proc/sys/dev", "sysctl"},
	                                      {"/sys/bus/event_source/devices", "pmu"}};

	for (int i = 0; i < 4 && root(); i++) {
		size_t len = strlen(from[i][0]);
		if (!strncmp(path, from[i][0], len) && (!path[len] || path[len] == '/')) {
			snprintf(to, PATH_MAX, "%s/%s%s", root(), from[i][1], path + len);
			return to;
		}
	}
	return path;
}

static int real_open(const char *path, int flags, mode_t mode)
{
	REAL(open64);
	return real(path, flags, mode);
}

static ssize_t real_read(int fd, void *to, size_t size)
{
	REAL(read);
	return real(fd, to, size);
}

static int real_close(int fd)
{
	REAL(close);
	return real(fd);
}

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char path[PATH_MAX], line[512];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	snprintf(path, sizeof path, "%s/log", root());
	int fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, line, (size_t)n) != n)
		abort();
	real_close(fd);
}

static void bytes_read(struct step *s, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", root(), name);
	int fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < 0)
		abort();
	s->bytes = malloc((size_t)size + 1);
	if (pread(fd, s->bytes, (size_t)size, 0) != size)
		abort();
	s->size = (size_t)size;
	real_close(fd);
}

static void line_read(struct node *n, const char *line)
{
	char word[16] = "", text[64] = "";
	uint32_t a = 0, v[6];
	int error = 0;

	sscanf(line, "%15s", word);
	if (sscanf(line, "driver %15s", n->driver) == 1 ||
	    sscanf(line, "device %x", &n->device) == 1 ||
	    sscanf(line, "stalls %d", &n->stalls) == 1 || sscanf(line, "row %u", &n->row) == 1)
		return;
	if (sscanf(line, "gt %u %u %u %u %u %u", v, v + 1, v + 2, v + 3, v + 4, v + 5) == 6) {
		memcpy(&n->gts[n->nr_gts++], v, sizeof v);
		return;
	}
	if (sscanf(line, "engine %u %u %u", v, v + 1, v + 2) == 3) {
		for (int i = 0; i < 3; i++)
			(&n->engines[n->nr_engines].class)[i] = (uint16_t)v[i];
		n->nr_engines++;
		return;
	}
	if (sscanf(line, "unit %u %u %u", v, v + 1, v + 2) == 3) {
		memcpy(&n->units[n->nr_units++], v, 12);
		return;
	}
	struct step *s = &n->steps[n->nr_steps++];
	if (sscanf(line, "%*s %u %63s", &a, text) < 1 || n->nr_steps == STEPS)
		abort();
	error = atoi(text);
	*s = (struct step){.what = *word, .gt = a, .error = error};
	if (*word == 'r')
		bytes_read(s, text);
	else if (*word == 'w')
		s->bytes = (uint8_t *)strdup(text);
}

static struct node *node_of(const char *path)
{
	char line[256];

	for (unsigned i = 0; i < nr_nodes; i++)
		if (!strcmp(nodes[i].name, path))
			return &nodes[i];
	FILE *f = fopen(path, "re");
	if (!f || nr_nodes == NODES)
		abort();
	struct node *n = &nodes[nr_nodes++];
	*n = (struct node){.row = 64};
	snprintf(n->name, sizeof n->name, "%.63s", path);
	while (fgets(line, sizeof line, f))
		line_read(n, line);
	fclose(f);
	return n;
}

/* The next step of a GT that is of @what, or any of a stream. */
static struct step *step_next(struct node *n, uint32_t gt, int opens)
{
	for (uint32_t i = 0; i < n->nr_steps; i++) {
		struct step *s = &n->steps[i];
		if (s->gt == gt && !s->done && s->what != 'g' && (s->what == 'o') == opens)
			return s;
	}
	return NULL;
}

/* The errno of the next call for @operation of an observation unit. */
static int granted(struct node *n, uint32_t operation)
{
	for (uint32_t i = 0; i < n->nr_steps; i++) {
		struct step *s = &n->steps[i];
		if (s->what != 'g' || s->gt != operation || s->done)
			continue;
		s->done = 1;
		return s->error;
	}
	return 0;
}

static void readable(int fd, struct step *s);

struct awaited {
	int fd;
	struct step *step;
};

static void *await(void *arg)
{
	struct awaited *a = arg;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", root(), (char *)a->step->bytes);
	while (access(path, F_OK))
		usleep(2000);
	pthread_mutex_lock(&lock);
	a->step->done = 1;
	if (files[a->fd].kind == STREAM)
		readable(a->fd, step_next(files[a->fd].node, files[a->fd].gt, 0));
	pthread_mutex_unlock(&lock);
	free(a);
	return NULL;
}

/* Readable while the next step is one of data or errors. */
static void readable(int fd, struct step *s)
{
	uint64_t one = 1;
	pthread_t thread;

	real_read(fd, &one, sizeof one);
	one = 1;
	if (s && s->what == 'w' && !s->error) {
		struct awaited *a = malloc(sizeof *a);
		*a = (struct awaited){fd, s};
		s->error = 1; /* once */
		if (pthread_create(&thread, NULL, await, a) || pthread_detach(thread))
			abort();
	} else if (s && !strchr("pw", s->what) && write(fd, &one, sizeof one) != sizeof one) {
		abort();
	}
}

static int stream_open(struct node *n, uint32_t gt, unsigned long rate, unsigned long wait)
{
	struct step *s = step_next(n, gt, 1);

	if (s)
		s->done = 1;
	int error = s ? s->error : n->busy >> gt & 1 ? EBUSY : 0;
	say("open gt %u rate %lu wait %lu: %d\n", gt, rate, wait, error);
	if (error) {
		errno = error;
		return -1;
	}
	/* As the kernel does it: not closed by exec, and blocking. */
	int fd = eventfd(0, 0);
	if (fd < 0 || fd >= FDS)
		abort();
	n->busy |= 1u << gt;
	files[fd] = (struct file){STREAM, n, gt, 0};
	return fd;
}

struct property {
	uint64_t next;
	uint32_t name, pad, property, pad2;
	uint64_t value, reserved[2];
};

/* The stream of a unit, as xe_oa.c checks what is asked. */
static int unit_open(struct node *n, const struct property *p)
{
	uint64_t v[14] = {0}, format = n->gts[0].major >= 20 ? 0x505 : 0x500;
	int error = granted(n, 0), known = 0;

	for (; p; p = (struct property *)(uintptr_t)p->next) {
		if (p->name || p->pad || p->pad2 || !p->property || p->property > 13)
			error = EINVAL;
		else
			v[p->property] = p->value;
	}
	for (uint32_t i = 0; i < n->nr_units; i++)
		known |= n->units[i].id == v[1];
	if (!error &&
	    (!known || v[2] != 1 || v[3] != n->has_config || !v[3] || v[4] != format || v[5] > 31))
		error = EINVAL;
	if (!error && n->unit_busy >> v[1] & 1)
		error = EBUSY;
	say("unit %u exponent %u: %d\n", (unsigned)v[1], (unsigned)v[5], error);
	errno = error;
	if (error)
		return -1;
	int fd = eventfd(0, 0);
	if (fd < 0 || fd >= FDS)
		abort();
	n->unit_busy |= 1u << v[1];
	files[fd] = (struct file){.kind = UNIT, .node = n, .gt = (uint32_t)v[1]};
	return fd;
}

static int unit_call(struct node *n, const uint64_t *o)
{
	const struct config {
		uint64_t extensions;
		char uuid[36];
		uint32_t nr;
		uint64_t registers;
	} *c = (const void *)(uintptr_t)o[3];

	if (o[2] == 0)
		return unit_open(n, (const void *)(uintptr_t)o[3]);
	int error = granted(n, (uint32_t)o[2]);
	if (!error && o[2] == 1 &&
	    (c->extensions || c->uuid[8] != '-' || c->uuid[23] != '-' || !c->nr ||
	     *(const uint32_t *)(uintptr_t)c->registers != 0xe458))
		error = EINVAL;
	if (!error && o[2] == 2 && *(const uint64_t *)(uintptr_t)o[3] != n->has_config)
		error = ENOENT;
	say("config %s: %d\n", o[2] == 1 ? "added" : "removed", error);
	errno = error;
	if (error || o[2] > 2)
		return -1;
	n->has_config = o[2] == 1 ? CONFIG : 0;
	return (int)n->has_config;
}

/* DRM_IOCTL_XE_OBSERVATION with its chain of properties. */
static int observe(struct node *n, const uint64_t *o)
{
	struct property *p = (struct property *)(uintptr_t)o[3];
	uint64_t v[4] = {0, UINT64_MAX, 1004, 1};
	int links = 0;

	if (!o[0] && !o[1])
		return unit_call(n, o);
	if (o[0] || o[1] != 1 || o[2] != 0)
		goto bad;
	for (; p; p = (struct property *)(uintptr_t)p->next) {
		if (++links > 5 || p->name || p->pad || p->pad2 || !p->property || p->property > 3)
			goto bad;
		v[p->property] = p->value;
	}
	if (v[1] > UINT32_MAX || v[2] / 251 < 1 || v[2] / 251 > 7 || v[3] > (512 << 10) / 64)
		goto bad;
	for (uint32_t i = 0; i < n->nr_gts; i++)
		if (n->gts[i].id == v[1])
			return stream_open(n, (uint32_t)v[1], v[2], v[3]);
bad:
	say("open refused\n");
	errno = EINVAL;
	return -1;
}

/* DRM_IOCTL_I915_PERF_OPEN as Intel's i915 has it; the kernel's knows no such flag. */
static int perf_open(struct node *n, const uint64_t *o)
{
	const uint64_t *p = (const uint64_t *)(uintptr_t)o[1];
	uint64_t v[8] = {0};

	if (n->stalls || (uint32_t)o[0] != (1u | 2u | 4u | 1u << 16)) {
		errno = EINVAL;
		return -1;
	}
	for (uint32_t i = 0; i < o[0] >> 32; i++)
		if (p[2 * i] > 1000 && p[2 * i] < 1007)
			v[p[2 * i] - 1000] = p[2 * i + 1];
	if (v[1] != 512 << 10 || v[2] < 1 || v[2] > 7 || v[4] != 4) {
		errno = EINVAL;
		return -1;
	}
	return stream_open(n, (uint32_t)v[5], v[2] * 251, v[6]);
}

static size_t answer(const struct node *n, uint32_t query, uint64_t *w, uint8_t *bytes)
{
	if (query == 0) {
		w[0] = n->nr_engines;
		for (uint32_t i = 0; i < n->nr_engines; i++)
			memcpy(bytes + 8 + i * 32, &n->engines[i], 6);
		return 8 + n->nr_engines * 32;
	}
	if (query == 8) {
		w[1] = n->nr_units;
		for (uint32_t i = 0; i < n->nr_units; i++) {
			uint64_t *u = w + 2 + i * 10;
			u[1] = n->units[i].id;
			u[2] = 15;
			u[3] = n->units[i].hz;
			u[8] = 1;
			u[9] = 4 | (uint64_t)n->units[i].gt << 32;
		}
		return 16 + n->nr_units * 80;
	}
	if (query == 2) {
		w[0] = 5;
		w[1] = n->device | 1 << 16;
		return 48;
	}
	if (query == 3) {
		w[0] = n->nr_gts;
		for (uint32_t i = 0; i < n->nr_gts; i++) {
			uint16_t *gt = (uint16_t *)(bytes + 8 + i * 96);
			gt[0] = (uint16_t)n->gts[i].type;
			gt[1] = (uint16_t)n->gts[i].tile;
			gt[2] = (uint16_t)n->gts[i].id;
			gt[16] = (uint16_t)n->gts[i].major;
			gt[17] = (uint16_t)n->gts[i].minor;
		}
		return 8 + n->nr_gts * 96;
	}
	if (query == 5) {
		for (uint32_t i = 0; i < n->nr_gts; i++) {
			uint8_t *at = bytes + i * 16;
			uint64_t mask = (UINT64_C(1) << n->gts[i].xecores) - 1;
			memcpy(at, (uint16_t[]){(uint16_t)n->gts[i].id, 2}, 4);
			memcpy(at + 4, &(uint32_t){8}, 4);
			memcpy(at + 8, &mask, 8);
		}
		return n->nr_gts * 16;
	}
	w[2] = n->row;
	w[3] = 512 << 10;
	w[9] = 7;
	for (uint64_t i = 0; i < 7; i++)
		w[10 + i] = 251 * (i + 1);
	return 80 + 7 * 8;
}

/* DRM_IOCTL_XE_DEVICE_QUERY: a size of 0 asks for the size. */
static int query(struct node *n, uint64_t *q)
{
	union {
		uint64_t words[256];
		uint8_t bytes[2048];
	} a = {{0}};
	uint32_t what = (uint32_t)q[1], size = (uint32_t)(q[1] >> 32);
	int error = what == 10                                                 ? n->stalls
	            : what && what != 2 && what != 3 && what != 5 && what != 8 ? EINVAL
	                                                                       : 0;

	size_t is = error ? 0 : answer(n, what, a.words, a.bytes);
	if (!error && size && size != is)
		error = EINVAL;
	if (error) {
		errno = error;
		return -1;
	}
	q[1] = what | (uint64_t)is << 32;
	if (size)
		memcpy((void *)(uintptr_t)q[2], a.bytes, is);
	return 0;
}

/* DRM_IOCTL_I915_QUERY of engines: two that compute and one that copies. */
static int engines(uint64_t *q)
{
	struct {
		uint64_t query;
		int32_t size;
		uint32_t flags;
		uint64_t data;
	} *item = (void *)(uintptr_t)q[1];
	uint32_t *w = (uint32_t *)(uintptr_t)item->data;

	if (item->query != 2 || item->size < 16 + 3 * 56) {
		item->size = -EINVAL;
		return 0;
	}
	w[0] = 3;
	w[4] = 4 | 0 << 16;
	w[4 + 14] = 1 | 0 << 16;
	w[4 + 28] = 4 | 1 << 16;
	item->size = 16 + 3 * 56;
	return 0;
}

static int version(const struct node *n, uint64_t *v)
{
	size_t len = strlen(n->driver);

	v[0] = 1 | (uint64_t)1 << 32;
	v[1] = 0;
	memcpy((void *)(uintptr_t)v[3], n->driver, len < v[2] ? len : v[2]);
	v[2] = len;
	return 0;
}

static int stream_call(int fd, unsigned long call)
{
	struct file *f = &files[fd];

	if (call != 0x6900 && call != 0x6901) {
		errno = EINVAL;
		return -1;
	}
	f->enabled = call == 0x6900;
	say("%s gt %u flags %s%s\n", f->enabled ? "enable" : "disable", f->gt,
	    fcntl(fd, F_GETFD) & FD_CLOEXEC ? "cloexec " : "",
	    fcntl(fd, F_GETFL) & O_NONBLOCK ? "nonblock" : "");
	readable(fd, f->enabled ? step_next(f->node, f->gt, 0) : NULL);
	return 0;
}

static int call(int fd, unsigned long request, void *argument)
{
	struct node *n = files[fd].node;
	int rc = -1;

	if (files[fd].kind == STREAM)
		return stream_call(fd, request);
	if (request == 0xc0406400)
		rc = version(n, argument);
	else if (!strcmp(n->driver, "xe") && request == 0xc0286440)
		rc = query(n, argument);
	else if (!strcmp(n->driver, "xe") && request == 0x4020644b)
		rc = observe(n, argument);
	else if (!strcmp(n->driver, "i915") && request == 0xc0106479)
		rc = engines(argument);
	else if (!strcmp(n->driver, "i915") && request == 0x40106476)
		rc = perf_open(n, argument);
	else
		errno = ENOTTY;
	return rc;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	va_start(ap, request);
	void *argument = va_arg(ap, void *);
	va_end(ap);
	if (fd < 0 || fd >= FDS || !files[fd].kind) {
		REAL(ioctl);
		return real(fd, request, argument);
	}
	pthread_mutex_lock(&lock);
	int rc = call(fd, request, argument);
	pthread_mutex_unlock(&lock);
	return rc;
}

static ssize_t stream_read(int fd, void *to, size_t size)
{
	struct file *f = &files[fd];
	struct step *s = step_next(f->node, f->gt, 0);
	ssize_t n = -1;

	if (!f->enabled || size < f->node->row) {
		errno = EINVAL;
		return -1;
	}
	errno = EAGAIN;
	if (s && s->what == 'r') {
		n = (ssize_t)(s->size < size ? s->size : size);
		memcpy(to, s->bytes, (size_t)n);
		s->bytes += n;
		s->size -= (size_t)n;
		s->done = !s->size;
	} else if (s && s->what != 'w') {
		s->done = 1;
		errno = s->what == 'e' ? s->error : EAGAIN;
	}
	int error = errno;
	readable(fd, step_next(f->node, f->gt, 0));
	errno = error;
	return n;
}

/* The number in $XE_STAND_IN/counts/NAME; -1: there is none. */
static long long count_of(const char *name)
{
	char path[PATH_MAX], text[32] = "";

	snprintf(path, sizeof path, "%s/counts/%s", root(), name);
	int fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	ssize_t n = real_read(fd, text, sizeof text - 1);
	real_close(fd);
	return n > 0 ? atoll(text) : -1;
}

static int event_open(const struct perf_event_attr *attr, long pid, long cpu)
{
	char name[32];
	long long refused = count_of("refused");

	snprintf(name, sizeof name, "%llx", (unsigned long long)attr->config);
	say("event %s pid %d cpu %d\n", name, (int)pid, (int)cpu);
	errno = refused > 0 ? (int)refused : attr->sample_period || (int)cpu < 0 ? EINVAL : ENOENT;
	if (refused > 0 || attr->sample_period || (int)cpu < 0 || count_of(name) < 0)
		return -1;
	int fd = eventfd(0, EFD_CLOEXEC);
	if (fd < 0 || fd >= FDS)
		abort();
	files[fd] = (struct file){.kind = EVENT, .config = attr->config};
	return fd;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	REAL(syscall);
	long v[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	const struct perf_event_attr *attr = (const void *)v[0];
	if (number == SYS_perf_event_open && root() && attr->type == SOURCE)
		return event_open(attr, v[1], v[2]);
	return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static ssize_t unit_read(int fd, void *to, size_t size)
{
	char path[PATH_MAX];
	int error = 0;

	snprintf(path, sizeof path, "%s/oa/%u", root(), files[fd].gt);
	int from = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	errno = EAGAIN;
	if (from < 0)
		return -1;
	ssize_t n = real_read(from, to, size);
	real_close(from);
	unlink(path);
	if (n > 0 && n < 16 && sscanf(to, "errno %d", &error) == 1) {
		errno = error;
		return -1;
	}
	return n;
}

static ssize_t event_read(int fd, void *to, size_t size)
{
	char name[32];

	snprintf(name, sizeof name, "%llx", (unsigned long long)files[fd].config);
	long long count = count_of(name);
	if (count < 0 || size < sizeof count) {
		errno = count < 0 ? ENODEV : ENOSPC;
		return -1;
	}
	memcpy(to, &count, sizeof count);
	return sizeof count;
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *to, size_t size)
{
	if (fd >= 0 && fd < FDS && files[fd].kind == EVENT)
		return event_read(fd, to, size);
	if (fd >= 0 && fd < FDS && files[fd].kind == UNIT)
		return unit_read(fd, to, size);
	if (fd < 0 || fd >= FDS || files[fd].kind != STREAM)
		return real_read(fd, to, size);
	pthread_mutex_lock(&lock);
	ssize_t n = stream_read(fd, to, size);
	pthread_mutex_unlock(&lock);
	return n;
}

__attribute__((visibility("default"))) int close(int fd)
{
	if (fd >= 0 && fd < FDS && files[fd].kind) {
		pthread_mutex_lock(&lock);
		if (files[fd].kind == STREAM) {
			files[fd].node->busy &= ~(1u << files[fd].gt);
			say("close gt %u\n", files[fd].gt);
		}
		if (files[fd].kind == UNIT) {
			files[fd].node->unit_busy &= ~(1u << files[fd].gt);
			say("close unit %u\n", files[fd].gt);
		}
		files[fd].kind = 0;
		pthread_mutex_unlock(&lock);
	}
	return real_close(fd);
}

__attribute__((visibility("default"))) int open64(const char *path, int flags, ...)
{
	char to[PATH_MAX];
	const char *at = moved(path, to);
	va_list ap;

	va_start(ap, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	int fd = real_open(at, flags, mode);
	if (at == to && fd >= 0 && fd < FDS && !strncmp(path, "/dev/dri/", 9)) {
		say("node %s\n", path + 9);
		files[fd] = (struct file){NODE, node_of(at), 0, 0};
	}
	return fd;
}

__attribute__((visibility("default"))) FILE *fopen64(const char *path, const char *mode)
{
	char to[PATH_MAX];
	REAL(fopen64);

	return real(moved(path, to), mode);
}

__attribute__((visibility("default"))) DIR *opendir(const char *path)
{
	char to[PATH_MAX];
	REAL(opendir);

	return real(moved(path, to));
}

__attribute__((visibility("default"))) ssize_t readlink(const char *restrict path,
                                                        char *restrict name, size_t size)
{
	char to[PATH_MAX];
	REAL(readlink);

	return real(moved(path, to), name, size);
}
