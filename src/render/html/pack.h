/*
 * Columns of report.html: how a tree and its names become text that a browser decodes quickly.
 * Needs nothing of the page around it. html_pack_add() for each tree, html_pack_sort() once, then
 * html_pack_names() and html_pack_tree() in any order, html_pack_free() always.
 *
 * A blob is sections (32-bit little-endian size, bytes), deflated (RFC 1951), then written as text
 * with seven bits a character, the highest bits first. A character below U+0080 stands for its own
 * seven bits. Fourteen characters are escaped, because they would not survive HTML or would do
 * something in a terminal. An escaped one is written as a character of U+0100 and on: its bits from
 * the seventh, less 2, are the index in the list of the 14, and its low seven bits are the seven
 * bits that follow. A digit before the text says how many of the last bytes are padding.
 *
 * Columns are of varints (base/leb128.h), of which a section has all first bytes, then
 * the second ones of those that go on, and so forth.
 *
 *	names   text of all names, newline between
 *	        one byte a name: enum af_frame
 *	        a column: the file of each name, from 1 on; 1 for several, 0 where not known
 *	        the files from 2 on, newline between
 *	        a column: the module word of each name that needs one to be told apart
 *	                (analyse/tree/module_key.h), from 1 on; 0 for the others
 *	        these words, newline between
 *	        Names are in order of bytes, so ids compare as names do. Control characters are
 *	        replaced by their pictures, U+2400 and on; bytes that are not UTF-8 are left to
 *	        the browser.
 *	tree    nodes in preorder, the root first. Columns:
 *	        0  depth of the node before, plus one, less own depth; 0 is a first child
 *	        1  names' ids of first children, the root's (0) among them; then of the others,
 *	           each less that of the child before, modulo the number of names
 *	        2  for each weight: 1 plus the index of the weight that predicts it, or 0
 *	        then for each weight one column of self divided by `scale`, leaves first, then
 *	        the other nodes; no bytes for a weight that is `same` as an earlier one after
 *	        that division
 *
 * A predicted weight is stored as differences (0, -1, 1, -2, … are 0, 1, 2, 3, …) from the other
 * weight times x / y, rounded down, or from 0 while y is 0. Where the other weight is not 0, x then
 * becomes x - x / 4 + the weight, and y becomes y - y / 4 + the other; both are doubles.
 */
#ifndef AF_RENDER_HTML_PACK_H
#define AF_RENDER_HTML_PACK_H

#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"
#include "base/strtab.h"

enum { HTML_SECTION_HEAD = 4 }; /* bytes */

struct html_weight {
	char *name, *unit;
	uint64_t scale; /* greatest common divisor of the column, 1 for an empty one */
	uint64_t parts; /* the column counts these of the unit: more than 1 for folded fractions */
	int same;       /* index of the weight with the same column, or -1 */
	int by;         /* index of the weight that predicts this one, or -1 */
	struct af_buf column;
};

struct html_tree {
	char *label;
	uint32_t nr_nodes, depth, nr_weights;
	struct af_buf depths;
	uint32_t *names; /* by node in preorder: id in html_pack.names */
	struct html_weight weights[AF_TREE_WEIGHTS];
	struct html_tree *next;
};

/* Where a name is: its file, and the module whose word is shown. */
struct html_pack_in {
	uint32_t file, reported; /* of modules, of keys; 0: not known, not shown */
};

struct html_pack {
	/* Text, then one byte of 1 + enum af_frame and four of the module's word; entry 0 is "". */
	struct af_strtab names;
	uint32_t *order; /* ids in order of names, after html_pack_sort */
	uint32_t *rank;  /* by id, the other way round */
	struct html_tree *first, **last;
	uint32_t nr_trees;
	struct af_strtab modules; /* entry 1 is "\n": several */
	struct af_strtab keys;    /* words for modules */
	struct html_pack_in *in;  /* by id of names */
	uint32_t cap_in;
	struct af_buf scratch;
};

/* A zeroed struct is an empty pack. */
void html_pack_free(struct html_pack *p);

/* Copy what is needed of a finished tree; @label may be NULL. */
struct html_tree *html_pack_add(struct html_pack *p, const struct af_tree *t, const char *label);

/* Fix the ids of names. No tree may be added any more. */
void html_pack_sort(struct html_pack *p);
uint32_t html_pack_nr_names(const struct html_pack *p);

/* The id, until names are sorted, of a name that is in no tree; its rank is the one in the page. */
uint32_t html_pack_name(struct html_pack *p, const char *text, size_t len, enum af_frame frame);

/* The id, until names are sorted, of a name of @t; records the file of the name. */
uint32_t html_pack_frame(struct html_pack *p, const struct af_tree *t, uint32_t name);

/* Append a blob to @out: 0, or -ENOMEM when zlib has none. */
int html_pack_names(const struct html_pack *p, struct af_buf *out);
int html_pack_tree(const struct html_pack *p, const struct html_tree *t, struct af_buf *out);

/* Append a blob of @nr columns, or of one section of bytes: 0, or -ENOMEM. */
int html_pack_sections(const struct af_buf *columns, uint32_t nr, struct af_buf *out);
int html_pack_bytes(const struct af_buf *bytes, struct af_buf *out);

/*
 * For sections that the caller makes: the head of one of @size bytes, which stand behind it, and
 * appending a blob of all sections: 0, or -ENOMEM.
 */
void html_section_head(uint8_t head[HTML_SECTION_HEAD], uint64_t size);
int html_pack_plain(const void *plain, size_t size, struct af_buf *out);

/* Append the text of a blob. */
void html_text(struct af_buf *out, const void *data, size_t len);

/* Append base64 (RFC 4648, with padding). */
void html_base64(struct af_buf *out, const void *data, size_t len);

#endif
