/*
 * The collector `bpf`: what the kernel can tell of programs and libaflame cannot. CPU samples of
 * every process in scope (also static ones, running ones, all), their kernel stacks, the time that
 * threads were off the CPU and who woke them, and the lives of processes. Calls in order:
 *
 *	af_bpf_open()      programs loaded and attached, nothing in scope but what the options name
 *	af_bpf_adopt()     true before, false after the program is started: it and its children
 *	af_bpf_admit()     a process that carries libaflame said hello: its own event is joined
 *	af_bpf_pump()      several times a second: from the kernel's rings into streams
 *	af_bpf_stop()      nothing more is recorded; what was is written out
 *	af_bpf_close()
 *
 * Streams are rings in the session's shared directory like those of libaflame, so what was written
 * survives the death of the recorder. All but open accept NULL: no such collector. One thread.
 */
#ifndef AF_COLLECT_BPF_H
#define AF_COLLECT_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_bpf;
struct af_err;
struct af_guest;
struct af_recording;

enum af_off_cpu {
	AF_OFF_CPU_NONE = 0,
	AF_OFF_CPU_BLOCKED = 1, /* how long threads were off the CPU, and where */
	AF_OFF_CPU_WAKERS = 2,  /* and who ended it */
};

struct af_bpf_options {
	bool on;              /* load it at all */
	bool samples;         /* of the CPU; else off-CPU time only */
	bool all;             /* every process of the machine */
	const uint32_t *pids; /* these and their later children; borrowed */
	uint32_t nr_pids;     /* with none and not @all: what af_bpf_adopt() adds */
	enum af_off_cpu off_cpu;
	uint64_t min_block_ns; /* shorter ones are left out */
	bool calls_twice;      /* calls of CUDA that libaflame records are seen by the kernel too */
};

/* af_collector_ops.probe: loads and attaches the real programs for a moment. */
int af_bpf_probe(char *words, size_t size, struct af_err *err);

/*
 * The same for a recording by @o of what it starts: the programs stay loaded, and af_bpf_open() by
 * these options takes them. To load them is most of what the beginning of a recording costs.
 */
int af_bpf_prepare(const struct af_bpf_options *o, uint64_t period_ns, char *words, size_t size,
                   struct af_err *err);

/* By @r->options. */
int af_bpf_open(struct af_bpf **b, struct af_recording *r, struct af_err *err);

/* Are processes that this one forks in scope? */
void af_bpf_adopt(struct af_bpf *b, bool on);

/*
 * Give up every privilege but those the rest of the recording takes: watching processes, and
 * writing the trace. To be called when the program has been started, which keeps its own.
 */
void af_bpf_drop_privileges(const struct af_bpf *b);

/*
 * @g says hello and handed its perf event over: from here on it samples itself, and what it does in
 * the kernel is added by us. The event is enabled when that is so.
 */
void af_bpf_admit(struct af_bpf *b, const struct af_guest *g);

/*
 * A debugger has come to @g: its event is off until af_bpf_resume(), and the clock of the CPU
 * samples it. False when it has no event that was on.
 */
bool af_bpf_hold(struct af_bpf *b, const struct af_guest *g);
void af_bpf_resume(struct af_bpf *b, const struct af_guest *g);

/* @g cannot record its CUDA calls itself: they are seen from outside from here on. */
void af_bpf_see_calls(struct af_bpf *b, const struct af_guest *g);

/* Readable when the kernel's ring wants to be read early; -1 for none. After the program has begun.
 */
int af_bpf_fd(struct af_bpf *b);

void af_bpf_pump(struct af_bpf *b);

/* The ordinal of what @pid runs or ran last; 0 for none. */
uint32_t af_bpf_process_of(struct af_bpf *b, int pid);

/* How many of options.pids are alive. */
uint32_t af_bpf_nr_alive(const struct af_bpf *b);

void af_bpf_stop(struct af_bpf *b);
void af_bpf_close(struct af_bpf *b);

#endif
