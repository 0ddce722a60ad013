/*
 * The user's attributes for single frames of a picture: flamegraph.pl's --nameattr. One line a
 * frame:
 *
 *	NAME<TAB>ATTRIBUTE=VALUE[<TAB>ATTRIBUTE=VALUE…]
 *
 *	title                instead of the tooltip
 *	href, target         a click follows this link (target is _top unless given)
 *	a_extra              ATTRIBUTE="VALUE" … of that link
 *	g_extra              ATTRIBUTE="VALUE" … of the frame's <g>
 *	class, style, id, …  one attribute of the frame's <g>
 *
 * NAME is af_label_key()'s, empty for the root. A value is text. The references that careful users
 * of flamegraph.pl had to write (&amp; &#39;) are understood. An empty value counts as none; of two
 * lines for one name the later one counts. Nothing in the file can run a script, load anything or
 * leave its place: such a line fails.
 *
 *	af_attributes_open → { af_attributes_get }* → af_attributes_close
 *
 * One thread at a time.
 */
#ifndef AF_RENDER_SVG_ATTRIBUTES_H
#define AF_RENDER_SVG_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/strtab.h"

struct af_err;

/* One attribute of <g> or of <a>. The name is an XML name, the value text, not yet escaped. */
struct af_attribute {
	const char *name, *value;
	bool of_link;
	struct af_attribute *next;
};

struct af_frame_attributes {
	const char *title, *href, *target; /* NULL: not given; target only matters with href */
	struct af_attribute *first;        /* the rest; names differ within <g> and within <a> */
};

struct af_attributes {
	struct af_arena arena;
	struct af_strtab names;
	struct af_frame_attributes **frames; /* by id of names, NULL where there is none */
	uint32_t cap;
};

/*
 * Parse @size bytes of UTF-8, which came from the file @path. -EINVAL names it and the first bad
 * line. Copies what it keeps.
 */
int af_attributes_open(struct af_attributes *a, const char *data, size_t size, const char *path,
                       struct af_err *err);

/* The user's attributes for frames with this name, or NULL. */
const struct af_frame_attributes *af_attributes_get(struct af_attributes *a, const char *text,
                                                    size_t len, enum af_frame frame);

void af_attributes_close(struct af_attributes *a); /* a zeroed one is fine */

#endif
