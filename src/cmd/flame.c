/* aflame flame: a flame graph of a trace or of folded text. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "cmd/flame_chart.h"
#include "cmd/flame_show.h"
#include "cmd/output/picture.h"
#include "cmd/output/picture_ahead.h"
#include "cmd/output/png.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/perf_script.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/set.h"
#include "cmd/shared/stacks.h"
#include "cmd/shared/together.h"
#include "render/svg/attributes.h"
#include "render/svg/palette_map.h"

struct flame_options {
	struct af_output output;
	const char *format, *folded, *view, *weight, *group, *range, *depth, *min_width;
	const char *encoding, *rank, *by, *sources;
	const char *perf, *perf_frames, *event;
	const char *colors_file, *attributes_file;
	struct af_palette_map colors;
	struct af_attributes attributes;
	bool differential, negate, ranges, by_time;
	struct af_flame_shows shows;
	struct af_picture picture;
	uint64_t width, height;
	uint64_t from_ns, to_ns;
};

static const struct flame_options flame_defaults = {.output.file = "-"};

static int flame_picture(struct flame_options *o, struct af_err *err)
{
	struct af_picture *p = &o->picture;

	p->weight = o->weight;
	p->width = (uint32_t)o->width;
	p->frame_height = (uint32_t)o->height;
	if (o->min_width) {
		char *end;
		p->min_width = strtod(o->min_width, &end);
		p->min_width_percent = *end == '%';
		p->all_frames = p->min_width == 0;
		if (end == o->min_width || (*end && strcmp(end, "%")) || p->min_width < 0)
			return af_fail_plain(
			    err, -EINVAL,
			    "--minwidth takes pixels (0.5) or percent (0.1%%), not "
			    "\"%s\"",
			    o->min_width);
	}
	return 0;
}

/* The format is what the file's name says; standard output is folded text. */
static int flame_format(const struct flame_options *o, const struct af_format **format, bool *png,
                        struct af_err *err)
{
	const char *by = o->format                     ? o->format
	                 : strcmp(o->output.file, "-") ? o->output.file
	                                               : "folded";

	*png = af_png_is(by);
	*format = af_format_for(*png ? "svg" : by);
	if (*png)
		return af_png_check(by, err);
	if (*format)
		return 0;
	char known[128] = "";
	for (int i = 0; af_formats[i]; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
		         af_formats[i]->extension);
	}
	return af_fail_plain(
	    err, -EINVAL, "no format for %s: name a file that ends in one of %s, or give --format",
	    by, known);
}

static int flame_perf(const struct flame_options *o, struct af_stacks *s, struct af_err *err)
{
	static const struct af_tree_weight samples[] = {{"samples", "samples"}};
	int rc = af_stacks_text(s, o->perf, o->encoding, err);

	if (rc)
		return rc;
	af_tree_open(&s->tree, samples, 1);
	s->tree.ordered = o->picture.flamechart;
	return af_perf_script(&s->tree, s->data, s->size, o->perf_frames, o->event, err);
}

static int flame_folded(const struct flame_options *o, const struct af_picture_request *request,
                        struct af_err *err)
{
	const struct af_stacks_how how = {.who = "flame",
	                                  .encoding = o->encoding,
	                                  .two = o->differential,
	                                  .ordered = o->picture.flamechart};
	struct af_picture_request drawn = *request;
	struct af_picture picture = *request->picture;
	struct af_flame_shown shown = {0};
	struct af_stacks stacks;
	int rc =
	    o->perf ? flame_perf(o, &stacks, err) : af_stacks_open(&stacks, o->folded, &how, err);

	drawn.tree = &stacks.tree;
	drawn.picture = &picture;
	if (!rc) {
		af_flame_show(&shown, &o->shows, &drawn, &picture);
		rc = af_picture_write(&drawn, err);
	}
	if (!rc)
		af_output_tell(&o->output, "flame", "the stacks of that text");
	af_tree_close(&shown.tree);
	af_stacks_close(&stacks);
	return rc;
}

/* How far samples of instructions are to be believed, where they are in the picture. */
static void flame_sampled(const struct flame_options *o, const char *dir,
                          const struct af_results *r, int view)
{
	char text[AF_SAMPLED_TEXT];

	if (view >= 0 && view != AF_VIEW_GPU && view != AF_VIEW_ALL)
		return;
	if (af_sampled_text(text, &r->sampled))
		fprintf(stderr, "aflame flame: %s\n", text);
	else if (o->depth && strcmp(o->depth, "kernel"))
		fprintf(stderr,
		        "aflame flame: the trace %s has no samples of instructions of devices: "
		        "record it with --gpu-samples\n",
		        dir);
}

