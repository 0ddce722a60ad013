/*
 * A watcher samples from outside the program: with sufficient rights the collector `bpf` (bpf.h),
 * otherwise perf events on processes and threads without a sampler of their own (outside.h). A
 * recording has one at most; the session names none. All watchers know processes, and write streams
 * of their own into the session's shared directory, so the written events survive the death of the
 * recorder. One thread. In order:
 *
 *	open → adopt(true) → wanted, run → adopt(false) → drop_rights
 *	→ { admit | take | hold → resume | see_calls | pump | … }* → stop → close
 *
 * Where a recording has no watcher, or the watcher leaves a function NULL, a call here does nothing
 * and returns 0.
 */
#ifndef AF_COLLECT_SESSION_WATCHER_H
#define AF_COLLECT_SESSION_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/probes.h"

struct af_err;
struct af_client;
struct af_recording;

enum af_off_cpu {
	AF_OFF_CPU_NONE = 0,
	AF_OFF_CPU_BLOCKED = 1, /* how long threads were off the CPU, and where */
	AF_OFF_CPU_WAKERS = 2,  /* and which thread or interrupt woke them */
};

/* An instruction that leaves a function, or may do so. Registers are numbered as by x86-64. */
struct af_watch_exit {
	uint64_t offset;     /* in the file */
	uint64_t address;    /* as the file has it */
	int64_t add;         /* of an address in memory: base + index * scale + add */
	uint8_t how;         /* enum af_exit_how */
	uint8_t condition;   /* low 4 bits of the opcode of Jcc (Intel SDM, appendix B.1.4.7) */
	uint8_t base, index; /* of memory; @base: the register that has the target */
	uint8_t scale;
};

/* A piece of a function's code, by addresses as the file has them. */
struct af_watch_part {
	uint64_t start, size;
};

/* A function whose calls are recorded. */
struct af_watch_function {
	const char *path;       /* the file that has it */
	const char *name;       /* for people */
	uint64_t offset;        /* of its first instruction, in the file */
	uint64_t address, size; /* as its symbol has them; 0: not known */
	uint32_t every;         /* calls of a thread that share one record with a stack, from 1 */
	bool by_pattern;        /* nobody named this one */
	/* All its exits, for the times of calls; NULL: times are not wanted */
	const struct af_watch_exit *exits;
	uint32_t nr_exits;
	struct af_watch_part parts[AF_EXIT_PARTS]; /* those behind the last have size 0 */
};

enum {
	AF_WATCH_FUNCTIONS = 128,
	AF_WATCH_EXITS = 16384, /* of all functions */
};

/* The data to record, and the processes. */
struct af_watch_options {
	bool samples;         /* of the CPU; else off-CPU time only */
	bool all;             /* every process of the machine */
	const uint32_t *pids; /* these and their later children; borrowed */
	uint32_t nr_pids;     /* with none and not @all: what adopt() adds */
	enum af_off_cpu off_cpu;
	uint64_t min_block_ns; /* shorter waits are left out */
	bool calls_twice;      /* calls of CUDA that libaflame records are seen by the kernel too */
	/* In order of their files, at most AF_WATCH_FUNCTIONS; borrowed */
	const struct af_watch_function *functions;
	uint32_t nr_functions;
};

struct af_watcher_ops {
	/*
	 * Opens with the recording's options.watch. *@self may stay NULL: then nothing is watched.
	 */
	int (*open)(void **self, struct af_recording *r, struct af_err *err);
	void (*adopt)(void *self, bool on);
	void (*drop_rights)(void *self);
	bool (*wanted)(void *self, const char *program);
	void (*run)(void *self, int pid);
	void (*admit)(void *self, const struct af_client *g);
	bool (*take)(void *self, struct af_client *g);
	bool (*hold)(void *self, const struct af_client *g);
	void (*resume)(void *self, const struct af_client *g);
	void (*see_calls)(void *self, const struct af_client *g);
	int (*fd)(void *self);
	void (*pump)(void *self);
	bool (*is_busy)(void *self);
	uint32_t (*process_of)(void *self, int pid);
	uint32_t (*nr_alive)(void *self);
	void (*stop)(void *self);
	void (*close)(void *self);
};

/* Open @r->options->watcher, which may be NULL. 0, or its error with a message. */
int af_watcher_open(struct af_recording *r, struct af_err *err);

/* Are processes that this one forks in scope? True before, false after the program is started. */
void af_watcher_adopt(struct af_recording *r, bool on);

/*
 * Give up every privilege but those that the rest of the recording needs: watching processes, and
 * writing the trace. Call it when the program has been started, which keeps its own.
 */
void af_watcher_drop_rights(struct af_recording *r);

/*
 * Must @program, as execvp() finds it, wait until it is watched, because libaflame cannot get into
 * it?
 */
bool af_watcher_wanted(struct af_recording *r, const char *program);

/* Watch @pid, a child of ours that waits for us before it executes such a program. */
void af_watcher_run(struct af_recording *r, int pid);

/*
 * @g registers: it carries libaflame, and samples itself unless its sampler_error is set. Then the
 * event that it may have handed over is joined.
 */
void af_watcher_admit(struct af_recording *r, const struct af_client *g);

/*
 * @g does not sample itself any more: watch it from now on. False when that is not possible; its
 * own event is off in any case.
 */
bool af_watcher_take(struct af_recording *r, struct af_client *g);

/*
 * A debugger has come to @g: switch @g's event off and watch @g instead, until af_watcher_resume().
 * False when it has no event that was on. _can_hold: is the watcher able to do that?
 */
bool af_watcher_can_hold(const struct af_recording *r);
bool af_watcher_hold(struct af_recording *r, const struct af_client *g);
void af_watcher_resume(struct af_recording *r, const struct af_client *g);

/* @g cannot record its CUDA calls itself: record them from outside from now on. */
void af_watcher_see_calls(struct af_recording *r, const struct af_client *g);

/*
 * A descriptor that is readable when the watcher wants af_watcher_pump() early; -1 for none. After
 * the program has begun.
 */
int af_watcher_fd(struct af_recording *r);

/* Several times a second: finds processes to watch, and writes samples into streams. */
void af_watcher_pump(struct af_recording *r);

/* Does a watched process need the pump more often? */
bool af_watcher_is_busy(struct af_recording *r);

/* The ordinal of the program that @pid runs or ran last; 0 when it was not watched. */
uint32_t af_watcher_process_of(struct af_recording *r, int pid);

/* The number of options.watch.pids that are alive. */
uint32_t af_watcher_nr_alive(struct af_recording *r);

/* Stop recording; everything recorded is written out. */
void af_watcher_stop(struct af_recording *r);
void af_watcher_close(struct af_recording *r);

#endif
