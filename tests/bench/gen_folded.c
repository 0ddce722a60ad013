/*
 * Folded stacks like those of a large program: gen_folded NR_STACKS [gpu] > FILE.
 *
 * CPU: a tree grows by samples: at each node a sample takes a new child with probability
 * alpha / (visits + alpha), else an existing one in proportion to its visits (a Chinese
 * restaurant), down to depth 30 to 60. Names come log-uniformly from 20,000 and end in a fixed
 * number of digits, so that no name is the beginning of another. The stacks are printed in tree
 * order.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR_NAMES = 20000, MAX_DEPTH = 64 };

struct node {
	uint32_t name, first, next; /* children as a list */
	uint32_t visits, leaf;
};

static struct node *nodes;
static uint32_t nr_nodes, cap_nodes;
static char *names[NR_NAMES];
static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t gen_random(void)
{
	uint64_t x = random_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static double gen_unit(void)
{
	return (double)(gen_random() >> 11) / 9007199254740992.0;
}

static void gen_names(void)
{
	static const char *const spaces[] = {
	    "at::native::", "torch::autograd::", "c10::", "", "", "cuda", "ext4_", "tcp_", "do_"};
	static const char *const words[] = {"add",   "gemm",  "dispatch", "forward", "backward",
	                                    "copy",  "alloc", "reduce",   "softmax", "conv",
	                                    "queue", "wait",  "tensor",   "stream",  "apply"};

	for (uint32_t i = 0; i < NR_NAMES; i++) {
		char text[160];
		int n = snprintf(text, sizeof text, "%s", spaces[gen_random() % 9]);
		for (uint64_t k = 1 + gen_random() % 4; k; k--)
			n += snprintf(text + n, sizeof text - (size_t)n, "%s_",
			              words[gen_random() % 15]);
		if (gen_random() % 3 == 0)
			n += snprintf(text + n, sizeof text - (size_t)n, "<%s,%03u>",
			              words[gen_random() % 15], (unsigned)(gen_random() % 512));
		snprintf(text + n, sizeof text - (size_t)n, "_%05u", i);
		names[i] = strdup(text);
	}
}

static uint32_t gen_node(uint32_t parent)
{
	if (nr_nodes == cap_nodes) {
		cap_nodes = cap_nodes ? cap_nodes * 2 : 1 << 16;
		nodes = realloc(nodes, cap_nodes * sizeof *nodes);
		if (!nodes)
			abort();
	}
	uint32_t name = (uint32_t)pow(NR_NAMES, gen_unit()) - 1;
	nodes[nr_nodes] = (struct node){.name = name};
	if (nr_nodes) {
		nodes[nr_nodes].next = nodes[parent].first;
		nodes[parent].first = nr_nodes;
	}
	return nr_nodes++;
}

static uint32_t gen_step(uint32_t at, int depth, double alpha)
{
	double a = alpha * (depth > 8 ? 1 : 0.3) * (depth > 25 ? 3 : 1);
	double seen = nodes[at].visits;

	if (!nodes[at].first || gen_unit() * (seen + a) < a)
		return gen_node(at);
	uint64_t pick = (uint64_t)(gen_unit() * seen), sum = 0;
	uint32_t c = nodes[at].first;
	while ((sum += nodes[c].visits) <= pick && nodes[c].next)
		c = nodes[c].next;
	return c;
}

static void gen_print(uint32_t at, char *line, size_t len)
{
	for (uint32_t c = at; c; c = nodes[c].next) {
		size_t n =
		    len + (size_t)sprintf(line + len, "%s%s", len ? ";" : "", names[nodes[c].name]);
		if (nodes[c].leaf) {
			fwrite(line, 1, n, stdout);
			printf(" %u\n", nodes[c].leaf);
		}
		gen_print(nodes[c].first, line, n);
	}
}

/* 0..n-1, the small ones more often the larger @descriptor is. */
static uint32_t gen_pareto(uint32_t n, double descriptor)
{
	double x = pow(1 - gen_unit(), -1 / descriptor) - 1;

	return x >= n ? (uint32_t)(gen_unit() * n) : (uint32_t)x;
}

static void gen_gpu(long want)
{
	enum { NR_STACKS = 400, STACK_SIZE = 40 * 176 };
	char(*stacks)[STACK_SIZE] = malloc(NR_STACKS * sizeof *stacks);

	if (!stacks)
		abort();
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		/* The first half of a stack is that of an earlier one. */
		const char *base = i ? stacks[gen_random() % i] : "";
		int n = snprintf(stacks[i], STACK_SIZE / 2, "%s", base);
		n = i ? n / 2 : 0;
		for (int d = 0; d < 16; d++)
			n += sprintf(stacks[i] + n, "%s%s", n ? ";" : "",
			             names[gen_random() % NR_NAMES]);
	}
	for (long nr = 0; nr < want; nr++) {
		uint32_t kernel = gen_pareto(300, 0.8), at = gen_pareto(4000, 0.5);
		printf("%s;-;void cutlass::Kernel<cutlass_80_tensorop_%03u_%s>(Params)_[G];"
		       "0x%05x OP%u_[g];stall_%02u_[g] %u\n",
		       stacks[gen_pareto(NR_STACKS, 0.6)], kernel,
		       kernel % 2 ? "gemm_relu_f16_256x128_32x3_tn_align8_and_a_long_tail" : "s",
		       at * 16, at % 14, gen_pareto(12, 1.2), 1 + gen_pareto(1000, 1));
	}
}

int main(int argc, char **argv)
{
	static char line[MAX_DEPTH * 176], out[1 << 20];
	long want = argc > 1 ? atol(argv[1]) : 1000;
	double alpha = want > 300000 ? 0.12 : 0.05;

	setvbuf(stdout, out, _IOFBF, sizeof out);
	gen_names();
	if (argc > 2 && !strcmp(argv[2], "gpu")) {
		gen_gpu(want);
		return 0;
	}
	gen_node(0); /* node 0 stands for nothing: its children are the first frames */
	gen_node(0);
	for (long nr = 0; nr < want;) {
		int depth = 30 + (int)((gen_unit() + gen_unit() + gen_unit()) / 3 * 30.99);
		uint32_t at = 1;
		nodes[at].visits++;
		for (int d = 1; d < depth; d++) {
			at = gen_step(at, d, alpha);
			nodes[at].visits++;
		}
		nr += !nodes[at].leaf++;
	}
	gen_print(1, line, 0);
	return 0;
}
