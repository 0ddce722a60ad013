/* aflame compare-scale: the same program on 1, 2, 4, … ranks, and what stops scaling first. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyse/scale/scale.h"
#include "analyse/set/set.h"
#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/ranks/members.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/summary.h"
#include "render/picture/scale_curve.h"
#include "render/text/tables.h"

/* Rows with less, in hundredths of a percent of all time, are left out. */
enum { LEAST = 100, LEAST_JSON = 10 };

struct scale_options {
	bool weak, json;
	uint64_t limit;
	struct af_output to; /* the picture; file NULL: tables on standard output */
};

static const struct scale_options scale_defaults = {.limit = 20};

static void rank_add(void *arg, const struct af_member *who, const struct af_results *r)
{
	(void)who;
	af_scale_add(arg, r, r->query.own);
}

static void rank_free(void *own)
{
	struct af_scale_rank *rank = own;

	af_tally_free(&rank->calls);
}

static void set_write(const void *arg, struct af_buf *to)
{
	af_scale_write(arg, to);
}

static int set_join(void *arg, const void *data, size_t size, struct af_err *err)
{
	return af_scale_read(arg, data, size, err);
}

static void set_empty(void *arg)
{
	af_scale_empty(arg);
}

/* Ranks that cannot be read are named, and the set counts as if they had not run. */
static int set_add(struct af_scale *s, const char *path, struct af_reduce *r, struct af_err *err)
{
	struct af_set set;
	int rc = af_together_list(r, path, &set, err);
	const struct af_members members = {
	    .command = "compare-scale",
	    .set = &set,
	    .passes = af_scale_passes,
	    .query = {.answers = AF_SCALE_ANSWERS,
	              .weights = 1 << AF_WEIGHT_TIME | 1 << AF_WEIGHT_SAMPLES |
	                         1 << AF_WEIGHT_COUNT | 1 << AF_WEIGHT_OFF_CPU,
	              .depth = AF_DEPTH_KERNEL},
	    .own_size = sizeof(struct af_scale_rank),
	    .own_free = rank_free,
	    .add = rank_add,
	    .ops = {set_write, set_join, set_empty},
	    .arg = s,
	};

	if (!rc) {
		af_scale_begin(s, path);
		rc = af_members_read(&members, r, err);
	}
	if (!rc && !r->silent && !af_scale_ranks(s))
		rc = af_fail_plain(err, -ENODATA, "no rank of %s can be read", path);
	af_set_close(&set);
	return rc;
}

/* Processes of a launcher read set by set, all in the same order; the first failure counts. */
static int sets_add(struct af_scale *s, char **paths, int nr, bool *silent, struct af_err *err)
{
	struct af_reduce r;
	int rc = 0;

	af_together_open(&r);
	for (int i = 0; i < nr && (!rc || r.size > 1); i++) {
		struct af_err other;
		int failed = set_add(s, paths[i], &r, rc ? &other : err);
		rc = rc ? rc : failed;
	}
	*silent = r.silent;
	af_reduce_close(&r);
	return *silent ? 0 : rc;
}

struct scale_picture {
	const struct scale_options *o;
	const struct af_tables *f;
};

static int picture_write(int fd, void *arg, struct af_err *err)
{
	const struct scale_picture *p = arg;
	struct af_buf b = {0};

	af_scale_curve_svg(&b, p->f, p->o->weak);
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc ? af_fail(err, rc, "cannot write the picture") : 0;
}

static int picture_check(const struct scale_options *o, struct af_err *err)
{
	const char *dot = o->to.file ? strrchr(o->to.file, '.') : NULL;

	if (o->to.file && o->json)
		return af_fail_plain(err, -EINVAL,
		                     "-o is a picture, and --json prints tables: give one of them");
	if (o->to.file && strcmp(o->to.file, "-") != 0 && (!dot || strcmp(dot, ".svg") != 0))
		return af_fail_plain(err, -EINVAL,
		                     "a curve goes to .svg, not %s; --json prints the tables",
		                     o->to.file);
	return 0;
}

