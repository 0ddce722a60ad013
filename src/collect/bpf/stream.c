/* Writes samples and definitions into the stream that an image has of its own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

enum {
	/* Our streams differ from those of libaflame by their number. */
	FIRST_NUMBER = 1000000,
	/* Frames that the kernel follows at most (kernel.perf_event_max_stack). */
	FRAMES_MAX = 512,
};

static struct bpf_out *out_open(struct af_bpf *b, uint32_t process, uint32_t pid)
{
	struct af_session *control = b->r->control;
	uint64_t instance = atomic_fetch_add(&control->nr_instances, 1) + 1;
	struct bpf_out *out = af_xcalloc(1, sizeof *out);
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/s%u-%u", b->r->shm, process,
	         FIRST_NUMBER + (uint32_t)instance);
	if (af_stream_open_ring(&out->stream, path, instance, process, pid, pid)) {
		free(out);
		return NULL;
	}
	/*
	 * The drain finishes rings by process, and it does so for a client that ended while samples
	 * of it are still held back here: ours go by a number that is no process.
	 */
	out->epoch = atomic_load(&control->epoch);
	out->tid = UINT32_MAX; /* nobody yet: 0 is the interrupts */
	out->finish_as = 1u << 31 | (uint32_t)instance;
	out->stream.ring->process = out->finish_as;
	return out;
}

static void out_close(struct af_bpf *b, struct bpf_out *out)
{
	af_stream_close(&out->stream);
	af_drain_poll(&b->r->drain);
	af_drain_finish(&b->r->drain, out->finish_as);
	af_keys_free(&out->kstacks);
	af_keys_free(&out->stacks);
	free(out);
}

struct bpf_out *bpf_out_of(struct af_bpf *b, struct bpf_image *image)
{
	if (image->out)
		return image->out;
	uint32_t process = bpf_image_process(b, image);
	image->out = out_open(b, process, image->ns_pid ? image->ns_pid : image->pid);
	if (!image->out)
		b->r->control->lost_no_stream++;
	else
		bpf_image_introduce(b, image);
	return image->out;
}

void bpf_out_close(struct af_bpf *b, struct bpf_image *image)
{
	bpf_drm_close(image);
	if (image->out)
		out_close(b, image->out);
	image->out = NULL;
	image->nr_maps_written = 0;
	image->inherited_written = false;
}

static void out_see_epoch(const struct af_bpf *b, struct bpf_out *out)
{
	uint32_t epoch = atomic_load_explicit(&b->r->control->epoch, memory_order_relaxed);

	if (out->epoch == epoch)
		return;
	out->epoch = epoch;
	af_keys_free(&out->kstacks);
	af_keys_free(&out->stacks);
	out->nr_kstacks = out->nr_stacks = 0;
	memset(out->functions, 0, sizeof out->functions);
	memset(out->probed, 0, sizeof out->probed);
}

static void out_thread(struct bpf_out *out, const struct af_bpf_head *h)
{
	if (out->tid == h->ns_tid)
		return;
	out->tid = h->ns_tid;
	af_stream_owner(&out->stream, h->ns_tid);
	struct af_ev_thread ev = {.tid = h->ns_tid};
	struct af_tail name = {h->comm, (uint32_t)strnlen(h->comm, sizeof h->comm), 0};
	af_stream_put_tail(&out->stream, AF_KIND_THREAD, h->time_ns, &ev, sizeof ev, &name, 1);
}

/* The kernel's part from frame @skip on; 0 for none. */
static uint32_t out_kstack(struct bpf_out *out, struct af_bpf_stacks *s, uint32_t skip)
{
	uint32_t nr = s->kernel_bytes / 8;
	bool fresh;

	if (nr <= skip)
		return 0;
	for (uint32_t i = skip ? skip : 1; i < nr; i++)
		s->pcs[i]--;
	uint64_t *id =
	    af_keys_at(&out->kstacks, s->pcs + skip, (nr - skip) * sizeof *s->pcs, &fresh);
	if (!fresh)
		return (uint32_t)*id;
	*id = ++out->nr_kstacks;
	struct af_ev_kstack ev = {
	    .kstack = out->nr_kstacks,
	    .stop = nr == AF_BPF_KERNEL_MAX ? AF_STOP_TOO_DEEP : AF_STOP_COMPLETE,
	};
	struct af_tail pcs = {s->pcs + skip, (nr - skip) * 8, 8};
	af_stream_put_tail(&out->stream, AF_KIND_KSTACK, s->head.time_ns, &ev, sizeof ev, &pcs, 1);
	return out->nr_kstacks;
}