/* The reason why the widths of a picture are not right; a page has it in its tables. */
static void flame_warning(struct af_results *r, int view, const char *weight)
{
	const char *warning = view >= 0 ? af_load_warning(r, view, weight) : NULL;

	if (warning)
		fprintf(stderr, "aflame flame: %s\n", warning);
}

/* A page shows all weights and the tables; a picture is of one weight. */
static struct af_query flame_query(const struct flame_options *o, const struct af_format *format,
                                   int view)
{
	struct af_query query = AF_QUERY_ALL;

	if (view >= 0)
		query.answers = 1u << view | (format->tables ? AF_ANSWER_TABLES | AF_ANSWER_ANNOTATE
		                                             : AF_ANSWER_COVERAGE);
	if (o->group)
		query.group = !strcmp(o->group, "rank")     ? AF_GROUP_RANK
		              : !strcmp(o->group, "device") ? AF_GROUP_DEVICE
		              : !strcmp(o->group, "stream") ? AF_GROUP_QUEUE
		                                            : AF_GROUP_NONE;
	query.ranges = o->ranges;
	query.range = o->range;
	query.from_ns = o->from_ns;
	query.to_ns = o->to_ns;
	query.depth = af_query_depth(o->depth, format->tables ? query.depth : AF_DEPTH_BEST);
	query.by_time = o->by_time;
	query.sources = o->sources;
	af_by_query(o->by, &query, NULL); /* it was checked */
	return query;
}

/* That there is a picture now, and of what: all views, where @r is NULL. */
static void flame_tell(const struct flame_options *o, const char *dir, const struct af_results *r,
                       int v, const char *weight)
{
	char what[PATH_MAX + 128];

	if (r)
		snprintf(what, sizeof what, "--view %s by %s, of %s", af_view_names[v],
		         weight ? weight : af_weight_name(af_weight_default(r->has[v])), dir);
	else
		snprintf(what, sizeof what, "a page with all views of %s, for a browser", dir);
	af_output_tell(&o->output, "flame", what);
}

static int flame_trace(const struct flame_options *o, const char *dir,
                       const struct af_picture_request *request, struct af_err *err)
{
	struct af_picture_request drawn = *request;
	struct af_picture picture = *request->picture;
	struct af_flame_shown shown = {0};
	struct af_tree chart = {0};
	/* report.html holds all views unless one is asked for; a picture shows one. */
	bool one = o->view || strcmp(request->format->name, "html");
	int v = one ? af_view_index(o->view ? o->view : "all") : -1;
	struct af_query query = flame_query(o, request->format, v);
	/* A page is the same from wherever its trace was opened. */
	scope_free char *full = realpath(dir, NULL);
	query.trace = full ? strrchr(full, '/') + 1 : NULL;
	struct af_picture_ahead ahead = {0};
	struct af_results r;
	bool tables = request->format->tables != NULL; /* a page shows all weights */
	int rc = one && !tables ? af_load_view("flame", dir, &query, v, &picture.weight, &r, err)
	                        : af_load_page(dir, &query, &drawn, &ahead, &r, err);

	bool counted = !rc && r.has[AF_VIEW_CPU] & AF_HAS_COUNTED;
	if (!rc && tables && !picture.weight && (one ? v < AF_VIEW_WAKERS : counted))
		picture.weight = af_weight_name(af_weight_default(r.has[one ? v : AF_VIEW_CPU]));
	drawn.picture = &picture;
	drawn.results = &r;
	drawn.spent = request->format->tables ? &r : NULL;
	drawn.ahead = ahead.format ? &ahead : NULL;
	drawn.dir = dir;
	if (!rc && one) {
		drawn.tree = &r.trees[v];
		drawn.label = af_view_names[v];
		rc = af_load_has(dir, &r, v, o->weight, err);
	}
	/* A page makes its own. */
	if (!rc && o->picture.flamechart && !request->format->slice) {
		rc = af_flame_chart(&chart, dir, &r, v, picture.weight, o->weight != NULL, err);
		drawn.tree = &chart;
	}
	if (!rc && one) {
		const char *weight = picture.weight ? picture.weight : drawn.tree->weights[0].name;
		picture.measured = af_weight_title(v, weight, r.has);
		af_flame_show(&shown, &o->shows, &drawn, &picture);
	}
	if (!rc)
		rc = af_picture_write(&drawn, err);
	if (!rc)
		flame_tell(o, dir, one ? &r : NULL, v, picture.weight);
	if (!rc)
		flame_sampled(o, dir, &r, v);
	if (!rc && !tables)
		flame_warning(&r, v, picture.weight);
	af_picture_ahead_end(&ahead);
	af_tree_close(&shown.tree);
	af_results_close(&r);
	af_tree_close(&chart);
	return rc;
}

