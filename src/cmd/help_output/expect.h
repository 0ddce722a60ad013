/*
 * The possible values of an option, or words of a command, parsed from the text that the tables
 * show to people ("FILE", "[summary|top] [DIR]", choices), so that completions know them too.
 */
#ifndef AF_CMD_HELP_OUTPUT_EXPECT_H
#define AF_CMD_HELP_OUTPUT_EXPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/command.h"

struct af_expected {
	bool files;
	bool dirs;
	bool traces;       /* trace directories */
	bool program;      /* a program, and its own arguments after it */
	bool commands;     /* aflame's */
	const char *words; /* one of these, separated by '|'; NULL: none */
	size_t words_len;
	bool list; /* of words, separated by commas */
};

/* The values of an option that takes one; nothing is set when only people can know. */
void af_expect_value(const struct af_option *o, struct af_expected *e);

/* The words after the options; .words are for the first one. */
void af_expect_words(const struct af_command *cmd, struct af_expected *e);

/*
 * Walk words or a usage: the next piece up to one of @ends, NULL when there is none. Advances *@p.
 */
const char *af_expect_next(const char **p, const char *stop, const char *ends, size_t *len);

#endif
