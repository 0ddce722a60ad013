#include <stdio.h>
#include <string.h>

#include "collect/bpf_private.h"

struct span {
	const char *name;
	uint64_t *start, *end;
};

static void span_start(const struct span *s, size_t nr, uint64_t address, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(s[i].name, name))
			*s[i].start = address;
}

/* The lines are not in order of address: a symbol ends where the next one above it begins. */
static void span_end(const struct span *s, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (address > *s[i].start && (!*s[i].end || address < *s[i].end))
			*s[i].end = address;
}

void bpf_kernel_read(struct bpf_kernel *k)
{
	uint64_t irq_end = 0, softirq_end = 0, ignored = 0;
	const struct span functions[] = {
	    {"__schedule", &k->schedule, &k->schedule_end},
	    {"try_to_wake_up", &k->wake_up, &k->wake_up_end},
	};
	const struct span marks[] = {
	    {"__irqentry_text_start", &k->irq_entry, &ignored},
	    {"__irqentry_text_end", &irq_end, &ignored},
	    {"__softirqentry_text_start", &k->softirq_entry, &ignored},
	    {"__softirqentry_text_end", &softirq_end, &ignored},
	};
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], name[128], type;
	unsigned long long address;

	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%llx %c %127s", &address, &type, name) != 3)
			continue;
		span_start(functions, 2, address, name);
		span_start(marks, 4, address, name);
	}
	k->irq_entry_end = irq_end;
	k->softirq_entry_end = softirq_end;
	rewind(f);
	while (k->schedule && fgets(line, sizeof line, f))
		if (sscanf(line, "%llx %c", &address, &type) == 2 && (type == 't' || type == 'T'))
			span_end(functions, 2, address);
	fclose(f);
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
