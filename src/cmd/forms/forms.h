/*
 * The tables of commands in their other forms: the man page, and the completions of bash, zsh and
 * fish. Each is a file written by hand, which travels inside the program, with marks on lines of
 * their own where the tables go.
 */
#ifndef AF_CMD_FORMS_FORMS_H
#define AF_CMD_FORMS_FORMS_H

/* The names of all forms, as choices of an option. */
#define AF_FORMS "man|bash|zsh|fish"

/* Print one to standard output. @name is one of AF_FORMS. */
void af_form_print(const char *name);

/* A line of a form's file that is @mark is replaced by what @print prints. */
struct af_form_part {
	const char *mark;
	void (*print)(void);
};

/* Ended by an empty one. */
extern const struct af_form_part af_man_parts[], af_bash_parts[], af_zsh_parts[], af_fish_parts[];

#endif
