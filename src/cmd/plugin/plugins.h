/*
 * Runs the plug-ins that the user named over a trace or a set, and shows what they give.
 */
#ifndef AF_CMD_PLUGIN_PLUGINS_H
#define AF_CMD_PLUGIN_PLUGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/options/command.h"
#include "cmd/output/atomic_write.h"

struct af_err;

/* Defaults of --plugin-memory and --plugin-time. */
#define AF_PLUGIN_MEMORY (4ull << 30)
#define AF_PLUGIN_NS 60000000000ull

struct af_plugins_options {
	struct af_strings paths;
	int argc; /* words for all of them */
	char **argv;
	const char *dir; /* a finished trace, or a set */
	bool is_set, json;
	uint32_t limit, tree_limit; /* rows of a table, frames of a tree; 0: all of a table */
	bool all_frames;            /* of a tree */
	const char *weight;         /* of trees; NULL: the first of each */
	uint64_t memory, call_ns;
	uint64_t from_ns, to_ns; /* the time that they get; 0 and 0: all */
	struct af_strings focus, hide, search;
	struct af_output output; /* its name decides the format; "-": text, or JSON */
};

/*
 * Run them one after the other, and write the results of all, once there are all of them. 0, or
 * -errno with a message; then nothing was written.
 */
int af_plugins_report(const struct af_plugins_options *o, struct af_err *err);

struct plugins;
struct af_format;

/*
 * Run them for a timeline of the trace in @format, which can_join. -ENODATA: none gave slices. Free
 * *@p also after a failure; @o lives as long.
 */
int af_plugins_slices_run(struct plugins **p, const struct af_plugins_options *o,
                          const struct af_format *format, bool gzip, struct af_err *err);

/* Append their slices to the file @fd, behind the trace's own; @p is a struct plugins. */
int af_plugins_slices_append(void *p, int fd, struct af_err *err);

/* Free the results; NULL is fine. */
void af_plugins_slices_free(struct plugins *p);

#endif
