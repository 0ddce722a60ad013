/*
 * Writes a report.html of known content to standard output, for the browser tests and for
 * tests/bench/report. The same arguments give the same bytes.
 *
 *	report_maker known	few stacks, whose every number the tests know
 *	report_maker sample	what a training step looks like: the picture in the documentation
 *	report_maker hostile	names and facts that try to leave their place
 *	report_maker difference	counts before and after
 *	report_maker compared	two runs, with what is noise, and the tables of aflame diff
 *	report_maker annotated	kernels with lines and instructions, see report_annotated.c
 *	report_maker timed	a timeline, see report_timed.h
 *	report_maker job	ranks, and why their kernels stall, see report_job.h
 *	report_maker empty	no tree at all
 *	report_maker cpu N	N frames, shaped like the stacks of a large C++ program
 *	report_maker gpu N	N frames, shaped like instruction samples under launches
 *	report_maker slices N	a timeline of about N slices
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/difference.h"
#include "analyse/facts.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "render/render.h"
#include "report_annotated.h"
#include "report_job.h"
#include "report_timed.h"

extern const struct af_format af_format_html;

static const struct af_tree_weight cpu_weights[] = {{"time", "ns"}, {"samples", "samples"}};
static const struct af_tree_weight gpu_weights[] = {
    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}, {"bytes", "bytes"}};

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static double next_unit(void)
{
	return (double)(next_random() >> 11) / 9007199254740992.0;
}

/*
 * The node of a stack written "p:main;n:malloc;k:sys_brk": a letter of kind before each name.
 * Native code is all in one file.
 */
static uint32_t stack_node(struct af_tree *t, const char *stack)
{
	static const char letters[] = "npkijGgPm"; /* in order of enum af_frame */
	uint32_t node = 0;

	while (*stack) {
		size_t len = strcspn(stack, ";");
		const char *kind = strchr(letters, stack[0]);
		const struct af_spot spot = {.module = *kind == 'n' ? "/usr/lib/libwork.so" : NULL};
		uint32_t name =
		    af_tree_name_at(t, stack + 2, len - 2, (enum af_frame)(kind - letters), &spot);
		node = af_tree_child(t, node, name);
		stack += len + (stack[len] == ';');
	}
	return node;
}

static void add_stack(struct af_tree *t, const char *stack, uint64_t time, uint64_t samples)
{
	uint32_t node = stack_node(t, stack);

	af_tree_add(t, node, 0, time);
	af_tree_add(t, node, 1, samples);
}

static void add_run_facts(struct af_facts *f)
{
	static const struct af_column pair[] = {{"What", AF_CELL_TEXT}, {"Value", AF_CELL_TEXT}};
	static const struct af_column lost[] = {{"Reason", AF_CELL_TEXT},
	                                        {"Events", AF_CELL_COUNT}};
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
	struct af_table *t = af_facts_table(f, "verdict", "Verdict", pair, 2);
	for (size_t i = 0; i < 3; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = verdict[i][0];
		cell[1].text = verdict[i][1];
	}
	t = af_facts_table(f, "run", "Run", pair, 2);
	for (size_t i = 0; i < 3; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = run[i][0];
		cell[1].text = run[i][1];
	}
	t = af_facts_table(f, "lost", "What was lost", lost, 2);
	struct af_cell *cell = af_table_row(f, t);
	cell[0].text = "samples lost";
	cell[1].value = 12;
	t->note = "The kernel dropped them because its ring buffer was full.";
}

static void add_top_facts(struct af_facts *f)
{
	static const struct af_column columns[] = {{"Kernel", AF_CELL_TEXT},
	                                           {"Time", AF_CELL_NS},
	                                           {"Share", AF_CELL_PERCENT},
	                                           {"Launches", AF_CELL_COUNT},
	                                           {"Moved", AF_CELL_BYTES}};
	static const struct {
		const char *name;
		uint64_t ns, share, launches, bytes;
	} rows[] = {
	    {"ampere_bf16_s16816gemm_256x128", 9120000000, 4518, 3840, 48ull << 30},
	    {"flash_fwd_splitkv_kernel", 4410000000, 2185, 960, 9ull << 30},
	    {"vectorized_elementwise_kernel", 2230000000, 1105, 7680, 31ull << 30},
	};
	struct af_table *t = af_facts_table(f, "gpu_top", "Where GPU time went", columns, 5);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct af_cell *cell = af_table_row(f, t);
		cell[0].text = rows[i].name;
		cell[1].value = rows[i].ns;
		cell[2].value = rows[i].share;
		cell[3].value = rows[i].launches;
		cell[4].value = rows[i].bytes;
	}
}

