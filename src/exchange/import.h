/*
 * Files of other profilers, read into a draft. Plain or gzipped; what a file is, its bytes say:
 *
 *	text		gpuperf's extended folded samples, a line each:
 *			`timestamp_ns comm pid tid cpu f1;f2;…`, the root first, frames of the
 *			operating system's kernel with `_[k]` behind
 *	text		folded: `f1;f2;… number`, see import_collapsed.c
 *	text		iaprof's profile of a GPU, of any of its generations: lines of a word and
 *			fields behind tabs, see import_iaprof.c
 *	perf.data	perf's samples of CPUs, with their mappings: see perf_file.h; also a
 *			directory of files, the first of which is called data
 *	SQLite		Nsight Systems' export, see import_nsys.c
 *	protobuf	pprof's profiles
 *	JSON		speedscope's profiles, sampled and evented
 *	text		what perf script prints: see perf_text.h
 *	JSON		Trace Event Format: of PyTorch (Kineto) or of gpuperf, told apart by the
 *			categories of the events
 *
 * Device work belongs to the call with its correlation, never to what happened at the same time;
 * host slices nest in time on their thread, which in Kineto's files is exact. All files of gpuperf
 * tell of the same processes; a file of Kineto's or of iaprof's has processes of its own.
 */
#ifndef AF_EXCHANGE_IMPORT_H
#define AF_EXCHANGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/json.h"

struct af_draft;
struct af_err;

/* Where bytes come from: a source as of json.h, with one for tests that reads memory. */
struct af_import_source {
	af_json_source *read;
	void *arg;
	/* Go on reading at this byte of the file; false or NULL: that cannot be. */
	bool (*seek)(void *arg, uint64_t to);
	/* Go on with the next file of a directory, from its beginning; false or NULL: no more. */
	bool (*next)(void *arg);
	/* How many bytes of the file, as it is on disk, were read so far; NULL: all. */
	uint64_t (*consumed)(void *arg);
};

/* Who wants to hear how far a file is read. */
struct af_import_watch {
	/* In bytes of the file, as it is on disk; @size is 0 when not known. */
	void (*tell)(void *arg, uint64_t done, uint64_t size);
	void *arg;
};

/*
 * Add what is in the file @path ("-": standard input), @watch (may be NULL) being told meanwhile;
 * @number (from 0) tells the files of one import apart. A file that ends too early or is no JSON
 * from some byte on is used up to there, counted in draft->damaged, and @complaint says what is
 * wrong ("" otherwise). Fails when the file cannot be read, nothing in it could be used, or most of
 * its lines do not parse.
 */
int af_import_file(struct af_draft *d, const char *path, uint32_t number,
                   const struct af_import_watch *watch, char *complaint, size_t size,
                   struct af_err *err);

/* How many of the @len bytes at @text a byte-order mark (UTF-8) takes at their front. */
size_t af_import_mark(const char *text, size_t len);

/*
 * Is what begins so a file of another format than the text that @mine tells? @say then gets what it
 * is and what reads it. False: it is not known to be.
 */
bool af_import_is_other(const char *text, size_t len, bool (*mine)(const char *text, size_t len),
                        char *say, size_t size);

/* The same for bytes: what af_import_file() calls, and fuzzers do. */
void af_import_json(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);
void af_import_folded(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                      char *complaint, size_t size);
/* Whether a file that begins with the @len bytes at @text is gpuperf's text. */
bool af_import_is_folded(const char *text, size_t len);
bool af_import_folded_line(const char *p, const char *end);
void af_import_iaprof(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                      char *complaint, size_t size);

/* iaprof's records with semicolons, as import_iaprof_records.c has them. */
void af_import_iaprof_records(struct af_draft *d, const struct af_import_source *in,
                              uint32_t number, char *complaint, size_t size);
bool af_import_is_iaprof_records(const char *text, size_t len);

/* CUPTI's records as text: see import_cupti.c. */
void af_import_cupti(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                     char *complaint, size_t size);
bool af_import_is_cupti(const char *text, size_t len);

void af_import_perf(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);

void af_import_perf_text(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size);

/* Whether a file that begins with the @len bytes at @text is a perf.data, or perf script's text. */
bool af_import_is_perf(const char *text, size_t len);
bool af_import_is_perf_text(const char *text, size_t len);
void af_import_pprof(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                     char *complaint, size_t size);

void af_import_collapsed(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size);

/* Whether a file that begins with the @len bytes at @text is folded text without times. */
bool af_import_is_collapsed(const char *text, size_t len);
void af_import_speedscope(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                          char *complaint, size_t size);

void af_import_nsys(struct af_draft *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);

/* Whether a file that begins with the @len bytes at @text is a database of SQLite's. */
bool af_import_is_sqlite(const char *text, size_t len);
/* Whether a file that begins with the @len bytes at @text is speedscope's. */
bool af_import_is_speedscope(const char *text, size_t len);
/* Whether a file that begins with the @len bytes at @text is a profile of pprof's. */
bool af_import_is_pprof(const char *text, size_t len);
/* Whether a file that begins with the @len bytes at @text is iaprof's. */
bool af_import_is_iaprof(const char *text, size_t len);

#endif
