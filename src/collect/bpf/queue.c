/* Records of the kernel's programs: kept until they are HOLD_NS old, then written as events. */
#include <string.h>

#include <bpf/libbpf.h>

#include "base/arena.h"

#include "bpf/record.skel.h"
#include "collect/bpf/private.h"
#include "collect/session/session.h"

enum { PUMP_EACH = 1024 }; /* records, then the drain has its turn */

/* From the ring into the queue, as it is. */
int bpf_queue_add(void *arg, void *data, size_t size)
{
	struct bpf_queue *q = &((struct af_bpf *)arg)->queue;
	uint64_t bytes = size;
	size_t room = sizeof bytes + ((size + 7) & ~7ull);

	if (size < sizeof(struct af_bpf_head))
		return 0;
	if (q->head && q->head == q->len)
		q->head = q->len = 0;
	if (q->len + room > q->cap && q->head > q->cap / 2) {
		memmove(q->data, q->data + q->head, q->len - q->head);
		q->len -= q->head;
		q->head = 0;
	}
	AF_ROOM(q->data, q->len + room, q->cap);
	memcpy(q->data + q->len, &bytes, sizeof bytes);
	memcpy(q->data + q->len + sizeof bytes, data, size);
	q->len += room;
	return 0;
}

/* The oldest record, in place; NULL when it is not old enough. */
static void *queue_take(struct bpf_queue *q, uint64_t until_ns, size_t *size)
{
	uint64_t bytes;

	if (q->head == q->len)
		return NULL;
	memcpy(&bytes, q->data + q->head, sizeof bytes);
	struct af_bpf_head *h = (void *)(q->data + q->head + sizeof bytes);
	if (h->time_ns > until_ns)
		return NULL;
	q->head += sizeof bytes + ((bytes + 7) & ~7ull);
	*size = bytes;
	return h;
}

static void process_over(struct af_bpf *b, struct bpf_image *i, const struct af_bpf_exit *e)
{
	bpf_image_exit(i, b, e);
	if (bpf_image_at(b, i->pid, UINT64_MAX) != i)
		return; /* the pid is another's by now */
	bpf_map__delete_elem(b->programs->maps.scope, &i->pid, sizeof i->pid, 0);
	bpf_cover_end(b, i);
}

static bool has_size(const struct af_bpf_stacks *s, size_t size)
{
	size_t head = offsetof(struct af_bpf_stacks, pcs);

	return size >= head && s->kernel_bytes <= AF_BPF_KERNEL_MAX * 8 &&
	       s->user_bytes <= AF_BPF_USER_MAX * 8 &&
	       size - head >= (size_t)s->kernel_bytes + s->user_bytes + s->stack_bytes;
}

/* And not the moments between our fork and the exec of the program. */
static bool is_program(const struct af_bpf *b, const struct bpf_image *i)
{
	return (int)i->pid != b->r->child || i->exec || i->older;
}

/*
 * The process image that a record is about. The moments between our fork and the exec of the
 * program count as the program's: there is no process that it was forked from.
 */
static struct bpf_image *image_of(struct af_bpf *b, const struct af_bpf_head *h)
{
	struct bpf_image *i = bpf_image_need(b, h->pid, h->time_ns), *next;

	if (is_program(b, i))
		return i;
	for (next = bpf_image_at(b, h->pid, UINT64_MAX); next != i && next->older != i;)
		next = next->older;
	return next;
}

static void stacks_write(struct af_bpf *b, struct bpf_image *i, struct af_bpf_stacks *s)
{
	/*
	 * In the middle of an exec the registers are still those of the program that calls it: of
	 * its stack, which is gone, they are all that is left.
	 */
	if (i && i->exec && !i->begun) {
		bool caller = i->older && is_program(b, i->older);
		s->stack_bytes = 0;
		s->user_bytes = caller && s->user_bytes ? 8 : 0;
		if (caller)
			i = i->older;
	}
	bpf_write_stacks(b, i, s);
}

