/* In builds without clang, bpftool or libbpf, which the collector bpf and its unwinder take. */
#include <stddef.h>

#include "collect/outside.h"

struct af_outside *af_outside_open(struct af_recording *r)
{
	(void)r;
	return NULL;
}

bool af_outside_wanted(const struct af_outside *o, const char *program)
{
	(void)o;
	(void)program;
	return false;
}

void af_outside_run(struct af_outside *o, int pid)
{
	(void)o;
	(void)pid;
}

void af_outside_admit(struct af_outside *o, const struct af_guest *g, int sampler_error)
{
	(void)o;
	(void)g;
	(void)sampler_error;
}

bool af_outside_take(struct af_outside *o, const struct af_guest *g)
{
	(void)o;
	(void)g;
	return false;
}

void af_outside_pump(struct af_outside *o)
{
	(void)o;
}

bool af_outside_is_busy(const struct af_outside *o)
{
	(void)o;
	return false;
}

uint32_t af_outside_process_of(struct af_outside *o, int pid)
{
	(void)o;
	(void)pid;
	return 0;
}

void af_outside_stop(struct af_outside *o)
{
	(void)o;
}

void af_outside_close(struct af_outside *o)
{
	(void)o;
}
