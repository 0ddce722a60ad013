/*
 * The mock's metrics, which are there with ZET_ENABLE_METRICS=1 alone: an event-based group
 * "LaunchBasic", whose values are known by what ran between the begin and the end of a query, and a
 * time-based one. mock_ze.h has the words that make its functions fail.
 */
#include <level_zero/ze_ddi.h>
#include <level_zero/zet_ddi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_metrics.h"
#include "mock_ze.h"

enum { POOL_MAGIC = 0x706f6f6c, METRICS = 5, NOT_A_NUMBER = 4 };

struct mock_group {
	const char *name, *text;
	uint32_t sampling;
};

struct mock_metric {
	const char *name, *unit;
	zet_metric_type_t type;
	zet_value_type_t value;
};

struct mock_query_pool {
	uint32_t magic, nr;
};

static struct mock_group groups[] = {
    {"TimeBasic", "over time", ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED},
    {"LaunchBasic", "over launches", ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED},
};

static struct mock_metric metrics[METRICS] = {
    {"GpuTime", "ns", ZET_METRIC_TYPE_DURATION, ZET_VALUE_TYPE_UINT64},
    {"Commands", "events", ZET_METRIC_TYPE_EVENT, ZET_VALUE_TYPE_UINT32},
    {"EuActive", "%", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT32},
    {"IsAlone", "", ZET_METRIC_TYPE_FLAG, ZET_VALUE_TYPE_BOOL8},
    {"Broken", "%", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT64},
};

static int nr_active;

/* The result that $MOCK_ZE_FAIL wants of @call. */
static ze_result_t fault(const char *call)
{
	const char *words = getenv("MOCK_ZE_FAIL");
	size_t len = strlen(call);

	if (!words || strncmp(words, call, len) != 0 || words[len] != '=')
		return ZE_RESULT_SUCCESS;
	return (ze_result_t)strtoul(words + len + 1, NULL, 0);
}

static bool are_on(void)
{
	const char *on = getenv("ZET_ENABLE_METRICS");

	return on && !strcmp(on, "1");
}

static ze_result_t ZE_APICALL group_get(zet_device_handle_t d, uint32_t *nr,
                                        zet_metric_group_handle_t *to)
{
	(void)d;
	for (uint32_t i = 0; to && i < *nr && i < 2; i++)
		to[i] = (void *)&groups[i];
	*nr = are_on() ? 2 : 0;
	return fault("zetMetricGroupGet");
}