/* The user's part as a call path; 0 for none. */
static uint32_t out_callpath(struct af_bpf *b, struct bpf_image *image,
                             const struct af_bpf_stacks *s)
{
	struct bpf_out *out = image->out;
	uint64_t pcs[FRAMES_MAX + 1];
	enum af_stop stop;
	bool fresh;
	uint32_t nr = bpf_unwind(b, image, s, pcs, sizeof pcs / sizeof *pcs - 1, &stop);
	uint32_t epoch = bpf_mapping_epoch(image, s->head.time_ns);

	if (!nr)
		return 0;
	pcs[nr] = epoch;
	uint64_t *id = af_keys_at(&out->stacks, pcs, (nr + 1) * sizeof *pcs, &fresh);
	if (!fresh)
		return (uint32_t)*id;
	*id = ++out->nr_stacks;
	bpf_mappings_write(b, image, s->head.time_ns);
	struct af_ev_stack ev = {
	    .stack = out->nr_stacks,
	    .stop = stop,
	    .epoch = BPF_EPOCH + epoch,
	};
	struct af_tail tail = {pcs, nr * 8, 8};
	af_stream_put_tail(&out->stream, AF_KIND_STACK, s->head.time_ns, &ev, sizeof ev, &tail, 1);
	af_stream_put(&out->stream, callpath, s->head.time_ns, .callpath = out->nr_stacks,
	              .stack = out->nr_stacks);
	return out->nr_stacks;
}

static void write_offcpu(struct bpf_out *out, const struct af_bpf_stacks *s, uint32_t callpath,
                         uint32_t kstack)
{
	uint64_t woken_ns = s->woken_ns ? s->woken_ns : s->head.time_ns;

	/* A preempted thread has waited for a CPU all the time. */
	if (s->what == AF_STATE_RUNNABLE || woken_ns < s->out_ns)
		woken_ns = s->out_ns;
	af_stream_put(&out->stream, offcpu, s->head.time_ns, .callpath = callpath, .kstack = kstack,
	              .state = s->what, .blocked_ns = woken_ns - s->out_ns,
	              .queued_ns = s->head.time_ns - woken_ns, .wake = s->wake);
}

void bpf_write_stacks(struct af_bpf *b, struct bpf_image *image, struct af_bpf_stacks *s)
{
	uint32_t skip = bpf_kernel_skip(&b->kernel, s), callpath = 0;
	struct bpf_out *out;

	/* An interrupt wakes on behalf of nobody: least of all of the thread that it hit. */
	if (s->head.kind == AF_BPF_WAKE && (!image || bpf_kernel_in_irq(&b->kernel, s))) {
		if (!b->idle)
			b->idle = out_open(b, 0, (uint32_t)b->r->control->recorder_pid);
		image = NULL;
		s->head.ns_tid = 0;
		strcpy(s->head.comm, "interrupt");
		out = b->idle;
	} else {
		out = image ? bpf_out_of(b, image) : NULL;
	}
	if (!out)
		return;
	out_see_epoch(b, out);
	out_thread(out, &s->head);
	uint32_t kstack = out_kstack(out, s, skip);
	if (image)
		callpath = out_callpath(b, image, s);
	if (s->head.kind == AF_BPF_SAMPLE)
		af_stream_put(&out->stream, ksample, s->head.time_ns, .callpath = callpath,
		              .kstack = kstack, .flags = s->what ? AF_SAMPLE_JOINS : 0,
		              .cpu = s->head.cpu, .weight_ns = s->wake * b->period_ns);
	else if (s->head.kind == AF_BPF_CALL || s->head.kind == AF_BPF_RECORDED_CALL)
		bpf_calls_write(out, s, callpath);
	else if (s->head.kind == AF_BPF_FUNCTION)
		bpf_functions_write(b, out, s, callpath);
	else if (s->head.kind == AF_BPF_DRIVER_CALL)
		bpf_drm_call_write(b, image, out, s, callpath);
	else if (s->head.kind == AF_BPF_SUBMIT)
		bpf_drm_submit_write(image, out, s, callpath);
	else if (s->head.kind == AF_BPF_WAKE)
		af_stream_put(&out->stream, wake, s->head.time_ns, .wake = s->wake, .tid = s->what,
		              .callpath = callpath, .kstack = kstack);
	else
		write_offcpu(out, s, callpath, kstack);
}

void bpf_write_comm(struct af_bpf *b, struct bpf_image *image, const struct af_bpf_head *h)
{
	struct bpf_out *out = bpf_out_of(b, image);
	struct af_ev_comm ev = {.tid = h->ns_tid};
	struct af_tail name = {h->comm, (uint32_t)strnlen(h->comm, sizeof h->comm), 0};

	if (out)
		af_stream_put_tail(&out->stream, AF_KIND_COMM, h->time_ns, &ev, sizeof ev, &name,
		                   1);
}

void bpf_idle_close(struct af_bpf *b)
{
	if (b->idle)
		out_close(b, b->idle);
	b->idle = NULL;
}
