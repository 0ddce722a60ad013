/*
 * Commands. Each has a file, a const struct af_command at the foot of it, and a line in main.c's
 * table. The option table parses the arguments into the command's own struct, and prints --help,
 * the completions and the man page, so they cannot disagree.
 */
#ifndef AF_CMD_OPTIONS_COMMAND_H
#define AF_CMD_OPTIONS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;

enum af_option_type {
	AF_OPT_END = 0,
	AF_OPT_FLAG,     /* bool: set to true */
	AF_OPT_STRING,   /* const char * */
	AF_OPT_U64,      /* uint64_t, decimal or 0x */
	AF_OPT_SIZE,     /* uint64_t: 64k, 10M, 2G (powers of 1024) */
	AF_OPT_TIME,     /* uint64_t ns: 10, 1.5s, 20ms, 5us, 2min; a bare number is seconds */
	AF_OPT_DOUBLE,   /* double */
	AF_OPT_CHOICE,   /* const char *, one of choices (separated by '|') */
	AF_OPT_OPTIONAL, /* the same as --name=CHOICE; --name alone means the first choice */
	AF_OPT_LIST,     /* struct af_strings: may be given again */
	AF_OPT_GROUP,    /* not an option: a heading in --help */
};

struct af_option {
	enum af_option_type type;
	const char *name;    /* long name without the dashes */
	char letter;         /* 0: none */
	const char *arg;     /* "DIR": name of the value; NULL for a flag */
	const char *help;    /* one line */
	size_t offset;       /* of the field in the command's struct */
	const char *choices; /* "cpu|gpu|all"; with AF_OPT_STRING, words to complete */
	bool any;            /* a choice, or any other text, which the command checks */
};

struct af_strings {
	const char **items;
	uint32_t nr;
};

/* Flags for the runner of commands. */
enum af_command_flag {
	/* The first word that is no option ends the options: record CMD… */
	AF_CMD_STOP_AT_WORD = 1,
	AF_CMD_HIDDEN = 2,
	/*
	 * The command looks into the kernel: all others give up the capabilities of the program's
	 * file (base/system/rights.h).
	 */
	AF_CMD_KEEPS_RIGHTS = 4,
	/* The `--` that ends the options stays among the words. */
	AF_CMD_KEEPS_DASHES = 8,
};

enum { AF_ENDED_BY = 256 };

struct af_command {
	const char *name;
	const char *usage;    /* "[OPTIONS] [DIR]" */
	const char *summary;  /* one line for `aflame help` */
	const char *details;  /* paragraphs for --help and the man page, may be NULL */
	const char *examples; /* lines "command\tmeaning", may be NULL */
	uint32_t flags;
	const struct af_option *options; /* ended by AF_OPT_END */
	size_t state_size;               /* of the struct that options point into */
	const void *defaults;            /* copied into it first, may be NULL */

	/*
	 * Run the command. @words are the arguments that are not options. 0: success; > 0: this
	 * exit status (the target's own), or AF_ENDED_BY plus the signal that ended the target,
	 * which is to end us, too; < 0: failed, @err tells why and main prints it.
	 */
	int (*run)(void *state, int nr_words, char **words, struct af_err *err);
};

/* NULL-terminated, in the order of `aflame help`. */
extern const struct af_command *const af_commands[];

/*
 * Parse @argv (without the command's name) by the table. Words are moved to the front of argv,
 * NULL-terminated. Returns their number, or -EINVAL with a message that names the option and the
 * nearest real one. *@help is set when --help was given.
 */
int af_options_parse(const struct af_command *cmd, void *state, int argc, char **argv, bool *help,
                     struct af_err *err);

/* End with @rc, the value of a command's run(), if it is not < 0. */
_Noreturn void af_command_end(int rc);

/* --help of a command, or the overview when NULL, to standard output. */
void af_help_print(const struct af_command *cmd);

/* The trace directory of a command's words: the first one, or aflame.data. */
const char *af_trace_dir(int nr_words, char **words);

#endif
