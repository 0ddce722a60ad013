/*
 * The options of flame for the output of perf script.
 */
#ifndef AF_CMD_SHARED_PERF_SCRIPT_H
#define AF_CMD_SHARED_PERF_SCRIPT_H

#include <stddef.h>

struct af_err;
struct af_tree;

#define AF_PERF_FRAMES "plain|pid|tid|addrs|srcline"

/*
 * Add the stacks in @text to @t. @words, of AF_PERF_FRAMES separated by commas, tell how frames are
 * written, NULL for none; @event is the one to use, NULL for the first. Unused samples are reported
 * on standard error.
 */
int af_perf_script(struct af_tree *t, const char *text, size_t size, const char *words,
                   const char *event, struct af_err *err);

#endif
