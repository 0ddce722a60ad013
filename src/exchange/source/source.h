/*
 * The input of a reader, and the readers. Each adds the content of its bytes to the builder,
 * describes damage in @complaint ("" otherwise) and keeps the data before the damage.
 */
#ifndef AF_EXCHANGE_SOURCE_SOURCE_H
#define AF_EXCHANGE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exchange/source/json.h"

struct af_builder;

/* A source of bytes as in json.h; tests use one that reads memory. */
struct af_import_source {
	af_json_source *read;
	void *arg;
	/* Continue at this byte of the file; false or NULL: not possible. */
	bool (*seek)(void *arg, uint64_t to);
	/*
	 * Continue with the next file of a directory, from its beginning; false or NULL: no more.
	 */
	bool (*next)(void *arg);
	/* The number of bytes of the file, as it is on disk, that were read so far; NULL: all. */
	uint64_t (*consumed)(void *arg);
};

/* The size of a byte-order mark (UTF-8) at the start of the @len bytes at @text, 0 for none. */
size_t af_import_mark(const char *text, size_t len);

/*
 * Is this the beginning of a file in another format than the text that @mine recognises? @say then
 * names the format and a tool that reads it. False: not known to be.
 */
bool af_import_is_other(const char *text, size_t len, bool (*mine)(const char *text, size_t len),
                        char *say, size_t size);

/* The readers, of bytes: called by af_import_file(), and by fuzzers. */
void af_import_json(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);
void af_import_folded(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                      char *complaint, size_t size);
/* Does a file of gpuperf's text begin with the @len bytes at @text? */
bool af_import_is_folded(const char *text, size_t len);
bool af_import_folded_line(const char *p, const char *end);
void af_import_iaprof(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                      char *complaint, size_t size);

/* iaprof's records with semicolons, as exchange/iaprof/records.c has them. */
void af_import_iaprof_records(struct af_builder *d, const struct af_import_source *in,
                              uint32_t number, char *complaint, size_t size);
bool af_import_is_iaprof_records(const char *text, size_t len);

/* CUPTI's records as text: see exchange/events/cupti.c. */
void af_import_cupti(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                     char *complaint, size_t size);
bool af_import_is_cupti(const char *text, size_t len);

/* The same for perf.data. */
void af_import_perf(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);

/* The same for the output of perf script. */
void af_import_perf_text(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size);

/* Does a perf.data, or perf script's text, begin with the @len bytes at @text? */
bool af_import_is_perf(const char *text, size_t len);
bool af_import_is_perf_text(const char *text, size_t len);
void af_import_pprof(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                     char *complaint, size_t size);

/* The same for folded text, whose numbers are in d->unit or else samples. */
void af_import_collapsed(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                         char *complaint, size_t size);

/* Does folded text without times begin with the @len bytes at @text? */
bool af_import_is_collapsed(const char *text, size_t len);
void af_import_speedscope(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                          char *complaint, size_t size);

/* The same for an SQLite export of Nsight Systems, which is read into memory as a whole. */
void af_import_nsys(struct af_builder *d, const struct af_import_source *in, uint32_t number,
                    char *complaint, size_t size);

/* Does an SQLite database begin with the @len bytes at @text? */
bool af_import_is_sqlite(const char *text, size_t len);
/* Does a file of speedscope's begin with the @len bytes at @text? */
bool af_import_is_speedscope(const char *text, size_t len);
/* Does a profile of pprof's begin with the @len bytes at @text? */
bool af_import_is_pprof(const char *text, size_t len);
/* Does a file of iaprof's begin with the @len bytes at @text? */
bool af_import_is_iaprof(const char *text, size_t len);

#endif
