/*
 * The samples of an iaprof profile, for a trace builder. A sample takes its process, stack and code
 * from the lines before it.
 *
 *	iaprof_profile_open → { iaprof_symbol, iaprof_stall, iaprof_interval }*
 *	    → iaprof_profile_close
 */
#ifndef AF_EXCHANGE_IAPROF_PROFILE_H
#define AF_EXCHANGE_IAPROF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/iaprof/strings.h"

/* The process, stack and code of the samples that follow. */
struct iaprof_state {
	uint32_t comm, file, symbol, insn; /* names */
	uint32_t ustack, kstack;           /* nodes */
	uint32_t pid;
	uint32_t line; /* of the file; it was part of the symbol */
};

struct iaprof_profile {
	struct af_builder *builder;
	struct iaprof_strings strings;
	struct iaprof_state state;
	struct af_map by_process, nr_comms; /* pid and comm → process; pid → how many comms */
	uint32_t number;                    /* of the file */
	uint32_t window;                    /* UINT32_MAX: before the first */
	uint64_t given, metered; /* samples of this interval: of instructions, by the metrics */
	uint64_t last_ns;
};

/* @number tells the files of one import apart. */
void iaprof_profile_open(struct iaprof_profile *p, struct af_builder *d, uint32_t number);
void iaprof_profile_close(struct iaprof_profile *p);

/* Note a fact about the device, once for each pid; @key is of builder->names. */
void iaprof_device_note(struct iaprof_profile *p, uint32_t key, const char *value);

/* @name, or 0 when it is iaprof's word for "not known". */
uint32_t iaprof_known(const struct iaprof_profile *p, uint32_t name);

/*
 * The samples that follow are in the symbol @name, which may have its line behind it: "kernel line
 * 12".
 */
void iaprof_symbol(struct iaprof_profile *p, uint32_t name);

/* @count samples at @offset, for the reason of that name. */
void iaprof_stall(struct iaprof_profile *p, uint64_t offset, uint32_t reason, uint64_t count);

/*
 * The samples that follow were taken until @end_ns, where that is known; else the number @nth
 * stands for the time of the interval. False: it is not a valid time.
 */
bool iaprof_interval(struct iaprof_profile *p, uint64_t nth, const uint64_t *end_ns);

/* Parse all of @text as a number of at most 64 bits; in base 16 it may begin with 0x. */
bool iaprof_number(const char *text, int base, uint64_t *value);

/* Seconds with a fraction, exactly. */
bool iaprof_seconds(const char *text, uint64_t *ns);

#endif
