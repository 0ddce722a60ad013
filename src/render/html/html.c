/*
 * report.html: one file that needs no network and no server. The page is the viewer's own script
 * and style sheet (viewer/, embedded), with the data beside them in scripts that are not run:
 *
 *	af-report	JSON: title, kinds of frames, what each tree's columns are
 *	af-tables	JSON as a blob: the tables
 *	af-names	all names of frames, a blob
 *	af-tree-0…	one blob a tree, in the order they were rendered; decoded when first looked
 *			at
 *	af-annotated-0…	one blob a kernel, see annotate.h
 *	af-time-0…	one blob a track of the timeline, and
 *	af-steps	where the run's steps begin, see time.h
 *
 * Blobs are described in pack.h. Nothing that comes from a profile is markup: blobs have no
 * `<`, JSON has no `<`, the rest is escaped; a Content-Security-Policy that knows the digests
 * of script and style sheet lets nothing else run or load. The same results give the same bytes.
 *
 * The page opens on its summary: facts named `verdict`, `findings`, `phases`, `run`, `lost` and
 * `cost`. The first column is the label, the rest of the row the value. What tables warn of stands
 * before the findings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/difference.h"
#include "analyse/pass/pass.h"
#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/strtab.h"
#include "render/embed/embed.h"
#include "render/html/annotate.h"
#include "render/html/blobs.h"
#include "render/html/pack.h"
#include "render/html/script.h"
#include "render/html/time.h"
#include "render/render.h"
#include "render/text/tables.h"

AF_EMBED(report_css);

enum { NOSCRIPT_ROWS = 50, OWN_MOST = 4096 /* Python files */ };

struct html {
	struct html_pack pack;
	struct html_annotated annotated;
	struct html_time time;
	struct af_buf tables;   /* "[" and tables by af_table_json(), with commas between */
	struct af_buf noscript; /* the same as markup, for when scripts do not run */
	struct af_buf looks;    /* of differences, one a tree, with commas between */
};

static int html_begin(struct af_render *r, struct af_err *err)
{
	r->state = af_xcalloc(1, sizeof(struct html));
	return 0;
}

/* Only for two columns: counts of samples, which may be compared by their shares. */
static struct af_difference_look plain_look(const struct af_tree *t)
{
	struct af_difference_look look = {.quantum = {1, 1}};

	look.scales[AF_NORMALIZE_NONE] = 1;
	if (t->total[0][0])
		look.scales[AF_NORMALIZE_TOTAL] = (double)t->total[1][0] / (double)t->total[0][0];
	return look;
}

/* Data by which the page separates changes from chance. */
static void add_look(struct af_buf *b, const struct af_difference_look *look)
{
	const char *comma = "";

	af_buf_fmt(b, "%s{\"by\":\"%s\",\"self\":%s,\"quantum\":[%.17g,%.17g],\"scales\":{",
	           b->len ? "," : "", af_normalize_name(look->normalize),
	           look->by_self ? "true" : "false", look->quantum[0], look->quantum[1]);
	for (int n = 0; n < AF_NORMALIZE_END; n++) {
		if (!(look->scales[n] > 0))
			continue;
		af_buf_fmt(b, "%s\"%s\":%.17g", comma, af_normalize_name((enum af_normalize)n),
		           look->scales[n]);
		comma = ",";
	}
	af_buf_str(b, "}}");
}

static int html_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	struct html *h = r->state;
	int weight = af_picture_weight(r->picture, t, err);

	if (weight < 0)
		return weight;
	html_pack_add(&h->pack, t, r->label);
	if (r->picture->differential) {
		const struct af_difference_look plain = plain_look(t);
		add_look(&h->looks, r->picture->look ? r->picture->look : &plain);
	}
	return 0;
}

/* time */

static int html_track(struct af_render *r, const struct af_track *track)
{
	struct html *h = r->state;

	if (r->part != h->time.part)
		html_time_part(&h->time, r->part);
	html_time_track(&h->time, track);
	return 0;
}

static int html_slice(struct af_render *r, const struct af_slice *s)
{
	struct html *h = r->state;

	html_time_slice(&h->time, r->slices, s);
	return 0;
}

