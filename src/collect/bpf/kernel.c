/*
 * Reads from /proc/kallsyms where some kernel functions lie: those that are the tracing itself,
 * which stacks leave out, and those of interrupts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/system/rights.h"
#include "collect/bpf/private.h"

struct mark {
	const char *name;
	uint64_t *start, *end; /* @end: of the function, NULL for a mere mark */
};

/* A line is "address type name" and, of modules, their name: those come after the kernel's own. */
static bool line_read(const char *line, uint64_t *address, const char **name, size_t *len)
{
	char *end;

	*address = strtoull(line, &end, 16);
	if (end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	*name = end + 3;
	*len = strcspn(*name, "\n\t");
	return (*name)[*len] != '\t';
}

/* In order of address: a function ends where the next symbol begins. */
void bpf_kernel_read(struct bpf_kernel *k)
{
	const struct mark marks[] = {
	    {"__schedule", &k->schedule, &k->schedule_end},
	    {"try_to_wake_up", &k->wake_up, &k->wake_up_end},
	    {"__irqentry_text_start", &k->irq_entry, NULL},
	    {"__irqentry_text_end", &k->irq_entry_end, NULL},
	    {"__softirqentry_text_start", &k->softirq_entry, NULL},
	    {"__softirqentry_text_end", &k->softirq_entry_end, NULL},
	};
	enum { NR = sizeof marks / sizeof *marks };
	scope_rights(AF_RIGHTS_NAMES);
	scope_fclose FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t address, *end = NULL;
	char line[512];
	const char *name;
	size_t len;

	while (f && fgets(line, sizeof line, f) && line_read(line, &address, &name, &len)) {
		if (end && !*end)
			*end = address;
		end = NULL;
		for (int i = 0; i < NR; i++)
			if (len == strlen(marks[i].name) && !memcmp(name, marks[i].name, len)) {
				*marks[i].start = address;
				end = marks[i].end;
			}
	}
}

static uint32_t frames_above(const struct af_bpf_stacks *s, uint64_t start, uint64_t end)
{
	uint32_t nr = s->kernel_bytes / 8;

	for (uint32_t i = 0; i < nr; i++)
		if (s->pcs[i] > start && s->pcs[i] <= end)
			return i;
	return 0;
}

uint32_t bpf_kernel_skip(const struct bpf_kernel *k, const struct af_bpf_stacks *s)
{
	if (s->head.kind == AF_BPF_OFFCPU)
		return frames_above(s, k->schedule, k->schedule_end);
	if (s->head.kind == AF_BPF_WAKE)
		return frames_above(s, k->wake_up, k->wake_up_end);
	return 0;
}

bool bpf_kernel_in_irq(const struct bpf_kernel *k, const struct af_bpf_stacks *s)
{
	uint32_t nr = s->kernel_bytes / 8;

	for (uint32_t i = 0; i < nr; i++)
		if ((s->pcs[i] > k->irq_entry && s->pcs[i] <= k->irq_entry_end) ||
		    (s->pcs[i] > k->softirq_entry && s->pcs[i] <= k->softirq_entry_end))
			return true;
	return !s->head.tid;
}
