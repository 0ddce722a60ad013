#include "collect/bpf/private.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/arena.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "bpf/record.skel.h"
#include "collect/session/control.h"
#include "collect/session/session.h"

static void watch(struct af_bpf *b, uint32_t pid)
{
	uint32_t one = 1;

	bpf_image_need(b, pid, af_now_ns())->in_scope = true;
	bpf_map__update_elem(b->programs->maps.scope, &pid, sizeof pid, &one, sizeof one, BPF_ANY);
}

/*
 * Not before the program is forked: what we have mapped and touched by then would be in its peak of
 * memory (wait4). The kernel writes from the start.
 */
static bool ring_map(struct af_bpf *b)
{
	if (!b->ring)
		b->ring =
		    ring_buffer__new(bpf_map__fd(b->programs->maps.ring), bpf_queue_add, b, NULL);
	return b->ring != NULL;
}

static int bpf_start(struct af_bpf *b, struct af_err *err)
{
	int rc = bpf_programs_load(b, err);

	if (!rc)
		rc = af_sideband_open(&b->sideband, err);
	if (rc)
		return rc;
	if (b->options->off_cpu)
		bpf_kernel_read(&b->kernel);
	b->own_cgroup = bpf_image_need(b, (uint32_t)getpid(), af_now_ns())->cgroup;
	bpf_image_at(b, (uint32_t)getpid(), UINT64_MAX)->in_scope = false;
	rc = bpf_programs_attach(b, err);
	if (!rc)
		rc = bpf_functions_attach(b, err);
	bpf_usage_begin(b);
	for (uint32_t i = 0; !rc && i < b->options->nr_pids; i++)
		watch(b, b->options->pids[i]);
	if (!rc && b->options->all)
		bpf_calls_find(b);
	malloc_trim(0); /* the kernel's types, which libbpf has read */
	return rc;
}

static void watcher_close(void *self);

static int watcher_open(void **self, struct af_recording *r, struct af_err *err)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = *self = af_xcalloc(1, sizeof *b);

	b->r = r;
	b->options = &r->options->watch;
	b->period_ns = r->control->sample_period_ns;
	int rc = bpf_start(b, err);
	if (rc) {
		watcher_close(b);
		*self = NULL;
	}
	return rc;
}

static void watcher_adopt(void *self, bool on)
{
	struct af_bpf *b = self;

	b->programs->bss->adopts = on;
}

static void watcher_drop_rights(void *self)
{
	struct af_bpf *b = self;
	/*
	 * For the last one: files that were replaced while they are mapped (/proc/PID/map_files).
	 */
	static const int kept[] = {CAP_BPF,          CAP_PERFMON,           CAP_SYS_PTRACE,
	                           CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,   CAP_KILL,
	                           CAP_SYSLOG,       CAP_CHECKPOINT_RESTORE};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint64_t keep = 0;

	if (syscall(SYS_capget, &head, data))
		return;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		keep |= 1ull << kept[i];
	uid_t uid;
	gid_t gid;
	/* At the end the trace is given to the user who called sudo. */
	if (af_sudo_user(&uid, &gid))
		keep |= 1ull << CAP_CHOWN;
	/* Each probe by itself is an event that is for nobody else (perf_uprobe_event_init()). */
	if (!bpf_probes_at_once() && b->r->control->flags & BPF_SESSION_APIS)
		keep |= 1ull << CAP_SYS_ADMIN;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective &= (uint32_t)(keep >> 32 * i);
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &head, data);
}

static void sideband_pump(struct af_bpf *b, uint64_t until_ns)
{
	const struct af_sideband_event *e;

	af_sideband_read(&b->sideband);
	while ((e = af_sideband_next(&b->sideband, until_ns)))
		bpf_image_sideband(b, e);
}

