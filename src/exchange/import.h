/*
 * Reads files of other profilers into a trace builder. Files are plain or gzipped; their
 * bytes tell which format they have:
 *
 *	text        gpuperf's extended folded samples, a line each:
 *	            `timestamp_ns comm pid tid cpu f1;f2;…`, the root first; frames of the
 *	            operating system's kernel end in `_[k]`
 *	text        folded: `f1;f2;… number`, see exchange/text/collapsed.c
 *	text        iaprof's profile of a GPU, of any of its generations: lines of a word and
 *	            fields separated by tabs, see exchange/iaprof/import.c
 *	text        the output of perf script: see exchange/perf/text.h
 *	perf.data   perf's samples of CPUs, with their mappings: see exchange/perf/file.h;
 *	            also a directory of such files, the first of which is called data
 *	SQLite      Nsight Systems' export, see exchange/nsys/nsys.c
 *	protobuf    pprof's profiles
 *	JSON        speedscope's profiles, sampled and evented
 *	JSON        Trace Event Format: of PyTorch (Kineto) or of gpuperf; the categories of
 *	            the events tell them apart
 *
 * Device work belongs to the call with its correlation id, never to a call at the same time. Host
 * slices nest in time on their thread, which in Kineto's files is exact. All gpuperf files of one
 * import describe the same processes; each Kineto or iaprof file has processes of its own.
 */
#ifndef AF_EXCHANGE_IMPORT_H
#define AF_EXCHANGE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

struct af_builder;
struct af_err;

/* Reports how far a file has been read. */
struct af_import_watch {
	/* In bytes of the file, as it is on disk; @size is 0 when not known. */
	void (*tell)(void *arg, uint64_t done, uint64_t size);
	void *arg;
};

/*
 * Add the content of the file @path ("-": standard input) to the builder; @watch (may be NULL) is
 * called meanwhile. @number (from 0) tells the files of one import apart. A file that ends too
 * early, or is not JSON from some byte on, is used up to there and counted in builder->damaged, and
 * @complaint describes the damage ("" otherwise). Fails when the file cannot be read, nothing in it
 * could be used, or most of its lines do not parse.
 */
int af_import_file(struct af_builder *d, const char *path, uint32_t number,
                   const struct af_import_watch *watch, char *complaint, size_t size,
                   struct af_err *err);

#endif
