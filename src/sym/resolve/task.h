/*
 * The symbolization job of one trace: collects addresses and files, resolves them, writes the names
 * as events. Knows nothing of trace directories.
 *
 *	af_sym_task_open → { process, mapping, stack }* → run → write → close
 */
#ifndef AF_SYM_RESOLVE_TASK_H
#define AF_SYM_RESOLVE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"
#include "sym/jit/jit.h"
#include "sym/sym.h"

struct af_err;
struct af_stream;
struct af_sym_task;

/* An empty task; af_sym_task_close(NULL) is fine. Out of memory ends the program. */
struct af_sym_task *af_sym_task_open(void);
void af_sym_task_close(struct af_sym_task *task);

/*
 * Add a process: @ordinal called itself @pid, began at @start_ns on the trace's clock and ran @exe,
 * which is copied; "" when that is not known. @parent is the ordinal of the process that forked it,
 * whose code it has, 0 for none.
 */
void af_sym_task_process(struct af_sym_task *task, uint32_t ordinal, uint32_t parent, uint32_t pid,
                         uint64_t start_ns, const char *exe);

/*
 * The user of the process, when known: that user's files about it (perf maps, dumps) are trusted.
 */
void af_sym_task_user(struct af_sym_task *task, uint32_t ordinal, uid_t uid);

/* A MAPPING event of @process; everything is copied. Any order, before or after the stacks. */
void af_sym_task_mapping(struct af_sym_task *task, uint32_t process, const struct af_ev_mapping *ev,
                         const uint8_t *build_id, uint32_t build_id_len, const char *path,
                         size_t path_len);

/*
 * Add @nr addresses (8 bytes each, unaligned) of a stack that was first seen at @time_ns and walked
 * in the module epoch @epoch; stacks come in order of time. Those of process 0 are the
 * kernel's.
 */
void af_sym_task_stack(struct af_sym_task *task, uint32_t process, uint32_t epoch, uint64_t time_ns,
                       const uint8_t *pcs, uint32_t nr);

/*
 * Add what the recorder saw of code made at run time in a process: lines of its perf map, or an ELF
 * file of GDB's JIT interface by its name in objects/ ("": it is gone). Copied; in order of time.
 */
void af_sym_task_perf_map(struct af_sym_task *task, const struct af_ev_perf_map *ev,
                          const char *text, size_t len);
void af_sym_task_jit_image(struct af_sym_task *task, const struct af_ev_jit_image *ev,
                           const char *object);

/*
 * The trace holds an object of machine code under this name; the original file may be gone. Copied.
 */
void af_sym_task_object(struct af_sym_task *task, const char *name);

struct af_search_paths {
	const char *root;     /* prefix of all files of modules, or NULL */
	const char *perf_dir; /* holds perf-PID.map */
	const char *kept;     /* perf's copies of files, by build-id, or NULL */
	/* Folders, as patterns for glob(3), that may hold jit-PID.dump. */
	const char *dump_dirs[4];
	const char *kallsyms; /* the kernel's symbols, NULL: not those of the kernel that ran */
	/*
	 * The kernel's load address less that in kallsyms; when it is not 0, modules are not known.
	 */
	uint64_t kernel_shift;
	/*
	 * Kernel functions that the trace itself lists, as lines of that file, or NULL: functions
	 * made at run time, such as BPF programs.
	 */
	const char *kernel_reported;
	/*
	 * /proc, for processes that still run; NULL: the trace is not of this boot of this machine.
	 */
	const char *proc;
	struct af_sym_shared *shared; /* with other traces, or NULL; not with a @root */
	bool cache;                   /* use the user's cache of names */
	bool debuginfod;              /* ask servers, if the environment names some */
	/*
	 * The epoch's time less the trace's, 0 when not known; maps older than the trace are
	 * refused by it.
	 */
	uint64_t epoch_ns;
	uint64_t boottime_ns;      /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
	struct af_jit_trust trust; /* of processes whose user is not known; no times */
	/*
	 * The trace's objects, from any thread: keep() adds one, as af_object_put(); open() returns
	 * a descriptor of one. NULL: there are none.
	 */
	int (*keep)(void *arg, const void *data, size_t size, char name[AF_SHA256_HEX]);
	int (*open)(void *arg, const char *name);
	void *objects;
};

/* Resolve everything, on all processors. @progress (may be NULL) is called from this thread. */
void af_sym_task_run(struct af_sym_task *task, const struct af_search_paths *search_paths,
                     void (*progress)(void *arg, const struct af_sym_progress *p), void *arg);

/*
 * After the run: name by notes `symbols.package.FILE` the package that has the symbols of a
 * stripped file, by the list of packages installed below @root (NULL: here). Does nothing without
 * dpkg.
 */
void af_sym_task_packages(struct af_sym_task *task, const char *root);

/* Number of SYMBOL events, without SYMBOL_LATER, that af_sym_task_write() will write. */
uint64_t af_sym_task_nr(const struct af_sym_task *task);

/*
 * Write STRING, SYMBOL and NOTE events at @time_ns: an address of a process once for each module
 * epoch in which its meaning changes. Kept device code becomes PROGRAM, CODE and CODE_ADDRESS.
 * Failures of the stream are reported by af_stream_close().
 */
void af_sym_task_write(struct af_sym_task *task, struct af_stream *s, uint64_t time_ns);

#endif
