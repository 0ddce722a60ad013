/*
 * Work of the kernel's GPU drivers, for processes without libaflame: which of the programs of
 * bpf/drm.bpf.h the running kernel has functions and trace points for, and the events that come of
 * their records. Work is a LAUNCH with the stack of the thread that asked for it, and a WORK_LONG
 * with the times at which it was queued, given to the device, begun and done; a call of a driver is
 * a CALL_SEEN.
 *
 * One ring of a device does one piece of work after the other. So a piece begins when the device
 * was given it, or when the piece before it was done, if that was later.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/arena.h"
#include "base/scope.h"
#include "bpf/record.skel.h"
#include "collect/batches/batches.h"
#include "collect/batches/hooks.h"
#include "collect/batches/kernels.h"
#include "collect/batches/points.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

enum {
	RINGS_MAX = 64,           /* of a process; work of others is counted as lost */
	FIRST_FUNCTION = 1 << 16, /* driver calls are numbered above those of libraries */
	LAST_SCHEDULED = 4,       /* the hooks up to here are xe's, which uses the scheduler */
	FILES_MAX = 8,            /* of a process whose memory is remembered */
	KERNEL_BITS = 24,         /* of what is kept with a fence */
};

struct drm_device {
	char name[32]; /* as sysfs names it: a PCI address */
};

struct drm_ring {
	char name[32];
	uint32_t device; /* number in the process, from 1 */
	uint64_t done_ns;
};

/* The work of drivers that a process has asked for. Numbers are those of the trace. */
struct bpf_drm {
	uint64_t nr_launches;
	struct af_map launches; /* fence → number of the launch */
	uint32_t nr_devices, cap_devices, nr_rings;
	struct drm_device *devices;
	struct drm_ring rings[RINGS_MAX];
	/* Bits of those that the stream of this number defines */
	uint64_t stream, descriptors;
	uint32_t functions, epoch;
	struct af_batch_kernels kernels;
	struct af_map batch_descriptors; /* of that stream: KERNEL and ring → descriptor */
	uint64_t files[FILES_MAX];       /* of devices, as the kernel has them */
	uint32_t nr_files, files_next;
};