/* contents */

static void make_known(struct af_render *r, struct af_err *err)
{
	struct af_tree cpu, gpu;
	struct af_facts facts = {0};

	af_tree_open(&cpu, cpu_weights, 2);
	add_stack(&cpu, "P:app;p:main (a.py:1);n:work;n:leaf", 6000, 6);
	add_stack(&cpu, "P:app;p:main (a.py:1);n:work;k:sys_read", 2000, 2);
	add_stack(&cpu, "P:app;p:main (a.py:1);n:idle", 1000, 1);
	add_stack(&cpu, "P:app;p:main (a.py:1);n:rec;n:rec;n:rec;n:leaf", 1000, 1);
	add_stack(&cpu, "P:app;p:main (a.py:1);n:_PyEval_EvalFrameDefault;n:glued", 0, 10);
	af_tree_finish(&cpu);
	af_tree_open(&gpu, gpu_weights, 4);
	uint32_t node = stack_node(&gpu, "P:app;n:cudaLaunchKernel;G:gemm;g:HMMA;g:stall: wait");
	af_tree_add(&gpu, node, 0, 5000);
	af_tree_add(&gpu, node, 2, 3);
	af_tree_finish(&gpu);
	add_run_facts(&facts);
	add_top_facts(&facts);
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	af_format_html.facts(r, &facts, err);
	af_facts_free(&facts);
	af_tree_close(&cpu);
	af_tree_close(&gpu);
}

/* Off-CPU time beside CPU time, and who ended it; a table that programs have more columns of. */
static void make_waits(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {
	    {"time", "ns"}, {"samples", "samples"}, {"off-cpu", "ns"}};
	static const struct af_tree_weight waits[] = {{"off-cpu", "ns"}, {"count", "waits"}};
	static const struct af_column columns[] = {
	    {"Process", AF_CELL_TEXT},
	    {"Blocked", AF_CELL_NS, AF_SHOW_USED},
	    {"Waiting for CPU", AF_CELL_NS, AF_SHOW_USED},
	    {"Pid", AF_CELL_COUNT, AF_SHOW_NEVER},
	};
	struct af_tree cpu, wakers;
	struct af_facts facts = {0};

	af_tree_open(&cpu, weights, 3);
	add_stack(&cpu, "P:app;n:main;n:work", 6000, 6);
	af_tree_add(&cpu,
	            stack_node(&cpu, "P:app;n:main;n:take;k:pipe_read;k:schedule;m:[sleeping]"), 2,
	            4000);
	af_tree_add(
	    &cpu,
	    stack_node(&cpu, "P:app;n:main;n:take;k:pipe_read;k:schedule;m:[waiting for a CPU]"), 2,
	    500);
	af_tree_add(&cpu, stack_node(&cpu, "P:kswapd0;k:kswapd;k:schedule;m:[sleeping]"), 2, 500);
	af_tree_finish(&cpu);
	af_tree_open(&wakers, waits, 2);
	uint32_t node =
	    stack_node(&wakers, "P:app;n:main;n:take;m:[sleeping];m:--;k:wake_up;n:put;P:feeder");
	af_tree_add(&wakers, node, 0, 4000);
	af_tree_add(&wakers, node, 1, 2);
	node = stack_node(&wakers, "P:app;n:main;n:take;m:[sleeping];m:--;m:[waker not recorded]");
	af_tree_add(&wakers, node, 0, 1000);
	af_tree_finish(&wakers);
	struct af_table *table = af_facts_table(&facts, "processes", "Processes", columns, 4);
	struct af_cell *cell = af_table_row(&facts, table);
	cell[0].text = "  app [7]";
	cell[1].value = 4000;
	cell[3].value = 7;
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	r->label = "wakers";
	af_format_html.tree(r, &wakers, err);
	af_format_html.facts(r, &facts, err);
	af_facts_free(&facts);
	af_tree_close(&cpu);
	af_tree_close(&wakers);
}

