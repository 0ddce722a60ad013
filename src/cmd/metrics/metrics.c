#include "cmd/metrics/metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/zet/metrics.h"

static uint32_t groups_in(const struct af_zet_metrics *m)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < m->nr; i++)
		nr += m->devices[i].nr;
	return nr;
}

static const char *sampling_words(const struct af_zet_group *g)
{
	return g->time_based && g->event_based ? "time-based and event-based"
	       : g->time_based                 ? "time-based"
	       : g->event_based                ? "event-based"
	                                       : "of no known sampling";
}

/* Texts are a driver's. */
static void text_add(struct af_buf *b, const char *text)
{
	af_buf_terminal(b, text, strlen(text), "");
}

static void metric_text(struct af_buf *b, const struct af_zet_metric *metric)
{
	const char *const words[] = {metric->type, metric->value_type, metric->units,
	                             metric->component};
	bool any = false;

	af_buf_str(b, "    ");
	text_add(b, metric->name);
	af_buf_str(b, " (");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!*words[i])
			continue;
		af_buf_str(b, any ? ", " : "");
		text_add(b, words[i]);
		any = true;
	}
	af_buf_str(b, ")");
	if (*metric->description) {
		af_buf_str(b, ": ");
		text_add(b, metric->description);
	}
	af_buf_char(b, '\n');
}

static void group_text(struct af_buf *b, const struct af_zet_group *g)
{
	af_buf_str(b, "  ");
	text_add(b, g->name);
	af_buf_fmt(b, " (%s, domain %u, %u metric%s)", sampling_words(g), g->domain, g->nr,
	           g->nr == 1 ? "" : "s");
	if (*g->description) {
		af_buf_str(b, ": ");
		text_add(b, g->description);
	}
	af_buf_char(b, '\n');
	for (uint32_t i = 0; i < g->nr; i++)
		metric_text(b, &g->metrics[i]);
}

static void device_text(struct af_buf *b, const struct af_zet_device *d)
{
	af_buf_fmt(b, "device %u: ", d->device);
	text_add(b, d->name);
	if (*d->pci) {
		af_buf_str(b, " (");
		text_add(b, d->pci);
		af_buf_char(b, ')');
	}
	if (d->parent)
		af_buf_fmt(b, ", a part of device %u", d->parent);
	af_buf_char(b, '\n');
	if (d->why) {
		af_buf_str(b, "  ");
		text_add(b, d->why);
		af_buf_char(b, '\n');
	}
	for (uint32_t i = 0; i < d->nr; i++)
		group_text(b, &d->groups[i]);
}

static void metrics_text(struct af_buf *b, const struct af_zet_metrics *m)
{
	for (uint32_t i = 0; i < m->nr; i++)
		device_text(b, &m->devices[i]);
	if (*m->why)
		af_buf_fmt(b, "%s: %s\n", groups_in(m) ? "not all metrics" : "no metrics", m->why);
	if (*m->also)
		af_buf_fmt(b, "also: %s\n", m->also);
}

static void json_text(struct af_buf *b, const char *key, const char *text)
{
	af_buf_fmt(b, "\"%s\":", key);
	af_buf_json(b, text, strlen(text));
}

static void metric_json(struct af_buf *b, const struct af_zet_metric *metric)
{
	af_buf_char(b, '{');
	json_text(b, "name", metric->name);
	af_buf_char(b, ',');
	json_text(b, "description", metric->description);
	af_buf_char(b, ',');
	json_text(b, "component", metric->component);
	af_buf_fmt(b, ",\"tier\":%u,", metric->tier);
	json_text(b, "type", metric->type);
	af_buf_char(b, ',');
	json_text(b, "value", metric->value_type);
	af_buf_char(b, ',');
	json_text(b, "unit", metric->units);
	af_buf_char(b, '}');
}

static void group_json(struct af_buf *b, const struct af_zet_group *g)
{
	af_buf_char(b, '{');
	json_text(b, "name", g->name);
	af_buf_char(b, ',');
	json_text(b, "description", g->description);
	af_buf_fmt(b, ",\"time_based\":%s,\"event_based\":%s,\"domain\":%u,\"metrics\":[",
	           g->time_based ? "true" : "false", g->event_based ? "true" : "false", g->domain);
	for (uint32_t i = 0; i < g->nr; i++) {
		af_buf_str(b, i ? "," : "");
		metric_json(b, &g->metrics[i]);
	}
	af_buf_str(b, "]}");
}

static void device_json(struct af_buf *b, const struct af_zet_device *d)
{
	af_buf_fmt(b, "{\"device\":%u,\"part_of\":%u,\"vendor_id\":%u,\"device_id\":%u,", d->device,
	           d->parent, d->vendor, d->id);
	json_text(b, "name", d->name);
	af_buf_char(b, ',');
	json_text(b, "pci", d->pci);
	af_buf_char(b, ',');
	json_text(b, "uuid", d->uuid);
	af_buf_char(b, ',');
	json_text(b, "says", d->why ? d->why : "");
	af_buf_str(b, ",\"groups\":[");
	for (uint32_t i = 0; i < d->nr; i++) {
		af_buf_str(b, i ? "," : "");
		group_json(b, &d->groups[i]);
	}
	af_buf_str(b, "]}");
}

static void metrics_json(struct af_buf *b, const struct af_zet_metrics *m)
{
	af_buf_fmt(b, "{\"format\":1,\"works\":%s,", groups_in(m) ? "true" : "false");
	json_text(b, "says", m->why);
	af_buf_char(b, ',');
	json_text(b, "also", m->also);
	af_buf_str(b, ",\"devices\":[");
	for (uint32_t i = 0; i < m->nr; i++) {
		af_buf_str(b, i ? "," : "");
		device_json(b, &m->devices[i]);
	}
	af_buf_str(b, "]}\n");
}

int af_metrics_show(bool json, struct af_err *err)
{
	struct af_zet_metrics m;
	struct af_buf b = {0};

	int rc = af_zet_metrics_list(&m, err);
	if (rc)
		return rc;
	(json ? metrics_json : metrics_text)(&b, &m);
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	rc = groups_in(&m) ? 0 : 1;
	af_zet_metrics_free(&m);
	return rc;
}