static int html_point(struct af_render *r, const struct af_point *p)
{
	struct html *h = r->state;

	html_time_point(&h->time, r->slices, p);
	return 0;
}

static void html_part_end(struct af_render *r)
{
	struct html *h = r->state;

	html_time_names(&h->time, &h->pack, r->slices);
}

/* facts */

static void add_json(struct af_buf *b, const char *text)
{
	af_buf_json(b, text ? text : "", text ? strlen(text) : 0);
}

static void add_xml(struct af_buf *b, const char *text)
{
	af_buf_xml(b, text ? text : "", text ? strlen(text) : 0);
}

static void tables_markup(struct af_buf *b, const struct af_table *t)
{
	uint32_t nr_rows = t->nr_rows < NOSCRIPT_ROWS ? t->nr_rows : NOSCRIPT_ROWS;
	bool hidden[AF_TABLE_COLUMNS] = {0};

	for (uint32_t c = 0; c < t->nr_columns; c++)
		hidden[c] = af_table_hides(t, c);
	af_buf_str(b, "<h2>");
	add_xml(b, t->title);
	af_buf_str(b, "</h2>\n");
	if (t->warning) {
		af_buf_str(b, "<p>");
		add_xml(b, t->warning);
		af_buf_str(b, "</p>\n");
	}
	af_buf_str(b, "<table><tr>");
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		if (hidden[c])
			continue;
		af_buf_str(b, "<th>");
		add_xml(b, t->columns[c].title);
		if (t->columns[c].unit == AF_CELL_NS)
			af_buf_str(b, " (ns)");
		if (t->columns[c].unit == AF_CELL_BYTES)
			af_buf_str(b, " (bytes)");
	}
	for (uint32_t i = 0; i < nr_rows * t->nr_columns; i++) {
		const struct af_cell *cell = &t->cells[i];
		if (!(i % t->nr_columns))
			af_buf_str(b, "\n<tr>");
		if (hidden[i % t->nr_columns])
			continue;
		af_buf_str(b, "<td>");
		switch (t->columns[i % t->nr_columns].unit) {
		case AF_CELL_TEXT:
			add_xml(b, cell->text);
			break;
		case AF_CELL_PERCENT:
			af_buf_fmt(b, "%llu.%02u %%", (unsigned long long)(cell->value / 100),
			           (unsigned)(cell->value % 100));
			break;
		default:
			af_buf_u64(b, cell->value);
		}
	}
	af_buf_str(b, "</table>\n");
}

static int html_tables(struct af_render *r, const struct af_tables *f, struct af_err *err)
{
	struct html *h = r->state;

	if (r->label && !strcmp(r->label, "annotated")) {
		int rc = html_annotated_add(&h->annotated, f);
		return rc ? af_fail(err, rc, "cannot compress the report") : 0;
	}
	for (const struct af_table *t = f->first; t; t = t->next) {
		af_buf_str(&h->tables, h->tables.len ? ",\n" : "[");
		af_table_json(&h->tables, t, 0);
		tables_markup(&h->noscript, t);
	}
	return 0;
}

/* the page */

static void add_digest(struct af_buf *b, const char *directive, const void *data, size_t len)
{
	uint8_t digest[AF_SHA256_BYTES];

	af_sha256(data, len, digest);
	af_buf_fmt(b, "; %s 'sha256-", directive);
	html_base64(b, digest, sizeof digest);
	af_buf_char(b, '\'');
}

static void add_head(struct af_buf *b, const struct af_picture *picture,
                     const struct af_buf *script)
{
	const char *css = (const char *)af_embed_report_css;

	af_buf_str(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	              "img-src data:; base-uri 'none'; form-action 'none'");
	if (picture->served)
		af_buf_str(b, "; connect-src 'self'");
	add_digest(b, "script-src", script->data, script->len);
	add_digest(b, "style-src", css, af_embed_report_css_size);
	af_buf_str(b, "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n"
	              "<meta name=\"referrer\" content=\"no-referrer\">\n"
	              "<meta name=\"generator\" content=\"aflame " AFLAME_VERSION "\">\n"
	              "<link rel=\"icon\" href=\"data:,\">\n<title>");
	add_xml(b, picture->title ? picture->title : "aflame report");
	af_buf_str(b, "</title>\n<style>");
	af_buf_add(b, css, af_embed_report_css_size);
	af_buf_str(b, "</style>\n</head>\n<body>\n");
}

