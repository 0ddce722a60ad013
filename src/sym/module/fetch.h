/*
 * Debug information from debuginfod servers (elfutils, debuginfod(8)), only when the user asked for
 * it by setting $DEBUGINFOD_URLS. libdebuginfod is then loaded, where it is installed; it keeps
 * fetched files in its own cache ($DEBUGINFOD_CACHE_PATH). After the first failure other than "not
 * known" no server is asked again, so that an unreachable server costs one wait.
 *
 *	af_fetch_open → { af_fetch_debug }* → af_fetch_close
 */
#ifndef AF_SYM_MODULE_FETCH_H
#define AF_SYM_MODULE_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/system/fs.h"

struct af_fetch;

/* A transfer that brings less than LEAST_KB in STILL_S seconds is given up. */
enum { AF_FETCH_LEAST_KB = 100, AF_FETCH_STILL_S = 20 };

/* The progress; any thread may read it at any time. */
struct af_fetch_state {
	_Atomic uint32_t under_way; /* transfers */
	_Atomic uint64_t bytes;     /* received in all */
	_Atomic uint32_t files;     /* obtained, from the cache or a server */
	_Atomic uint32_t refused;   /* of those, files that are not the requested one */
	_Atomic int failed;         /* the -errno after which no server is asked any more */
};

/*
 * NULL when the user asked for no server. `failed` is -ENOSYS when libdebuginfod is not installed.
 * @tick (may be NULL) is called from time to time by the thread that opened it, while that thread
 * waits.
 */
struct af_fetch *af_fetch_open(void (*tick)(void *arg), void *arg);
void af_fetch_close(struct af_fetch *f);

/* Counts for the user. Valid until af_fetch_close(). */
const struct af_fetch_state *af_fetch_state(const struct af_fetch *f);

/*
 * Get the debug file with this build-id: 0, -ENOENT when no server has it, or another -errno. A
 * transfer that nearly stands still ends with -ETIMEDOUT. Any thread; @f may be NULL: -ENOENT.
 */
int af_fetch_debug(struct af_fetch *f, const uint8_t *build_id, uint32_t len, struct af_file *file);

/* Count that a fetched file was not the one with that build-id. */
void af_fetch_refuse(struct af_fetch *f);

#endif
