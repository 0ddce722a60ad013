#include <stdlib.h>
#include <string.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/err.h"
#include "report_annotated.h"
#include "report_maker.h"
#include "report_stacks.h"

static const struct af_tree_weight cpu_weights[] = {{"time", "ns"}, {"samples", "samples"}};
static const struct af_tree_weight gpu_weights[] = {
    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}, {"bytes", "bytes"}};

void report_run_tables(struct af_tables *f)
{
	static const struct af_column pair[] = {{"What", AF_CELL_TEXT, .key = "what"},
	                                        {"Value", AF_CELL_TEXT, .key = "value"}};
	static const struct af_column lost[] = {{"Reason", AF_CELL_TEXT, .key = "reason"},
	                                        {"Events", AF_CELL_COUNT, .key = "events"}};
	static const char *const verdict[][2] = {
	    {"bound by", "GPU (81.4 % busy)"},
	    {"hottest kernel", "ampere_bf16_s16816gemm_256x128"},
	    {"launch gaps", "6.2 % of the step"},
	};
	static const char *const run[][2] = {
	    {"command", "python train.py --steps 40"},
	    {"duration", "24.8 s"},
	    {"GPU", "NVIDIA H200"},
	};
	struct af_table *t = af_tables_table(f, "verdict", "Verdict", pair, 2);
	for (size_t i = 0; i < 3; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = verdict[i][0];
		cell[1].text = verdict[i][1];
	}
	t = af_tables_table(f, "run", "Run", pair, 2);
	for (size_t i = 0; i < 3; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = run[i][0];
		cell[1].text = run[i][1];
	}
	t = af_tables_table(f, "lost", "What was lost", lost, 2);
	struct af_cell *cell = af_table_row(f, t);
	cell[0].text = "samples lost";
	cell[1].value = 12;
	t->note = "The kernel dropped them because its ring buffer was full.";
}

void report_top_tables(struct af_tables *f)
{
	static const struct af_column columns[] = {{"Kernel", AF_CELL_TEXT, .key = "kernel"},
	                                           {"Time", AF_CELL_NS, .key = "time_ns"},
	                                           {"Share", AF_CELL_PERCENT, .key = "share"},
	                                           {"Launches", AF_CELL_COUNT, .key = "launches"},
	                                           {"Moved", AF_CELL_BYTES, .key = "moved"}};
	static const struct {
		const char *name;
		uint64_t ns, share, launches, bytes;
	} rows[] = {
	    {"ampere_bf16_s16816gemm_256x128", 9120000000, 4518, 3840, 48ull << 30},
	    {"flash_fwd_splitkv_kernel", 4410000000, 2185, 960, 9ull << 30},
	    {"vectorized_elementwise_kernel", 2230000000, 1105, 7680, 31ull << 30},
	};
	struct af_table *t = af_tables_table(f, "gpu_top", "Where GPU time went", columns, 5);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = rows[i].name;
		cell[1].value = rows[i].ns;
		cell[2].value = rows[i].share;
		cell[3].value = rows[i].launches;
		cell[4].value = rows[i].bytes;
	}
}

void make_known(struct af_render *r, struct af_err *err)
{
	struct af_tree cpu, gpu;
	struct af_tables tables = {0};

	af_tree_open(&cpu, cpu_weights, 2);
	report_add(&cpu, "P:app;p:main (a.py:1);n:work;n:leaf", 6000, 6);
	report_add(&cpu, "P:app;p:main (a.py:1);n:work;k:sys_read", 2000, 2);
	report_add(&cpu, "P:app;p:main (a.py:1);n:idle", 1000, 1);
	report_add(&cpu, "P:app;p:main (a.py:1);n:rec;n:rec;n:rec;n:leaf", 1000, 1);
	report_add(&cpu, "P:app;p:main (a.py:1);n:_PyEval_EvalFrameDefault;n:glued", 0, 10);
	af_tree_finish(&cpu);
	af_tree_open(&gpu, gpu_weights, 4);
	uint32_t node = report_node(&gpu, "P:app;n:cudaLaunchKernel;G:gemm;g:HMMA;g:stall: wait",
	                            REPORT_MODULE);
	af_tree_add(&gpu, node, 0, 5000);
	af_tree_add(&gpu, node, 2, 3);
	af_tree_finish(&gpu);
	report_run_tables(&tables);
	report_top_tables(&tables);
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	af_format_html.tables(r, &tables, err);
	af_tables_free(&tables);
	af_tree_close(&cpu);
	af_tree_close(&gpu);
}

