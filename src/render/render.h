/*
 * Formats. Each is one const struct af_format, listed in formats.c; the extension of the file's
 * name selects it (`-o out.svg`). A format never computes: it gets finished results. Calls in
 * order: begin, any number of facts and tree, then track, slice and point as they come, end; begin
 * and end may be NULL. Formats are for trees (af_formats) or for slices (af_slices_formats). html
 * is for both, and a page without slices has no timeline.
 */
#ifndef AF_RENDER_RENDER_H
#define AF_RENDER_RENDER_H

#include <stdbool.h>
#include <stdint.h>

struct af_attributes;
struct af_difference_look;
struct af_err;
struct af_tables;
struct af_palette_map;
struct af_phases;
struct af_strtab;
struct af_point;
struct af_slice;
struct af_slices;
struct af_track;
struct af_tree;

/* The user's options for a picture. Zeroed: the defaults. Formats ignore what they cannot show. */
struct af_picture {
	const char *title, *subtitle, *notes;
	const char *weight;  /* column to draw, NULL: the first */
	const char *palette; /* a name of palette.h; NULL: by kind when known, else hot */
	const char *bgcolors, *search_color;
	struct af_palette_map *colors;    /* remembered by name; new ones are added; or NULL */
	struct af_attributes *attributes; /* of frames, by name; or NULL */
	const char *count_name, *name_type, *font_type;
	uint32_t frames;  /* text: number of the heaviest frames; 0: by width */
	const char *root; /* text: name of the root; NULL: all */
	/* text: how to see the frames left out, which are then counted and weighed */
	const char *rest;
	/* svg: the weight for people, short up to a comma: "CPU time, all threads"; or NULL */
	const char *measured;
	const char *hidden; /* svg: a sentence beside the picture on what it leaves out, or NULL */
	double min_width;   /* in pixels, or in percent when min_width_percent; 0: 0.1 pixels */
	bool min_width_percent;
	bool all_frames; /* no minimum width at all */
	uint32_t width, frame_height;
	double font_size;
	double font_width; /* of an average character, in font sizes; 0: 0.59 */
	bool inverted, flamechart, hash, random_colors, no_sort, truncate_right;
	bool reverse;      /* the format reverses the tree itself */
	bool fluid;        /* width follows the window */
	bool one_screen;   /* svg: rows as low as needed, and no more than a screen has */
	bool differential; /* columns 0 and 1 are before and after; widths are after */
	bool negate;       /* swap the hues of a difference */
	/* For a difference with columns as in difference.h; NULL: before and after alone. */
	const struct af_difference_look *look;
	/*
	 * JSON for a page of `aflame serve`: which part of the trace it shows, see
	 * viewer/serve.js; NULL for a file. A page that is served may ask its server.
	 */
	const char *served;
	double factor; /* multiplies displayed counts; 0: 1 */
	double total;  /* override, ignored when smaller than the sum */
};

struct af_render {
	int fd;
	const struct af_picture *picture;
	/*
	 * Label of the next tree, "gpu"; NULL when there is only one. For facts: NULL, or
	 * "annotated" for kernels from af_annotate().
	 */
	const char *label;
	const struct af_slices *slices;     /* what slices refer to; complete at the end, or NULL */
	const struct af_phases *phases;     /* of the whole run, for a format of slices; or NULL */
	const struct af_strtab *own_python; /* af_results.own_python, or NULL */
	bool wall;                          /* the time of samples is that of the wall clock */
	bool gzip;                          /* compress a file of slices */
	uint32_t threads;                   /* that a format may use, with this one; 0: no other */
	/*
	 * The number of this trace, from 1 on, where a file has several, one after the other; then
	 * @label is its name. 0: it is alone. Only for formats that can_join.
	 */
	uint32_t part;
	void *state; /* the format's own, between begin and end */
};

struct af_format {
	const char *name;      /* "svg" */
	const char *extension; /* ".svg"; a format of slices may have several: ".pftrace|.pb" */
	const char *summary;
	/*
	 * Track, slice and point may be called before tables and tree, and by another thread
	 * beside them; then end() frees only the state where r->fd is -1.
	 */
	bool ahead;
	bool can_join; /* a file of several traces is their files, one behind the other */
	int (*begin)(struct af_render *r, struct af_err *err);
	int (*tree)(struct af_render *r, const struct af_tree *t, struct af_err *err);
	int (*tables)(struct af_render *r, const struct af_tables *f, struct af_err *err);
	/*
	 * As slices.h describes them. 0, or -errno without a message when the file cannot be
	 * written.
	 */
	int (*track)(struct af_render *r, const struct af_track *t);
	int (*slice)(struct af_render *r, const struct af_slice *s);
	int (*point)(struct af_render *r, const struct af_point *p);
	/*
	 * Part r->part is complete; what r->slices refers to is there until this returns. NULL: the
	 * format keeps nothing of it.
	 */
	void (*part_end)(struct af_render *r);
	int (*end)(struct af_render *r, struct af_err *err); /* frees state, also after a failure */
};

extern const struct af_format *const af_formats[]; /* NULL-terminated */

/* The format for a file name or a format's name, or NULL. */
const struct af_format *af_format_for(const char *name);

/*
 * The formats of trees for other profilers' viewers: aflame export. NULL-terminated. Trees must
 * stay where they are until the end.
 */
extern const struct af_format *const af_profile_formats[];

extern const struct af_format *const af_slices_formats[]; /* NULL-terminated */

/* The same among the formats of slices; *@gzip is set when the name also ends in .gz. */
const struct af_format *af_slices_format_for(const char *name, bool *gzip);

/* The column that the picture asks for, or -EINVAL and a message with the names of all columns. */
int af_picture_weight(const struct af_picture *p, const struct af_tree *t, struct af_err *err);

/* How reading folded text went. */
struct af_folded_stats {
	uint64_t lines; /* lines with a stack */
	uint64_t bad_lines, first_bad;
	uint64_t slips;      /* lines whose count followed a `;` instead of a blank */
	bool saturated;      /* a count or a sum beyond 2^64 - 1 was cut to that */
	char complaint[160]; /* on the first bad line: "line 7: no count after the stack: …" */
};

/*
 * Read folded text (Brendan Gregg's collapsed stacks: `a;b;c 42`) into @t, which the caller opened
 * (and marked ordered for a flame chart); this finishes it. The tree borrows @data, which must
 * outlive it and need not end in a newline or a NUL. CRLF, blank and `# ` comment lines are
 * accepted, and so are trailing `;`. A suffix `_[k] _[i] _[j] _[G] _[g]` decides a frame's kind and
 * is not stored. Counts are exact up to 2^64 - 1. When a count has a fraction, all weights of that
 * tree are kept in millionths (weights[].scale). The last number of a line is its count; only with
 * @two_columns are there two, before into weight 0 and after into weight 1 (open the tree with
 * both). A line that does not parse is skipped and counted, and @stats describes the first one.
 * Fails with -EINVAL only when not a single line could be parsed.
 */
int af_folded_read(struct af_tree *t, const char *data, uint64_t size, bool two_columns,
                   struct af_folded_stats *stats, struct af_err *err);

#endif