static void make_difference(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {{"before", "samples"},
	                                                {"after", "samples"}};
	struct af_tree t;

	af_tree_open(&t, weights, 2);
	add_stack(&t, "n:main;n:grew", 1000, 4000);
	add_stack(&t, "n:main;n:shrank", 4000, 1000);
	add_stack(&t, "n:main;n:same", 1000, 1000);
	add_stack(&t, "n:main;n:noise", 4, 6);
	add_stack(&t, "n:main;n:gone", 500, 0);
	add_stack(&t, "n:main;n:fresh", 0, 500);
	af_tree_finish(&t);
	af_format_html.tree(r, &t, err);
	af_tree_close(&t);
}

/* Before has half of the steps and of the time: 1000 samples of 1000 ns, and measured work. */
static void make_compared(struct af_render *r, struct af_err *err)
{
	static const struct af_tree_weight weights[] = {
	    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}};
	struct af_tree before, after;
	struct af_difference d;
	struct af_facts facts = {0};
	struct af_picture picture = *r->picture;

	af_tree_open(&before, weights, 3);
	af_tree_open(&after, weights, 3);
	add_stack(&before, "P:old;n:main;n:grew", 500000, 500);
	add_stack(&before, "P:old;n:main;n:same", 390000, 390);
	add_stack(&before, "P:old;n:main;n:noise", 10000, 10);
	add_stack(&before, "P:old;n:main;n:gone;n:deep", 100000, 100);
	add_stack(&after, "P:new;n:main;n:grew", 1600000, 1600);
	add_stack(&after, "P:new;n:main;n:grew;n:same", 5000, 5);
	add_stack(&after, "P:new;n:main;n:same", 780000, 780);
	add_stack(&after, "P:new;n:main;n:noise", 26000, 26);
	add_stack(&after, "P:new;n:main;n:fresh;n:deep", 300000, 300);
	uint32_t node = stack_node(&before, "P:old;n:main;n:launch;G:gemm");
	af_tree_add(&before, node, 0, 70000);
	af_tree_add(&before, node, 2, 7);
	node = stack_node(&after, "P:new;n:main;n:launch;G:gemm");
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
	af_difference_tables(&d, &facts, &(const struct af_difference_shown){.all = true});
	af_format_html.facts(r, &facts, err);
	af_facts_free(&facts);
	af_difference_close(&d);
	af_tree_close(&before);
	af_tree_close(&after);
}

static void make_hostile(struct af_render *r, struct af_err *err)
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
	static const struct af_column columns[] = {{"</script><b>", AF_CELL_TEXT}};
	struct af_tree t;
	struct af_facts facts = {0};

	af_tree_open(&t, cpu_weights, 2);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		add_stack(&t, names[i], 100 + i, 1);
	af_tree_finish(&t);
	struct af_table *table = af_facts_table(&facts, "run", "</h2><script>", columns, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		af_table_row(&facts, table)->text = names[i];
	table->note = "</noscript></script><script>window.pwned=1</script>";
	r->label = "<b>cpu</b>";
	af_format_html.tree(r, &t, err);
	af_format_html.facts(r, &facts, err);
	af_facts_free(&facts);
	af_tree_close(&t);
}

#define STEP                                                                                       \
	"P:python train.py;p:<module> (train.py:141);p:main (train.py:118);"                       \
	"p:train_step (train.py:74);"
#define EVAL "n:_PyEval_EvalFrameDefault;n:_PyFunction_Vectorcall;"
#define CALL "p:_call_impl (module.py:1747);"

static const char *const sample_calls[] = {
    "p:forward (attention.py:52);" EVAL "n:at::scaled_dot_product_attention;"
    "n:at::native::_flash_attention_forward;n:pytorch_flash::mha_fwd;",
    "p:forward (mlp.py:31);p:linear (functional.py:2210);" EVAL
    "n:torch::autograd::THPVariable_linear;"
    "n:at::_ops::linear::call;n:at::native::addmm_out_cuda_impl;i:at::cuda::blas::gemm<c10::"
    "BFloat16>;",
    "p:forward (norm.py:18);p:rms_norm (functional.py:2931);" EVAL "n:at::native::rms_norm_cuda;"
    "n:at::native::gpu_kernel_impl<at::native::MulFunctor<float>>(at::TensorIteratorBase&);",
};
static const char *const sample_kernels[][3] = {
    {"flash_fwd_splitkv_kernel", "flash_fwd_splitkv_combine", "transpose_read_kernel"},
    {"ampere_bf16_s16816gemm_256x128", "ampere_bf16_s16816gemm_128x64", "splitKreduce_kernel"},
    {"vectorized_elementwise_kernel", "layer_norm_reduce_kernel", "triton_fused_rms_norm_0"},
};
static const char *const sample_insns[] = {"HMMA.16816.F32.BF16",
                                           "LDGSTS.E.BYPASS.128",
                                           "LDSM.16.M88.4",
                                           "FFMA",
                                           "BAR.SYNC",
                                           "STG.E.128",
                                           "MUFU.EX2"};
