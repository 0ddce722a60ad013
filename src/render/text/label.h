/*
 * Numbers and names for people, the same in every locale. Owner and threads: none, all functions
 * append to the caller's buffer.
 */
#ifndef AF_RENDER_TEXT_LABEL_H
#define AF_RENDER_TEXT_LABEL_H

#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"

struct af_picture;

/* @value with @decimals (at most 6) digits behind the point, rounded; "0" when not finite. */
void af_label_fixed(struct af_buf *b, double value, unsigned decimals);

/* @value in 1/@scale (0 or 1: whole), with as many decimals as it has. */
void af_label_exact(struct af_buf *b, uint64_t value, uint64_t scale);

/* 1,234,567 */
void af_label_commas(struct af_buf *b, uint64_t value);

/* 100 × part / whole with two decimals and a %: "12.34%"; "0.00%" of nothing. */
void af_label_percent(struct af_buf *b, uint64_t part, uint64_t whole);

/*
 * A weight with its unit: "1,234 samples", "12.34 ms" for nanoseconds, fractions of folded text as
 * they were, all times @p->factor; @p->count_name replaces the unit.
 */
void af_label_weight(struct af_buf *b, const struct af_tree_weight *weight, uint64_t value,
                     const struct af_picture *p);

/* Text as XML, whatever bytes it has. */
void af_label_xml(struct af_buf *b, const char *s, size_t len);

/* The name of a frame in a picture: its text without a `_[w]` suffix, "all" for the root. */
const char *af_label_text(const struct af_tree *t, uint32_t node, size_t *len);

/*
 * The name of a frame in files about frames (palettes, attributes): text and suffix as folded text
 * has them, `<>` as `()` the way flamegraph.pl shows them, `;` as `:`, a control character as a
 * space. A key of a key is the same key. "" is the root.
 */
void af_label_key(struct af_buf *b, const char *text, size_t len, enum af_frame frame);

#endif
