/*
 * The tables of commands as a man page and as completions of bash, zsh and fish. Each is a
 * handwritten file inside the program, with marks on lines of their own where the tables go.
 */
#ifndef AF_CMD_HELP_OUTPUT_HELP_OUTPUT_H
#define AF_CMD_HELP_OUTPUT_HELP_OUTPUT_H

/* The names of all forms, as choices of an option. */
#define AF_FORMS "man|bash|zsh|fish"

/* Print the one called @name, which is one of AF_FORMS, to standard output. */
void af_form_print(const char *name);

/* A line of the file that consists of @mark is replaced by the output of @print. */
struct af_form_part {
	const char *mark;
	void (*print)(void);
};

/* Ended by an empty one. */
extern const struct af_form_part af_man_parts[], af_bash_parts[], af_zsh_parts[], af_fish_parts[];

#endif
