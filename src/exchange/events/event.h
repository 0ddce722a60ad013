/*
 * One event of the Trace Event Format: the fields that are used here.
 */
#ifndef AF_EXCHANGE_EVENTS_EVENT_H
#define AF_EXCHANGE_EVENTS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exchange/source/json.h"

struct import_number {
	bool given;
	int64_t value;
};

struct import_event {
	/* NUL-terminated. label is args.name, of events that name something. */
	char phase, category[24], name[AF_JSON_TEXT_MAX + 1], label[AF_JSON_TEXT_MAX + 1];
	size_t name_len, label_len;
	/* The id of a thread or process, if it is a word and not a number. */
	char pid_word[64], tid_word[64];
	uint64_t cut; /* texts that were too long */
	struct import_number ts_ns, dur_ns, pid, tid, id;
	struct import_number correlation, external, device, context, stream, bytes, registers,
	    shared;
	struct import_number grid[3], block[3];
};

/* Read the rest of the object that has just begun into @e. False: an error of @j. */
bool import_event_read(struct af_json *j, struct import_event *e);

/* Is the key or string that was just read @text? */
bool import_is(const struct af_json *j, const char *text);

/*
 * Take the next value if it is of the kind (numbers may be in quotes, and are multiplied by
 * 10^@power); skip it otherwise. False: an error of @j.
 */
bool import_take_number(struct af_json *j, int power, struct import_number *n);
bool import_take_text(struct af_json *j, char *to, size_t size, size_t *len, uint64_t *cut);

/*
 * The length of a runtime function's name without the suffix of CUPTI: "cudaLaunchKernel_v7000" is
 * from CUDA 7's interface. The driver's own names, such as cuMemAlloc_v2, stay.
 */
size_t import_function_len(const char *name, size_t len);

/* The enum af_op of a copy, from CUPTI's name for it: "HtoD". */
uint32_t import_copy_op(const char *name);

/* Was it given, and does it fit 32 bits? */
static inline bool import_fits(const struct import_number *n)
{
	return n->given && n->value >= 0 && n->value <= UINT32_MAX;
}

/* The number, or 0. */
static inline uint32_t import_u32(const struct import_number *n)
{
	return import_fits(n) ? (uint32_t)n->value : 0;
}

#endif
