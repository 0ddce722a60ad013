/*
 * The inside of struct af_sym_task, for task.c (input and output), resolve.c (the threads' work)
 * and answer*.c (the lookups).
 */
#ifndef AF_SYM_RESOLVE_TASK_WORK_H
#define AF_SYM_RESOLVE_TASK_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "sym/jit/timed.h"
#include "sym/module/cache.h"
#include "sym/module/fetch.h"
#include "sym/resolve/running.h"
#include "sym/resolve/task.h"

enum task_kind {
	TASK_FILE,   /* an ELF file */
	TASK_JIT,    /* code that a run-time compiler made in one process */
	TASK_KERNEL, /* the kernel, its modules and BPF programs */
};

/* A frame of an answer: ids of strings for its function and file, its line, and its source's. */
enum { TASK_FRAME_SOURCE = 3, TASK_FRAME_SOURCE_LINE, TASK_FRAME };

/* A source of names, and the addresses to look up in it. */
struct task_module {
	enum task_kind kind;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;
	bool replaced; /* another file may be at the path, without a build-id to tell */
	/* Ordinal of the process that has the code; of a file the first process that had it */
	uint32_t process;
	bool mapped; /* the process has something there */

	struct task_wanted *wanted; /* sorted, each address once */
	uint32_t nr, cap;
	struct task_answer *answers; /* one for each wanted */
	struct task_later *later;    /* of code made at run time: by wanted, then by time */
	uint32_t nr_later, cap_later;
	struct af_strtab strings;
	uint32_t *frames; /* TASK_FRAME each */
	uint32_t nr_frames, cap_frames;
	struct task_code *code; /* NULL: it is not device code, or could not be kept */
};

struct task_wanted {
	uint64_t vaddr;
	uint64_t time_ns; /* first seen: the code there at that time is named */
};

struct task_answer {
	uint32_t source, first, nr; /* frames */
	uint32_t module;            /* string, 0: the module's path */
	bool symbol_known;          /* of the function at the address, as in af_sym_answer */
	uint64_t symbol_offset;
};

/* The answer for an address from a time on. */
struct task_later {
	uint32_t wanted;
	uint64_t from_ns;
	struct task_answer answer;
};

struct task_mapping {
	uint32_t process, epoch, order;
	uint32_t module;
	bool main; /* the executable */
	uint64_t start, end, bias;
};

/* An address of a stack. */
struct task_address {
	uint32_t process, epoch;
	uint64_t address, vaddr, time_ns;
	uint32_t module;
};

/* A NOTE for the user: ids of strings. */
struct task_note {
	uint32_t key, text;
};

enum { TASK_NOTES = 32 };

struct task_process {
	uint32_t ordinal, parent, pid;
	uint64_t start_ns;
	const char *exe; /* NULL: not known */
	bool user_known;
	uid_t user;
};

/* A file jit-PID.dump that the process had mapped. */
struct task_dump {
	uint32_t process;
	const char *path;
};

/* Lines of a perf map (text), or an ELF file of GDB's JIT interface, as the recorder saw them. */
struct task_seen {
	uint32_t process;
	uint64_t from_ns, till_ns; /* till: when the file left the list */
	uint64_t entry;            /* of the file, 0 for lines */
	const char *text;          /* of a file its name in objects/ */
	size_t len;
};

struct af_sym_task {
	struct af_strtab keys; /* module keys, and the bytes that modules point to */
	struct task_module *modules;
	uint32_t nr_modules, cap_modules;
	struct af_map by_key; /* key string → module + 1 */
	struct task_mapping *mappings;
	uint32_t nr_mappings, cap_mappings;
	struct task_process *processes;
	uint32_t nr_processes, cap_processes;
	struct task_dump *dumps;
	uint32_t nr_dumps, cap_dumps;
	uint32_t *objects; /* of the trace: strings of keys */
	uint32_t nr_objects, cap_objects;
	struct task_seen *jit; /* in order of time */
	uint32_t nr_jit, cap_jit;
	size_t jit_bytes;       /* of them and their texts */
	struct af_keys in_list; /* process and entry → the file there + 1 */
	struct af_arena jit_texts;
	struct af_keys seen; /* hash of (process, epoch, address) */
	struct task_address *addresses;
	size_t nr_addresses, cap_addresses;

	/* While running. */
	const struct af_search_paths *where;
	uint32_t *order; /* modules, the one with most addresses first */
	_Atomic uint32_t next;
	_Atomic uint64_t resolved, modules_done;
	_Atomic uint32_t nr_kept; /* objects of device code */
	uint64_t nr_to_resolve;
	struct af_fetch *fetch; /* NULL: the user did not ask for it */
	struct af_cache cache;
	pthread_mutex_t lock; /* of the members that follow */
	bool running_open;
	struct af_running running;
	struct af_strtab note_texts;
	struct task_note notes[TASK_NOTES];
	uint32_t nr_notes;
};

/* Called for each address that has been looked up. */
typedef void af_sym_task_tick(struct af_sym_task *task, void *arg);

/* Store the answer to address @i of @m. */
void af_sym_task_answered(struct task_module *m, uint32_t i, const struct af_sym_answer *a);

/* Store the answer for address @i of @m from @from_ns on; in order of addresses, then of times. */
void af_sym_task_later(struct task_module *m, uint32_t i, uint64_t from_ns,
                       const struct af_sym_answer *a);

/* The code that the recorder saw in @process while it ran; the caller closes @t. Any thread. */
void af_sym_task_timed(const struct af_sym_task *task, uint32_t process, struct af_jit_timed *t);

/* The file that codes of that table have as their image @number, or NULL. The caller closes it. */
struct af_sym_module *af_sym_task_image(const struct af_sym_task *task, uint32_t number);

/* Look up the addresses of code that run-time compilers made. */
void af_sym_task_answer_jit(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                            void *arg);

/* The process @ordinal of the trace, NULL when it is not known. */
const struct task_process *af_sym_task_find(const struct af_sym_task *task, uint32_t ordinal);

/* The same process if it still runs, NULL when it does not. Any thread. */
const struct af_running_process *af_sym_task_running(struct af_sym_task *task, uint32_t ordinal);

/* Answer all addresses of @m; for one thread at a time for each module. */
void af_sym_task_answer(struct af_sym_task *task, struct task_module *m, af_sym_task_tick *tick,
                        void *arg);

/* Add a NOTE to the trace, once for each key and text. Any thread. */
void af_sym_task_note(struct af_sym_task *task, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Keep @file as device code if it is such code, and find the functions of its addresses. Any
 * thread.
 */
void af_sym_task_code(struct af_sym_task *task, struct task_module *m,
                      const struct af_sym_module *file);
void af_sym_task_code_free(struct task_module *m);

/*
 * Write the PROGRAM and CODE events of all device code, and number its functions for
 * af_sym_task_write_code_address().
 */
void af_sym_task_write_codes(struct af_sym_task *task, struct af_stream *s, uint64_t time_ns);

/*
 * Write that the @wanted-th address of @m, which @symbol names, lies in device code, if it does;
 * returns whether it does. @before: it did so in an earlier module epoch.
 */
bool af_sym_task_write_code_address(const struct task_module *m, uint32_t wanted, bool before,
                                    const struct af_ev_symbol *symbol, struct af_stream *s,
                                    uint64_t time_ns);

/* Find the module of each address, and give each module its addresses. */
void af_sym_task_place(struct af_sym_task *task);

#endif
