/*
 * Shows one kernel, for the commands that do.
 */
#ifndef AF_CMD_SHARED_ANNOTATE_H
#define AF_CMD_SHARED_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/command.h"

struct af_err;

enum { AF_ANNOTATE_LIMIT = 20 }; /* lines or instructions, by default */

/* The row for the option table of a command that shows source text; @letter may be 0. */
#define AF_SOURCES_OPTION(type, letter)                                                            \
	{                                                                                          \
		AF_OPT_STRING, "sources", letter, "DIR",                                           \
		    "also read source text below DIR (several: with colons); for a trace that "    \
		    "you "                                                                         \
		    "did not record on this machine, only there",                                  \
		    offsetof(type, sources)                                                        \
	}

struct af_annotate_shown {
	const char *kernel;  /* its name or a part of it, NULL: the heaviest */
	const char *sources; /* directories with colons between, or NULL */
	bool by_insn, json;
	uint64_t from_ns, to_ns; /* only this time range; to 0: until the end */
	uint64_t limit;          /* 0: all */
};

/*
 * Print the kernel to standard output. When the name fits several, they are listed on standard
 * error. 0, or -errno with a message.
 */
int af_annotate_show(const char *dir, const struct af_annotate_shown *shown, struct af_err *err);

/*
 * Fails with the message that the trace in @dir has no samples to show, or none in the requested
 * @time.
 */
int af_annotate_none(const char *dir, bool time, struct af_err *err);

/* Columns of the terminal; when standard output is not one, the value of COLUMNS or 120. */
uint32_t af_annotate_width(void);

#endif