/* Off-CPU time beside CPU time, and who ended it; a table that programs have more columns of. */
void make_waits(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {
	    {"time", "ns"}, {"samples", "samples"}, {"off-cpu", "ns"}};
	static const struct af_tree_weight waits[] = {{"off-cpu", "ns"}, {"count", "waits"}};
	static const struct af_column columns[] = {
	    {"Process", AF_CELL_TEXT, .key = "process"},
	    {"Blocked", AF_CELL_NS, AF_SHOW_USED, .key = "blocked_ns"},
	    {"Waiting for CPU", AF_CELL_NS, AF_SHOW_USED, .key = "waiting_for_cpu_ns"},
	    {"Pid", AF_CELL_COUNT, AF_SHOW_NEVER, .key = "pid"},
	};
	struct af_tree cpu, wakers;
	struct af_tables tables = {0};

	af_tree_open(&cpu, weights, 3);
	report_add(&cpu, "P:app;n:main;n:work", 6000, 6);
	af_tree_add(&cpu,
	            report_node(&cpu, "P:app;n:main;n:take;k:pipe_read;k:schedule;m:[sleeping]",
	                        REPORT_MODULE),
	            2, 4000);
	af_tree_add(&cpu,
	            report_node(&cpu,
	                        "P:app;n:main;n:take;k:pipe_read;k:schedule;m:[waiting for a CPU]",
	                        REPORT_MODULE),
	            2, 500);
	af_tree_add(&cpu,
	            report_node(&cpu, "P:kswapd0;k:kswapd;k:schedule;m:[sleeping]", REPORT_MODULE),
	            2, 500);
	af_tree_finish(&cpu);
	af_tree_open(&wakers, waits, 2);
	uint32_t node =
	    report_node(&wakers, "P:app;n:main;n:take;m:[sleeping];m:--;k:wake_up;n:put;P:feeder",
	                REPORT_MODULE);
	af_tree_add(&wakers, node, 0, 4000);
	af_tree_add(&wakers, node, 1, 2);
	node = report_node(&wakers, "P:app;n:main;n:take;m:[sleeping];m:--;m:[waker not recorded]",
	                   REPORT_MODULE);
	af_tree_add(&wakers, node, 0, 1000);
	af_tree_finish(&wakers);
	struct af_table *table = af_tables_table(&tables, "processes", "Processes", columns, 4);
	struct af_cell *cell = af_table_row(&tables, table);
	cell[0].text = "  app [7]";
	cell[1].value = 4000;
	cell[3].value = 7;
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	r->label = "wakers";
	af_format_html.tree(r, &wakers, err);
	af_format_html.tables(r, &tables, err);
	af_tables_free(&tables);
	af_tree_close(&cpu);
	af_tree_close(&wakers);
}

void make_hostile(struct af_render *r, struct af_err *err)
{
	static const char *const names[] = {
	    "n:</script><script>window.pwned=1</script>",
	    "n:<img src=x onerror=window.pwned=1>",
	    "p:\"><svg onload=window.pwned=1>",
	    "n:two\nlines\tand\x1b[31m red\x7f",
	    "n:bad utf-8 \xff\xfe\xc3(",
	    "n:line\xe2\x80\xa8separator \xe2\x80\xaereversed",
	    "n:<!--<script>",
	    "n:%s%n${window.pwned=1}`window.pwned=1`",
	    "n:__proto__",
	    "n:constructor",
	};
	static const struct af_column columns[] = {
	    {"</script><b>", AF_CELL_TEXT, .key = "script_b"}};
	struct af_tree t;
	struct af_tables tables = {0};

	af_tree_open(&t, cpu_weights, 2);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		report_add(&t, names[i], 100 + i, 1);
	report_add(&t, "n:caller of a frame without a name;n:;n:called by it", 1000, 10);
	af_tree_finish(&t);
	struct af_table *table = af_tables_table(&tables, "run", "</h2><script>", columns, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		((struct af_cell *)af_table_row(&tables, table))->text = names[i];
	table->note = "</noscript></script><script>window.pwned=1</script>";
	r->label = "<b>cpu</b>";
	af_format_html.tree(r, &t, err);
	af_format_html.tables(r, &tables, err);
	af_tables_free(&tables);
	af_tree_close(&t);
}

/* A flame chart in millionths: b, then the Python a itself, then c; 1.5, 1, 2.5 of 5 samples. */
void make_chart(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight millionths = {"samples", "samples", 1000000};
	struct af_tree t;

	af_tree_open(&t, &millionths, 1);
	t.ordered = true;
	uint32_t a = af_tree_child(&t, 0, af_tree_name(&t, "a", 1, AF_FRAME_PYTHON, 0));
	uint32_t b = af_tree_child(&t, a, af_tree_name(&t, "b", 1, AF_FRAME_NATIVE, 0));
	af_tree_add(&t, b, 0, 1500000);
	af_tree_add(&t, af_tree_child(&t, a, AF_TREE_GAP), 0, 1000000);
	uint32_t c = af_tree_child(&t, a, af_tree_name(&t, "c", 1, AF_FRAME_NATIVE, 0));
	af_tree_add(&t, c, 0, 2500000);
	af_tree_finish(&t);
	r->label = "cpu";
	af_format_html.tree(r, &t, err);
	af_tree_close(&t);
}

void make_kernels(struct af_render *r, struct af_err *err)
{
	struct af_tree gpu;

	if (make_annotated(r, &af_format_html, err))
		exit(1);
	af_tree_open(&gpu, gpu_weights, 4);
	uint32_t node =
	    report_node(&gpu, "P:app;n:cudaLaunchKernel;G:latency(float*)", REPORT_MODULE);
	af_tree_add(&gpu, node, 0, 5000);
	af_tree_add(&gpu, node, 2, 3);
	af_tree_finish(&gpu);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	af_tree_close(&gpu);
}
