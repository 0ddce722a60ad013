/* Prints --help of a command and the overview, from the option tables. */
#include <stdio.h>
#include <string.h>

#include "cmd/options/command.h"

enum { HELP_COLUMN = 30 };

static void help_option(const struct af_option *o)
{
	char left[128];
	int n;

	if (o->type == AF_OPT_GROUP) {
		printf("\n%s:\n", o->help);
		return;
	}
	n = o->letter ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name)
	              : snprintf(left, sizeof left, "      --%s", o->name);
	if (o->arg)
		snprintf(left + n, sizeof left - (size_t)n,
		         o->type == AF_OPT_OPTIONAL ? "[=%s]" : " %s", o->arg);
	if (strlen(left) < HELP_COLUMN)
		printf("%-*s%s", HELP_COLUMN, left, o->help);
	else
		printf("%s\n%*s%s", left, HELP_COLUMN, "", o->help);
	if ((o->type == AF_OPT_CHOICE || o->type == AF_OPT_OPTIONAL) &&
	    !strstr(o->help, o->choices))
		printf(" (%s)", o->choices);
	putchar('\n');
}

/* "command\tmeaning" lines */
static void help_examples(const char *examples)
{
	puts("\nExamples:");
	while (*examples) {
		const char *end = strchrnul(examples, '\n');
		const char *tab = memchr(examples, '\t', (size_t)(end - examples));
		int len = (int)((tab ? tab : end) - examples);

		printf("  %.*s\n", len, examples);
		if (tab)
			printf("      %.*s\n", (int)(end - tab - 1), tab + 1);
		examples = *end ? end + 1 : end;
	}
}

static void help_command(const struct af_command *cmd)
{
	printf("Usage: aflame %s %s\n\n%s.\n", cmd->name, cmd->usage, cmd->summary);
	if (cmd->details)
		printf("\n%s\n", cmd->details);
	if (cmd->options && cmd->options[0].type != AF_OPT_GROUP)
		puts("\nOptions:");
	for (const struct af_option *o = cmd->options; o && o->type != AF_OPT_END; o++)
		help_option(o);
	printf("%-*s%s\n", HELP_COLUMN, "  -h, --help", "this text");
	if (cmd->examples)
		help_examples(cmd->examples);
}

static void help_overview(void)
{
	puts("aflame shows where the time of a CPU+GPU program goes.\n\n"
	     "Usage: aflame COMMAND [OPTIONS] …\n\nCommands:");
	for (int i = 0; af_commands[i]; i++)
		if (!(af_commands[i]->flags & AF_CMD_HIDDEN))
			printf("  %-10s %s\n", af_commands[i]->name, af_commands[i]->summary);
	puts("\n`aflame COMMAND --help` tells more. Start with:\n"
	     "  aflame run -- python3 train.py");
}

void af_help_print(const struct af_command *cmd)
{
	if (cmd)
		help_command(cmd);
	else
		help_overview();
}
