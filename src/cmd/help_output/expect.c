#include "cmd/help_output/expect.h"

#include <ctype.h>
#include <string.h>

static bool holds(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

const char *af_expect_next(const char **p, const char *stop, const char *ends, size_t *len)
{
	while (*p < stop && strchr(ends, **p))
		++*p;
	const char *begin = *p;
	while (*p < stop && !strchr(ends, **p))
		++*p;
	*len = (size_t)(*p - begin);
	return *len ? begin : NULL;
}

void af_expect_value(const struct af_option *o, struct af_expected *e)
{
	*e = (struct af_expected){.words = o->choices};
	if (o->choices) {
		e->words_len = strlen(o->choices);
		e->list = o->arg && !strcmp(o->arg, "LIST");
	} else if (o->arg) {
		e->files = holds(o->arg, strlen(o->arg), "FILE") || !strcmp(o->arg, "FIFO");
		e->dirs = holds(o->arg, strlen(o->arg), "DIR");
	}
}

void af_expect_words(const struct af_command *cmd, struct af_expected *e)
{
	const char *p = cmd->usage, *piece;
	size_t len;

	*e = (struct af_expected){.words = NULL};
	while ((piece = af_expect_next(&p, cmd->usage + strlen(cmd->usage), " []", &len))) {
		if (islower((unsigned char)*piece) && !e->words) {
			e->words = piece;
			e->words_len = len;
		}
		e->files |= holds(piece, len, "FILE");
		e->traces |= holds(piece, len, "DIR");
		e->program |= holds(piece, len, "PROGRAM");
		e->commands |= holds(piece, len, "COMMAND");
	}
}