/* The recorder's word that @g is sampled; threads wait for it (inject/sampler/sampler.h). */
static void say_sampled(struct af_bpf *b, uint32_t process)
{
	struct af_session *s = b->r->control;

	_Atomic uint32_t *slot = &s->sampled[process % AF_SAMPLED_SLOTS];

	atomic_store(slot, process);
	syscall(SYS_futex, slot, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* From here on @i's own event samples it, and not the clock of the CPU. */
static void cover_begin(struct af_bpf *b, struct bpf_image *i, const struct af_client *g)
{
	struct af_bpf_covered c = {
	    .how = g->sees_kernel ? AF_BPF_COVER_ALL : AF_BPF_COVER_USER,
	    .since_ns = af_now_ns() - (uint64_t)af_time_namespace_ns(),
	    .ended_ns = UINT64_MAX,
	};

	bpf_map__update_elem(b->programs->maps.covered, &i->pid, sizeof i->pid, &c, sizeof c,
	                     BPF_ANY);
	ioctl(g->fd, PERF_EVENT_IOC_ENABLE, 0);
	i->covered = g->sees_kernel;
}

static void watcher_admit(void *self, const struct af_client *g)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;

	sideband_pump(b, af_now_ns());
	struct bpf_image *i = bpf_image_need(b, (uint32_t)g->pid, g->registered_ns);
	bool runs = i == bpf_image_at(b, (uint32_t)g->pid, UINT64_MAX);
	bpf_calls_admit(b, i);
	/* Too late for what was written of it under a number of its own. */
	if (i->process)
		bpf_out_close(b, i);
	i->process = g->process;
	i->ns_pid = g->ns_pid;
	i->registration = i->in_scope = true;
	i->written = false;

	uint32_t pid = (uint32_t)g->pid, one = 1;
	i->covered = false;
	if (b->options->samples && g->fd >= 0 && runs &&
	    (!g->sees_kernel || !ioctl(g->fd, PERF_EVENT_IOC_SET_BPF,
	                               bpf_program__fd(b->programs->progs.task_sample))))
		cover_begin(b, i, g);
	/* The program that took its place has no event: on_exec may have come before us. */
	sideband_pump(b, af_now_ns());
	if (i != bpf_image_at(b, pid, UINT64_MAX))
		bpf_map__delete_elem(b->programs->maps.covered, &pid, sizeof pid, 0);
	bpf_map__update_elem(b->programs->maps.scope, &pid, sizeof pid, &one, sizeof one, BPF_ANY);
	say_sampled(b, g->process);
}

static int watcher_fd(void *self)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;

	return ring_map(b) ? ring_buffer__epoll_fd(b->ring) : -1;
}

static uint32_t watcher_nr_alive(void *self)
{
	const struct af_bpf *b = self;
	uint32_t nr = 0;

	for (uint32_t k = 0; k < b->options->nr_pids; k++) {
		const uint64_t *at = af_map_get(&b->by_pid, b->options->pids[k]);
		const struct bpf_image *i = at ? (void *)(uintptr_t)*at : NULL;
		/* Asked as well, as the ring may have had no room for the news. */
		nr += i && !i->ended && (!kill((int)i->pid, 0) || errno != ESRCH);
	}
	return nr;
}

/*
 * The clock of the CPU has @i for itself from now on. What its event missed until then is counted
 * where it is more than chance: one to three ticks of any number, as both are periodic.
 */
void bpf_cover_end(struct af_bpf *b, struct bpf_image *i)
{
	struct bpf_map *map = b->programs->maps.covered;
	struct af_bpf_covered c;

	if (i->covered && !bpf_map__lookup_elem(map, &i->pid, sizeof i->pid, &c, sizeof c, 0) &&
	    c.nr_clock > c.nr_own) {
		uint64_t missed = c.nr_clock - c.nr_own;
		if (missed > 2 * AF_BPF_TICKS_BY_CHANCE + c.nr_clock / 64)
			af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = AF_LOST_THROTTLED,
			              .count = missed);
	}
	i->covered = false;
	bpf_map__delete_elem(map, &i->pid, sizeof i->pid, 0);
}

static bool watcher_hold(void *self, const struct af_client *g)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;
	struct bpf_image *i = bpf_image_at(b, (uint32_t)g->pid, UINT64_MAX);
	struct af_bpf_covered c;

	if (!i || i->process != g->process ||
	    bpf_map__lookup_elem(b->programs->maps.covered, &i->pid, sizeof i->pid, &c, sizeof c,
	                         0))
		return false;
	ioctl(g->fd, PERF_EVENT_IOC_DISABLE, 0);
	bpf_cover_end(b, i);
	return true;
}

static bool watcher_take(void *self, struct af_client *g)
{
	if (g->fd >= 0 && !g->held)
		g->held = watcher_hold(self, g);
	return g->held;
}

static void watcher_resume(void *self, const struct af_client *g)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;
	struct bpf_image *i = bpf_image_at(b, (uint32_t)g->pid, UINT64_MAX);

	if (i && i->process == g->process)
		cover_begin(b, i, g);
}

static void watcher_see_calls(void *self, const struct af_client *g)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;

	sideband_pump(b, af_now_ns()); /* where its driver is */
	struct bpf_image *i = bpf_image_at(b, (uint32_t)g->pid, UINT64_MAX);
	if (i && i->process == g->process)
		bpf_calls_outside(b, i);
}

