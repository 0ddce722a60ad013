/*
 * gen_set DIR [--ranks N] [--hosts H] [--bytes B] [--messages M] [--seed S] …: a set of traces of a
 * job of N ranks, with distinct contents, as the recorder would have written them: metadata, the
 * recorder's notes, samples with call paths and names, calls of MPI with their arguments, launches
 * and kernels. The ranks compute in steps, pass a message to a neighbour in each, and meet in a
 * collective. On standard output: the truth about it as JSON, the clocks and, to the nanosecond,
 * what all whole traces together hold.
 *
 * Clocks of hosts are apart by up to --offset-ms and run apart by up to --drift-ppm. A message
 * takes --latency-us and on top of that a time with an exponential distribution and the mean
 * --jitter-us; towards hosts of lower numbers --asymmetry times the latency. --bytes is the size of
 * the events of one trace; its metadata, as of every trace of MPI, is 280 kB more.
 *
 * May be given again: --straggler R (--slow cpu, gpu or disk says by what), --dead R (the host
 * died in the middle), --truncated R (copied in part), --version R (of a newer aflame),
 * --duplicate R (another trace of the same rank).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/write.h"
#include "gen_set.h"

enum {
	STEP_BYTES = 76 + 108 + 80 + SET_SAMPLES * 28 + 24 + 56,
	LAUNCH_BYTES = 24 + 36,
	FIXED = 24000
};

static const struct option options[] = {{"ranks", 1, 0, 'n'},       {"hosts", 1, 0, 'h'},
                                        {"bytes", 1, 0, 'b'},       {"messages", 1, 0, 'm'},
                                        {"seed", 1, 0, 's'},        {"offset-ms", 1, 0, 'o'},
                                        {"drift-ppm", 1, 0, 'd'},   {"latency-us", 1, 0, 'l'},
                                        {"jitter-us", 1, 0, 'j'},   {"asymmetry", 1, 0, 'a'},
                                        {"straggler", 1, 0, 'S'},   {"slow", 1, 0, 'w'},
                                        {"dead", 1, 0, 'D'},        {"truncated", 1, 0, 'T'},
                                        {"version", 1, 0, 'V'},     {"duplicate", 1, 0, 'U'},
                                        {"no-messages", 0, 0, 'M'}, {"no-collectives", 0, 0, 'C'},
                                        {"no-boot-id", 0, 0, 'B'},  {0}};

static void list_add(struct set_list *l, const char *text)
{
	if (l->nr < SET_LISTED)
		l->ranks[l->nr++] = (uint32_t)strtoul(text, NULL, 0);
}

static bool option_list(struct set_options *o, int c, const char *text)
{
	struct set_list *l = c == 'S'   ? &o->stragglers
	                     : c == 'D' ? &o->dead
	                     : c == 'T' ? &o->truncated
	                     : c == 'V' ? &o->version
	                     : c == 'U' ? &o->duplicate
	                                : NULL;

	if (l)
		list_add(l, text);
	return l;
}

static bool option_take(struct set_options *o, int c, const char *text)
{
	switch (c) {
	case 'n':
		return (o->ranks = (uint32_t)strtoul(text, NULL, 0)) > 0;
	case 'h':
		return (o->hosts = (uint32_t)strtoul(text, NULL, 0)) > 0;
	case 'b':
		return (o->bytes = strtoull(text, NULL, 0)) > 0;
	case 'm':
		return (o->messages = (uint32_t)strtoul(text, NULL, 0)) > 0;
	case 's':
		o->seed = strtoull(text, NULL, 0);
		return true;
	case 'o':
		o->offset_ms = strtod(text, NULL);
		return true;
	case 'd':
		o->drift_ppm = strtod(text, NULL);
		return true;
	case 'l':
		o->latency_us = strtod(text, NULL);
		return true;
	case 'j':
		o->jitter_us = strtod(text, NULL);
		return true;
	case 'a':
		o->asymmetry = strtod(text, NULL);
		return true;
	case 'w':
		o->slow = !strcmp(text, "gpu")    ? SLOW_GPU
		          : !strcmp(text, "disk") ? SLOW_DISK
		                                  : SLOW_CPU;
		return true;
	case 'M':
		return o->no_messages = true;
	case 'C':
		return o->no_collectives = true;
	case 'B':
		return o->no_boot_id = true;
	default:
		return option_list(o, c, text);
	}
}

static void clocks_print(const struct set_job *j)
{
	double end = (double)j->steps[j->nr_steps];

	for (uint32_t i = 0; i < j->o.hosts; i++) {
		const struct set_host *h = &j->hosts[i];
		/* The offset is what is added to a time of the host for one of the first host. */
		printf("  %s{\"host\": \"%s\", \"boot_id\": \"%s\", \"base_ns\": %lld, \"drift\": "
		       "%.12g, \"offset_begin_ns\": %lld, \"offset_end_ns\": %lld}\n",
		       i ? "," : " ", h->name, h->boot_id, (long long)h->base_ns, h->drift,
		       (long long)(set_clock(&j->hosts[0], 0) - set_clock(h, 0)),
		       (long long)(set_clock(&j->hosts[0], (uint64_t)end) -
		                   set_clock(h, (uint64_t)end)));
	}
}