static int flame_attributes(struct flame_options *o, struct af_err *err)
{
	struct af_stacks file;
	int rc = af_stacks_text(&file, o->attributes_file, o->encoding, err);

	if (!rc)
		rc = af_attributes_open(&o->attributes, file.data, file.size, o->attributes_file,
		                        err);
	o->picture.attributes = &o->attributes;
	af_stacks_close(&file);
	return rc;
}

static int flame_files(struct flame_options *o, const struct af_format *format, struct af_err *err)
{
	const char *only_svg = o->colors_file       ? "cp"
	                       : o->attributes_file ? "nameattr"
	                       : o->shows.hide_glue ? "hide-glue"
	                       : o->shows.show_glue ? "show-glue"
	                                            : NULL;

	if (only_svg && strcmp(format->name, "svg"))
		return af_fail_plain(err, -EINVAL, "--%s is for .svg, not for %s", only_svg,
		                     format->extension);
	/* --cp is a flag of flamegraph.pl: what follows it may not be meant as its file. */
	if (o->colors_file && (!*o->colors_file || !strncmp(o->colors_file, "--", 2)))
		return af_fail_plain(err, -EINVAL, "--cp needs a file: --cp palette.map");
	int rc = o->attributes_file ? flame_attributes(o, err) : 0;
	if (!rc && o->colors_file) {
		rc = af_palette_map_open(&o->colors, o->colors_file, err);
		o->picture.colors = &o->colors;
	}
	return rc;
}

static int flame_draw(struct flame_options *o, int nr_words, char **words, struct af_err *err)
{
	struct af_picture_request request = {.to = o->output, .picture = &o->picture};
	const char *dir = af_trace_dir(nr_words, words);
	bool is_set = false;
	int rc = flame_format(o, &request.format, &request.png, err);

	if (!rc)
		rc = af_output_refuse(&o->output, request.png ? "png" : request.format->name, err);

	if (!rc && !o->folded)
		rc = af_ranks_or_set(&dir, o->rank, &is_set, err);
	if (!rc)
		rc = af_by_check(o->by, is_set, dir, err);
	if (!rc && !o->folded && !is_set && af_together_idle(dir))
		return 0;
	request.dir = is_set ? NULL : dir; /* The ranks of a set have no common time yet. */
	if (!rc)
		rc = flame_files(o, request.format, err);
	if (!rc)
		rc =
		    o->folded ? flame_folded(o, &request, err) : flame_trace(o, dir, &request, err);
	if (!rc && o->colors_file)
		rc = af_palette_map_save(&o->colors, err);
	return rc;
}

static int flame_run(void *state, int nr_words, char **words, struct af_err *err)
{
	struct flame_options *o = state;
	int rc = flame_picture(o, err);

	if (rc)
		return rc;
	if (o->to_ns && o->to_ns <= o->from_ns)
		return af_fail_plain(err, -EINVAL, "--to is not after --from");
	if (o->folded && (o->from_ns || o->to_ns))
		return af_fail_plain(err, -EINVAL,
		                     "folded text has no times: --from and --to are for traces");
	if (o->perf && (o->folded || o->differential))
		return af_fail_plain(err, -EINVAL, "--perf-script takes no --folded and no --diff");
	o->folded = o->perf ? o->perf : o->folded;
	if (o->shows.hide_glue && (o->shows.show_glue || o->picture.flamechart))
		return af_fail_plain(err, -EINVAL, "--hide-glue takes no %s",
		                     o->shows.show_glue ? "--show-glue" : "--flamechart");
	if (nr_words > 1 || (nr_words && o->folded))
		return af_fail_plain(err, -EINVAL, "one trace or one file of text, not %s too",
		                     words[nr_words - 1]);
	o->shows.folded = o->folded != NULL;
	o->shows.rows = o->height != 0;
	o->picture.differential = o->differential;
	o->picture.negate = o->negate;
	rc = flame_draw(o, nr_words, words, err);
	af_palette_map_close(&o->colors);
	af_attributes_close(&o->attributes);
	return rc;
}

