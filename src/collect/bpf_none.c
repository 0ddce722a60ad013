/* In builds without clang, bpftool or libbpf. */
#include "collect/bpf.h"

#include <errno.h>

#include "base/err.h"

int af_bpf_probe(char *words, size_t size, struct af_err *err)
{
	(void)words;
	(void)size;
	return af_fail_plain(err, -EOPNOTSUPP,
	                     "this build was made without it: clang, bpftool or libbpf (0.8 or "
	                     "later) was missing: run ./setup again");
}

int af_bpf_prepare(const struct af_bpf_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err)
{
	(void)o;
	(void)period_ns;
	return af_bpf_probe(words, size, err);
}

int af_bpf_open(struct af_bpf **b, struct af_recording *r, struct af_err *err)
{
	(void)r;
	*b = NULL;
	return af_bpf_probe(NULL, 0, err);
}

void af_bpf_adopt(struct af_bpf *b, bool on)
{
	(void)b;
	(void)on;
}

void af_bpf_drop_privileges(const struct af_bpf *b)
{
	(void)b;
}

void af_bpf_admit(struct af_bpf *b, const struct af_guest *g)
{
	(void)b;
	(void)g;
}

bool af_bpf_hold(struct af_bpf *b, const struct af_guest *g)
{
	(void)b;
	(void)g;
	return false;
}

void af_bpf_resume(struct af_bpf *b, const struct af_guest *g)
{
	(void)b;
	(void)g;
}

void af_bpf_see_calls(struct af_bpf *b, const struct af_guest *g)
{
	(void)b;
	(void)g;
}

int af_bpf_fd(struct af_bpf *b)
{
	(void)b;
	return -1;
}

void af_bpf_pump(struct af_bpf *b)
{
	(void)b;
}

uint32_t af_bpf_nr_alive(const struct af_bpf *b)
{
	(void)b;
	return 0;
}

void af_bpf_stop(struct af_bpf *b)
{
	(void)b;
}

void af_bpf_close(struct af_bpf *b)
{
	(void)b;
}

uint32_t af_bpf_process_of(struct af_bpf *b, int pid)
{
	(void)b;
	(void)pid;
	return 0;
}
