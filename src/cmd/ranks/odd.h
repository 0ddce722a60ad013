/* Compares the ranks of a set, for `aflame report ranks`. */
#ifndef AF_CMD_RANKS_ODD_H
#define AF_CMD_RANKS_ODD_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;

struct af_odd_options {
	const char *dir; /* of the set */
	const char
	    *heat; /* the map of ranks over time: to this file, "-" standard output; NULL: no */
	bool json;
	uint64_t limit; /* rows of a table, 0: all; UINT64_MAX: as is usual */
	uint64_t from_ns, to_ns;
};

/* Print the tables of all ranks that can be read, or their map; others are named on stderr. */
int af_odd_print(const struct af_odd_options *o, struct af_err *err);

#endif