static void sum_print(const char *name, const struct set_sum *s, bool first)
{
	printf("%s\"%s\": {\"count\": %llu, \"ns\": %llu}", first ? "" : ", ", name,
	       (unsigned long long)s->count, (unsigned long long)s->ns);
}

static void paths_print(const struct set_truth *t)
{
	char name[32], other[32];

	for (uint32_t p = 1, nr = 0; p < PATH_END; p++) {
		struct set_sum sum = {0};
		bool seen = false;
		set_path_leaf(p, name);
		for (uint32_t q = 1; q < PATH_END; q++) {
			set_path_leaf(q, other);
			seen |= q < p && !strcmp(name, other);
			sum.count += strcmp(name, other) ? 0 : t->paths[q].count;
			sum.ns += strcmp(name, other) ? 0 : t->paths[q].ns;
		}
		if (!seen && sum.count)
			sum_print(name, &sum, !nr++);
	}
}

static void truth_print(const struct set_job *j, const struct set_truth *t)
{
	char name[32];

	printf("{\"ranks\": %u, \"steps\": %u, \"launches_a_step\": %u, \"event_bytes\": %llu,\n"
	       " \"clocks\": [\n",
	       j->o.ranks, j->nr_steps, j->launches, (unsigned long long)t->bytes);
	clocks_print(j);
	printf(" ],\n \"calls\": {");
	for (int i = 0; i < CALLS; i++)
		sum_print(set_call_name((enum set_call)i), &t->calls[i], !i);
	sum_print("cuLaunchKernel", &t->launch, false);
	sum_print("cuStreamSynchronize", &t->wait, false);
	printf("},\n \"kernels\": {");
	for (uint32_t k = 0; k < SET_KERNELS; k++) {
		snprintf(name, sizeof name, "stencil_%u", k);
		sum_print(name, &t->kernels[k], !k);
	}
	printf("},\n \"cpu\": {");
	paths_print(t);
	printf("},\n \"disk_ns\": %llu,\n \"stragglers\": [", (unsigned long long)t->disk_ns);
	for (uint32_t i = 0; i < j->o.stragglers.nr; i++)
		printf("%s%u", i ? ", " : "", j->o.stragglers.ranks[i]);
	printf("]}\n");
}

static int job_mark(int dirfd, const struct set_job *j)
{
	char text[64];
	int n =
	    snprintf(text, sizeof text, "aflame job gen-set-%llu\n", (unsigned long long)j->o.seed);
	int fd = af_create_private(dirfd, ".job");
	int rc = fd < 0 ? fd : af_write_all(fd, text, (size_t)n);

	close(fd);
	return rc;
}

/* Totals are of the traces that can be read whole. */
static int ranks_write(const struct set_job *j, int dirfd, struct set_truth *truth)
{
	char name[32];
	int rc = job_mark(dirfd, j);

	for (uint32_t r = 0; !rc && r < j->o.ranks; r++) {
		struct set_truth broken = {0};
		bool whole = !set_has(&j->o.dead, r) && !set_has(&j->o.truncated, r) &&
		             !set_has(&j->o.version, r);
		snprintf(name, sizeof name, "rank-%04u", r);
		rc = set_trace_write(j, r, dirfd, name, whole ? truth : &broken);
		strcat(name, "b");
		if (!rc && set_has(&j->o.duplicate, r))
			rc = set_trace_write(j, r, dirfd, name, whole ? truth : &broken);
	}
	return rc;
}

int main(int argc, char **argv)
{
	static struct set_truth truth;
	struct set_job j = {.o = {.ranks = 8,
	                          .hosts = 2,
	                          .messages = 1000,
	                          .bytes = 1 << 20,
	                          .seed = 1,
	                          .offset_ms = 50,
	                          .drift_ppm = 20,
	                          .latency_us = 5,
	                          .jitter_us = 20,
	                          .asymmetry = 1,
	                          .slow = SLOW_CPU}};
	bool good = true;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		good = good && option_take(&j.o, c, optarg);
	j.o.dir = argv[optind];
	if (!good || optind + 1 != argc || j.o.hosts > j.o.ranks) {
		fprintf(stderr, "gen_set DIR (no DIR yet) OPTIONS: see the head of gen_set.c\n");
		return 2;
	}
	j.nr_steps = j.o.messages;
	int64_t left = (int64_t)j.o.bytes - FIXED - (int64_t)STEP_BYTES * j.nr_steps;
	j.launches = left > 0 ? (uint32_t)(left / LAUNCH_BYTES / j.nr_steps) : 0;
	set_job_make(&j);
	int dirfd = mkdir(j.o.dir, 0700) ? -1 : open(j.o.dir, O_RDONLY | O_DIRECTORY);
	int rc = dirfd < 0 ? -errno : ranks_write(&j, dirfd, &truth);
	if (rc) {
		fprintf(stderr, "gen_set: %s: %s\n", j.o.dir, strerror(-rc));
		return 1;
	}
	truth_print(&j, &truth);
	free(j.hosts);
	free(j.steps);
	return 0;
}
