/* Inside of struct af_sym_job, for job.c (what is asked, what is written),
 * resolve.c (who works on what) and answer*.c. */
#ifndef AF_SYM_RESOLVE_JOB_WORK_H
#define AF_SYM_RESOLVE_JOB_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"
#include "sym/module/cache.h"
#include "sym/module/fetch.h"
#include "sym/resolve/job.h"
#include "sym/resolve/live.h"

enum job_kind {
	JOB_FILE,   /* an ELF file */
	JOB_JIT,    /* what a run-time compiler made in one process */
	JOB_KERNEL, /* the kernel, its modules and BPF programs */
};

/* Where names come from, and the addresses to look up in it. */
struct job_module {
	enum job_kind kind;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;
	bool replaced;    /* another file may be at the path, and no build-id to tell */
	uint32_t process; /* ordinal: whose code it is, of a file the first one that had it */
	bool mapped;      /* the process has something there */

	struct job_wanted *wanted; /* sorted, each address once */
	uint32_t nr, cap;
	struct job_answer *answers; /* one for each wanted */
	struct af_strtab strings;
	uint32_t *frames; /* three each, ids of strings */
	uint32_t nr_frames, cap_frames;
	struct job_code *code; /* NULL: it is not device code, or could not be kept */
};

struct job_wanted {
	uint64_t vaddr;
	uint64_t time_ns; /* first seen: what lay there then is named */
};

struct job_answer {
	uint32_t source, first, nr; /* frames */
	uint32_t module;            /* string, 0: the module's path */
};

struct job_mapping {
	uint32_t process, generation, order;
	uint32_t module;
	bool main; /* the executable */
	uint64_t start, end, bias;
};

/* An address of a stack. */
struct job_place {
	uint32_t process, generation;
	uint64_t address, vaddr, time_ns;
	uint32_t module;
};

/* Something the user should know, as a NOTE: ids of strings. */
struct job_note {
	uint32_t key, text;
};

enum { JOB_NOTES = 32 };

struct job_process {
	uint32_t ordinal, parent, pid;
	uint64_t start_ns;
	const char *exe; /* NULL: not known */
	bool user_known;
	uid_t user;
};

/* A file jit-PID.dump that the process had mapped. */
struct job_dump {
	uint32_t process;
	const char *path;
};

struct af_sym_job {
	struct af_strtab keys; /* module keys, and the bytes that modules point to */
	struct job_module *modules;
	uint32_t nr_modules, cap_modules;
	struct af_map by_key; /* key string → module + 1 */
	struct job_mapping *mappings;
	uint32_t nr_mappings, cap_mappings;
	struct job_process *processes;
	uint32_t nr_processes, cap_processes;
	struct job_dump *dumps;
	uint32_t nr_dumps, cap_dumps;
	uint32_t *objects; /* of the trace: strings of keys */
	uint32_t nr_objects, cap_objects;
	struct af_keys seen; /* hash of (process, generation, address) */
	struct job_place *places;
	size_t nr_places, cap_places;

	/* While running. */
	const struct af_sym_places *where;
	uint32_t *order; /* modules, the one with most addresses first */
	_Atomic uint32_t next;
	_Atomic uint64_t resolved, modules_done;
	_Atomic uint32_t nr_kept; /* objects of device code */
	uint64_t nr_addresses;
	struct af_fetch *fetch; /* NULL: not asked for */
	struct af_cache cache;
	pthread_mutex_t lock; /* of what follows */
	bool live_open;
	struct af_live live;
	struct af_strtab note_texts;
	struct job_note notes[JOB_NOTES];
	uint32_t nr_notes;
};

/* Called for each address that has been looked up. */
typedef void af_sym_job_tick(struct af_sym_job *job, void *arg);

/* Store the answer to address @i of @m. */
void af_sym_job_answered(struct job_module *m, uint32_t i, const struct af_sym_answer *a);

/* Answer what run-time compilers made. */
void af_sym_job_answer_jit(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                           void *arg);

/* The process @ordinal of the trace, NULL when it is not known. */
const struct job_process *af_sym_job_find(const struct af_sym_job *job, uint32_t ordinal);

/* The same as it runs now, NULL when it does not. Any thread. */
const struct af_live_process *af_sym_job_live(struct af_sym_job *job, uint32_t ordinal);

/* Answer all addresses of @m; for one thread at a time for each module. */
void af_sym_job_answer(struct af_sym_job *job, struct job_module *m, af_sym_job_tick *tick,
                       void *arg);

/* Say something once, as a NOTE of the trace. Any thread. */
void af_sym_job_note(struct af_sym_job *job, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Keep @file as device code if it is, and find the functions of its addresses. Any thread. */
void af_sym_job_code(struct af_sym_job *job, struct job_module *m,
                     const struct af_sym_module *file);
void af_sym_job_code_free(struct job_module *m);

/*
 * Write the PROGRAM and CODE events of all device code, and number its functions for
 * af_sym_job_write_code_address().
 */
void af_sym_job_write_codes(struct af_sym_job *job, struct af_stream *s, uint64_t time_ns);

/*
 * Say whether the @wanted-th address of @m, which @symbol names, lies in device code, and return
 * it. @before: so it did in an earlier generation.
 */
bool af_sym_job_write_code_address(const struct job_module *m, uint32_t wanted, bool before,
                                   const struct af_ev_symbol *symbol, struct af_stream *s,
                                   uint64_t time_ns);

/* Find the module of each address, and give each module its addresses. */
void af_sym_job_place(struct af_sym_job *job);

#endif