static void add_tree_meta(struct af_buf *b, const struct html_tree *t, uint32_t index)
{
	af_buf_str(b, index ? ",\n{\"label\":" : "{\"label\":");
	add_json(b, t->label);
	af_buf_fmt(b, ",\"nodes\":%u,\"depth\":%u,\"weights\":[", t->nr_nodes, t->depth);
	for (uint32_t w = 0; w < t->nr_weights; w++) {
		af_buf_str(b, w ? ",{\"name\":" : "{\"name\":");
		add_json(b, t->weights[w].name);
		af_buf_str(b, ",\"unit\":");
		add_json(b, t->weights[w].unit);
		af_buf_str(b, ",\"scale\":");
		if (t->weights[w].parts == 1)
			af_buf_u64(b, t->weights[w].scale);
		else
			af_buf_fmt(b, "%.17g",
			           (double)t->weights[w].scale / (double)t->weights[w].parts);
		if (t->weights[w].same >= 0)
			af_buf_fmt(b, ",\"same\":%d", t->weights[w].same);
		af_buf_char(b, '}');
	}
	af_buf_str(b, "]}");
}

/* Names of the program's own Python files: the page tells their lines from those of packages. */
static void add_own(struct af_buf *b, const struct af_strtab *own)
{
	for (uint32_t i = 1; own && i < own->nr && i <= OWN_MOST; i++) {
		af_buf_str(b, i > 1 ? "," : "");
		add_json(b, af_strtab_get(own, i));
	}
}

static void add_report(struct af_buf *b, const struct html *h, const struct af_render *r)
{
	const struct af_picture *p = r->picture;
	uint32_t index = 0;

	af_buf_str(b,
	           "<script type=\"application/json\" id=\"af-report\">{\"format\":1,\"title\":");
	add_json(b, p->title);
	af_buf_str(b, ",\"subtitle\":");
	add_json(b, p->subtitle);
	af_buf_str(b, ",\"notes\":");
	add_json(b, p->notes);
	/* The weight that a tree is first shown by. */
	af_buf_str(b, ",\"order\":[");
	for (int i = 0; i < AF_WEIGHTS; i++) {
		af_buf_str(b, i ? "," : "");
		add_json(b, af_weight_name(af_weight_order[i]));
	}
	af_buf_str(b, "],\"picture\":{\"weight\":");
	add_json(b, p->weight);
	af_buf_fmt(b,
	           ",\"inverted\":%s,\"reverse\":%s,\"chart\":%s,\"differential\":%s},"
	           "\"wall\":%s,\n\"kinds\":[",
	           p->inverted ? "true" : "false", p->reverse ? "true" : "false",
	           p->flamechart ? "true" : "false", p->differential ? "true" : "false",
	           r->wall ? "true" : "false");
	for (int frame = 0; frame < AF_FRAME_END; frame++) {
		af_buf_str(b, frame ? "," : "");
		add_json(b, af_frame_name((enum af_frame)frame));
	}
	af_buf_str(b, "],\n\"own\":[");
	add_own(b, r->own_python);
	af_buf_fmt(b, "],\n\"names\":%u,\"trees\":[", html_pack_nr_names(&h->pack));
	for (const struct html_tree *t = h->pack.first; t; t = t->next)
		add_tree_meta(b, t, index++);
	af_buf_str(b, "],\n\"annotated\":[");
	if (h->annotated.list.len)
		af_buf_add(b, h->annotated.list.data, h->annotated.list.len);
	af_buf_fmt(b, "],\"annotatedLeftOut\":%u,\n\"differences\":[", h->annotated.nr_left_out);
	if (h->looks.len)
		af_buf_add(b, h->looks.data, h->looks.len);
	af_buf_char(b, ']');
	html_time_list(&h->time, r->slices, r->phases, b);
	if (p->served)
		af_buf_fmt(b, ",\n\"served\":%s", p->served);
	af_buf_str(b, "}</script>\n");
}

