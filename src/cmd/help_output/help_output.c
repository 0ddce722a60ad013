#include "cmd/help_output/help_output.h"

#include <stdio.h>
#include <string.h>

#include "render/embed/embed.h"

AF_EMBED(help_man);
AF_EMBED(help_bash);
AF_EMBED(help_zsh);
AF_EMBED(help_fish);

static const struct format {
	const char *name;
	const unsigned char *text;
	const struct af_help_part *parts;
} formats[] = {
    {"man", af_embed_help_man, af_man_parts},
    {"bash", af_embed_help_bash, af_bash_parts},
    {"zsh", af_embed_help_zsh, af_zsh_parts},
    {"fish", af_embed_help_fish, af_fish_parts},
};

static void help_line(const struct format *format, const char *line, size_t len)
{
	for (const struct af_help_part *p = format->parts; p->mark; p++) {
		if (strlen(p->mark) == len && !memcmp(line, p->mark, len)) {
			p->print();
			return;
		}
	}
	printf("%.*s\n", (int)len, line);
}

void af_help_output_print(const char *name)
{
	const struct format *format = formats;

	while (strcmp(format->name, name))
		format++;
	for (const char *line = (const char *)format->text; *line;) {
		size_t len = strcspn(line, "\n");
		help_line(format, line, len);
		line += len + (line[len] == '\n');
	}
}
