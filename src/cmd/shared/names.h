/*
 * Finishes a trace: symbolizes it, and completes one that a killed recorder left.
 */
#ifndef AF_CMD_SHARED_NAMES_H
#define AF_CMD_SHARED_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;
struct af_sym_shared;

/*
 * Resolve every address of the trace @dirfd, which messages call @dir, with progress on a terminal.
 * *@spent_ns is the time it took; may be NULL.
 */
int af_names_add(int dirfd, const char *dir, uint64_t *spent_ns, struct af_err *err);

/*
 * The same for a trace that is complete but for its names (collect/disk/unnamed.h). -ENOENT: it
 * lacks none. -EBUSY: another process writes them. Both without a message. @quietly: without
 * progress. @shared (sym/sym.h) may be NULL.
 */
int af_names_complete(int dirfd, const char *dir, bool quietly, struct af_sym_shared *shared,
                      struct af_err *err);

/* Every command calls it before it opens a trace. It prints on standard error what it completed. */
int af_trace_prepare(const char *dir, struct af_err *err);

#endif
