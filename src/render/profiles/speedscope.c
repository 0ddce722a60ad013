/*
 * Speedscope's own format (speedscope.app, file-format-schema.json): frames once, and a sampled
 * profile for each column and each thread, device or stream. Its samples are stacks with their
 * weight, in the order of the tree: time has no place in a sum of stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strtab.h"
#include "render/profiles/out.h"
#include "render/profiles/profile.h"
#include "render/render.h"
#include "render/text/label.h"

struct speedscope {
	struct af_profile profile;
	struct af_strtab frames;              /* as JSON, from 1 on */
	uint32_t *frame_of[AF_PROFILE_TREES]; /* by name; 0: not met */
	struct af_out out;
	struct af_buf text;
	uint32_t *path;
	bool further; /* a profile was written */
};

static int speedscope_begin(struct af_render *r, struct af_err *err)
{
	struct speedscope *s = af_xcalloc(1, sizeof *s);

	(void)err;
	af_strtab_id_z(&s->frames, "");
	r->state = s;
	return 0;
}

static int speedscope_tree(struct af_render *r, const struct af_tree *t, struct af_err *err)
{
	struct speedscope *s = r->state;

	(void)err;
	af_profile_add(&s->profile, t, r->label);
	return 0;
}

/*
 * Write a line only where the frame's name has it too; otherwise a function would become as many as
 * it has lines.
 */
static void frame_text(struct af_buf *b, const struct af_tree *t, uint32_t name)
{
	const struct af_location *location = af_tree_location(t, name);
	size_t len;
	const char *text = af_profile_text(t, name, &len);

	b->len = 0;
	af_buf_str(b, "{\"name\":");
	af_buf_json(b, text, len);
	if (location->file) {
		af_buf_str(b, ",\"file\":");
		af_buf_json(b, location->file, strlen(location->file));
	}
	if (location->file && location->function && location->line)
		af_buf_fmt(b, ",\"line\":%u", location->line);
	af_buf_char(b, '}');
}

static void speedscope_frames(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->profile.nr_trees; i++) {
		const struct af_tree *t = s->profile.trees[i];
		uint32_t depth = 0;

		s->frame_of[i] = af_xcalloc(t->nr_names, sizeof *s->frame_of[i]);
		for (uint32_t n = 0; (n = af_tree_next(t, n, false, &depth));) {
			uint32_t *frame = &s->frame_of[i][t->nodes[n].name];
			if (*frame || af_profile_is_track(t, n) || t->nodes[n].name == AF_TREE_GAP)
				continue;
			frame_text(&s->text, t, t->nodes[n].name);
			*frame = af_strtab_id(&s->frames, s->text.data, s->text.len);
		}
	}
	af_buf_str(&s->out.text, "\"shared\":{\"frames\":[");
	for (uint32_t i = 1; i < s->frames.nr; i++) {
		if (i > 1)
			af_buf_str(&s->out.text, ",\n");
		af_buf_str(&s->out.text, af_strtab_get(&s->frames, i));
		af_out_spill(&s->out);
	}
	af_buf_str(&s->out.text, "]},\n");
}

static void speedscope_stack(struct speedscope *s, uint32_t tree, uint32_t node)
{
	const struct af_tree *t = s->profile.trees[tree];
	struct af_buf *b = &s->out.text;
	uint32_t nr = 0;

	for (; node; node = t->nodes[node].parent)
		if (s->frame_of[tree][t->nodes[node].name])
			s->path[nr++] = s->frame_of[tree][t->nodes[node].name] - 1;
	af_buf_char(b, '[');
	while (nr-- > 0) {
		af_buf_u64(b, s->path[nr]);
		if (nr)
			af_buf_char(b, ',');
	}
	af_buf_char(b, ']');
	af_out_spill(&s->out);
}

static const char *speedscope_unit(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "bytes") ? "bytes" : "none";
}

static void speedscope_name(struct speedscope *s, const struct af_profile_column *c, uint32_t track)
{
	s->text.len = 0;
	af_profile_track_text(&s->text, s->profile.trees[c->tree], track);
	if (track)
		af_buf_str(&s->text, ": ");
	af_buf_str(&s->text, c->name);
	af_buf_json(&s->out.text, s->text.data, s->text.len);
}

static void speedscope_profile(struct speedscope *s, const struct af_profile_column *c,
                               const struct af_profile_group *g, const uint32_t *nodes)
{
	const uint64_t *self = s->profile.trees[c->tree]->self[c->weight];
	struct af_buf *b = &s->out.text;
	const char *between = "";
	uint64_t total = 0;

	for (uint32_t i = 0; i < g->nr; i++)
		if (__builtin_add_overflow(total, self[nodes[i]], &total))
			total = UINT64_MAX;
	if (!total)
		return;
	af_buf_str(b, s->further ? ",\n{\"type\":\"sampled\",\"name\":"
	                         : "{\"type\":\"sampled\",\"name\":");
	s->further = true;
	speedscope_name(s, c, g->track);
	af_buf_fmt(b, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", speedscope_unit(c->unit));
	af_label_exact(b, total, c->scale);
	af_buf_str(b, ",\n\"samples\":[");
	for (uint32_t i = 0; i < g->nr; i++) {
		if (!self[nodes[i]])
			continue;
		af_buf_str(b, between);
		speedscope_stack(s, c->tree, nodes[i]);
		between = ",";
	}
	af_buf_str(b, "],\n\"weights\":[");
	between = "";
	for (uint32_t i = 0; i < g->nr; i++) {
		if (!self[nodes[i]])
			continue;
		af_buf_str(b, between);
		af_label_exact(b, self[nodes[i]], c->scale);
		between = ",";
		af_out_spill(&s->out);
	}
	af_buf_str(b, "]}");
}

static void speedscope_profiles(struct speedscope *s, uint32_t tree)
{
	const struct af_tree *t = s->profile.trees[tree];
	struct af_profile_groups groups;

	af_profile_group(&groups, t);
	s->path = af_xcalloc(af_tree_depth(t) + 1, sizeof *s->path);
	for (uint32_t c = 0; c < s->profile.nr_columns; c++)
		for (uint32_t g = 0; s->profile.columns[c].tree == tree && g < groups.nr; g++)
			speedscope_profile(s, &s->profile.columns[c], &groups.all[g],
			                   groups.nodes + groups.all[g].first);
	free(s->path);
	af_profile_groups_free(&groups);
}

static int speedscope_end(struct af_render *r, struct af_err *err)
{
	struct speedscope *s = r->state;

	af_out_open(&s->out, r->fd, r->gzip);
	af_buf_str(&s->out.text,
	           "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	           "\"exporter\":\"aflame " AFLAME_VERSION "\",\"name\":\"aflame\","
	           "\"activeProfileIndex\":0,\n");
	speedscope_frames(s);
	af_buf_str(&s->out.text, "\"profiles\":[");
	for (uint32_t i = 0; i < s->profile.nr_trees; i++)
		speedscope_profiles(s, i);
	af_buf_str(&s->out.text, "]}\n");
	int rc = af_out_close(&s->out);
	for (uint32_t i = 0; i < s->profile.nr_trees; i++)
		free(s->frame_of[i]);
	af_strtab_free(&s->frames);
	af_buf_free(&s->text);
	free(s);
	r->state = NULL;
	return rc ? af_fail(err, rc, "cannot write the profile") : 0;
}

const struct af_format af_format_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .summary = "speedscope's own format",
    .begin = speedscope_begin,
    .tree = speedscope_tree,
    .end = speedscope_end,
};
