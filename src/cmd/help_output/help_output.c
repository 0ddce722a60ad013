#include "cmd/help_output/help_output.h"

#include <stdio.h>
#include <string.h>

#include "render/embed/embed.h"

AF_EMBED(form_man);
AF_EMBED(form_bash);
AF_EMBED(form_zsh);
AF_EMBED(form_fish);

static const struct form {
	const char *name;
	const unsigned char *text;
	const struct af_form_part *parts;
} forms[] = {
    {"man", af_embed_form_man, af_man_parts},
    {"bash", af_embed_form_bash, af_bash_parts},
    {"zsh", af_embed_form_zsh, af_zsh_parts},
    {"fish", af_embed_form_fish, af_fish_parts},
};

static void form_line(const struct form *form, const char *line, size_t len)
{
	for (const struct af_form_part *p = form->parts; p->mark; p++) {
		if (strlen(p->mark) == len && !memcmp(line, p->mark, len)) {
			p->print();
			return;
		}
	}
	printf("%.*s\n", (int)len, line);
}

void af_form_print(const char *name)
{
	const struct form *form = forms;

	while (strcmp(form->name, name))
		form++;
	for (const char *line = (const char *)form->text; *line;) {
		size_t len = strcspn(line, "\n");
		form_line(form, line, len);
		line += len + (line[len] == '\n');
	}
}
