/*
 * Chooses which processes to record and what the kernel adds: -p, -a, --off-cpu and the collector
 * `bpf`.
 */
#ifndef AF_CMD_RECORD_SCOPE_H
#define AF_CMD_RECORD_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;
struct af_record_options;
struct af_session_options;

struct af_scope {
	bool bpf;           /* samples come from there */
	char left_out[600]; /* why the kernel adds nothing by default; "": it does */
};

/*
 * Fills s->bpf and its flags when the kernel takes part: by --sample bpf (or auto where that
 * works), -p, -a, --off-cpu or --uprobe, for which @command is the program and its arguments. Call
 * it before the sampler is chosen. If samples come from the kernel, @why tells so. Without the
 * rights, these options fail, and the message tells how to get them. Memory that the options borrow
 * lives as long as the program.
 */
int af_scope_choose(const struct af_record_options *o, int nr_words, char **command,
                    struct af_session_options *s, struct af_scope *scope, char *why, size_t size,
                    struct af_err *err);

#endif
