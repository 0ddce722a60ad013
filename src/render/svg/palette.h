/*
 * Colours of frames: by kind, or by one of the palettes that people know from flamegraph.pl. A
 * colour depends only on the palette, the name and the kind, so that pictures of two runs can be
 * compared side by side. A file of remembered colours (palette_map.h) keeps them the same even
 * longer.
 */
#ifndef AF_RENDER_SVG_PALETTE_H
#define AF_RENDER_SVG_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/tree/tree.h"

struct af_err;
struct af_picture;

struct af_palette {
	const struct palette_spec *spec;
	bool hash, random;
	struct af_palette_map *map; /* colours remembered by name, or NULL */
	uint64_t random_state;
	uint32_t background[2]; /* top, bottom: 0xrrggbb */
};

/* All names, NULL-terminated: "kind", "hot", "mem", … */
extern const char *const af_palette_names[];

/*
 * Choose the palette by @p->palette, bgcolors, hash, random_colors and colors. Without a name: by
 * kind when @t has kinds other than native, else "hot". -EINVAL when there is no such palette or
 * background.
 */
int af_palette_open(struct af_palette *pal, const struct af_picture *p, const struct af_tree *t,
                    struct af_err *err);

/* The name of the palette in use, a constant. */
const char *af_palette_name(const struct af_palette *pal);

/* 0xrrggbb of a frame: the colour remembered for its name, else one by the palette. */
uint32_t af_palette_color(struct af_palette *pal, const char *text, size_t len,
                          enum af_frame frame);

/* The same of the root. */
uint32_t af_palette_root(struct af_palette *pal);

/* The middle of a kind's range in the palette "kind", for legends. */
uint32_t af_palette_kind(enum af_frame frame);

/* Red for more, blue for less, by @delta / @most; near white for no change. */
uint32_t af_palette_delta(int64_t delta, uint64_t most, bool negate);

#endif
