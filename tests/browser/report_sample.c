#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/err.h"
#include "report_maker.h"
#include "report_stacks.h"

static const struct af_tree_weight cpu_weights[] = {{"time", "ns"}, {"samples", "samples"}};
static const struct af_tree_weight gpu_weights[] = {
    {"time", "ns"}, {"samples", "samples"}, {"count", "launches"}, {"bytes", "bytes"}};

static uint64_t state = REPORT_SEED;

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
	double u = report_unit(&state);
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
		if (report_unit(&state) < 0.25)
			continue;
		sample_launch(stack, sizeof stack, backward, layer);
		snprintf(stack + strlen(stack), sizeof stack - strlen(stack),
		         "G:%s;g:0x%04x %s;g:stall: %s", sample_kernels[layer][kernel],
		         0x40 + insn * 0x130, sample_insns[insn], sample_stalls[stall]);
		uint32_t node = report_node(t, stack, REPORT_MODULE);
		uint64_t samples = skewed(heat[layer][kernel] * (backward ? 2 : 1));
		af_tree_add(t, node, 0, samples * 80000 + report_random(&state) % 40000);
		af_tree_add(t, node, 1, samples);
		af_tree_add(t, node, 2, insn == 0 && stall == 0 ? 480 : 0);
	}
	uint32_t copy = report_node(t,
	                            STEP "p:to (batch.py:12);" EVAL
	                                 "n:at::native::copy_kernel_cuda;n:cudaMemcpyAsync;"
	                                 "G:copy host to device",
	                            REPORT_MODULE);
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
		sample_launch(stack, sizeof stack, (int)(report_random(&state) % 2),
		              (int)(report_random(&state) % 3));
		snprintf(stack + strlen(stack), sizeof stack - strlen(stack), "%s",
		         leaves[(size_t)(report_unit(&state) * report_unit(&state) * 7)]);
		uint64_t samples = skewed(40);
		report_add(t, stack, samples * 1000000, samples);
	}
	report_add(t,
	           "P:pt_data_worker;p:_worker_loop (worker.py:349);p:fetch (fetch.py:54);"
	           "p:__getitem__ (dataset.py:77);n:PyImaging_Decode;n:jpeg_idct_islow",
	           1400000000, 1400);
	report_add(t,
	           "P:pt_data_worker;p:_worker_loop (worker.py:349);p:collate (collate.py:155);"
	           "n:at::native::stack;n:__memmove_avx512_unaligned_erms",
	           610000000, 610);
	report_add(t, STEP "p:step (adamw.py:243);m:[truncated: stack memory unreadable]",
	           290000000, 290);
}

void make_sample(struct af_render *r, struct af_err *err)
{
	struct af_tree cpu, gpu;
	struct af_tables tables = {0};

	af_tree_open(&gpu, gpu_weights, 4);
	sample_gpu(&gpu);
	af_tree_finish(&gpu);
	af_tree_open(&cpu, cpu_weights, 2);
	sample_cpu(&cpu);
	af_tree_finish(&cpu);
	report_run_tables(&tables);
	report_top_tables(&tables);
	r->label = "gpu";
	af_format_html.tree(r, &gpu, err);
	r->label = "cpu";
	af_format_html.tree(r, &cpu, err);
	af_format_html.tables(r, &tables, err);
	af_tables_free(&tables);
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
		    30 +
		    (uint32_t)(31 *
		               (report_unit(&state) + report_unit(&state) + report_unit(&state)) /
		               3);
		for (uint32_t d = 0; d < depth; d++) {
			double fresh = d > 25 ? 0.36 : d > 8 ? 0.036 : 0.12;
			visits[node]++;
			if (last[node] &&
			    report_unit(&state) > fresh / (visits[node] * 0.02 + fresh)) {
				node = last[node];
				continue;
			}
			uint32_t id = (uint32_t)(NR_NAMES * report_unit(&state) *
			                         report_unit(&state) * report_unit(&state));
			int len = snprintf(text, sizeof text, "%s::module%u::function_%u<%s,%u>",
			                   id & 1 ? "company" : "std", id % 97, id,
			                   id & 2 ? "float" : "int", id % 13);
			uint32_t child = af_tree_child(
			    t, node, af_tree_name(t, text, (size_t)len, AF_FRAME_NATIVE, 0));
			if (!last[node] || report_unit(&state) < 0.3)
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
		uint32_t host = (uint32_t)(400 * report_unit(&state) * report_unit(&state));
		uint32_t kernel = (uint32_t)(300 * report_unit(&state) * report_unit(&state) *
		                             report_unit(&state));
		uint32_t offset = (uint32_t)(4000 * report_unit(&state) * report_unit(&state));
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
		len = snprintf(
		    text, sizeof text, "stall: %s",
		    sample_stalls[(size_t)(6 * report_unit(&state) * report_unit(&state))]);
		node = af_tree_child(t, node,
		                     af_tree_name(t, text, (size_t)len, AF_FRAME_GPU_INSN, 0));
		uint64_t samples = skewed(40);
		af_tree_add(t, node, 0, samples * 1700 + report_random(&state) % 1700);
		af_tree_add(t, node, 1, samples);
	}
}

static void make_large(struct af_render *r, const char *label,
                       void (*grow)(struct af_tree *, uint32_t), uint32_t nr_nodes,
                       struct af_err *err)
{
	struct af_tree t;

	af_tree_open(&t, cpu_weights, 2);
	grow(&t, nr_nodes);
	af_tree_finish(&t);
	r->label = label;
	af_format_html.tree(r, &t, err);
	af_tree_close(&t);
}

void make_cpu(struct af_render *r, uint32_t nr_nodes, struct af_err *err)
{
	make_large(r, "cpu", grow_cpu, nr_nodes, err);
}

void make_gpu(struct af_render *r, uint32_t nr_nodes, struct af_err *err)
{
	make_large(r, "gpu", grow_gpu, nr_nodes, err);
}
