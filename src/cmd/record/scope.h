/* Whom to record and what the kernel is to add: -p, -a, --off-cpu and the collector `bpf`. */
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
	char left_out[600]; /* why the kernel adds nothing that was not asked for; "": it does */
};

/*
 * Fills s->bpf and the flags that go with it, when the kernel has to take part: by --sample bpf (or
 * auto where that works), -p, -a or --off-cpu. Before the sampler is chosen. Where
 * samples come from there, @why says so. Without the rights -p, -a and --off-cpu fail, with
 * what gets them; what s->bpf borrows lives as long as the program.
 */
int af_scope_choose(const struct af_record_options *o, int nr_words, struct af_session_options *s,
                    struct af_scope *scope, char *why, size_t size, struct af_err *err);

#endif
