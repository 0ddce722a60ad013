/*
 * Uprobes on functions of libraries and programs, all at once where the kernel can (multi-uprobes),
 * else one by one.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/arena.h"
#include "base/system/proc.h"
#include "collect/bpf/private.h"

struct bpf_probes {
	struct bpf_probes *next; /* to be freed */
	int fd;                  /* of all, from Linux 6.10 on, or -1 */
	struct bpf_link **each;  /* before */
	uint32_t nr;
};

bool bpf_probes_at_once(void)
{
	/* Before, one that is for a process is for its first thread only. */
	return af_linux_is_at_least(6, 10);
}

/* bpf(2), BPF_LINK_CREATE: struct bpf_attr.link_create as of Linux 6.6, which libbpf 1.1 lacks. */
static int probe_at_once(int program, const char *path, const struct bpf_places *at, uint32_t pid)
{
	struct {
		uint32_t program, target, type, flags;
		uint64_t path, offsets, references, cookies;
		uint32_t nr, multi_flags, pid, pad;
	} attr = {
	    .program = (uint32_t)program,
	    .type = BPF_TRACE_UPROBES,
	    .path = (uintptr_t)path,
	    .offsets = (uintptr_t)at->offsets,
	    .references = (uintptr_t)at->semaphores,
	    .cookies = (uintptr_t)at->cookies,
	    .nr = at->nr,
	    .pid = pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);

	return fd < 0 ? -errno : fd;
}

/* Each is a descriptor: of many processes they are more than the usual 1,024. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int probe_each(struct bpf_probes *p, const struct bpf_program *program, const char *path,
                      const struct bpf_places *at, uint32_t pid)
{
	descriptors_allow();
	p->each = af_xcalloc(at->nr, sizeof *p->each);
	for (uint32_t i = 0; i < at->nr; i++) {
		struct bpf_uprobe_opts options = {
		    .sz = sizeof options,
		    .ref_ctr_offset = at->semaphores ? at->semaphores[i] : 0,
		    .bpf_cookie = at->cookies ? at->cookies[i] : 0,
		};
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
		    program, pid ? (int)pid : -1, path, at->offsets[i], &options);
		if (!link)
			return -errno;
		p->each[p->nr++] = link;
	}
	return 0;
}

void bpf_probes_free(struct bpf_probes *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	for (uint32_t i = 0; i < p->nr; i++)
		bpf_link__destroy(p->each[i]);
	free(p->each);
	free(p);
}

void bpf_probes_add(struct bpf_probes **list, struct bpf_probes *p)
{
	if (!p)
		return;
	p->next = *list;
	*list = p;
}

struct bpf_probes *bpf_probes_take(struct bpf_probes **list)
{
	struct bpf_probes *p = *list;

	if (p)
		*list = p->next;
	return p;
}

int bpf_probes_open(struct bpf_probes **to, const struct bpf_program *program, const char *path,
                    const struct bpf_places *at, uint32_t pid)
{
	struct bpf_probes *p = *to = af_xcalloc(1, sizeof *p);
	int rc;

	p->fd = -1;
	if (bpf_probes_at_once())
		rc = p->fd = probe_at_once(bpf_program__fd(program), path, at, pid);
	else
		rc = probe_each(p, program, path, at, pid);
	if (rc >= 0)
		return 0;
	bpf_probes_free(p);
	*to = NULL;
	return rc;
}
