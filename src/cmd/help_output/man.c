/* The man page's parts, in mdoc(7). */
#include <stdio.h>
#include <string.h>

#include "cmd/help_output/expect.h"
#include "cmd/help_output/help_output.h"

/* A character of running text or of an argument: what roff would act on is escaped. */
static const char *man_char(const char *p)
{
	static const struct {
		const char *bytes, *shown;
	} names[] = {{"\\", "\\e"}, {"-", "\\-"}, {"\"", "\\(dq"}, {"…", "\\&..."}, {"→", "\\(->"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t len = strlen(names[i].bytes);
		if (!strncmp(p, names[i].bytes, len)) {
			fputs(names[i].shown, stdout);
			return p + len;
		}
	}
	putchar(*p);
	return p + 1;
}

static void man_text(const char *text, size_t len)
{
	for (const char *p = text; p < text + len;)
		p = man_char(p);
}

/* As one argument of a macro, never a macro itself. */
static void man_argument(const char *text, size_t len)
{
	fputs("\\&", stdout);
	man_text(text, len);
}

/* Roff escapes for a line of the page, and for a line of literal text. */
enum { MAN_LINE = 78 };

/* One word at the begin of a line: a dot is no request there. */
static void man_word(const char *word, size_t len)
{
	if (*word == '.' || *word == '\'')
		fputs("\\&", stdout);
	man_text(word, len);
}

/* A line that stays as it is. */
static void man_line(const char *text, size_t len)
{
	if (len)
		man_word(text, len);
	putchar('\n');
}

/* Running text: lines are filled, each sentence begins one of its own, as roff wants it. */
static void man_fill(const char *text, size_t len)
{
	const char *p = text, *word;
	size_t word_len, column = 0;

	while ((word = af_expect_next(&p, text + len, " \n", &word_len))) {
		if (column && column + 1 + word_len > MAN_LINE) {
			putchar('\n');
			column = 0;
		}
		if (column)
			putchar(' ');
		man_word(word, word_len);
		column += word_len + 1;
		if (word_len > 1 && strchr(".?!", word[word_len - 1])) {
			putchar('\n');
			column = 0;
		}
	}
	if (column)
		putchar('\n');
}

/* "-p", "top", "PID": a word of a usage as a line of its own. */
static void man_usage_word(const char *word, size_t len)
{
	const char *macro = *word == '-' ? "Fl" : *word >= 'a' && *word <= 'z' ? "Cm" : "Ar";
	bool option = *word == '-';

	printf(".%s ", macro);
	man_argument(word + option, len - option);
	putchar('\n');
}

/* Each bracket, bar and word has a line, so that the list may be broken anywhere. */
static void man_usage(const struct af_command *cmd)
{
	printf(".Nm aflame\n.Cm %s\n", cmd->name);
	for (const char *p = cmd->usage; *p;) {
		size_t len = strcspn(p, " []|");
		if (len)
			man_usage_word(p, len);
		p += len;
		if (*p == '[' || *p == ']')
			puts(*p == '[' ? ".Oo" : ".Oc");
		else if (*p == '|')
			puts("|");
		p += *p != 0;
	}
}

static void man_synopsis(void)
{
	for (int i = 0; af_commands[i]; i++) {
		if (af_commands[i]->flags & AF_CMD_HIDDEN)
			continue;
		man_usage(af_commands[i]);
	}
}

/* Empty lines are between paragraphs. */
static void man_paragraphs(const char *text)
{
	for (const char *end; *text; text = end) {
		end = strstr(text, "\n\n");
		puts(".Pp");
		end = end ? end : text + strlen(text);
		man_fill(text, (size_t)(end - text));
		end += strspn(end, "\n");
	}
}

static void man_option(const struct af_option *o)
{
	printf(".It");
	if (o->letter)
		printf(" Fl %c ,", o->letter);
	printf(" Fl \\-");
	man_text(o->name, strlen(o->name));
	if (o->arg) {
		printf(o->type == AF_OPT_OPTIONAL ? " Ns Oo = Ns Ar " : " Ar ");
		man_argument(o->arg, strlen(o->arg));
		printf(o->type == AF_OPT_OPTIONAL ? " Oc" : "");
	}
	putchar('\n');
	man_fill(o->help, strlen(o->help));
	if ((o->type == AF_OPT_CHOICE || o->type == AF_OPT_OPTIONAL) &&
	    !strstr(o->help, o->choices)) {
		putchar('(');
		man_text(o->choices, strlen(o->choices));
		puts(")");
	}
}

static void man_options(const struct af_command *cmd)
{
	const struct af_option *o = cmd->options;

	if (!o || o->type == AF_OPT_END)
		return;
	puts(".Bl -tag -width Ds");
	for (; o->type != AF_OPT_END; o++) {
		if (o->type != AF_OPT_GROUP) {
			man_option(o);
			continue;
		}
		if (o != cmd->options)
			puts(".El");
		puts(".Pp");
		man_text(o->help, strlen(o->help));
		puts(":\n.Bl -tag -width Ds");
	}
	puts(".El");
}

static void man_command(const struct af_command *cmd)
{
	printf(".Ss aflame %s\n", cmd->name);
	man_text(cmd->summary, strlen(cmd->summary));
	puts(".");
	if (cmd->details)
		man_paragraphs(cmd->details);
	man_options(cmd);
}

static void man_commands(void)
{
	for (int i = 0; af_commands[i]; i++)
		if (!(af_commands[i]->flags & AF_CMD_HIDDEN))
			man_command(af_commands[i]);
}

static void man_examples(void)
{
	bool first = true;

	for (int i = 0; af_commands[i]; i++) {
		for (const char *p = af_commands[i]->examples; p && *p;) {
			size_t len = strcspn(p, "\n"), command_len = strcspn(p, "\t\n");
			if (!first)
				puts(".Pp");
			first = false;
			if (command_len < len)
				man_fill(p + command_len + 1, len - command_len - 1);
			puts(".Bd -literal -offset indent -compact");
			man_line(p, command_len);
			puts(".Ed");
			p += len + (p[len] == '\n');
		}
	}
}

static void man_version(void)
{
	puts(".Os aflame " AFLAME_VERSION);
}

const struct af_help_part af_man_parts[] = {
    {"@VERSION@", man_version},
    {"@SYNOPSIS@", man_synopsis},
    {"@COMMANDS@", man_commands},
    {"@EXAMPLES@", man_examples},
    {NULL},
};
