/* The parts of the shells' completions. */
#include <stdio.h>
#include <string.h>

#include "cmd/help_output/expect.h"
#include "cmd/help_output/help_output.h"

/* Printed for each command, for each of its options, and after them; NULL prints nothing. */
struct shell {
	void (*command)(const struct af_command *cmd);
	void (*option)(const struct af_command *cmd, const struct af_option *o);
	void (*end)(const struct af_command *cmd);
};

static void shell_walk(const struct shell *s)
{
	for (int i = 0; af_commands[i]; i++) {
		const struct af_command *cmd = af_commands[i];
		if (cmd->flags & AF_CMD_HIDDEN)
			continue;
		if (s->command)
			s->command(cmd);
		for (const struct af_option *o = s->option ? cmd->options : NULL;
		     o && o->type != AF_OPT_END; o++)
			if (o->type != AF_OPT_GROUP)
				s->option(cmd, o);
		if (s->end)
			s->end(cmd);
	}
}

/* @text in single quotes, with @special characters behind a backslash. */
static void print_quoted(const char *text, const char *special)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", stdout);
		else if (strchr(special, *p))
			printf("\\%c", *p);
		else
			putchar(*p);
	}
}

/* Words that are separated by '|', each behind @before. */
static void print_words(const struct af_expected *e, const char *before)
{
	const char *p = e->words, *word;
	size_t len;

	while (p && (word = af_expect_next(&p, e->words + e->words_len, "|", &len)))
		printf("%s%.*s", before, (int)len, word);
}

/* bash */

static void bash_name(const struct af_command *cmd)
{
	printf("\t%s\n", cmd->name);
}

static void bash_case(const struct af_command *cmd)
{
	printf("\t%s)\n\t\toptions='--help", cmd->name);
}

static void bash_option_names(const struct af_command *cmd, const struct af_option *o)
{
	(void)cmd;
	if (o->letter)
		printf(" -%c", o->letter);
	printf(" --%s", o->name);
}

static void bash_words(const struct af_command *cmd)
{
	struct af_expected e;

	af_expect_words(cmd, &e);
	printf("'\n\t\tfirst='");
	print_words(&e, " ");
	printf("' program='%s' words='%s%s%s'\n\t\t;;\n", e.program ? "yes" : "",
	       e.traces ? " traces" : "", e.files ? " files" : "", e.commands ? " commands" : "");
}

static void bash_value(const struct af_command *cmd, const struct af_option *o)
{
	struct af_expected e;

	if (o->type == AF_OPT_FLAG)
		return;
	af_expect_value(o, &e);
	printf("\t%s:--%s", cmd->name, o->name);
	if (o->letter)
		printf(" | %s:-%c", cmd->name, o->letter);
	printf(") value='%s%s", o->type == AF_OPT_OPTIONAL ? "=" : "",
	       e.words ? (e.list ? "list" : "words")
	               : (e.files ? "files" : (e.dirs ? "dirs" : "any")));
	print_words(&e, " ");
	puts("' ;;");
}

static void bash_commands(void)
{
	shell_walk(&(struct shell){.command = bash_name});
}

static void bash_options(void)
{
	shell_walk(&(struct shell){bash_case, bash_option_names, bash_words});
}

static void bash_values(void)
{
	shell_walk(&(struct shell){.option = bash_value});
}

/* zsh */

static void zsh_name(const struct af_command *cmd)
{
	printf("\t\t'%s:", cmd->name);
	print_quoted(cmd->summary, "");
	puts("'");
}

static void zsh_case(const struct af_command *cmd)
{
	printf("\t%s)\n\t\t_arguments -s -S%s \\\n\t\t\t'(- *)'{-h,--help}'[this command]' \\\n",
	       cmd->name, cmd->flags & AF_CMD_STOP_AT_WORD ? " -A '-*'" : "");
}

/* The rest of a specification, after the option's names. */
static void zsh_value(const struct af_option *o)
{
	struct af_expected e;

	putchar('[');
	print_quoted(o->help, "[]\\");
	putchar(']');
	if (o->type == AF_OPT_FLAG)
		return;
	af_expect_value(o, &e);
	printf(o->type == AF_OPT_OPTIONAL ? "::" : ":");
	print_quoted(o->arg, ":\\");
	putchar(':');
	if (e.words) {
		printf(e.list ? "_values -s , %s" : "(", o->arg);
		print_words(&e, " ");
		printf(e.list ? "" : ")");
	} else {
		printf("%s", e.files ? "_files" : (e.dirs ? "_directories" : " "));
	}
}

