/*
 * How much of a tree a flame graph shows. A picture of a trace hides glue and fits one screen, as
 * the page does; text has all frames, and a picture of folded text is that of the text.
 */
#ifndef AF_CMD_FLAME_SHOW_H
#define AF_CMD_FLAME_SHOW_H

#include <stdbool.h>

#include "analyse/tree/tree.h"
#include "cmd/output/picture.h"

/* The user's choice. */
struct af_flame_shows {
	bool hide_glue, show_glue;
	bool folded; /* the tree is folded text */
	bool rows;   /* the height of a row is given: draw all */
};

/* The tree that is drawn instead, and the sentence about it. */
struct af_flame_shown {
	struct af_tree tree;
	char hidden[160];
};

/*
 * Set @drawn's tree and @picture's options, which then refer to @shown: close its tree when all is
 * written.
 */
void af_flame_show(struct af_flame_shown *shown, const struct af_flame_shows *how,
                   struct af_picture_request *drawn, struct af_picture *picture);

#endif
