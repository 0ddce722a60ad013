/*
 * Folded text to a picture with nothing in between: what tests/bench/folded and tests/golden/svg
 * measure and compare.
 *
 *	folded2svg [--FORMAT] [--inverted] [--reverse] [--flamechart] [--diff] [--all] [--width N]
 *	           [--colors P] [--title T] [--notes T] [--fluid] [--nameattr FILE] IN > OUT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/tree.h"
#include "base/err.h"
#include "base/system/fs.h"
#include "render/render.h"
#include "render/svg/attributes.h"

struct options {
	struct af_picture picture;
	const char *format, *in, *attributes_file;
	struct af_attributes attributes;
};

static void options_parse(struct options *o, char **argv)
{
	struct af_picture *p = &o->picture;

	for (o->format = "svg"; *++argv;) {
		const char *a = *argv;
		if (!strcmp(a, "--inverted"))
			p->inverted = true;
		else if (!strcmp(a, "--reverse"))
			p->reverse = true;
		else if (!strcmp(a, "--flamechart"))
			p->flamechart = true;
		else if (!strcmp(a, "--diff"))
			p->differential = true;
		else if (!strcmp(a, "--fluid"))
			p->fluid = true;
		else if (!strcmp(a, "--all"))
			p->all_frames = true;
		else if (!strcmp(a, "--width") && argv[1])
			p->width = (uint32_t)atoi(*++argv);
		else if (!strcmp(a, "--colors") && argv[1])
			p->palette = *++argv;
		else if (!strcmp(a, "--title") && argv[1])
			p->title = *++argv;
		else if (!strcmp(a, "--notes") && argv[1])
			p->notes = *++argv;
		else if (!strcmp(a, "--nameattr") && argv[1])
			o->attributes_file = *++argv;
		else if (!strncmp(a, "--", 2) && af_format_for(a + 2))
			o->format = a + 2;
		else
			o->in = a;
	}
}

static int convert(const struct options *o, struct af_err *err)
{
	static const struct af_tree_weight plain[] = {{"samples", "samples"}};
	static const struct af_tree_weight diff[] = {{"before", "samples"}, {"after", "samples"}};
	struct af_render r = {.fd = 1, .picture = &o->picture};
	struct af_folded_stats stats;
	struct af_tree t;
	struct af_file file;
	bool two = o->picture.differential;
	const struct af_format *f = af_format_for(o->format);

	int rc = af_file_map(&file, o->in, err);
	if (rc)
		return rc;
	af_tree_open(&t, two ? diff : plain, two ? 2 : 1);
	t.ordered = o->picture.flamechart;
	rc = af_folded_read(&t, (const char *)file.data, file.size, two, &stats, err);
	if (stats.bad_lines)
		fprintf(stderr, "%llu bad lines; %s\n", (unsigned long long)stats.bad_lines,
		        stats.complaint);
	if (!rc && f->begin)
		rc = f->begin(&r, err);
	if (!rc)
		rc = f->tree(&r, &t, err);
	if (f->end) {
		int end = f->end(&r, err);
		rc = rc ? rc : end;
	}
	af_tree_close(&t);
	af_file_unmap(&file);
	return rc;
}

static int read_attributes(struct options *o, struct af_err *err)
{
	struct af_file file;
	int rc = af_file_map(&file, o->attributes_file, err);

	if (!rc)
		rc = af_attributes_open(&o->attributes, (const char *)file.data, file.size,
		                        o->attributes_file, err);
	o->picture.attributes = &o->attributes;
	af_file_unmap(&file);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct af_err err = {0};

	options_parse(&o, argv);
	if (!o.in || (o.attributes_file && read_attributes(&o, &err)) || convert(&o, &err)) {
		fprintf(stderr, "folded2svg: %s\n", o.in ? err.msg : "no input");
		return 1;
	}
	af_attributes_close(&o.attributes);
	return 0;
}