static const char *const sample_stalls[] = {
    "long scoreboard", "math pipe throttle", "barrier", "wait", "not selected", "mio throttle"};

static uint64_t skewed(uint64_t most)
{
	double u = next_unit();
	return 1 + (uint64_t)(u * u * u * (double)most);
}

/* One stack of the step: what the Python of a layer calls, down to and with its launch. */
static void sample_launch(char *stack, size_t size, int backward, int layer)
{
	static const int lines[] = {58, 71, 64};

	snprintf(stack, size, STEP "%sp:forward (block.py:%d);" CALL "%sn:cudaLaunchKernel;",
	         backward
	             ? "p:backward (tensor.py:648);n:torch::autograd::Engine::evaluate_function;"
	             : "p:forward (model.py:203);",
	         lines[layer], sample_calls[layer]);
}

static void sample_gpu(struct af_tree *t)
{
	static const uint64_t heat[3][3] = {{900, 130, 60}, {1500, 420, 90}, {330, 180, 240}};
	char stack[2048];

	for (int k = 0; k < 2 * 3 * 3 * 7 * 6; k++) {
		int stall = k % 6, insn = k / 6 % 7, kernel = k / 42 % 3, layer = k / 126 % 3;
		int backward = k / 378;
		if (next_unit() < 0.25)
			continue;
		sample_launch(stack, sizeof stack, backward, layer);
		snprintf(stack + strlen(stack), sizeof stack - strlen(stack),
		         "G:%s;g:0x%04x %s;g:stall: %s", sample_kernels[layer][kernel],
		         0x40 + insn * 0x130, sample_insns[insn], sample_stalls[stall]);
		uint32_t node = stack_node(t, stack);
		uint64_t samples = skewed(heat[layer][kernel] * (backward ? 2 : 1));
		af_tree_add(t, node, 0, samples * 80000 + next_random() % 40000);
		af_tree_add(t, node, 1, samples);
		af_tree_add(t, node, 2, insn == 0 && stall == 0 ? 480 : 0);
	}
	uint32_t copy = stack_node(t, STEP "p:to (batch.py:12);" EVAL
	                                   "n:at::native::copy_kernel_cuda;n:cudaMemcpyAsync;"
	                                   "G:copy host to device");
	af_tree_add(t, copy, 0, 940000000);
	af_tree_add(t, copy, 2, 80);
	af_tree_add(t, copy, 3, 12ull << 30);
}

static void sample_cpu(struct af_tree *t)
{
	static const char *const leaves[] = {
	    "n:libcuda.so.1;n:libcuda.so.1;k:ioctl;k:nvidia_unlocked_ioctl",
	    "n:c10::impl::wrap_kernel_functor_unboxed_<at::add>;n:at::empty_cuda;"
	    "i:c10::intrusive_ptr<c10::TensorImpl>::reset_;n:c10::cuda::CUDACachingAllocator::"
	    "malloc",
	    "n:pthread_mutex_lock;k:futex_wait;k:schedule",
	    "j:inductor_fused_add_relu_3",
	    "n:operator new(unsigned long);n:malloc;n:_int_malloc",
	    "n:_PyObject_GC_Alloc;n:gc_collect_main",
	    "k:asm_exc_page_fault;k:handle_mm_fault;k:clear_page_erms"};
	char stack[2048];

	for (int i = 0; i < 700; i++) {
		sample_launch(stack, sizeof stack, (int)(next_random() % 2),
		              (int)(next_random() % 3));
		snprintf(stack + strlen(stack), sizeof stack - strlen(stack), "%s",
		         leaves[(size_t)(next_unit() * next_unit() * 7)]);
		uint64_t samples = skewed(40);
		add_stack(t, stack, samples * 1000000, samples);
	}
	add_stack(t,
	          "P:pt_data_worker;p:_worker_loop (worker.py:349);p:fetch (fetch.py:54);"
	          "p:__getitem__ (dataset.py:77);n:PyImaging_Decode;n:jpeg_idct_islow",
	          1400000000, 1400);
	add_stack(t,
	          "P:pt_data_worker;p:_worker_loop (worker.py:349);p:collate (collate.py:155);"
	          "n:at::native::stack;n:__memmove_avx512_unaligned_erms",
	          610000000, 610);
	add_stack(t, STEP "p:step (adamw.py:243);m:[truncated: stack memory unreadable]", 290000000,
	          290);
}

