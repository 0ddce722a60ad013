/*
 * libaflame-prof: samples the CPU time of the program that it is linked into, without privileges
 * and without another process.
 *
 *	#include <aflame/prof.h>             cc $(pkg-config --cflags --libs aflame-prof)
 *
 *	af_prof_open → { af_prof_start → af_prof_stop }* → { af_prof_write | af_prof_save }*
 *	→ af_prof_close
 *
 * A profile that is open is the only one of its process; any thread may use it, and calls wait for
 * one another. A function that can fail returns 0, or -errno and a message in @err, which may be
 * NULL. A child of fork() is not sampled, and cannot use its parent's profile, but may open its
 * own. If memory runs out, the library writes a line to standard error and calls abort().
 *
 * Stable, as long as AF_PROF_LIBRARY_MAJOR stays: all prototypes and structs in here. A later
 * version may add functions, and members at the end of structs that have their own size in `size`;
 * the minor number then grows. The soname has the major number.
 */
#ifndef AFLAME_PROF_H
#define AFLAME_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aflame/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define AF_PROF_LIBRARY_MAJOR 0
#define AF_PROF_LIBRARY_MINOR 1

/* The version of the library that runs: major << 16 | minor. */
uint32_t af_prof_library_version(void);

/* A profile of this process. */
struct af_prof;

/* A function that no file describes: code that was made at run time. */
struct af_prof_symbol {
	uint64_t start, size; /* its code; size 0: the address that was asked for, alone */
	const char *name;     /* of the function */
	const char *file;     /* where it begins in the source, or NULL */
	uint32_t line;        /* in that file, or 0 */
};

struct af_prof_options {
	size_t size;        /* of this struct: sizeof(struct af_prof_options) */
	uint32_t period_us; /* CPU time between samples of a thread, 50 to 10,000,000; 0: 1000 */
	uint32_t depth;     /* frames that are kept of a stack, 8 to 512; 0: 512 */
	uint64_t cap;       /* the first so many samples are kept, the others are counted; 0: all */
	int tid;            /* gettid() of the only thread that is sampled; 0: all threads */
	/*
	 * Describes the code at @address, an address of a stack in which no file is mapped: fills
	 * @symbol and returns 0, or returns anything else if it does not know the address. The
	 * strings are copied. Called in a thread of the library's while the profile is brought
	 * together, for each address once. NULL: there is none.
	 */
	int (*symbolize)(void *context, uint64_t address, struct af_prof_symbol *symbol);
	void *context; /* for symbolize() */
	bool regions;  /* the regions of aflame/region.h are frames below the stacks in them */
};

/*
 * Open a profile as *@options say (NULL: all defaults): *@p, which af_prof_close() ends. Nothing is
 * sampled yet. The files that it needs are in a private directory, below $TMPDIR, /dev/shm, /tmp or
 * /var/tmp. -EBUSY: there is another one, or `aflame record` records this process. -EINVAL: an
 * option is out of its range. -ESRCH: there is no such thread.
 */
int af_prof_open(struct af_prof **p, const struct af_prof_options *options, struct af_err *err);

/*
 * Start sampling: the threads that there are, and those that they make from now on. -EALREADY: it
 * is started. -ESRCH: the only thread has ended.
 */
int af_prof_start(struct af_prof *p, struct af_err *err);

/* Stop sampling, and collect. -EALREADY: it is not started. It may be started again. */
int af_prof_stop(struct af_prof *p, struct af_err *err);

/*
 * Bring together what was sampled until now, without stopping: functions that write then write
 * that.
 */
int af_prof_collect(struct af_prof *p, struct af_err *err);

/*
 * From now on the code at symbol->start is this function: for samples to come, until another one
 * is described at the same addresses. The strings are copied. -EINVAL: it has no name or no code.
 */
int af_prof_symbol(struct af_prof *p, const struct af_prof_symbol *symbol, struct af_err *err);

/* Sums since the profile was opened. */
struct af_prof_counters {
	size_t size;      /* of this struct: sizeof(struct af_prof_counters) */
	uint64_t samples; /* that are kept */
	uint64_t dropped; /* behind the cap, or without room */
	uint64_t cpu_ns;  /* CPU time that was used meanwhile, the library's own excepted */
	double rate;      /* samples a second of that time, dropped ones too; 0: none so far */
	/* Threads that block the signal of samples, or could not be sampled, at the starts */
	uint64_t threads_missed;
	/* Perf events are not permitted: timers tick instead, at most every 4 ms */
	bool timer;
};

/* Fill in *@counters, whose size the caller has set: members beyond it are left out. */
void af_prof_count(struct af_prof *p, struct af_prof_counters *counters);

/*
 * Where output goes: a function that gets @size bytes at a time, in order, and returns 0, or -errno
 * to end the output. Called in the thread that writes.
 */
struct af_prof_sink {
	int (*write)(void *context, const void *data, size_t size);
	void *context;
};

/* A frame of a stack. Strings live until the format returns. */
struct af_prof_frame {
	const char *function; /* never NULL */
	const char *module;   /* the file of machine code, or NULL */
	const char *file;     /* of the source, or NULL */
	uint32_t line;        /* or 0 */
	bool inlined;         /* into the frame before it */
};

/* The samples of one stack. */
struct af_prof_stack {
	const struct af_prof_frame *frames; /* the outermost first */
	uint32_t nr_frames;
	uint64_t samples, time_ns;
};

struct af_prof_data;

/*
 * Call @each with every stack in @data, until it returns something other than 0, which is returned.
 * For formats.
 */
int af_prof_each(const struct af_prof_data *data,
                 int (*each)(void *context, const struct af_prof_stack *stack), void *context);

/*
 * A format: a program may have its own. write() gives what is in @data to @to, in a thread of the
 * library's.
 */
struct af_prof_format {
	const char *name;
	int (*write)(const struct af_prof_data *data, const struct af_prof_sink *to,
	             struct af_err *err);
};

/* The flat report of `aflame prof`; folded stacks by samples; gzipped profile.proto of pprof. */
extern const struct af_prof_format af_prof_flat, af_prof_folded, af_prof_pprof;

/*
 * Write what was collected last (if nothing was, collect first) as @format to @sink. -ENODATA: it
 * has no samples; or the error of the sink.
 */
int af_prof_write(struct af_prof *p, const struct af_prof_format *format,
                  const struct af_prof_sink *sink, struct af_err *err);

/*
 * Collect, and copy the trace to the directory @dir, which is made: all commands of aflame read it.
 * -EEXIST: there is such a file.
 */
int af_prof_save(struct af_prof *p, const char *dir, struct af_err *err);

/* Stop, and free everything. Nothing is left behind. NULL is fine. */
void af_prof_close(struct af_prof *p);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
