/*
 * Why an instruction of a device stalled, in words: drivers name reasons, people want to know what
 * to do. NVIDIA's names are those of CUPTI's PC sampling, from Turing to Blackwell; Intel's are
 * those of the EU stall sampler, as the kernel's record and Level Zero have them.
 */
#ifndef AF_SYM_DEVICE_STALLS_H
#define AF_SYM_DEVICE_STALLS_H

#include <stdbool.h>
#include <stddef.h>

/* The kind of thing that was waited for; each kind has a hue. */
enum af_stall_sort {
	AF_STALL_ISSUED,  /* it did not stall */
	AF_STALL_MEMORY,  /* data that are not there yet, or a queue to memory */
	AF_STALL_SYNC,    /* others */
	AF_STALL_EXECUTE, /* a result, or a unit that others use */
	AF_STALL_FETCH,   /* instructions */
	AF_STALL_OTHER,
	AF_STALL_SORTS
};

struct af_stall {
	const char *key;  /* the part common to all the driver's names for it: "long_scoreboard" */
	const char *name; /* for frames and columns: "long scoreboard" */
	char letter;      /* in bars of a terminal; unique among the reasons of one device */
	enum af_stall_sort sort;
	/* It waits for the result of an earlier instruction, which can be found */
	bool awaits;
	const char *meaning; /* one sentence */
	const char *advice;  /* one sentence of advice, NULL where there is nothing to try */
};

enum { AF_STALL_NAME = 64 };

/*
 * The reason that a driver calls @name, such as "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
 * or "SbidStall". A name that ends in _not_issued is the same reason. NULL: not known.
 */
const struct af_stall *af_stall_find(const char *name);

/*
 * The short name of any driver's reason. An unknown reason gets its own name without the part that
 * all have in common, cut to fit and not escaped. @name is hostile. Returns @out or a constant.
 */
const char *af_stall_name(const char *name, char out[AF_STALL_NAME]);

/* All known reasons, ended by one without a key. */
extern const struct af_stall af_stalls[];

#endif