static ze_result_t ZE_APICALL group_properties(zet_metric_group_handle_t h,
                                               zet_metric_group_properties_t *p)
{
	const struct mock_group *g = (void *)h;

	snprintf(p->name, sizeof p->name, "%s", g->name);
	snprintf(p->description, sizeof p->description, "%s", g->text);
	p->samplingType = g->sampling;
	p->domain = 0;
	p->metricCount = METRICS;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL metric_get(zet_metric_group_handle_t g, uint32_t *nr,
                                         zet_metric_handle_t *to)
{
	(void)g;
	for (uint32_t i = 0; to && i < *nr && i < METRICS; i++)
		to[i] = (void *)&metrics[i];
	*nr = METRICS;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL metric_properties(zet_metric_handle_t h, zet_metric_properties_t *p)
{
	const struct mock_metric *m = (void *)h;

	snprintf(p->name, sizeof p->name, "%s", m->name);
	snprintf(p->description, sizeof p->description, "%s of the mock", m->name);
	snprintf(p->component, sizeof p->component, "mock");
	snprintf(p->resultUnits, sizeof p->resultUnits, "%s", m->unit);
	p->tierNumber = 1;
	p->metricType = m->type;
	p->resultType = m->value;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL activate(zet_context_handle_t c, zet_device_handle_t d, uint32_t nr,
                                       zet_metric_group_handle_t *g)
{
	ze_result_t rc = fault("zetContextActivateMetricGroups");

	(void)c, (void)d, (void)g;
	if (!rc)
		nr_active = (int)nr;
	return rc;
}

static ze_result_t ZE_APICALL pool_create(zet_context_handle_t c, zet_device_handle_t d,
                                          zet_metric_group_handle_t g,
                                          const zet_metric_query_pool_desc_t *desc,
                                          zet_metric_query_pool_handle_t *to)
{
	struct mock_query_pool *p = calloc(1, sizeof *p);
	(void)c, (void)d;

	*p = (struct mock_query_pool){POOL_MAGIC, desc->count};
	*to = (void *)p;
	if (desc->stype != ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC || !nr_active ||
	    (void *)g != &groups[1] || desc->type != ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return fault("zetMetricQueryPoolCreate");
}

static ze_result_t ZE_APICALL pool_destroy(zet_metric_query_pool_handle_t h)
{
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL query_create(zet_metric_query_pool_handle_t h, uint32_t i,
                                           zet_metric_query_handle_t *to)
{
	const struct mock_query_pool *p = (void *)h;

	if (p->magic != POOL_MAGIC || i >= p->nr)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*to = calloc(1, sizeof(struct mock_query));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL query_destroy(zet_metric_query_handle_t h)
{
	free(h);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL query_reset(zet_metric_query_handle_t h)
{
	*(struct mock_query *)h = (struct mock_query){0};
	return ZE_RESULT_SUCCESS;
}

/* Raw data: the query itself. */
static ze_result_t ZE_APICALL query_data(zet_metric_query_handle_t h, size_t *size, uint8_t *to)
{
	const struct mock_query *q = (void *)h;

	if (!q->has_begun || !q->has_ended)
		return ZE_RESULT_NOT_READY;
	if (to && *size < sizeof *q)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	if (to)
		memcpy(to, q, sizeof *q);
	*size = sizeof *q;
	return fault("zetMetricQueryGetData");
}

static ze_result_t ZE_APICALL calculate(zet_metric_group_handle_t g,
                                        zet_metric_group_calculation_type_t type, size_t size,
                                        const uint8_t *raw, uint32_t *nr, zet_typed_value_t *to)
{
	struct mock_query q;

	if ((void *)g != &groups[1] || type != ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES ||
	    size != sizeof q)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	memcpy(&q, raw, sizeof q);
	for (uint32_t i = 0; to && i < *nr && i < METRICS; i++)
		to[i].type = metrics[i].value;
	if (to && *nr >= METRICS) {
		to[0].value.ui64 = q.ns;
		to[1].value.ui32 = q.nr_commands;
		to[2].value.fp32 = (float)q.ns / 1000000;
		to[3].value.b8 = q.nr_commands == 1;
		to[NOT_A_NUMBER].value.fp64 = -1.0;
	}
	*nr = METRICS;
	return fault("zetMetricGroupCalculateMetricValues");
}

static ze_result_t ZE_APICALL append_begin(zet_command_list_handle_t list,
                                           zet_metric_query_handle_t query)
{
	ze_result_t rc = fault("zetCommandListAppendMetricQueryBegin");

	return rc ? rc : mock_query_append(list, query, true, NULL);
}

static ze_result_t ZE_APICALL append_end(zet_command_list_handle_t list,
                                         zet_metric_query_handle_t query, ze_event_handle_t event,
                                         uint32_t nr, ze_event_handle_t *waits)
{
	ze_result_t rc = fault("zetCommandListAppendMetricQueryEnd");

	if (nr || waits)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	return rc ? rc : mock_query_append(list, query, false, event);
}

#define TABLE(name, type)                                                                          \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL name(                        \
	    ze_api_version_t version, type *t);                                                    \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL name(                        \
	    ze_api_version_t version, type *t)

TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
{
	(void)version;
	t->pfnGet = group_get;
	t->pfnGetProperties = group_properties;
	t->pfnCalculateMetricValues = calculate;
	return ZE_RESULT_SUCCESS;
}

TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t)
{
	(void)version;
	t->pfnGet = metric_get;
	t->pfnGetProperties = metric_properties;
	return ZE_RESULT_SUCCESS;
}

TABLE(zetGetContextProcAddrTable, zet_context_dditable_t)
{
	(void)version;
	t->pfnActivateMetricGroups = activate;
	return ZE_RESULT_SUCCESS;
}

TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
{
	(void)version;
	t->pfnCreate = pool_create;
	t->pfnDestroy = pool_destroy;
	return ZE_RESULT_SUCCESS;
}

TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
{
	(void)version;
	t->pfnCreate = query_create;
	t->pfnDestroy = query_destroy;
	t->pfnReset = query_reset;
	t->pfnGetData = query_data;
	return ZE_RESULT_SUCCESS;
}

TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
{
	(void)version;
	t->pfnAppendMetricQueryBegin = append_begin;
	t->pfnAppendMetricQueryEnd = append_end;
	return ZE_RESULT_SUCCESS;
}
