/*
 * Colours remembered by name across pictures: flamegraph.pl's palette.map. Either program can
 * continue the other's file. One line a name:
 *
 *	NAME->rgb(R,G,B)	or NAME->#rrggbb
 *
 * NAME is af_label_key()'s, in UTF-8, empty for the root. Blank lines and CRLF are accepted. Of two
 * lines for one name the later one counts.
 *
 *	af_palette_map_open → { af_palette_map_keep }* → af_palette_map_save → af_palette_map_close
 *
 * One thread at a time. Several processes may share a file: lines are only ever added, under a lock
 * that is held for that moment.
 */
#ifndef AF_RENDER_SVG_PALETTE_MAP_H
#define AF_RENDER_SVG_PALETTE_MAP_H

#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/strtab.h"

struct af_err;

struct af_palette_map {
	const char *path; /* borrowed */
	struct af_strtab names;
	uint32_t *colors;          /* by id of names: 0xrrggbb, or above that while unknown */
	uint32_t *added, nr_added; /* ids that are not in the file */
	uint32_t cap;              /* of colors and added */
	struct af_buf key;
};

/*
 * Read @path, which may not exist yet. A file that is not a palette fails with -EINVAL and the
 * number of its first bad line: it may be the user's only copy of something else.
 */
int af_palette_map_open(struct af_palette_map *m, const char *path, struct af_err *err);

/*
 * The remembered colour of frames with this name. If there is none, @rgb is remembered and
 * returned.
 */
uint32_t af_palette_map_keep(struct af_palette_map *m, const char *text, size_t len,
                             enum af_frame frame, uint32_t rgb);

/*
 * Append the new names to the file; does nothing when there are none. Makes the file when there is
 * none, but not through a symbolic link. On failure the file is unchanged.
 */
int af_palette_map_save(struct af_palette_map *m, struct af_err *err);

void af_palette_map_close(struct af_palette_map *m); /* a zeroed one is fine */

#endif
