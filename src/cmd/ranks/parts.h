/* A report of each part of a set: findings and coverage, which are not rows to keep apart. */
#ifndef AF_CMD_RANKS_PARTS_H
#define AF_CMD_RANKS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/query/query.h"

struct af_err;

struct af_parts_options {
	const char *dir;    /* of the set */
	const char *report; /* "findings" or "coverage" */
	const char *by;     /* the word of --by: host, rank or group:KEY */
	bool json;
	uint64_t limit;        /* rows of a table, 0: all; UINT64_MAX: as is usual */
	struct af_query query; /* of each part */
};

/* -EINVAL: the parts that @by makes have no traces of their own, and the message says so. */
int af_parts_check(const char *report, const char *by, struct af_err *err);

/*
 * Print the report of the members of each host, rank or group, one after the other; for programs
 * one table with a column `by`. Parts of which nothing can be read are named on standard error.
 */
int af_parts_print(const struct af_parts_options *o, struct af_err *err);

#endif
