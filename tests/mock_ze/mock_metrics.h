/* The mock's metric queries: what ran on a queue between their begin and their end. */
#ifndef AF_MOCK_METRICS_H
#define AF_MOCK_METRICS_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

struct mock_query {
	bool has_begun, has_ended;
	uint64_t ns; /* of work, in whole ticks */
	uint32_t nr_commands;
};

/* A command that begins @query, or ends it and signals @event, in the list @list. */
ze_result_t mock_query_append(void *list, void *query, bool begins, void *event);

#endif
