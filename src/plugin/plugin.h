/*
 * Runs a plug-in over a trace, in a process of its own with limits, and takes its results.
 */
#ifndef AF_PLUGIN_PLUGIN_H
#define AF_PLUGIN_PLUGIN_H

#include <stdint.h>

#include "plugin/results.h"

struct af_err;

/* Patterns of functions (af_pattern_open()). */
struct af_plugin_patterns {
	const char **items;
	uint32_t nr;
};

struct af_plugin_request {
	const char *path; /* of the shared object, as dlopen() takes it */
	int argc;         /* words for the plug-in */
	char **argv;
	const char *dir;         /* of the trace, which is finished */
	const char *member;      /* of a set: which of its traces; else "" */
	uint64_t memory;         /* bytes that its process may allocate */
	uint64_t call_ns;        /* one callback may take so long */
	uint64_t from_ns, to_ns; /* only that time after the start of the trace; 0 and 0: all */
	/* The plug-in gets what these leave of stacks, in this order (analyse/tree/filter.h). */
	struct af_plugin_patterns focus, hide, search;
	void (*progress)(void *arg, uint64_t done, uint64_t size); /* or NULL */
	void *arg;
};

/*
 * Run it. The process must have no other thread. 0, and the results in @r, which the caller frees,
 * also after a failure; -errno with a message that names the plug-in, and the callback in which it
 * crashed, ended or took too long.
 */
int af_plugin_run(const struct af_plugin_request *q, struct af_plugin_results *r,
                  struct af_err *err);

#endif
