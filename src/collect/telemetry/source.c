/* A source and its counters. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "collect/telemetry/private.h"

const struct telemetry_roots telemetry_roots_usual = {"/sys", "/proc"};

void telemetry_source_open(struct telemetry_source *s, const struct telemetry_ops *ops,
                           const struct telemetry_roots *roots)
{
	*s = (struct telemetry_source){.ops = ops};
	ops->find(s, roots);
	s->known = (struct af_source_counters){.all = s->all, .nr = s->nr};
}

void telemetry_source_free(struct telemetry_source *s)
{
	if (s->ops && s->ops->close)
		s->ops->close(s);
	for (uint32_t i = 0; i < s->nr_files; i++)
		if (s->files[i].fd >= 0)
			close(s->files[i].fd);
	free(s->files);
	free(s->devices);
	free(s->all);
	free(s->totals);
	af_arena_free(&s->texts);
	*s = (struct telemetry_source){0};
}

static const char *text_keep(struct telemetry_source *s, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(af_arena_alloc(&s->texts, size), text, size);
}

uint32_t telemetry_add(struct telemetry_source *s, uint32_t device, uint32_t flags, uint64_t per,
                       const char *name, const char *unit, const char *group)
{
	AF_GROW(s->all, s->nr, s->cap);
	AF_GROW(s->totals, s->nr, s->cap_totals);
	s->all[s->nr] = (struct af_source_counter){
	    .device = device,
	    .flags = flags,
	    .per = per,
	    .name = text_keep(s, name),
	    .unit = text_keep(s, unit),
	    .group = text_keep(s, group),
	};
	s->totals[s->nr] = (struct telemetry_total){0};
	return s->nr++;
}

void telemetry_add_device(struct telemetry_source *s, const struct telemetry_device *device)
{
	AF_GROW(s->devices, s->nr_devices, s->cap_devices);
	s->devices[s->nr_devices++] = (struct telemetry_device){
	    .number = device->number,
	    .name = text_keep(s, device->name),
	    .vendor = text_keep(s, device->vendor),
	    .driver = text_keep(s, device->driver),
	    .pci = text_keep(s, device->pci),
	};
}

void telemetry_put(struct telemetry_source *s, uint32_t counter, uint64_t value)
{
	struct telemetry_reading *to = &s->now;

	if (to->nr_levels < TELEMETRY_VALUES)
		to->levels[to->nr_levels++] = (struct af_source_value){counter, value};
}

void telemetry_total(struct telemetry_source *s, uint32_t counter, uint64_t total)
{
	struct telemetry_total *t = &s->totals[counter];
	struct telemetry_reading *to = &s->now;
	uint64_t was = t->was, since_ns = t->was_ns;
	bool known = t->known && !to->again;

	t->was = total;
	t->was_ns = to->time_ns;
	t->known = true;
	if (!known || to->nr_amounts == TELEMETRY_VALUES)
		return;
	if (t->once_ns && to->time_ns - since_ns > t->once_ns) {
		char what[160];
		snprintf(what, sizeof what,
		         "%s wraps in %llu ms, and was read after %llu: give the source a shorter "
		         "period",
		         s->all[counter].name, (unsigned long long)(t->once_ns / 1000000),
		         (unsigned long long)((to->time_ns - since_ns) / 1000000));
		telemetry_failed(s, what);
		return;
	}
	/* A total that shrinks without a wrap was reset: how much was added is not known. */
	if (total < was && (!t->wraps || was > t->wraps))
		return;
	uint64_t amount = total < was ? t->wraps - was + total : total - was;
	to->since_ns[to->nr_amounts] = since_ns;
	to->amounts[to->nr_amounts++] = (struct af_source_value){counter, amount};
}

bool telemetry_is_due(const struct telemetry_source *s, const struct telemetry_pace *p,
                      uint64_t time_ns, bool again)
{
	return again || s->beat.last || time_ns >= p->due_ns;
}

void telemetry_asked(struct telemetry_pace *p, uint64_t begin_ns, uint32_t apart)
{
	enum { OUTLIER = 4 };
	uint64_t took_ns = af_now_ns() - begin_ns;

	/* A thread that lost its CPU meanwhile has not been asking for all that time. */
	if (p->took_ns && took_ns > OUTLIER * p->took_ns)
		took_ns = OUTLIER * p->took_ns;
	p->took_ns = p->took_ns ? (3 * p->took_ns + took_ns) / 4 : took_ns;
	p->due_ns = begin_ns + p->took_ns * apart;
}

void telemetry_failed(struct telemetry_source *s, const char *what)
{
	if (!s->nr_failed++)
		snprintf(s->failed, sizeof s->failed, "%s", what);
}

int telemetry_text_open(const struct telemetry_roots *roots, const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", roots->proc, name);
	return af_open_regular(AT_FDCWD, path, 0);
}

size_t telemetry_text_read(int fd, char *text, size_t size)
{
	ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;

	text[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

uint32_t telemetry_numbers(const char *text, const char *key, uint64_t *numbers, uint32_t most)
{
	size_t len = key ? strlen(key) : 0;
	uint32_t nr = 0;

	while (key && strncmp(text, key, len) != 0) {
		text = strchr(text, '\n');
		if (!text++)
			return 0;
	}
	for (text += len; nr < most; nr++) {
		text += strspn(text, " \t:");
		if (*text < '0' || *text > '9')
			break;
		char *end;
		numbers[nr] = strtoull(text, &end, 10);
		text = end;
	}
	return nr;
}
