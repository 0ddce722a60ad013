/*
 * pprof's profile (github.com/google/pprof, proto/profile.proto), gzipped: what `go tool pprof`,
 * Pyroscope, Parca and others read. All columns of all trees are sample types of one profile, which
 * begins with its strings: readers take the fields in any order.
 *
 * What runs where is labels, not frames: process, pid, rank, thread, tid, gpu, stream, and of
 * device code instruction and stall. A location is an address with all functions that are inlined
 * there, so it may stand for several frames of the tree; addresses are those of the ELF files,
 * which a mapping from 0 on says.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "render/profiles/out.h"
#include "render/profiles/pprof_private.h"
#include "render/render.h"

static bool same_text(const struct af_tree *t, uint32_t node, const char *text)
{
	size_t len;
	const char *have = af_tree_text(t, t->nodes[node].name, &len);

	return strlen(text) == len && !memcmp(have, text, len);
}

/*
 * The node of the next frame from @node on towards the root that is a location, 0 for none. A line
 * or an instruction of a kernel is a place in it: the kernel's own frame says nothing more.
 */
static uint32_t pprof_next(const struct af_tree *t, uint32_t node)
{
	for (; node; node = t->nodes[node].parent) {
		const struct af_location *location = af_tree_location(t, t->nodes[node].name);
		uint32_t parent = t->nodes[node].parent;
		bool in_line = af_tree_location(t, t->nodes[parent].name)->what == AF_LOCATION_LINE;

		if (location->what == AF_LOCATION_STALL || af_profile_is_track(t, node) ||
		    t->nodes[node].name == AF_TREE_GAP ||
		    (location->what == AF_LOCATION_INSN && in_line))
			continue;
		break;
	}
	return node;
}

/* The first node above the location that begins at @node. */
static uint32_t pprof_above(const struct af_tree *t, uint32_t node)
{
	while (af_tree_location(t, t->nodes[node].name)->inlined && t->nodes[node].parent)
		node = t->nodes[node].parent;
	const struct af_location *location = af_tree_location(t, t->nodes[node].name);
	uint32_t parent = t->nodes[node].parent;
	bool in_function = location->what == AF_LOCATION_LINE || location->what == AF_LOCATION_INSN;
	if (in_function && parent && same_text(t, parent, location->function))
		parent = t->nodes[parent].parent;
	return parent;
}

static void label_text(struct pprof *p, const char *key, const char *text, size_t len)
{
	size_t at = af_pb_open(&p->samples, PPROF_SAMPLE_LABEL);

	af_pb_varint(&p->samples, PPROF_LABEL_KEY, pprof_intern_z(p, key));
	af_pb_varint(&p->samples, PPROF_LABEL_TEXT, pprof_intern(p, text, len));
	af_pb_close(&p->samples, at);
}

static void label_number(struct pprof *p, const char *key, uint64_t number)
{
	size_t at = af_pb_open(&p->samples, PPROF_SAMPLE_LABEL);

	af_pb_varint(&p->samples, PPROF_LABEL_KEY, pprof_intern_z(p, key));
	af_pb_varint(&p->samples, PPROF_LABEL_NUMBER, number);
	af_pb_close(&p->samples, at);
}

/* "[stream 7]" without its brackets. */
static void label_bare(struct pprof *p, const char *key, const char *text, size_t len)
{
	bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';

	label_text(p, key, text + brackets, len - 2 * brackets);
}

static void pprof_label(struct pprof *p, uint32_t name)
{
	const struct af_location *location = af_tree_location(p->tree, name);
	const char *function = location->function ? location->function : "";
	size_t len;
	const char *text = af_tree_text(p->tree, name, &len);

	switch (location->what) {
	case AF_LOCATION_PROCESS:
		label_text(p, "process", text, len);
		label_number(p, "pid", location->address);
		break;
	case AF_LOCATION_THREAD:
		label_text(p, "thread", function, strlen(function));
		label_number(p, "tid", location->address);
		break;
	case AF_LOCATION_RANK:
		label_text(p, "rank", function, strlen(function));
		break;
	case AF_LOCATION_DEVICE:
		label_bare(p, "gpu", text, len);
		break;
	case AF_LOCATION_QUEUE:
		label_bare(p, "stream", text, len);
		break;
	case AF_LOCATION_INSN:
		label_text(p, "instruction", text, len);
		break;
	case AF_LOCATION_STALL:
		label_text(p, "stall", function, strlen(function));
		break;
	}
}

static void pprof_values(struct pprof *p, uint32_t tree, uint32_t node)
{
	p->packed.len = 0;
	for (uint32_t c = 0; c < p->profile.nr_columns; c++) {
		const struct af_profile_column *column = &p->profile.columns[c];
		uint64_t v = column->tree == tree ? p->tree->self[column->weight][node] : 0;
		/* The format's numbers are signed. */
		af_buf_leb128(&p->packed, v < INT64_MAX ? v : INT64_MAX);
	}
	af_pb_bytes(&p->samples, PPROF_SAMPLE_VALUE, p->packed.data, p->packed.len);
}

