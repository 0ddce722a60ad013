#include "analyse/difference/difference.h"
#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/err.h"
#include "report_maker.h"
#include "report_stacks.h"

void make_difference(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {{"before", "samples"},
	                                                {"after", "samples"}};
	struct af_tree t;

	af_tree_open(&t, weights, 2);
	report_add(&t, "n:main;n:grew", 1000, 4000);
	report_add(&t, "n:main;n:shrank", 4000, 1000);
	report_add(&t, "n:main;n:same", 1000, 1000);
	report_add(&t, "n:main;n:noise", 4, 6);
	report_add(&t, "n:main;n:gone", 500, 0);
	report_add(&t, "n:main;n:fresh", 0, 500);
	af_tree_finish(&t);
	af_format_html.tree(r, &t, err);
	af_tree_close(&t);
}

/* Before has half of the steps and of the time: 1000 samples of 1000 ns, and measured work. */
void make_compared(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {
	    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}};
	struct af_tree before, after;
	static struct af_difference d; /* the page is ended after this returns */
	struct af_tables tables = {0};
	static struct af_picture picture;

	picture = *r->picture;
	af_tree_open(&before, weights, 3);
	af_tree_open(&after, weights, 3);
	report_add(&before, "P:old;n:main;n:grew", 500000, 500);
	report_add(&before, "P:old;n:main;n:same", 390000, 390);
	report_add(&before, "P:old;n:main;n:noise", 10000, 10);
	report_add(&before, "P:old;n:main;n:gone;n:deep", 100000, 100);
	report_add(&after, "P:new;n:main;n:grew", 1600000, 1600);
	report_add(&after, "P:new;n:main;n:grew;n:same", 5000, 5);
	report_add(&after, "P:new;n:main;n:same", 780000, 780);
	report_add(&after, "P:new;n:main;n:noise", 26000, 26);
	report_add(&after, "P:new;n:main;n:fresh;n:deep", 300000, 300);
	uint32_t node = report_node(&before, "P:old;n:main;n:launch;G:gemm", REPORT_MODULE);
	af_tree_add(&before, node, 0, 70000);
	af_tree_add(&before, node, 2, 7);
	node = report_node(&after, "P:new;n:main;n:launch;G:gemm", REPORT_MODULE);
	af_tree_add(&after, node, 0, 70100);
	af_tree_add(&after, node, 2, 7);
	af_tree_finish(&before);
	af_tree_finish(&after);
	const struct af_difference_side sides[2] = {{&before, 0, 1, 2, 0}, {&after, 0, 1, 2, 0}};
	af_difference_open(&d, &sides[0], &sides[1], false);
	d.look.scales[AF_NORMALIZE_WALL] = d.look.scales[AF_NORMALIZE_STEP] = 2;
	picture.look = &d.look;
	r->picture = &picture;
	af_format_html.tree(r, &d.tree, err);
	af_difference_tables(&d, &tables, &(const struct af_difference_shown){.all = true});
	af_format_html.tables(r, &tables, err);
	af_tables_free(&tables);
	af_difference_close(&d);
	af_tree_close(&before);
	af_tree_close(&after);
}
