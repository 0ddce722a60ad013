/*
 * Functions whose calls libaflame.so records (`record --uprobe` without root): the file `probes` in
 * the session's directory, an array of struct af_probe, by the recorder. A probe is a jump over the
 * first instructions of a function, which run elsewhere.
 */
#ifndef AF_TRACE_WRITE_PROBES_H
#define AF_TRACE_WRITE_PROBES_H

#include <stdint.h>

#define AF_PROBES_FILE "probes"
#define AF_PROBES_CALLED_FILE "probes.called" /* a byte each, which a call makes 1 */

enum {
	AF_PROBES_MOST = 128,
	AF_PROBE_HEAD = 20, /* whole instructions of at least AF_PROBE_JUMP bytes: 4 + 15 at most */
	AF_PROBE_CODE = 24, /* a jump may be longer there */
	AF_PROBE_JUMP = 5,  /* `jmp rel32` (Intel SDM, volume 2) */
	AF_PROBE_NAME = 255,
	/* The first number of FUNCTION events: above those of CUDA, below kinds of traced APIs. */
	AF_PROBE_FUNCTION = 0x800,
};

struct af_probe {
	uint64_t dev, ino; /* of the file that has the function */
	uint64_t address;  /* as the file has it */
	uint32_t every;    /* calls of a thread that share one record with a stack, from 1 */
	uint8_t len;       /* bytes of @head */
	uint8_t code_len;  /* … of @code */
	uint8_t relative;  /* where in @code 4 bytes count from the instruction's end; 0: nowhere */
	uint8_t head[AF_PROBE_HEAD]; /* the first instructions */
	/* Instructions that do the same elsewhere, with @relative changed. */
	uint8_t code[AF_PROBE_CODE];
	char name[AF_PROBE_NAME + 1];
};

#endif
