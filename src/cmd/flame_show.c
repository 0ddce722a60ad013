#include "cmd/flame_show.h"

#include <stdio.h>
#include <string.h>

#include "analyse/names/glue.h"

void af_flame_show(struct af_flame_shown *shown, const struct af_flame_shows *how,
                   struct af_picture_request *drawn, struct af_picture *picture)
{
	bool svg = !strcmp(drawn->format->name, "svg");

	*shown = (struct af_flame_shown){0};
	picture->one_screen = svg && !how->folded && !how->rows;
	if (!svg || how->show_glue || (how->folded && !how->hide_glue) || drawn->tree->ordered)
		return;
	uint32_t nr = af_glue_hide(&shown->tree, drawn->tree);
	if (!nr)
		return;
	drawn->tree = &shown->tree;
	picture->hidden = shown->hidden;
	snprintf(shown->hidden, sizeof shown->hidden,
	         "Hidden: %u frame%s of interpreters and call plumbing, merged into their "
	         "callers%s.",
	         nr, nr == 1 ? "" : "s", how->hide_glue ? "" : "; --show-glue draws them");
}
