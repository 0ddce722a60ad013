/*
 * demo: a small transformer block fed with generated text, the workload to try aflame on. The host
 * tokenises and embeds, an OpenCL device computes, and the result is checked against plain C.
 */
#include "block.h"
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAGE __attribute__((noinline)) static

/* Float32 sums of a few hundred terms in another order; a wrong index gives errors near 1. */
static const double tolerance = 2e-3;

enum check { CHECK_FIRST, CHECK_ALL, CHECK_NONE };

struct options {
	struct block_config block;
	int steps;
	enum check check;
	bool json;
};

struct run {
	const struct options *options;
	struct text *text;
	struct block *block;
	float *x, *y, *expected;
	size_t nr; /* elements of each of them */

	double first_ms; /* the first step, in which a runtime may still compile kernels */
	double host_ms, device_ms; /* the others */
	double check_ms;
	double max_error; /* over the steps checked */
	double loss;      /* of the last step */
	int nr_checked;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static const char usage[] =
    "usage: aflame-demo [options]\n"
    "  --steps N        forward passes (100)\n"
    "  --seq N          tokens in a pass (128)\n"
    "  --dim N          width of a token (256)\n"
    "  --heads N        attention heads, must divide dim (4)\n"
    "  --ffn N          width of the feed-forward layer (1024)\n"
    "  --seed N         of weights and text (1)\n"
    "  --device INDEX   OpenCL device (0)\n"
    "  --kernels FILE   OpenCL source to use instead of the built-in\n"
    "  --check          check every pass, not only the first\n"
    "  --no-check       check none\n"
    "  --json           one JSON object instead of lines\n"
    "  --leak-events    never release an OpenCL event\n"
    "Environment: DEMO_CL_OPTIONS, options for the OpenCL compiler (-g ...).\n"
    "Exit status: 0 right, 1 wrong result, 2 could not run.\n";

static int parse_number(const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > 1000000000) {
		fprintf(stderr, "aflame-demo: not a number in range: %s\n", text);
		exit(2);
	}
	return (int)value;
}