static void scale_print(const struct scale_options *o, const struct af_tables *f)
{
	const struct af_document document = {.report = "compare-scale"};
	struct af_buf b = {0};

	if (o->json)
		af_tables_json(&b, &document, f, (uint32_t)o->limit);
	for (const struct af_table *t = f->first; t && !o->json; t = t->next) {
		if (b.len)
			af_buf_char(&b, '\n');
		af_table_text(&b, t, (uint32_t)o->limit, af_colour(stdout), AF_SHOW_ALL);
	}
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
}

static int scale_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct scale_options *o = state;
	struct af_tables tables = {0};
	const struct scale_picture picture = {o, &tables};
	bool silent;

	if (nr_words < 2 || nr_words > AF_SCALE_SETS)
		return af_fail_plain(err, -EINVAL,
		                     "compare-scale takes 2 to %d sets of the same program on "
		                     "different numbers of ranks: aflame compare-scale run1 run2 "
		                     "run4",
		                     AF_SCALE_SETS);
	int rc = picture_check(o, err);
	if (rc)
		return rc;
	struct af_scale *s = af_scale_open(o->weak);
	rc = sets_add(s, words, nr_words, &silent, err);
	if (!rc && !silent) {
		af_scale_tables(s, o->json ? LEAST_JSON : LEAST, &tables);
		if (!o->to.file)
			scale_print(o, &tables);
		else
			rc = af_atomic_write(&o->to, picture_write, (void *)&picture, err);
		if (o->to.file && !rc)
			af_output_tell(&o->to, "compare-scale", "time and efficiency by ranks");
	}
	af_tables_free(&tables);
	af_scale_close(s);
	return rc;
}

static const struct af_option scale_options[] = {
    {AF_OPT_FLAG, "weak", 0, NULL,
     "each rank has as much work as on fewer ranks (all ranks together have the same)",
     offsetof(struct scale_options, weak)},
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: one document of tables (docs/report.md)",
     offsetof(struct scale_options, json)},
    {AF_OPT_STRING, "output", 'o', "FILE.svg",
     "draw the curves: wall time, efficiency and what loses most, by number of ranks",
     offsetof(struct scale_options, to.file)},
    AF_PUBLIC_OPTION(struct scale_options, to.public),
    {AF_OPT_U64, "limit", 'n', "N", "rows of a table, 0 for all (20)",
     offsetof(struct scale_options, limit)},
    {AF_OPT_END},
};

const struct af_command af_command_compare_scale = {
    .name = "compare-scale",
    .usage = "[OPTIONS] SET SET…",
    .summary = "Show how a program's time grows with its ranks, and what stops scaling first",
    .details =
	"Each SET is the folder of a job, one trace a rank, or one trace: the same program on\n"
	"1, 2, 4, … ranks. The set with the fewest ranks says what is ideal: with strong scaling\n"
	"all ranks together take as much time as there, with --weak each rank does.\n"
	"\n"
	"A rank loses the time that it takes beyond the ideal: of call paths the slowest rank, "
	"for\n"
	"which the others wait, else ranks on average. A function, call path or API call\n"
	"stops scaling at the number of ranks from which on its efficiency is below 80 %, if the\n"
	"loss is more than sampling noise and half a percent of the run. Its exponent b says that\n"
	"the time of all ranks grows as ranks^b: ideally 0, with --weak 1.\n"
	"\n"
	"-o curve.svg draws it: wall time and efficiency by number of ranks, and the eight lines\n"
	"that lose most, each beside its ideal.",
    .examples = "aflame compare-scale run1 run2 run4 run8\twhat stops scaling first\n"
		"aflame compare-scale -o curve.svg run1 run2 run4 run8\tthe curves as a picture\n"
		"aflame compare-scale --weak --json run1 run64\tof a problem that grows along\n",
    .options = scale_options,
    .state_size = sizeof(struct scale_options),
    .defaults = &scale_defaults,
    .run = scale_run,
};