static void make_sample(struct af_render *r, struct af_err *err)
{
	struct af_tree cpu, gpu;
	struct af_facts facts = {0};

	af_tree_open(&gpu, gpu_weights, 4);
	sample_gpu(&gpu);
	af_tree_finish(&gpu);
	af_tree_open(&cpu, cpu_weights, 2);
	sample_cpu(&cpu);
	af_tree_finish(&cpu);
	add_run_facts(&facts);
	add_top_facts(&facts);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	af_format_html.facts(r, &facts, err);
	af_facts_free(&facts);
	af_tree_close(&cpu);
	af_tree_close(&gpu);
}

/* sizes */

enum { NR_NAMES = 20000, DEEPEST = 64 };

/* Stacks as a tree that grows by samples: a node gets a new child the rarer it has been seen. */
static void grow_cpu(struct af_tree *t, uint32_t nr_nodes)
{
	uint32_t *visits = calloc((size_t)nr_nodes + DEEPEST + 1, sizeof *visits);
	uint32_t *last = calloc((size_t)nr_nodes + DEEPEST + 1, sizeof *last);
	char text[96];

	while (t->nr < nr_nodes) {
		uint32_t node = 0;
		uint32_t depth =
		    30 + (uint32_t)(31 * (next_unit() + next_unit() + next_unit()) / 3);
		for (uint32_t d = 0; d < depth; d++) {
			double fresh = d > 25 ? 0.36 : d > 8 ? 0.036 : 0.12;
			visits[node]++;
			if (last[node] && next_unit() > fresh / (visits[node] * 0.02 + fresh)) {
				node = last[node];
				continue;
			}
			uint32_t id =
			    (uint32_t)(NR_NAMES * next_unit() * next_unit() * next_unit());
			int len = snprintf(text, sizeof text, "%s::module%u::function_%u<%s,%u>",
			                   id & 1 ? "company" : "std", id % 97, id,
			                   id & 2 ? "float" : "int", id % 13);
			uint32_t child = af_tree_child(
			    t, node, af_tree_name(t, text, (size_t)len, AF_FRAME_NATIVE, 0));
			if (!last[node] || next_unit() < 0.3)
				last[node] = child;
			node = child;
		}
		uint64_t samples = skewed(20);
		af_tree_add(t, node, 0, samples * 10000000);
		af_tree_add(t, node, 1, samples);
	}
	free(visits);
	free(last);
}

/* Host stacks, kernels under them, instructions under those, reasons to stall at the tips. */
static void grow_gpu(struct af_tree *t, uint32_t nr_nodes)
{
	char text[256];

	while (t->nr < nr_nodes) {
		uint32_t host = (uint32_t)(400 * next_unit() * next_unit());
		uint32_t kernel = (uint32_t)(300 * next_unit() * next_unit() * next_unit());
		uint32_t offset = (uint32_t)(4000 * next_unit() * next_unit());
		uint32_t node = 0;
		for (uint32_t d = 0; d < 28; d++) {
			int len = snprintf(text, sizeof text, "layer%u (model.py:%u)", d,
			                   d < 6 ? d : (host >> (d % 9)) + d);
			node = af_tree_child(
			    t, node, af_tree_name(t, text, (size_t)len, AF_FRAME_PYTHON, 0));
		}
		int len =
		    snprintf(text, sizeof text,
		             "void at::native::kernel_%u<at::native::Functor<float, %u>, "
		             "at::detail::Array<char*, %u> >(int, at::native::Functor<float, %u>)",
		             kernel, kernel % 7, kernel % 4, kernel % 7);
		node = af_tree_child(t, node, af_tree_name(t, text, (size_t)len, AF_FRAME_GPU, 0));
		len =
		    snprintf(text, sizeof text, "0x%04x %s", offset * 16, sample_insns[offset % 7]);
		node = af_tree_child(t, node,
		                     af_tree_name(t, text, (size_t)len, AF_FRAME_GPU_INSN, 0));
		len = snprintf(text, sizeof text, "stall: %s",
		               sample_stalls[(size_t)(6 * next_unit() * next_unit())]);
		node = af_tree_child(t, node,
		                     af_tree_name(t, text, (size_t)len, AF_FRAME_GPU_INSN, 0));
		uint64_t samples = skewed(40);
		af_tree_add(t, node, 0, samples * 1700 + next_random() % 1700);
		af_tree_add(t, node, 1, samples);
	}
}

