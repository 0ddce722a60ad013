/*
 * Shared by the files of the SVG format.
 */
#ifndef AF_RENDER_SVG_SVG_H
#define AF_RENDER_SVG_SVG_H

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "render/render.h"
#include "render/svg/attributes.h"
#include "render/svg/palette.h"

/* A frame that is wide enough to be drawn, in units of the weight. */
struct svg_frame {
	uint32_t node, depth;
	uint64_t start, width;
};

/* The frames of one tree, parents first. */
struct svg_layout {
	struct svg_frame *frames;
	uint32_t nr, cap, depth; /* deepest frame drawn */
};

struct svg {
	const struct af_picture *picture;
	const struct af_tree *tree;
	uint32_t weight;
	uint64_t total;    /* of the full width */
	uint64_t min;      /* narrower frames are left out */
	uint64_t most;     /* largest change, for the colours of a difference */
	double unit_px;    /* pixels a unit */
	double width, pad; /* of the image; left and right of the frames */
	double frame_height, font_size, char_width;
	double top, bottom, height; /* header, footer, image */
	bool legend;
	uint32_t rows_cut; /* deeper than a screen has room for */
	uint64_t cut;      /* their weight */
	struct af_palette palette;
	struct svg_layout layout;
	struct af_buf out;
};

/* Lay out all frames of @t that are at least @s->min wide, depth-first. Free frames with free(). */
void svg_place(struct svg_layout *l, const struct svg *s, const struct af_tree *t);

/* The colour of a change that may be chance. */
enum { SVG_NOISE = 0xdadada };

/* Pixels of an average character. */
double svg_char_width(const struct svg *s);

/* Make rows as low as one screen needs, and leave out those that it has no room for. */
void svg_fit(struct svg *s);

/* <g> elements of the frames, then the data and code of the script. */
void svg_frames(struct svg *s);
void svg_script(struct svg *s);

/* 0xrrggbb of a node of the tree drawn or of its reverse. */
uint32_t svg_color(struct svg *s, const struct af_tree *t, uint32_t node);

/* The user's attributes for a frame, or NULL. */
const struct af_frame_attributes *svg_attributes(const struct svg *s, const struct af_tree *t,
                                                 uint32_t node);

/* "(123 samples, 4.56%)" and changes when it is a difference, as XML. */
void svg_counts(struct svg *s, const struct af_tree *t, uint32_t node);

#endif
