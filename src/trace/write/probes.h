/*
 * Functions whose calls libaflame.so records (`record --uprobe` without root): the file `probes` in
 * the session's directory, an array of struct af_probe, by the recorder. A probe is a jump over
 * instructions, which run elsewhere: over the first ones of a function, and, where its calls are
 * timed, over each instruction by which a call may end, with some before it.
 */
#ifndef AF_TRACE_WRITE_PROBES_H
#define AF_TRACE_WRITE_PROBES_H

#include <stdint.h>

#define AF_PROBES_FILE "probes"
#define AF_PROBES_CALLED_FILE "probes.called" /* a byte each, which a call makes 1 */

enum {
	AF_PROBES_MOST = 128,        /* functions, which come first */
	AF_PROBES_EXITS_MOST = 2048, /* places at which they end */
	AF_PROBE_HEAD = 20, /* whole instructions of at least AF_PROBE_JUMP bytes: 4 + 15 at most */
	AF_PROBE_MOVED = 24, /* a jump may be longer there */
	AF_PROBE_JUMP = 5,   /* `jmp rel32` (Intel SDM, volume 2) */
	AF_PROBE_NAME = 255,
	/* The first number of FUNCTION events: above those of CUDA, below kinds of traced APIs. */
	AF_PROBE_FUNCTION = 0x800,
};

/* How an instruction leaves a function: by itself, if a condition holds, or if it leads outside. */
enum af_exit_how {
	AF_EXIT_ALWAYS,      /* it returns, or jumps to another function */
	AF_EXIT_IF,          /* a jump to another function, under a condition */
	AF_EXIT_TO_REGISTER, /* a jump to where a register says */
	AF_EXIT_TO_MEMORY,   /* a jump to where a word in memory says */
};

enum {
	AF_EXIT_RIP = 16, /* as a register: the program counter at the instruction */
	AF_EXIT_NO_REGISTER = 17,
	AF_EXIT_PARTS = 4, /* pieces that a compiler made of one function */
};

struct af_probe {
	uint64_t dev, ino; /* of the file that has the function */
	uint64_t address;  /* as the file has it */
	uint32_t every;    /* calls of a thread that share one record with a stack, from 1 */
	uint8_t len;       /* bytes of @head */
	uint8_t code_len;  /* … of @code */
	uint8_t relative;  /* where in @code 4 bytes count from the instruction's end; 0: nowhere */
	uint8_t is_timed;  /* a function whose exits are probed */
	uint8_t head[AF_PROBE_HEAD]; /* the instructions */
	/* Instructions that do the same elsewhere, with @relative changed. */
	uint8_t code[AF_PROBE_MOVED];
	char name[AF_PROBE_NAME + 1];

	/* An exit has these: see struct af_watch_exit. */
	uint8_t is_exit;
	uint8_t last; /* where in @code its last instruction is: the exit */
	uint8_t how, condition, base, index, scale;
	uint32_t function; /* the number of its function */
	uint64_t exit;     /* where the last instruction is, as the file has it */
	int64_t add;
	struct {
		uint64_t start, size;
	} parts[AF_EXIT_PARTS];
};

#endif