static int tables_blob(const void *tables, const void *unused, struct af_buf *out)
{
	return html_pack_bytes(tables, out);
}

static int names_blob(const void *pack, const void *unused, struct af_buf *out)
{
	return html_pack_names(pack, out);
}

static int tree_blob(const void *pack, const void *tree, struct af_buf *out)
{
	return html_pack_tree(pack, tree, out);
}

static int add_blobs(struct af_buf *b, struct html *h, const struct af_render *r)
{
	struct html_blobs blobs = {0};
	uint32_t index = 0;

	af_buf_str(&h->tables, h->tables.len ? "]" : "[]");
	html_blobs_add(&blobs, &(struct html_blob){.id = "af-tables",
	                                           .make = tables_blob,
	                                           .of = &h->tables,
	                                           .size = h->tables.len});
	html_blobs_add(&blobs, &(struct html_blob){.id = "af-names",
	                                           .make = names_blob,
	                                           .of = &h->pack,
	                                           .size = html_pack_nr_names(&h->pack) * 50ull});
	for (const struct html_tree *t = h->pack.first; t; t = t->next) {
		struct html_blob blob = {
		    .make = tree_blob, .of = &h->pack, .with = t, .size = t->nr_nodes * 10ull};
		snprintf(blob.id, sizeof blob.id, "af-tree-%u", index++);
		html_blobs_add(&blobs, &blob);
	}
	uint32_t nr_plain = blobs.nr;
	html_time_blobs(&h->time, r->phases, &blobs);
	int rc = html_blobs_make(&blobs, r->threads);
	html_blobs_put(&blobs, 0, nr_plain, b);
	html_annotated_write(&h->annotated, b);
	html_blobs_put(&blobs, nr_plain, blobs.nr, b);
	html_blobs_free(&blobs);
	return rc;
}

static int write_page(struct html *h, const struct af_render *r, struct af_err *err)
{
	struct af_buf page = {0}, script = {0};

	html_time_end(&h->time);
	html_time_names(&h->time, &h->pack, r->slices);
	html_pack_sort(&h->pack);
	html_time_ranks(&h->time, &h->pack);
	html_script(&script, r->picture->served != NULL);
	add_head(&page, r->picture, &script);
	af_buf_str(&page, "<noscript><p>This report needs JavaScript for its graphs: allow it "
	                  "for this file, which loads nothing from anywhere. The tables are "
	                  "here without.</p>\n");
	if (h->noscript.len)
		af_buf_add(&page, h->noscript.data, h->noscript.len);
	af_buf_str(
	    &page,
	    "</noscript>\n<p id=\"af-loading\" class=\"failed\">Loading this report. If this "
	    "line stays, the file is not complete: copy it again, or write it again "
	    "with aflame flame -o report.html from the trace.</p>\n");
	add_report(&page, h, r);
	int rc = add_blobs(&page, h, r);
	if (rc)
		af_fail(err, rc, "cannot compress the report");
	af_buf_str(&page, "<script>");
	af_buf_add(&page, script.data, script.len);
	af_buf_str(&page, "</script>\n</body>\n</html>\n");
	if (!rc) {
		rc = af_buf_flush(&page, r->fd);
		if (rc)
			af_fail(err, rc, "cannot write the report");
	}
	af_buf_free(&page);
	af_buf_free(&script);
	return rc;
}

static int html_end(struct af_render *r, struct af_err *err)
{
	struct html *h = r->state;
	int rc = r->fd < 0 ? 0 : write_page(h, r, err);

	html_pack_free(&h->pack);
	html_annotated_free(&h->annotated);
	html_time_free(&h->time);
	af_buf_free(&h->tables);
	af_buf_free(&h->noscript);
	af_buf_free(&h->looks);
	free(h);
	r->state = NULL;
	return rc;
}

extern const struct af_format af_format_html;
const struct af_format af_format_html = {
    .name = "html",
    .extension = ".html",
    .summary = "interactive report in one file: flame graph, search, tables, no network",
    .ahead = true,
    .begin = html_begin,
    .tree = html_tree,
    .tables = html_tables,
    .track = html_track,
    .slice = html_slice,
    .point = html_point,
    .part_end = html_part_end,
    .end = html_end,
};