static const struct drm_function {
	const char *module, *function, *name;
	uint32_t category;
} drm_functions[AF_BPF_DRIVER_HOOKS_END] = {
#define AF_H(number, module, function, name, category)                                             \
	[number] = {#module, #function, #name, AF_CATEGORY_##category},
    AF_BPF_DRIVER_HOOKS(AF_H)
#undef AF_H
};

/* ---- programs ---- */

static struct bpf_program *hook_program(const struct record_bpf *p, uint32_t hook)
{
	struct bpf_program *const programs[] = {NULL,
#define AF_H(number, module, function, name, category) p->progs.on_##function,
	                                        AF_BPF_DRIVER_HOOKS(AF_H)
#undef AF_H
	};
	return programs[hook];
}

bool bpf_drm_has_drivers(void)
{
	return !access("/sys/kernel/btf/xe", R_OK) || !access("/sys/kernel/btf/i915", R_OK) ||
	       !access("/sys/class/drm", R_OK);
}

static void wish(struct record_bpf *p, const bool *hooks)
{
	for (uint32_t i = 1; i < AF_BPF_DRIVER_HOOKS_END; i++)
		bpf_program__set_autoload(hook_program(p, i), hooks && hooks[i]);
}

bool bpf_drm_choose(struct af_bpf *b, enum bpf_drivers wanted)
{
	bool hooks[AF_BPF_DRIVER_HOOKS_END] = {false}, any = false;
	struct btf *kernel = wanted && bpf_drm_has_drivers() ? btf__load_vmlinux_btf() : NULL;

	if (!kernel || libbpf_get_error(kernel)) {
		wish(b->programs, NULL);
		af_work_points_choose(b->programs, NULL);
		af_batch_hooks_choose(b->programs, NULL);
		return false;
	}
	struct af_module_types types = {.kernel = kernel};
	for (uint32_t i = 1; i < AF_BPF_DRIVER_HOOKS_END; i++) {
		hooks[i] =
		    af_module_has(&types, drm_functions[i].module, drm_functions[i].function);
		any |= hooks[i];
	}
	af_module_types_close(&types);
	wish(b->programs, hooks);
	any |= af_work_points_choose(b->programs, kernel) != 0;
	af_batch_hooks_choose(b->programs, wanted == BPF_DRIVERS_BATCHES ? kernel : NULL);
	btf__free(kernel);
	return any;
}

static struct bpf_link **hook_link(struct record_bpf *p, uint32_t hook)
{
	struct bpf_link **const links[] = {NULL,
#define AF_H(number, module, function, name, category) &p->links.on_##function,
	                                   AF_BPF_DRIVER_HOOKS(AF_H)
#undef AF_H
	};
	return links[hook];
}

void bpf_drm_attach(struct af_bpf *b)
{
	struct record_bpf *p = b->programs;
	char words[512] = "";
	size_t used = 0;

	for (uint32_t i = 1; i < AF_BPF_DRIVER_HOOKS_END; i++) {
		struct bpf_program *program = hook_program(p, i);
		struct bpf_link **link = hook_link(p, i);
		if (!bpf_program__autoload(program) || *link)
			continue;
		*link = bpf_program__attach(program);
		used +=
		    (size_t)snprintf(words + used, sizeof words - used, "%s%s%s", used ? ", " : "",
		                     drm_functions[i].name, *link ? "" : " (refused)");
	}
	unsigned points = af_work_points_attach(p);
	char batches[256];
	if (af_batch_hooks_attach(p, points, batches, sizeof batches) && b->r)
		bpf_drm_batches_open(b);
	if (!used && !points)
		return;
	snprintf(b->drivers, sizeof b->drivers,
	         "calls seen: %s; times of work: %s; kernels in batches of: %s",
	         used ? words : "none", af_work_points_name(points), *batches ? batches : "none");
	if (b->r)
		af_session_note(b->r, "collector.drm", "%s", b->drivers);
}

/* ---- events ---- */

void bpf_drm_free(struct af_bpf *b, struct bpf_image *image)
{
	if (!image->drm)
		return;
	for (uint32_t i = 0; b->batches && !b->stopped && i < image->drm->nr_files; i++)
		af_batches_file_gone(b->batches, image->drm->files[i]);
	af_batch_kernels_free(&image->drm->kernels);
	af_map_free(&image->drm->batch_descriptors);
	af_map_free(&image->drm->launches);
	free(image->drm->devices);
	free(image->drm);
	image->drm = NULL;
}

/* The work that @image has asked for; definitions are those of the stream that it has now. */
static struct bpf_drm *drm_of(struct bpf_image *image, const struct bpf_out *out)
{
	struct bpf_drm *d = image->drm;

	if (!d)
		d = image->drm = af_xcalloc(1, sizeof *d);
	if (d->stream != out->finish_as || d->epoch != out->epoch) {
		d->stream = out->finish_as;
		d->epoch = out->epoch;
		d->descriptors = d->functions = 0;
		af_map_free(&d->batch_descriptors);
	}
	return d;
}

void bpf_drm_call_write(const struct af_bpf *b, struct bpf_image *image, struct bpf_out *out,
                        const struct af_bpf_stacks *s, uint32_t callpath)
{
	uint32_t hook = s->what, function = FIRST_FUNCTION + hook;

	if (!hook || hook >= AF_BPF_DRIVER_HOOKS_END)
		return;
	struct bpf_drm *d = drm_of(image, out);
	if (!(d->functions & 1u << hook)) {
		const char *name = drm_functions[hook].name;
		/* Where the scheduler or the batch reports the work, its LAUNCH is the launch. */
		bool launched =
		    hook <= LAST_SCHEDULED
			? b->programs->links.on_work_queued || b->programs->links.batch_xe_exec
			: b->programs->links.on_i915_queued || b->programs->links.batch_i915_exec;
		struct af_ev_function ev = {function, AF_API_DRM,
		                            launched ? AF_CATEGORY_OTHER
		                                     : drm_functions[hook].category};
		struct af_tail tail = {name, (uint32_t)strlen(name), 0};
		af_stream_put_tail(&out->stream, AF_KIND_FUNCTION, s->head.time_ns, &ev, sizeof ev,
		                   &tail, 1);
		d->functions |= 1u << hook;
	}
	af_stream_put(&out->stream, call_seen, s->head.time_ns, .callpath = callpath,
	              .function = function);
}

/* The driver of a PCI device, as sysfs links to it. */
static void driver_name(const char *device, char *name, size_t size)
{
	char path[PATH_MAX], to[PATH_MAX];

	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", device);
	ssize_t n = readlink(path, to, sizeof to - 1);
	to[n > 0 ? n : 0] = '\0';
	snprintf(name, size, "%s", n > 0 ? basename(to) : "");
}

static void device_define(struct bpf_out *out, uint32_t id, const char *device, uint64_t time_ns)
{
	struct af_ev_device ev = {.device = id, .type = AF_DEVICE_GPU, .api = AF_API_DRM};
	char driver[64], name[128];

	driver_name(device, driver, sizeof driver);
	snprintf(name, sizeof name, "%s%s%s", driver, *driver ? " " : "", device);
	struct af_tail texts[] = {
	    {name, (uint32_t)strlen(name), 0}, {"", 0, 0}, {driver, (uint32_t)strlen(driver), 0}};
	af_stream_put_tail(&out->stream, AF_KIND_DEVICE, time_ns, &ev, sizeof ev, texts, 3);
	struct af_ev_device_note note = {.device = id};
	struct af_tail pci[] = {{"pci", 3, 0}, {device, (uint32_t)strlen(device), 0}};
	af_stream_put_tail(&out->stream, AF_KIND_DEVICE_NOTE, time_ns, &note, sizeof note, pci, 2);
	af_stream_put(&out->stream, clock, time_ns, .clock = AF_CLOCK_DEVICE, .device = id,
	              .mono_ns = time_ns, .foreign = time_ns);
}

static uint32_t device_of(struct bpf_drm *d, struct bpf_out *out, const char *name,
                          uint64_t time_ns)
{
	for (uint32_t i = 0; i < d->nr_devices; i++)
		if (!strcmp(d->devices[i].name, name))
			return i + 1;
	AF_GROW(d->devices, d->nr_devices, d->cap_devices);
	snprintf(d->devices[d->nr_devices].name, sizeof d->devices->name, "%s", name);
	device_define(out, ++d->nr_devices, name, time_ns);
	return d->nr_devices;
}

/* The ring's number, from 1: its queue has the same, and its kernel. 0: there are too many. */
static uint32_t ring_of(struct bpf_drm *d, struct bpf_out *out, uint32_t device, const char *name,
                        uint64_t time_ns)
{
	uint32_t i = 0;

	while (i < d->nr_rings && (d->rings[i].device != device || strcmp(d->rings[i].name, name)))
		i++;
	if (i == RINGS_MAX)
		return 0;
	if (i < d->nr_rings)
		return i + 1;
	struct drm_ring *r = &d->rings[d->nr_rings++];
	r->device = device;
	snprintf(r->name, sizeof r->name, "%s", name);
	af_stream_put(&out->stream, queue, time_ns, .queue = i + 1, .device = device, .context = 1);
	struct af_ev_kernel ev = {.kernel = i + 1};
	char text[64];
	snprintf(text, sizeof text, "[work on %s]", r->name);
	struct af_tail tail = {text, (uint32_t)strlen(text), 0};
	af_stream_put_tail(&out->stream, AF_KIND_KERNEL, time_ns, &ev, sizeof ev, &tail, 1);
	return i + 1;
}

/* The descriptor of work on @ring: of its batch's @kernel, 0 for one that starts none. */
static uint32_t descriptor_of(struct bpf_drm *d, struct bpf_out *out, uint32_t ring,
                              uint32_t kernel, uint64_t time_ns)
{
	bool fresh = !(d->descriptors >> (ring - 1) & 1);
	uint32_t descriptor = ring;

	if (kernel) {
		uint64_t *slot =
		    af_map_at(&d->batch_descriptors, (uint64_t)kernel << 8 | ring, &fresh);
		if (fresh)
			*slot = RINGS_MAX + d->batch_descriptors.nr;
		descriptor = (uint32_t)*slot;
	} else {
		d->descriptors |= 1ull << (ring - 1);
	}
	if (fresh)
		af_stream_put(&out->stream, descriptor, time_ns, .descriptor = descriptor,
		              .op = AF_OP_KERNEL, .queue = ring, .kernel = kernel ? kernel : ring);
	return descriptor;
}

/* Work of which no trace point tells: it has no times. */
static void untimed_write(struct bpf_drm *d, struct bpf_out *out, uint64_t number, uint32_t device,
                          uint32_t kernel, uint64_t time_ns)
{
	uint32_t ring = device ? ring_of(d, out, device, "the device", time_ns) : 0;

	if (!ring)
		return;
	af_stream_put(&out->stream, work_long, time_ns,
	              .descriptor = descriptor_of(d, out, ring, kernel, time_ns),
	              .correlation = number);
}

void bpf_drm_submit_write(struct bpf_image *image, struct bpf_out *out,
                          const struct af_bpf_stacks *s, uint32_t callpath)
{
	struct bpf_drm *d = drm_of(image, out);
	uint64_t number = ++d->nr_launches, time_ns = s->head.time_ns;
	uint32_t device;
	uint32_t kernel =
	    af_batch_kernels_launch(&d->kernels, &out->stream, s->head.tid, time_ns, &device);

	if (s->wake)
		*af_map_at(&d->launches, s->wake, NULL) = number << KERNEL_BITS | kernel;
	af_stream_put(&out->stream, launch, time_ns, .callpath = callpath, .correlation = number);
	if (!s->wake)
		untimed_write(d, out, number, device, kernel, time_ns);
}

void bpf_drm_work_write(struct af_bpf *b, struct bpf_image *image, struct af_bpf_work *w)
{
	const uint64_t *launch = image->drm ? af_map_get(&image->drm->launches, w->fence) : NULL;
	struct bpf_out *out = launch && *launch ? bpf_out_of(b, image) : NULL;

	if (!out)
		return;
	w->ring[sizeof w->ring - 1] = w->device[sizeof w->device - 1] = '\0';
	struct bpf_drm *d = drm_of(image, out);
	uint32_t device = device_of(d, out, w->device, w->queued_ns);
	uint32_t ring = ring_of(d, out, device, w->ring, w->queued_ns);
	uint64_t number = *launch >> KERNEL_BITS, end_ns = w->head.time_ns;
	uint32_t kernel = *launch & ((1u << KERNEL_BITS) - 1);
	*af_map_at(&d->launches, w->fence, NULL) = 0;
	if (!ring) {
		af_stream_put(&out->stream, lost, end_ns, .reason = AF_LOST_TABLE_FULL, .count = 1);
		return;
	}
	struct drm_ring *r = &d->rings[ring - 1];
	uint64_t run_ns = w->run_ns ? w->run_ns : w->queued_ns;
	uint64_t start_ns = run_ns > r->done_ns ? run_ns : r->done_ns;
	r->done_ns = end_ns;
	uint32_t descriptor = descriptor_of(d, out, ring, kernel, end_ns);
	af_stream_put(&out->stream, work_long, end_ns, .descriptor = descriptor,
	              .correlation = number, .queued_ns = w->queued_ns, .submit_ns = run_ns,
	              .start_ns = start_ns < end_ns ? start_ns : end_ns, .end_ns = end_ns);
	af_batch_kernels_place(&d->kernels, &out->stream, end_ns);
}

/* ---- batches ---- */

static void kernel_take(void *arg, const struct af_bpf_batch *of, const struct af_batch_kernel *is)
{
	struct af_bpf *b = arg;
	struct bpf_image *image = bpf_image_at(b, of->head.pid, of->head.time_ns);

	if (!image || !image->drm || !image->out)
		return;
	af_batch_kernels_add(&drm_of(image, image->out)->kernels, &image->out->stream, of, is,
	                     af_batches_memory_end(b->batches, of, is->address));
}

void bpf_drm_batches_open(struct af_bpf *b)
{
	b->batches = af_xcalloc(1, sizeof *b->batches);
	b->batches->memory_fd = bpf_map__fd(b->programs->maps.batch_memory);
	b->batches->bases_fd = bpf_map__fd(b->programs->maps.batch_bases);
	b->batches->take = kernel_take;
	b->batches->arg = b;
}

static void file_remember(struct bpf_drm *d, uint64_t file)
{
	for (uint32_t i = 0; i < d->nr_files; i++)
		if (d->files[i] == file)
			return;
	d->files[d->files_next++ % FILES_MAX] = file;
	d->nr_files += d->nr_files < FILES_MAX;
}

void bpf_drm_batch_write(struct af_bpf *b, struct bpf_image *image, struct af_bpf_batch *record,
                         size_t size)
{
	struct bpf_out *out = b->batches ? bpf_out_of(b, image) : NULL;

	if (!out || size < offsetof(struct af_bpf_batch, kernels))
		return;
	record->device[sizeof record->device - 1] = '\0';
	struct bpf_drm *d = drm_of(image, out);
	uint32_t device = device_of(d, out, record->device, record->head.time_ns);
	file_remember(d, record->file);
	af_batch_kernels_begin(&d->kernels, record, device);
	af_batches_add(b->batches, record, size, af_now_ns());
	if (record->stop)
		af_batch_kernels_end(&d->kernels, record, af_batches_is_open(record));
	af_batch_kernels_place(&d->kernels, &out->stream, record->head.time_ns);
}

void bpf_drm_unbound_write(const struct af_bpf *b, struct bpf_image *image,
                           const struct af_bpf_unbound *u)
{
	if (b->batches && image->drm && image->out)
		af_batch_kernels_unbound(&drm_of(image, image->out)->kernels, &image->out->stream,
		                         u);
}

void bpf_drm_close(struct bpf_image *image)
{
	if (image->drm && image->out)
		af_batch_kernels_place(&image->drm->kernels, &image->out->stream, UINT64_MAX);
}

void bpf_drm_poll(struct af_bpf *b, uint64_t now)
{
	if (!b->batches)
		return;
	af_batches_poll(b->batches, now);
	for (uint32_t i = 0; i < b->nr_images; i++) {
		struct bpf_image *image = b->images[i];
		if (image->drm && image->out && image->drm->kernels.unplaced)
			af_batch_kernels_place(&image->drm->kernels, &image->out->stream,
			                       now - HOLD_NS);
	}
}

/* Batches, and blocks of memory, that there was no room for, and kernels in what was read. */
static uint64_t losses(const struct af_bpf *b)
{
	uint64_t nr = b->programs->bss->batch_lost + b->programs->bss->batch_lost_memory +
	              b->batches->nr_no_room;

	for (uint32_t i = 0; i < b->nr_images; i++)
		nr += b->images[i]->drm ? b->images[i]->drm->kernels.nr_lost : 0;
	return nr;
}

void bpf_drm_over(const struct af_bpf *b)
{
	const struct af_batches *all = b->batches;
	uint64_t lost = all ? losses(b) : 0;

	if (lost)
		af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = AF_LOST_TABLE_FULL,
		              .count = lost);
	if (all && (all->nr_late || all->nr_given_up || all->nr_waiting))
		af_session_note(
		    b->r, "collector.batches",
		    "%llu batches of GPUs were read later than they were submitted; "
		    "%llu could not be read to their ends: kernels in them have no stacks",
		    (unsigned long long)all->nr_late,
		    (unsigned long long)all->nr_given_up + all->nr_waiting);
}