static void make_large(struct af_render *r, struct af_err *err, int gpu, uint32_t nr_nodes)
{
	struct af_tree t;

	af_tree_open(&t, cpu_weights, 2);
	if (gpu)
		grow_gpu(&t, nr_nodes);
	else
		grow_cpu(&t, nr_nodes);
	af_tree_finish(&t);
	r->label = gpu ? "gpu" : "cpu";
	af_format_html.tree(r, &t, err);
	af_tree_close(&t);
}

/* A flame chart in millionths: b, then the Python a itself, then c; 1.5, 1, 2.5 of 5 samples. */
static void make_chart(struct af_render *r, struct af_err *err)
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

static void make_kernels(struct af_render *r, struct af_err *err)
{
	struct af_tree gpu;

	if (make_annotated(r, &af_format_html, err))
		exit(1);
	af_tree_open(&gpu, gpu_weights, 4);
	uint32_t node = stack_node(&gpu, "P:app;n:cudaLaunchKernel;G:latency(float*)");
	af_tree_add(&gpu, node, 0, 5000);
	af_tree_add(&gpu, node, 2, 3);
	af_tree_finish(&gpu);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	af_tree_close(&gpu);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t nr_nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	struct af_err err = {0};
	struct af_picture picture = {.title = "Training step", .subtitle = "python train.py"};
	struct af_render r = {.fd = STDOUT_FILENO, .picture = &picture};

	if (!strcmp(what, "hostile")) {
		picture.title = "</title><script>window.pwned=1</script>";
		picture.notes = "<script>window.pwned=1</script>";
	}
	picture.differential = !strcmp(what, "difference") || !strcmp(what, "compared");
	if (af_format_html.begin(&r, &err))
		return 1;
	/* What slices refer to must be there at the end, so these end the page themselves. */
	if (!strcmp(what, "timed"))
		return make_timed(&r, &af_format_html, &err) != 0;
	if (!strcmp(what, "job"))
		return make_job(&r, &af_format_html, &err) != 0;
	if (!strcmp(what, "slices") && nr_nodes)
		return make_slices(&r, &af_format_html, nr_nodes, &err) != 0;
	if (!strcmp(what, "known"))
		make_known(&r, &err);
	else if (!strcmp(what, "sample"))
		make_sample(&r, &err);
	else if (!strcmp(what, "annotated"))
		make_kernels(&r, &err);
	else if (!strcmp(what, "waits"))
		make_waits(&r, &err);
	else if (!strcmp(what, "compared"))
		make_compared(&r, &err);
	else if (picture.differential)
		make_difference(&r, &err);
	else if (!strcmp(what, "hostile"))
		make_hostile(&r, &err);
	else if (!strcmp(what, "chart"))
		make_chart(&r, &err);
	else if ((!strcmp(what, "cpu") || !strcmp(what, "gpu")) && nr_nodes)
		make_large(&r, &err, what[0] == 'g', nr_nodes);
	else if (strcmp(what, "empty")) {
		fprintf(
		    stderr,
		    "usage: report_maker known|annotated|timed|job|waits|sample|hostile|difference|"
		    "chart|empty|cpu N|gpu N|slices N\n");
		return 2;
	}
	if (af_format_html.end(&r, &err)) {
		fprintf(stderr, "report_maker: %s\n", err.msg);
		return 1;
	}
	return 0;
}
