/*
 * clock_bounds SET [TRUTH.json]: the clocks of the hosts of a set, as aflame finds them. With the
 * truth that gen_set has printed: is the true offset inside of the bound, at many times? A line for
 * each host, then one for all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/clocks.h"
#include "base/err.h"

/* A host's clock, as gen_set prints it. */
struct truth {
	char host[64];
	long long base_ns;
	double drift;
};

struct sums {
	uint64_t times, inside, worst_ns, hosts, unknown;
};

static bool truth_next(FILE *f, struct truth *t)
{
	char line[1024];

	while (fgets(line, sizeof line, f)) {
		const char *host = strstr(line, "{\"host\": \""),
			   *base = strstr(line, "\"base_ns\": ");
		const char *drift = strstr(line, "\"drift\": ");
		if (!host || !base || !drift)
			continue;
		*t = (struct truth){.base_ns = strtoll(base + 11, NULL, 10),
		                    .drift = strtod(drift + 9, NULL)};
		return sscanf(host, "{\"host\": \"%63[^\"]", t->host) == 1;
	}
	return false;
}

static uint64_t stands(const struct truth *t, uint64_t ns)
{
	return (uint64_t)(t->base_ns + (long long)ns + (long long)(t->drift * (double)ns));
}

/* 101 times from the beginning to the end of the host. */
static void host_check(const struct af_set_clocks *c, uint32_t host, const struct truth *t,
                       const struct truth *reference, struct sums *sums)
{
	enum { TIMES = 100 };
	const struct af_set_host *h = &c->hosts[host];
	double length = (double)(h->end_ns - h->begin_ns);

	sums->hosts++;
	for (int i = 0; i <= TIMES; i++) {
		uint64_t ns = (uint64_t)((double)(h->begin_ns - t->base_ns) + length * i / TIMES);
		uint64_t bound, real = stands(reference, ns);
		uint64_t is = af_set_clocks_convert(c, h->first, stands(t, ns), &bound);
		uint64_t off = is > real ? is - real : real - is;
		if (bound == AF_CLOCK_UNKNOWN) {
			sums->unknown++;
			continue;
		}
		sums->times++;
		sums->inside += off <= bound;
		sums->worst_ns = bound > sums->worst_ns ? bound : sums->worst_ns;
	}
}

static void bound_print(const struct af_cell *bound)
{
	if (bound->unknown)
		printf(" %12s", "?");
	else
		printf(" %12" PRIu64, bound->value);
}

static void hosts_print(const struct af_set_clocks *c)
{
	struct af_tables f = {0};

	af_set_clocks_table(c, &f);
	const struct af_table *t = af_tables_find(&f, "clocks");
	printf("%-12s %6s %18s %12s %12s %12s %12s %9s  %s\n", "host", "ranks", "offset ns",
	       "drift ppb", "error begin", "middle", "end", "messages", "known by");
	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_clock_row *r = AF_ROW_AT(struct af_clock_row, t, i);
		printf("%-12s %6" PRIu64 " %s%17" PRIu64 " %s%11" PRIu64, r->host.text,
		       r->members.value, r->offset_ns.less ? "-" : " ", r->offset_ns.value,
		       r->drift_ppb.less ? "-" : " ", r->drift_ppb.value);
		bound_print(&r->bound_begin_ns);
		bound_print(&r->bound_middle_ns);
		bound_print(&r->bound_end_ns);
		printf(" %9" PRIu64 "  %s\n", r->messages.value + r->collectives.value,
		       r->known_by.text);
	}
	af_tables_free(&f);
}

static void truth_check(const struct af_set_clocks *c, FILE *f)
{
	struct truth t, reference = {0};
	struct sums sums = {0};

	while (truth_next(f, &t)) {
		if (!*reference.host)
			reference = t;
		for (uint32_t h = 1; h < c->nr_hosts; h++)
			if (!strcmp(c->hosts[h].name, t.host))
				host_check(c, h, &t, &reference, &sums);
	}
	printf("%llu hosts: the true offset is inside of the bound at %llu of %llu times; the "
	       "largest bound is %.1f us; %llu times have none\n",
	       (unsigned long long)sums.hosts, (unsigned long long)sums.inside,
	       (unsigned long long)sums.times, (double)sums.worst_ns / 1e3,
	       (unsigned long long)sums.unknown);
}

int main(int argc, char **argv)
{
	struct af_set s = {0};
	struct af_set_clocks c = {0};
	struct af_err err = {0};
	FILE *f = argc > 2 ? fopen(argv[2], "r") : NULL;

	if (argc < 2 || (argc > 2 && !f)) {
		fprintf(stderr, "clock_bounds SET [TRUTH.json]\n");
		return 2;
	}
	int rc = af_set_open(&s, argv[1], &err);
	if (!rc)
		rc = af_set_clocks_read(&c, &s, &err);
	if (rc) {
		fprintf(stderr, "clock_bounds: %s\n", err.msg);
		return 1;
	}
	if (c.nr_hosts < 100)
		hosts_print(&c);
	if (f) {
		truth_check(&c, f);
		fclose(f);
	}
	af_set_clocks_free(&c);
	af_set_close(&s);
	return 0;
}
