/* Tests whether the kernel's programs can be loaded on this machine, and explains why not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/proc.h"
#include "base/system/rights.h"
#include "collect/bpf/private.h"

enum { PROBE_PERIOD_NS = 1000000000 };

static const char getting_it[] =
    "run aflame as root, or have a group that you trust run it with its rights: chgrp GROUP "
    "FILE; chmod 0750 FILE; setcap cap_bpf,cap_perfmon=p FILE (docs/kernel.md)";

static bool has_capabilities(void)
{
	uint64_t both = AF_RIGHT(CAP_BPF) | AF_RIGHT(CAP_PERFMON);

	return af_rights_have(AF_RIGHT(CAP_SYS_ADMIN)) || af_rights_have(both) == both;
}

static bool file_has(const char *path, const char *words)
{
	char text[512];

	af_read_text(path, text, sizeof text);
	return strstr(text, words) != NULL;
}

/* Why it cannot work, as far as that can be known without trying. */
static int probe_poll(struct af_err *err)
{
	if (!af_linux_is_at_least(5, 8))
		return af_fail_plain(err, -EOPNOTSUPP, "Linux 5.8 or later is needed");
	if (!has_capabilities())
		return af_fail_plain(err, -EPERM, "the kernel shows itself to root only: %s",
		                     getting_it);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return af_fail_plain(
		    err, -ENOENT,
		    "this kernel does not describe itself (no /sys/kernel/btf/vmlinux): "
		    "boot one that is built with CONFIG_DEBUG_INFO_BTF");
	if (file_has("/sys/kernel/security/lockdown", "[confidentiality]"))
		return af_fail_plain(err, -EPERM,
		                     "the kernel is locked down: boot with lockdown=integrity, or "
		                     "without Secure Boot");
	return 0;
}

/* The likely meaning of @rc, which the kernel returned although we have the capabilities. */
static int probe_explain(int rc, struct af_err *err)
{
	struct rlimit memlock;

	if (rc == -EPERM && !af_linux_is_at_least(5, 11) && !getrlimit(RLIMIT_MEMLOCK, &memlock) &&
	    memlock.rlim_cur != RLIM_INFINITY)
		return af_fail_plain(
		    err, rc,
		    "this kernel counts BPF memory as locked memory: lift the limit "
		    "with ulimit -l unlimited");
	if ((rc == -EPERM || rc == -EACCES) && !file_has("/proc/self/status", "\nSeccomp:\t0"))
		return af_fail_plain(
		    err, rc,
		    "a filter of system calls refuses it, as in a container: run it "
		    "with --cap-add BPF --cap-add PERFMON, or --privileged");
	if (rc == -EACCES || rc == -EPERM)
		return af_fail_plain(
		    err, rc, "the kernel refuses it although the capabilities are there (%s)",
		    err->msg);
	return rc;
}

/* The programs that af_bpf_prepare() loaded, until they are taken. */
static struct {
	struct record_bpf *programs;
	struct af_watch_options options;
	uint64_t period_ns;
	pid_t pid;
} prepared;

static bool is_prepared(const struct af_bpf *b)
{
	const struct af_watch_options *o = b->options, *p = &prepared.options;

	return prepared.programs && prepared.pid == getpid() &&
	       prepared.period_ns == b->period_ns && o->samples == p->samples && o->all == p->all &&
	       o->nr_pids == p->nr_pids && o->off_cpu == p->off_cpu &&
	       o->min_block_ns == p->min_block_ns && o->calls_twice == p->calls_twice &&
	       o->functions == p->functions;
}

bool bpf_prepared_take(struct af_bpf *b)
{
	bool is = is_prepared(b);
	struct af_bpf other = {.programs = prepared.programs};

	if (is)
		b->programs = prepared.programs;
	else if (prepared.programs)
		bpf_programs_close(&other);
	prepared.programs = NULL;
	return is;
}

#define BPF_SEES "kernel stacks, static and running programs, off-CPU time"

static void calls_words(int rc, char *words, size_t size)
{
	snprintf(words, size, BPF_SEES "%s",
	         !rc ? ", their CUDA calls"
	         : rc == -EPERM || rc == -EACCES
	             ? "; no CUDA calls from outside (run it as root)"
	             : "; no CUDA calls from outside (the kernel lacks CONFIG_UPROBES)");
}

int af_bpf_prepare(const struct af_watch_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err)
{
	scope_rights(AF_RIGHTS_KERNEL);
	struct af_bpf b = {.options = o, .period_ns = period_ns};

	if (o->nr_functions && !af_linux_is_at_least(5, 15))
		return af_fail_plain(err, -EOPNOTSUPP, "--uprobe needs Linux 5.15 or later");
	/* The room for calls of others depends on what else the session is. */
	if (o->all || o->nr_pids || o->calls_twice)
		return af_bpf_probe(words, size, err);
	int rc = probe_poll(err);
	if (rc)
		return rc;
	rc = bpf_programs_load(&b, err);
	if (!rc)
		rc = af_sideband_open(&b.sideband, err);
	af_sideband_close(&b.sideband);
	if (!rc)
		rc = bpf_programs_try(&b, err);
	if (rc) {
		bpf_programs_close(&b);
		return probe_explain(rc, err);
	}
	/* Removing a probe of CUDA's calls takes 30 ms, so they are tried, and their failure
	 * reported, only when there are any. */
	snprintf(words, size, "%s", BPF_SEES);
	prepared.programs = b.programs;
	prepared.options = *o;
	prepared.period_ns = period_ns;
	prepared.pid = getpid();
	return 0;
}

int af_bpf_probe(char *words, size_t size, struct af_err *err)
{
	scope_rights(AF_RIGHTS_KERNEL);
	static const struct af_watch_options options = {.samples = true,
	                                                .off_cpu = AF_OFF_CPU_WAKERS};
	struct af_bpf b = {.options = &options, .period_ns = PROBE_PERIOD_NS};
	int rc = probe_poll(err);

	if (rc)
		return rc;
	rc = bpf_programs_load(&b, err);
	if (!rc)
		rc = bpf_programs_attach(&b, err);
	if (!rc)
		rc = af_sideband_open(&b.sideband, err);
	int calls_rc = rc ? rc : bpf_calls_try(b.programs);
	af_sideband_close(&b.sideband);
	bpf_programs_close(&b);
	if (rc)
		return probe_explain(rc, err);
	calls_words(calls_rc, words, size);
	return 0;
}

bool af_bpf_drivers_probe(char *words, size_t size)
{
	scope_rights(AF_RIGHTS_KERNEL);
	static const struct af_watch_options options = {.all = true};
	struct af_bpf b = {.options = &options, .period_ns = PROBE_PERIOD_NS};
	struct af_err err;

	if (!bpf_drm_has_drivers()) {
		snprintf(words, size, "no GPU driver of the kernel's (/sys/class/drm)");
		return false;
	}
	int rc = probe_poll(&err);
	if (!rc)
		rc = bpf_programs_load(&b, &err);
	if (!rc)
		rc = bpf_programs_attach(&b, &err);
	bpf_programs_close(&b);
	if (rc)
		snprintf(words, size, "bpf does not work (see above)");
	else if (!*b.drivers)
		snprintf(
		    words, size,
		    "the kernel lets nobody attach to functions of its GPU drivers: it needs "
		    "CONFIG_DEBUG_INFO_BTF_MODULES and CONFIG_FUNCTION_TRACER, and a container "
		    "needs --privileged");
	else
		snprintf(words, size, "%s", b.drivers);
	return !rc && *b.drivers;
}