static void call_write(struct af_bpf *b, struct bpf_image *i, struct af_bpf_stacks *s)
{
	s->what = bpf_calls_function(i, s);
	if (s->what)
		bpf_write_stacks(b, i, s);
}

/* A record with stacks, which is whole. */
static void stacks_take(struct af_bpf *b, struct bpf_image *i, struct af_bpf_stacks *s)
{
	switch (s->head.kind) {
	case AF_BPF_SAMPLE:
	case AF_BPF_OFFCPU:
	case AF_BPF_WAKE:
		if (i || s->head.kind == AF_BPF_WAKE)
			stacks_write(b, i, s);
		break;
	case AF_BPF_FUNCTION:
		if (i)
			stacks_write(b, i, s);
		break;
	case AF_BPF_CALL:
		if (i && bpf_calls_are_ours(i))
			call_write(b, i, s);
		break;
	case AF_BPF_RECORDED_CALL:
		if (i && bpf_calls_recorded(i, s))
			bpf_write_stacks(b, i, s);
		break;
	case AF_BPF_DRIVER_CALL:
	case AF_BPF_SUBMIT:
		/* libaflame records the work itself, at the API that the program uses. */
		if (i && bpf_calls_are_ours(i))
			bpf_write_stacks(b, i, s);
		break;
	}
}

void bpf_record_write(struct af_bpf *b, struct af_bpf_head *h, size_t size)
{
	struct bpf_image *i = h->pid ? image_of(b, h) : NULL;

	if (i && !i->ns_pid)
		i->ns_pid = h->ns_pid;
	switch (h->kind) {
	case AF_BPF_SAMPLE:
	case AF_BPF_OFFCPU:
	case AF_BPF_WAKE:
	case AF_BPF_FUNCTION:
	case AF_BPF_CALL:
	case AF_BPF_RECORDED_CALL:
	case AF_BPF_DRIVER_CALL:
	case AF_BPF_SUBMIT:
		if (has_size((void *)h, size))
			stacks_take(b, i, (void *)h);
		break;
	case AF_BPF_PASSED:
		if (i)
			bpf_functions_passed(b, i, (void *)h, size);
		break;
	case AF_BPF_WORK:
		if (i && size >= sizeof(struct af_bpf_work))
			bpf_drm_work_write(b, i, (void *)h);
		break;
	case AF_BPF_BATCH:
		if (i && bpf_calls_are_ours(i))
			bpf_drm_batch_write(b, i, (void *)h, size);
		break;
	case AF_BPF_UNBOUND:
		if (i && size >= sizeof(struct af_bpf_unbound))
			bpf_drm_unbound_write(b, i, (void *)h);
		break;
	case AF_BPF_EXEC:
		if (i && size >= sizeof(struct af_bpf_text)) {
			bpf_image_exec(i, b, (void *)h);
			for (struct bpf_image *was = i->older; was; was = was->older) {
				bpf_out_close(b, was);
				bpf_calls_end(b, was);
			}
		}
		break;
	case AF_BPF_EXIT:
		if (i && size >= sizeof(struct af_bpf_exit))
			process_over(b, i, (void *)h);
		break;
	case AF_BPF_THREAD_EXIT:
		if (i && size >= sizeof(struct af_bpf_thread_exit))
			bpf_usage_thread(b, i, (void *)h);
		break;
	case AF_BPF_COMM:
		/* libaflame tells it of its own; an exec renames too, before it is one. */
		if (i && !i->registration && i->out)
			bpf_write_comm(b, i, h);
		break;
	}
}

void bpf_queue_write(struct af_bpf *b, uint64_t until_ns)
{
	struct af_bpf_head *h;
	size_t size;
	uint32_t nr = 0;

	while ((h = queue_take(&b->queue, until_ns, &size))) {
		bpf_record_write(b, h, size);
		if (!(++nr % PUMP_EACH))
			af_drain_pump(&b->r->drain);
	}
}