static void pprof_sample(struct pprof *p, uint32_t tree, uint32_t node)
{
	const struct af_tree *t = p->tree;
	size_t at = af_pb_open(&p->samples, PPROF_SAMPLE);

	p->packed.len = 0;
	for (uint32_t n = pprof_next(t, node); n; n = pprof_next(t, pprof_above(t, n)))
		af_buf_leb128(&p->packed, pprof_located(p, n));
	af_pb_bytes(&p->samples, PPROF_SAMPLE_LOCATION, p->packed.data, p->packed.len);
	pprof_values(p, tree, node);
	for (uint32_t n = node; n; n = t->nodes[n].parent)
		pprof_label(p, t->nodes[n].name);
	af_pb_close(&p->samples, at);
}

static void pprof_samples(struct pprof *p, uint32_t tree)
{
	const struct af_tree *t = p->tree = p->profile.trees[tree];
	uint32_t depth = 0;

	p->chains = af_xcalloc(t->nr, sizeof *p->chains);
	for (uint32_t i = 0; (i = af_tree_next(t, i, false, &depth));)
		if (af_profile_has(t, i))
			pprof_sample(p, tree, i);
	free(p->chains);
	af_map_free(&p->by_chain);
	af_map_free(&p->by_location);
}

static int pprof_begin(struct af_render *r, struct af_err *err)
{
	struct pprof *p = af_xcalloc(1, sizeof *p);

	(void)err;
	af_strtab_id_z(&p->strings, "");
	af_strtab_id_z(&p->known, "");
	r->state = p;
	return 0;
}

static int pprof_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	struct pprof *p = r->state;

	(void)err;
	af_profile_add(&p->profile, t, r->label);
	return 0;
}

static const char *pprof_unit(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "count";
}

/* Fractions in folded text become whole numbers of a smaller unit. */
static void pprof_types(struct pprof *p, struct af_buf *b)
{
	for (uint32_t c = 0; c < p->profile.nr_columns; c++) {
		const struct af_profile_column *column = &p->profile.columns[c];
		const char *unit = column->scale > 1 ? "millionths" : pprof_unit(column->unit);
		size_t at = af_pb_open(b, PPROF_SAMPLE_TYPE);
		af_pb_varint(b, PPROF_TYPE_TYPE, pprof_intern_z(p, column->name));
		af_pb_varint(b, PPROF_TYPE_UNIT, pprof_intern_z(p, unit));
		af_pb_close(b, at);
	}
	if (p->profile.nr_columns)
		af_pb_varint(b, PPROF_DEFAULT_TYPE, pprof_intern_z(p, p->profile.columns[0].name));
	af_pb_varint(b, PPROF_COMMENT, pprof_intern_z(p, "written by aflame"));
}

static void pprof_write(struct pprof *p, struct af_out *out)
{
	const struct af_buf *parts[] = {&p->main_mapping, &p->mappings, &p->functions,
	                                &p->locations, &p->samples};

	pprof_types(p, &out->text);
	for (uint32_t i = 0; i < p->strings.nr; i++) {
		const char *text = af_strtab_get(&p->strings, i);
		af_pb_bytes(&out->text, PPROF_STRING, text, p->strings.lens[i]);
		af_out_spill(out);
	}
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		af_buf_add(&out->text, parts[i]->data, parts[i]->len);
		af_out_spill(out);
	}
}

static int pprof_end(struct af_render *r, struct af_err *err)
{
	struct pprof *p = r->state;
	struct af_out out;

	for (uint32_t i = 0; i < p->profile.nr_trees; i++)
		pprof_samples(p, i);
	af_out_open(&out, r->fd, true);
	pprof_write(p, &out);
	int rc = af_out_close(&out);
	struct af_buf *bufs[] = {&p->samples,   &p->mappings, &p->main_mapping, &p->locations,
	                         &p->functions, &p->text,     &p->packed,       &p->body};
	for (unsigned i = 0; i < sizeof bufs / sizeof *bufs; i++)
		af_buf_free(bufs[i]);
	af_strtab_free(&p->strings);
	af_strtab_free(&p->known);
	af_keys_free(&p->by_function);
	af_map_free(&p->by_mapping);
	free(p);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the profile") : 0;
}

const struct af_format af_format_pprof = {
    .name = "pprof",
    .extension = ".pb.gz",
    .summary = "pprof's profile, for go tool pprof and others",
    .begin = pprof_begin,
    .tree = pprof_tree,
    .end = pprof_end,
};