#define AT(field) offsetof(struct flame_options, field)

static const struct af_option flame_options[] = {
    {AF_OPT_STRING, "output", 'o', "FILE", "file to write, - for standard output (-)",
     AT(output.file)},
    AF_PUBLIC_OPTION(struct flame_options, output.public),
    {AF_OPT_STRING, "format", 0, "NAME",
     "svg, html, folded or text, if the name of FILE does not show it", AT(format),
     "svg|html|folded|text"},
    {AF_OPT_STRING, "folded", 0, "FILE", "draw folded text instead of a trace; - is standard input",
     AT(folded)},
    {AF_OPT_STRING, "perf-script", 0, "FILE", "draw the output of perf script; - is standard input",
     AT(perf)},
    {AF_OPT_STRING, "perf-frames", 0, "WORDS",
     "for perf script, separated by commas: plain (no marks of kinds), pid, tid, addrs, srcline",
     AT(perf_frames), AF_PERF_FRAMES},
    {AF_OPT_STRING, "event", 0, "NAME", "for perf script: the event to use (the first one)",
     AT(event)},
    {AF_OPT_CHOICE, "view", 0, "VIEW",
     "cpu; gpu; all in one tree; wakers: who ended waits; idle: why devices were idle", AT(view),
     "cpu|gpu|all|wakers|idle"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT",
     "time, samples, count, bytes, off-cpu, alloc, live, allocs or energy (time)", AT(weight),
     AF_WEIGHT_WORDS},
    {AF_OPT_CHOICE, "group", 0, "BY", "group stacks by rank, or device work by device or stream",
     AT(group), "rank|device|stream|none"},
    AF_RANK_OPTION(struct flame_options),
    {AF_OPT_STRING, "by", 0, "WHOSE",
     "of a folder of ranks: stacks of each host, rank, device, process, run or group:KEY apart "
     "(the "
     "stacks of all ranks together)",
     AT(by), AF_BY_WORDS},
    AF_SOURCES_OPTION(struct flame_options, 0),
    {AF_OPT_FLAG, "ranges", 0, NULL,
     "show the program's regions and NVTX ranges as frames below the stacks", AT(ranges)},
    {AF_OPT_STRING, "range", 0, "NAME", "only events inside a region or NVTX range of this name",
     AT(range)},
    {AF_OPT_TIME, "from", 0, "TIME",
     "only events from this time on, counted from the start of the trace", AT(from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "only events until this time; longer ones are cut", AT(to_ns)},
    {AF_OPT_CHOICE, "depth", 0, "DEPTH",
     "how deep to go into sampled kernels (default: lines, or instructions where no line is known)",
     AT(depth), "kernel|line|insn|stall"},
    {AF_OPT_FLAG, "match-by-time", 0, NULL,
     "put device work without a stack under a call that the kernel saw at about its time; "
     "such frames are marked as a guess",
     AT(by_time)},
    {AF_OPT_GROUP, NULL, 0, NULL, "Layout", 0},
    {AF_OPT_FLAG, "inverted", 'i', NULL, "icicle: root at the top", AT(picture.inverted)},
    {AF_OPT_FLAG, "reverse", 'r', NULL, "merge stacks from their leaves", AT(picture.reverse)},
    {AF_OPT_FLAG, "flamechart", 0, NULL,
     "in order of time, threads one after the other; folded text in its own order: merge "
     "neighbours only",
     AT(picture.flamechart)},
    {AF_OPT_U64, "width", 0, "PIXELS", "of the image (1200)", AT(width)},
    {AF_OPT_FLAG, "fluid", 0, NULL, "let the width follow the window", AT(picture.fluid)},
    {AF_OPT_U64, "height", 0, "PIXELS",
     "of a frame (16; of a trace's picture as much as fits one screen, and the deepest rows are "
     "cut off)",
     AT(height)},
    {AF_OPT_FLAG, "hide-glue", 0, NULL,
     "of folded text too: merge frames of interpreters and call plumbing into their callers, as "
     "a trace's picture does",
     AT(shows.hide_glue)},
    {AF_OPT_FLAG, "show-glue", 0, NULL, "draw all frames of a trace's picture",
     AT(shows.show_glue)},
    {AF_OPT_STRING, "minwidth", 0, "N[%]", "leave narrower frames out; 0 keeps all (0.1 pixels)",
     AT(min_width)},
    {AF_OPT_GROUP, NULL, 0, NULL, "Text", 0},
    {AF_OPT_STRING, "title", 0, "TEXT", "above the picture", AT(picture.title)},
    {AF_OPT_STRING, "subtitle", 0, "TEXT", "below the title", AT(picture.subtitle)},
    {AF_OPT_STRING, "notes", 0, "TEXT", "kept in the file", AT(picture.notes)},
    {AF_OPT_STRING, "countname", 0, "TEXT", "what is counted", AT(picture.count_name)},
    {AF_OPT_STRING, "nametype", 0, "TEXT", "what a frame is (Function:)", AT(picture.name_type)},
    {AF_OPT_STRING, "fonttype", 0, "FONT", "of the text (Verdana)", AT(picture.font_type)},
    {AF_OPT_DOUBLE, "fontsize", 0, "PIXELS", "of the text (12)", AT(picture.font_size)},
    {AF_OPT_DOUBLE, "fontwidth", 0, "N", "of a character, in font sizes (0.59)",
     AT(picture.font_width)},
    {AF_OPT_DOUBLE, "factor", 0, "N", "multiply shown counts", AT(picture.factor)},
    {AF_OPT_DOUBLE, "total", 0, "N", "draw as part of this larger total", AT(picture.total)},
    {AF_OPT_STRING, "nameattr", 0, "FILE", "attributes of frames: title, href, class, style, …",
     AT(attributes_file)},
    {AF_OPT_STRING, "encoding", 0, "NAME", "of the files that are read (UTF-8)", AT(encoding)},
    {AF_OPT_GROUP, NULL, 0, NULL, "Colours", 0},
    {AF_OPT_STRING, "colors", 0, "PALETTE", "by kind of frame unless a palette is named, see above",
     AT(picture.palette)},
    {AF_OPT_STRING, "color", 0, "PALETTE", "the same", AT(picture.palette)},
    {AF_OPT_STRING, "cp", 0, "FILE", "keep the colours of functions in FILE, across pictures",
     AT(colors_file)},
    {AF_OPT_STRING, "bgcolors", 0, "COLOUR", "yellow blue green grey or #rrggbb",
     AT(picture.bgcolors)},
    {AF_OPT_STRING, "search-color", 0, "#RRGGBB", "of what a search finds",
     AT(picture.search_color)},
    {AF_OPT_FLAG, "hash", 0, NULL, "hues by the hash of the name", AT(picture.hash)},
    {AF_OPT_FLAG, "random", 0, NULL, "hues at random", AT(picture.random_colors)},
    {AF_OPT_GROUP, NULL, 0, NULL, "Differences", 0},
    {AF_OPT_FLAG, "diff", 0, NULL, "--folded has two counts a line: before and after",
     AT(differential)},
    {AF_OPT_FLAG, "negate", 0, NULL, "swap the hues", AT(negate)},
    {AF_OPT_END},
};

const struct af_command af_command_flame = {
    .name = "flame",
    .usage = "[OPTIONS] [DIR]",
    .summary = "Draw a flame graph of a trace or of folded text",
    .details =
	"The name of the output decides the format: .svg, .html, .folded, .txt, and .png where\n"
	"rsvg-convert is. Without one, folded text goes to standard output. DIR is aflame.data\n"
	"unless given.\n\n"
	"Palettes: hot mem io wakeup chain java js perl python rust red green blue aqua "
	"yellow\npurple orange violet pink gpu.\n\n"
	"Files, as docs/flamegraph.md has them: --cp NAME->rgb(R,G,B); --nameattr NAME, a tab,\n"
	"attribute=value, a tab, …",
    .examples = "aflame flame -o cpu.svg --view cpu\tCPU samples as an SVG\n"
		"aflame flame -w off-cpu -o waits.svg\twhere threads waited, and for what\n"
		"aflame flame --view gpu --depth stall -o gpu.svg\tdown to the stall reasons of "
		"instructions\n"
		"aflame flame -o report.html\tall views and tables in one page\n"
		"perf script | aflame flame --perf-script - -o perf.svg\tdraw "
		"samples of another tool",
    .options = flame_options,
    .state_size = sizeof(struct flame_options),
    .defaults = &flame_defaults,
    .run = flame_run,
};
