/*
 * Formats. One const struct af_format each, listed in formats.c; the file's name decides which is
 * used
 * (`-o out.svg`). A format never computes: it is given finished shapes. Calls in order: begin,
 * any number of facts and tree, end; begin and end may be NULL.
 */
#ifndef AF_RENDER_RENDER_H
#define AF_RENDER_RENDER_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;
struct af_tree;
struct af_facts;

/* What the user asked of a picture. Zeroed: the defaults. Formats ignore what they cannot show. */
struct af_picture {
	const char *title, *subtitle, *notes;
	const char *weight; /* column to draw, NULL: the first */
	const char
	    *palette; /* hot mem io wakeup java js perl python rust red … gpu; NULL: by kind */
	const char *bgcolors, *search_color;
	const char *count_name, *name_type, *font_type;
	double min_width; /* in pixels, or in percent when min_width_percent */
	bool min_width_percent;
	uint32_t width, frame_height, font_size;
	bool inverted, reverse, flamechart, hash, random_colors, no_sort, truncate_right;
	double factor;
	uint64_t total; /* override, ignored when smaller than the sum */
};

struct af_render {
	int fd;
	const struct af_picture *picture;
	void *state; /* the format's own, between begin and end */
};

struct af_format {
	const char *name;      /* "svg" */
	const char *extension; /* ".svg" */
	const char *summary;
	int (*begin)(struct af_render *r, struct af_err *err);
	int (*tree)(struct af_render *r, const struct af_tree *t, struct af_err *err);
	int (*facts)(struct af_render *r, const struct af_facts *f, struct af_err *err);
	int (*end)(struct af_render *r, struct af_err *err); /* frees state, also after a failure */
};

extern const struct af_format *const af_formats[]; /* NULL-terminated */

/* The format for a file name or a format's name, or NULL. */
const struct af_format *af_format_for(const char *name);

/*
 * Folded text (Brendan Gregg's collapsed stacks: `a;b;c 42`) into a finished tree. @data must
 * outlive the tree. CRLF, blank and `# ` comment lines are accepted; a line that does not parse is
 * counted and the first one described in *@complaint (line number, cause). With @two_columns a
 * second count is read as the "after" of a difference, into weight 1. @threads is advisory.
 */
struct af_folded_stats {
	uint64_t lines, bad_lines, first_bad;
	char complaint[160];
};
int af_folded_read(struct af_tree *t, const char *data, uint64_t size, bool two_columns,
                   struct af_folded_stats *stats, struct af_err *err);

#endif
