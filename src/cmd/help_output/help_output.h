/*
 * The tables of commands as a man page and as completions of bash, zsh and fish. Each is a
 * handwritten file inside the program, with marks on lines of their own where the tables go.
 */
#ifndef AF_CMD_HELP_OUTPUT_HELP_OUTPUT_H
#define AF_CMD_HELP_OUTPUT_HELP_OUTPUT_H

/* The names of all formats, as choices of an option. */
#define AF_HELP_FORMATS "man|bash|zsh|fish"

/* Print the one called @name, which is one of AF_HELP_FORMATS, to standard output. */
void af_help_output_print(const char *name);

/* A line of the file that consists of @mark is replaced by the output of @print. */
struct af_help_part {
	const char *mark;
	void (*print)(void);
};

/* Ended by an empty one. */
extern const struct af_help_part af_man_parts[], af_bash_parts[], af_zsh_parts[], af_fish_parts[];

#endif