static void zsh_option(const struct af_command *cmd, const struct af_option *o)
{
	const char *value = o->type == AF_OPT_FLAG ? "" : o->type == AF_OPT_OPTIONAL ? "=-" : "=";
	bool again = o->type == AF_OPT_LIST;

	(void)cmd;
	printf("\t\t\t'");
	if (again)
		printf("*'");
	else if (o->letter)
		printf("(-%c --%s)'", o->letter, o->name);
	else
		printf("'");
	if (o->letter)
		printf("{-%c%s,--%s%s}'", o->letter, *value ? "+" : "", o->name, value);
	else
		printf("--%s%s'", o->name, value);
	zsh_value(o);
	puts("' \\");
}

static void zsh_words(const struct af_command *cmd)
{
	struct af_expected e;

	af_expect_words(cmd, &e);
	if (e.program) {
		puts("\t\t\t'(-)1:program:_command_names -e' \\\n"
		     "\t\t\t'*::arguments:_normal' && ret=0\n\t\t;;");
		return;
	}
	if (e.words) {
		printf("\t\t\t'1:what:_alternative \"words:what:(");
		print_words(&e, " ");
		printf(")\"%s%s' \\\n", e.traces ? " \"traces:trace:_aflame_traces\"" : "",
		       e.files ? " \"files:file:_files\"" : "");
	}
	if (e.traces || e.files || e.commands)
		printf("\t\t\t'*:%s' \\\n", e.traces  ? "trace:_aflame_traces"
		                            : e.files ? "file:_files"
		                                      : "command:_aflame_commands");
	puts("\t\t\t&& ret=0\n\t\t;;");
}

static void zsh_commands(void)
{
	shell_walk(&(struct shell){.command = zsh_name});
}

static void zsh_options(void)
{
	shell_walk(&(struct shell){zsh_case, zsh_option, zsh_words});
}

/* fish */

static void fish_name(const struct af_command *cmd)
{
	printf("complete -c aflame -n __fish_use_subcommand -a %s -d '", cmd->name);
	print_quoted(cmd->summary, "\\");
	puts("'");
}

static void fish_begin(const struct af_command *cmd)
{
	printf("complete -c aflame -n '__fish_seen_subcommand_from %s'", cmd->name);
}

static void fish_option(const struct af_command *cmd, const struct af_option *o)
{
	struct af_expected e;

	fish_begin(cmd);
	if (o->letter)
		printf(" -s %c", o->letter);
	printf(" -l %s", o->name);
	if (o->type != AF_OPT_FLAG) {
		af_expect_value(o, &e);
		if (e.words) {
			printf(o->type == AF_OPT_OPTIONAL ? " -f -a '" : " -x -a '");
			printf(e.list ? "(__aflame_list" : "");
			print_words(&e, " ");
			printf(e.list ? ")'" : "'");
		} else {
			printf("%s", e.files  ? " -r -F"
			             : e.dirs ? " -x -a '(__fish_complete_directories)'"
			                      : " -x");
		}
	}
	printf(" -d '");
	print_quoted(o->help, "\\");
	puts("'");
}

/* fish finds the program behind two words that are no options, if it knows which have a value. */
static void fish_program(const struct af_command *cmd)
{
	fish_begin(cmd);
	printf(" -a '(__fish_complete_subcommand --fcs-skip=2 -");
	for (const struct af_option *o = cmd->options; o && o->type != AF_OPT_END; o++) {
		if (o->type == AF_OPT_GROUP || o->type == AF_OPT_FLAG || o->type == AF_OPT_OPTIONAL)
			continue;
		if (o->letter)
			printf(" -%c", o->letter);
		printf(" --%s", o->name);
	}
	puts(")'");
}

static void fish_words(const struct af_command *cmd)
{
	struct af_expected e;

	af_expect_words(cmd, &e);
	if (e.program)
		fish_program(cmd);
	if (e.words) {
		fish_begin(cmd);
		printf(" -a '");
		print_words(&e, " ");
		puts("'");
	}
	if (e.traces) {
		fish_begin(cmd);
		puts(" -a '(__aflame_traces)'");
	}
	if (e.files) {
		fish_begin(cmd);
		puts(" -F");
	}
	if (e.commands) {
		fish_begin(cmd);
		printf(" -a '");
		for (int i = 0; af_commands[i]; i++)
			printf("%s%s", i ? " " : "", af_commands[i]->name);
		puts("'");
	}
}

static void fish_commands(void)
{
	shell_walk(&(struct shell){.command = fish_name});
}

static void fish_options(void)
{
	shell_walk(&(struct shell){.option = fish_option, .end = fish_words});
}

const struct af_help_part af_bash_parts[] = {
    {"@COMMANDS@", bash_commands}, {"@OPTIONS@", bash_options}, {"@VALUES@", bash_values}, {NULL}};
const struct af_help_part af_zsh_parts[] = {
    {"@COMMANDS@", zsh_commands}, {"@OPTIONS@", zsh_options}, {NULL}};
const struct af_help_part af_fish_parts[] = {
    {"@COMMANDS@", fish_commands}, {"@OPTIONS@", fish_options}, {NULL}};
