/* Reads $MOCK_ZET. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_zet.h"

static struct mock mock;

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

static char *field(char **rest)
{
	char *word = strsep(rest, "\t");

	return word ? word : (char *)"";
}

static uint32_t number(char **rest)
{
	return (uint32_t)strtoul(field(rest), NULL, 0);
}

static struct mock_device *last_device(void)
{
	return &mock.devices[mock.nr_devices - 1];
}

static void read_device(char *rest)
{
	struct mock_device *d = &mock.devices[mock.nr_devices++];

	d->number = mock.nr_devices;
	COPY(d->name, field(&rest));
	COPY(d->pci, field(&rest));
	d->ip_version = number(&rest);
	d->part_of = number(&rest);
}

static void read_group(char *rest)
{
	struct mock_device *d = last_device();
	struct mock_group *g = &d->groups[d->nr_groups++];

	g->device = d;
	COPY(g->properties.name, field(&rest));
	COPY(g->properties.description, field(&rest));
	g->properties.samplingType = number(&rest);
	g->properties.domain = number(&rest);
}

static void read_metric(char *rest)
{
	struct mock_device *d = last_device();
	struct mock_group *g = &d->groups[d->nr_groups - 1];
	zet_metric_properties_t *p = &g->metrics[g->properties.metricCount++].properties;

	COPY(p->name, field(&rest));
	COPY(p->description, field(&rest));
	COPY(p->component, field(&rest));
	COPY(p->resultUnits, field(&rest));
	p->tierNumber = number(&rest);
	p->metricType = number(&rest);
	p->resultType = number(&rest);
}

static void read_row(char *rest)
{
	struct mock_device *d = &mock.devices[number(&rest) - 1];
	struct mock_row *row = &d->rows[d->nr_rows++];

	const struct mock_group *g = &d->groups[d->nr_groups - 1];

	row->read = d->nr_reads;
	row->set = number(&rest);
	for (int i = 0; i < MOCK_METRICS && rest; i++) {
		const char *text = field(&rest);
		uint32_t type = g->metrics[i].properties.resultType;
		if (type == ZET_VALUE_TYPE_FLOAT32 || type == ZET_VALUE_TYPE_FLOAT64)
			row->floats[i] = strtod(text, NULL);
		else
			row->values[i] = strtoull(text, NULL, 0);
	}
}

static void read_fault(const char *how, char *rest)
{
	struct mock_fault *f = &mock.faults[mock.nr_faults++];

	COPY(f->how, how);
	COPY(f->call, field(&rest));
	f->result = number(&rest);
	f->device = number(&rest);
	f->times = number(&rest);
}

static void read_line(char *line)
{
	char *rest = line;
	const char *word = field(&rest);

	if (!strcmp(word, "device"))
		read_device(rest);
	else if (!strcmp(word, "group"))
		read_group(rest);
	else if (!strcmp(word, "metric"))
		read_metric(rest);
	else if (!strcmp(word, "row"))
		read_row(rest);
	else if (!strcmp(word, "read"))
		mock.devices[number(&rest) - 1].nr_reads++;
	else if (!strcmp(word, "fail") || !strcmp(word, "crash") || !strcmp(word, "hang"))
		read_fault(word, rest);
	else if (!strcmp(word, "drop")) {
		struct mock_device *d = &mock.devices[number(&rest) - 1];
		d->drops[d->nr_reads] = true;
	}
}

static void read_all(void)
{
	FILE *file = fopen(getenv("MOCK_ZET") ? getenv("MOCK_ZET") : "/dev/null", "re");
	char line[4096];

	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		read_line(line);
	}
	if (file)
		fclose(file);
	for (uint32_t i = 0; i < mock.nr_devices; i++)
		mock.devices[i].nr_reads += mock.devices[i].nr_rows != 0;
}

struct mock *mock_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	return &mock;
}

ze_result_t mock_fault(const char *call, const struct mock_device *device)
{
	struct mock *m = mock_get();

	for (uint32_t i = 0; i < m->nr_faults; i++) {
		struct mock_fault *f = &m->faults[i];
		if (strcmp(f->call, call) != 0)
			continue;
		if (f->device && (!device || device->number != f->device))
			continue;
		/* The last time takes the fault away. */
		if (f->times && !--f->times)
			f->call[0] = 0;
		if (!strcmp(f->how, "crash"))
			abort();
		while (!strcmp(f->how, "hang"))
			pause();
		return (ze_result_t)f->result;
	}
	return ZE_RESULT_SUCCESS;
}

void mock_log(const char *format, ...)
{
	FILE *file = getenv("MOCK_ZET_LOG") ? fopen(getenv("MOCK_ZET_LOG"), "ae") : NULL;
	va_list args;

	if (!file)
		return;
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}