static void losses_write(struct af_bpf *b)
{
	bpf_mappings_lost(b);
	uint64_t lost[] = {b->programs->bss->counts[AF_BPF_COUNT_RING_FULL] + b->sideband.lost,
	                   b->programs->bss->counts[AF_BPF_COUNT_NO_SLOT],
	                   b->programs->bss->counts[AF_BPF_COUNT_NO_CALLER]};
	static const enum af_lost reasons[] = {AF_LOST_KERNEL_RING, AF_LOST_TABLE_FULL,
	                                       AF_LOST_TABLE_FULL};

	for (int i = 0; i < AF_BPF_COUNTS; i++) {
		if (lost[i] > b->counted[i])
			af_stream_put(&b->r->stream, lost, af_now_ns(), .reason = reasons[i],
			              .count = lost[i] - b->counted[i]);
		b->counted[i] = lost[i];
	}
}

static void watcher_stop(void *self);

static void watcher_pump(void *self)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;

	if (b->stopped)
		return;
	if (af_control_state(b->r) == AF_SESSION_OVER) {
		watcher_stop(b);
		return;
	}
	b->programs->bss->silent = af_control_state(b->r) != AF_SESSION_ON;
	uint64_t now = af_now_ns();
	if (ring_map(b))
		ring_buffer__consume(b->ring);
	sideband_pump(b, now);
	bpf_queue_write(b, now - HOLD_NS);
	losses_write(b);
	if (b->nr_callers || b->probing.over)
		bpf_calls_poll(b, now);
	bpf_drm_poll(b, now);
	bpf_forget(b, now);
}

/* A thread that is off the CPU when recording ends was off it until then. */
static void blocked_write(struct af_bpf *b)
{
	uint64_t now = af_now_ns();
	static struct af_bpf_stacks s;
	uint32_t tid, *last = NULL;
	int fd = bpf_map__fd(b->programs->maps.slots);

	for (; !bpf_map_get_next_key(fd, last, &tid); last = &tid) {
		if (bpf_map_lookup_elem(fd, &tid, &s) || !s.out_ns || now < s.out_ns ||
		    now - s.out_ns < b->options->min_block_ns)
			continue;
		s.head.time_ns = now;
		bpf_record_write(b, &s.head, sizeof s);
	}
}

static void watcher_stop(void *self)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf *b = self;

	if (b->stopped)
		return;
	b->programs->bss->silent = true;
	uint64_t now = af_now_ns();
	if (ring_map(b))
		ring_buffer__consume(b->ring);
	sideband_pump(b, now);
	bpf_queue_write(b, UINT64_MAX);
	bpf_drm_poll(b, UINT64_MAX);
	bpf_drm_over(b);
	bpf_functions_over(b);
	if (b->options->off_cpu)
		blocked_write(b);
	b->stopped = true;
	losses_write(b);
	/* Those that nothing was seen of but that they lived. */
	for (uint32_t k = 0; k < b->nr_images; k++) {
		struct bpf_image *i = b->images[k];
		if (i->in_scope && !i->ended && bpf_image_at(b, i->pid, UINT64_MAX) == i) {
			if (!b->options->all)
				bpf_image_introduce(b, i);
			bpf_usage_end(b, i);
		}
		bpf_out_close(b, i);
	}
	bpf_idle_close(b);
	bpf_calls_over(b);
}

static void watcher_close(void *self)
{
	struct af_bpf *b = self;

	ring_buffer__free(b->ring);
	bpf_functions_close(b);
	bpf_programs_close(b);
	af_sideband_close(&b->sideband);
	bpf_images_free(b);
	bpf_calls_close(b);
	bpf_unwind_close(b);
	bpf_usage_close(b);
	af_strtab_free(&b->strings);
	free(b->queue.data);
	free(b->batches);
	free(b);
}

static uint32_t watcher_process_of(void *self, int pid)
{
	struct af_bpf *b = self;
	struct bpf_image *i = bpf_image_at(b, (uint32_t)pid, UINT64_MAX);

	return i ? bpf_image_process(b, i) : 0;
}

const struct af_watcher_ops af_bpf_watcher = {
    .open = watcher_open,
    .adopt = watcher_adopt,
    .drop_rights = watcher_drop_rights,
    .admit = watcher_admit,
    .take = watcher_take,
    .hold = watcher_hold,
    .resume = watcher_resume,
    .see_calls = watcher_see_calls,
    .fd = watcher_fd,
    .pump = watcher_pump,
    .process_of = watcher_process_of,
    .nr_alive = watcher_nr_alive,
    .stop = watcher_stop,
    .close = watcher_close,
};
