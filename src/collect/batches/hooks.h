/*
 * The functions of drivers at which batches are seen (bpf/submissions.bpf.h): which of them the
 * running kernel has, and lets us attach to.
 *
 *	af_batch_hooks_choose() before the programs are loaded → af_batch_hooks_attach()
 */
#ifndef AF_COLLECT_BATCHES_HOOKS_H
#define AF_COLLECT_BATCHES_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

struct btf;
struct record_bpf;

/* The types of the kernel, and those of the module that was looked into last. */
struct af_module_types {
	const struct btf *kernel;
	const char *module;
	struct btf *types; /* NULL: it is not loaded, or a part of the kernel */
};

/* Has @module that @function? The name of a module outlives the struct. */
bool af_module_has(struct af_module_types *t, const char *module, const char *function);
void af_module_types_close(struct af_module_types *t);

/*
 * Choose the programs whose functions are there; @kernel NULL: none of them. False: none is
 * chosen, as there is no function that takes batches, or Linux is older than 5.17.
 */
bool af_batch_hooks_choose(struct record_bpf *programs, const struct btf *kernel);

/*
 * Attach those that were loaded; @points: trace points that are launches already, as bits of enum
 * af_work_points. A text has the drivers whose batches are seen, and the functions that were
 * refused. True: any is.
 */
bool af_batch_hooks_attach(struct record_bpf *programs, unsigned points, char *text, size_t size);

#endif