static void parse_options(struct options *o, int argc, char **argv)
{
	static int leak;
	const struct option table[] = {
	    {"steps", required_argument, NULL, 's'},  {"seq", required_argument, NULL, 'q'},
	    {"dim", required_argument, NULL, 'd'},    {"heads", required_argument, NULL, 'h'},
	    {"ffn", required_argument, NULL, 'f'},    {"seed", required_argument, NULL, 'r'},
	    {"device", required_argument, NULL, 'i'}, {"kernels", required_argument, NULL, 'k'},
	    {"check", no_argument, NULL, 'c'},        {"no-check", no_argument, NULL, 'n'},
	    {"json", no_argument, NULL, 'j'},         {"leak-events", no_argument, &leak, 1},
	    {"help", no_argument, NULL, '?'},         {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (c) {
		case 's':
			o->steps = parse_number(optarg);
			break;
		case 'q':
			o->block.seq = parse_number(optarg);
			break;
		case 'd':
			o->block.dim = parse_number(optarg);
			break;
		case 'h':
			o->block.heads = parse_number(optarg);
			break;
		case 'f':
			o->block.ffn = parse_number(optarg);
			break;
		case 'r':
			o->block.seed = (unsigned int)parse_number(optarg);
			break;
		case 'i':
			o->block.device = parse_number(optarg);
			break;
		case 'k':
			o->block.kernels_path = optarg;
			break;
		case 'c':
			o->check = CHECK_ALL;
			break;
		case 'n':
			o->check = CHECK_NONE;
			break;
		case 'j':
			o->json = true;
			break;
		case 0:
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	o->block.leak_events = leak;
	if (optind < argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* The host's part of a step: text, tokens, rows. */
STAGE void prepare(struct run *r, int step)
{
	text_compose(r->text, (unsigned int)step);
	text_encode(r->text);
	text_embed(r->text, r->options->block.seq, r->x);
}

STAGE int check(struct run *r)
{
	if (block_reference(r->block, r->x, r->expected))
		return -1;
	for (size_t i = 0; i < r->nr; i++) {
		const double error = fabs((double)r->y[i] - r->expected[i]);

		/* The comparison is written so that a NaN counts as the greatest error. */
		if (!(error <= r->max_error))
			r->max_error = isnan(error) ? INFINITY : error;
	}
	r->nr_checked++;
	return 0;
}

STAGE int run_step(struct run *r, int step)
{
	const enum check when = r->options->check;
	const double start = now_ms();
	double prepared, computed;

	prepare(r, step);
	prepared = now_ms();
	if (block_forward(r->block, r->x, r->y) || block_mean_square(r->block, &r->loss))
		return -1;
	computed = now_ms();
	if ((when == CHECK_ALL || (when == CHECK_FIRST && step == 0)) && check(r))
		return -1;
	if (step == 0) {
		r->first_ms = computed - start;
	} else {
		r->host_ms += prepared - start;
		r->device_ms += computed - prepared;
	}
	r->check_ms += now_ms() - computed;
	if (!r->options->json)
		printf("step %3d  loss %.6f  %7.2f ms\n", step, r->loss, computed - start);
	return 0;
}

static bool is_right(const struct run *r)
{
	return r->max_error <= tolerance;
}

static void print_json(const struct run *r, double ms_per_step)
{
	const struct options *o = r->options;

	printf("{\"device\": \"%s\", \"steps\": %d, \"seq\": %d, \"dim\": %d, \"heads\": %d, "
	       "\"ffn\": %d, ",
	       block_device_name(r->block), o->steps, o->block.seq, o->block.dim, o->block.heads,
	       o->block.ffn);
	printf("\"first_ms\": %.3f, \"ms_per_step\": %.3f, \"host_ms\": %.3f, "
	       "\"device_ms\": %.3f, \"check_ms\": %.3f, ",
	       r->first_ms, ms_per_step, r->host_ms, r->device_ms, r->check_ms);
	printf("\"loss\": %.6f, \"nr_checked\": %d, \"max_error\": %.3g, \"right\": %s}\n", r->loss,
	       r->nr_checked, isinf(r->max_error) ? -1 : r->max_error,
	       is_right(r) ? "true" : "false");
}

static void print_summary(const struct run *r)
{
	const struct options *o = r->options;
	const double total_ms = r->host_ms + r->device_ms;
	const double ms_per_step = o->steps > 1 ? total_ms / (o->steps - 1) : r->first_ms;

	if (o->json) {
		print_json(r, ms_per_step);
		return;
	}
	printf("%d steps on %s: first %.0f ms, then %.2f ms/step, host %.0f %%, vocabulary %d\n",
	       o->steps, block_device_name(r->block), r->first_ms, ms_per_step,
	       total_ms > 0 ? 100 * r->host_ms / total_ms : 0, text_vocabulary(r->text));
	if (r->nr_checked)
		printf("checked %d: max error %.3g, %s\n", r->nr_checked, r->max_error,
		       is_right(r) ? "right" : "WRONG");
}

static int open_run(struct run *r)
{
	const struct block_config *c = &r->options->block;

	if (block_open(&r->block, c)) {
		fprintf(stderr, "aflame-demo: %s\n", block_error());
		return -1;
	}
	r->nr = (size_t)c->seq * (size_t)c->dim;
	r->x = malloc(r->nr * sizeof *r->x);
	r->y = malloc(r->nr * sizeof *r->y);
	r->expected = malloc(r->nr * sizeof *r->expected);
	r->text = text_open(c->seed, c->dim);
	if (r->x && r->y && r->expected && r->text)
		return 0;
	fprintf(stderr, "aflame-demo: out of memory\n");
	return -1;
}

static void close_run(struct run *r)
{
	text_close(r->text);
	block_close(r->block);
	free(r->expected);
	free(r->y);
	free(r->x);
}

int main(int argc, char **argv)
{
	struct options options = {
	    .block = {.seq = 128, .dim = 256, .heads = 4, .ffn = 1024, .seed = 1},
	    .steps = 100,
	};
	struct run run = {.options = &options};
	int rc;

	parse_options(&options, argc, argv);
	rc = open_run(&run);
	for (int step = 0; !rc && step < options.steps; step++) {
		rc = run_step(&run, step);
		if (rc)
			fprintf(stderr, "aflame-demo: %s\n", block_error());
	}
	if (!rc)
		print_summary(&run);
	close_run(&run);
	if (rc)
		return 2;
	return is_right(&run) ? 0 : 1;
}
