/*
 * The CPU time that processes used while they were watched. For one that was there before us it is
 * a difference: the kernel's figure at its end, or /proc's when recording ends, less what it had
 * used when we came. /proc counts in ticks of 10 ms.
 */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "collect/bpf/private.h"
#include "collect/session/clients.h"
#include "collect/session/session.h"

static void usage_remember(struct af_bpf *b, uint32_t pid)
{
	struct af_client g = {.pid = (int)pid};

	if (!af_client_poll(&g))
		return;
	AF_GROW(b->used, b->nr_used, b->cap_used);
	b->used[b->nr_used++] = (struct bpf_used){g.user_ns, g.kernel_ns};
	*af_map_at(&b->used_by_pid, pid, NULL) = b->nr_used;
}

void bpf_usage_begin(struct af_bpf *b)
{
	DIR *all = b->options->all ? opendir("/proc") : NULL;
	const struct dirent *e;

	for (uint32_t i = 0; i < b->options->nr_pids; i++)
		usage_remember(b, b->options->pids[i]);
	while (all && (e = readdir(all)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			usage_remember(b, (uint32_t)strtoul(e->d_name, NULL, 10));
	if (all)
		closedir(all);
}

void bpf_usage_fresh(struct af_bpf *b, uint32_t pid)
{
	uint64_t *number = af_map_get(&b->used_by_pid, pid);

	if (number)
		*number = 0;
}

static void less(uint64_t *ns, uint64_t used_ns)
{
	*ns = *ns > used_ns ? *ns - used_ns : 0;
}

/* Takes off what @i had used before us; false where that is nothing. */
static bool usage_difference(const struct af_bpf *b, const struct bpf_image *i, uint64_t *user_ns,
                             uint64_t *kernel_ns)
{
	const uint64_t *number = af_map_get(&b->used_by_pid, i->pid);

	if (!number || !*number)
		return false;
	less(user_ns, b->used[*number - 1].user_ns);
	less(kernel_ns, b->used[*number - 1].kernel_ns);
	return true;
}

void bpf_usage_close(struct af_bpf *b)
{
	af_map_free(&b->used_by_pid);
	free(b->used);
}

/* As the kernel does it for wait(2): the exact sum, shared out by ticks. */
static struct af_used used_of(uint64_t utime, uint64_t stime, uint64_t runtime_ns)
{
	uint64_t ticks = utime + stime;
	uint64_t kernel_ns =
	    ticks ? (uint64_t)((double)runtime_ns * (double)stime / (double)ticks) : 0;

	if (kernel_ns > runtime_ns)
		kernel_ns = runtime_ns;
	return (struct af_used){runtime_ns - kernel_ns, kernel_ns};
}

/* The earlier use of a thread that was there before us is not known. */
void bpf_usage_thread(struct af_bpf *b, struct bpf_image *i, const struct af_bpf_thread_exit *e)
{
	const uint64_t *number = af_map_get(&b->used_by_pid, i->pid);

	if (i->in_scope && (!number || !*number))
		af_usage_write(b->r, bpf_image_process(b, i), e->head.ns_tid, AF_USAGE_OWN,
		               AF_USAGE_ENDED, used_of(e->utime, e->stime, e->runtime_ns));
}

void bpf_usage_exit(struct af_bpf *b, const struct bpf_image *i, const struct af_bpf_exit *e)
{
	struct af_used used = used_of(e->utime, e->stime, e->runtime_ns);
	/* The kernel keeps the peak over an exec: that of the program before is not its own. */
	uint64_t peak = e->max_rss_pages > i->max_rss_pages ? e->max_rss_pages : 0;
	bool before = usage_difference(b, i, &used.user_ns, &used.kernel_ns);

	/* For the program itself, the wait for its end reports that. */
	if (i->pid == (uint32_t)b->r->child)
		return;
	af_stream_put(&b->r->stream, process_end, af_now_ns(), .process = i->process,
	              .status = e->status, .user_ns = used.user_ns, .kernel_ns = used.kernel_ns,
	              .max_rss_bytes = peak * (uint64_t)sysconf(_SC_PAGESIZE),
	              .source = before ? AF_USAGE_WATCHED : AF_USAGE_SELF);
}

void bpf_usage_end(struct af_bpf *b, const struct bpf_image *i)
{
	struct af_client g = {.pid = (int)i->pid};

	if (!i->written || i->registration || i->pid == (uint32_t)b->r->child ||
	    !af_client_poll(&g))
		return;
	usage_difference(b, i, &g.user_ns, &g.kernel_ns);
	af_stream_put(&b->r->stream, process_end, af_now_ns(), .process = i->process, .status = -1,
	              .user_ns = g.user_ns, .kernel_ns = g.kernel_ns,
	              .max_rss_bytes = g.max_rss_bytes, .source = AF_USAGE_WATCHED);
}
