/*
 * Debug information from debuginfod servers (elfutils, debuginfod(8)), only when the user asked by
 * setting $DEBUGINFOD_URLS. libdebuginfod is loaded then, where it is installed; it keeps what it
 * fetched in its own cache ($DEBUGINFOD_CACHE_PATH). After the first failure other than "not known"
 * no server is asked again, so that an unreachable one is waited for once.
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

/* A transfer of which less than this comes in that time is given up. */
enum { AF_FETCH_LEAST_KB = 100, AF_FETCH_STILL_S = 20 };

/* What it is doing; read by any thread at any time. */
struct af_fetch_state {
	_Atomic uint32_t under_way; /* transfers */
	_Atomic uint64_t bytes;     /* received in all */
	_Atomic uint32_t files;     /* had, from the cache or a server */
	_Atomic uint32_t refused;   /* of those, files that are not the one asked for */
	_Atomic int failed;         /* the -errno after which no server is asked any more */
};

/*
 * NULL when nobody asked for it. -ENOSYS is in `failed` when libdebuginfod is not here. @tick (may
 * be NULL) is called from time to time by the thread that opened it, while that waits.
 */
struct af_fetch *af_fetch_open(void (*tick)(void *arg), void *arg);
void af_fetch_close(struct af_fetch *f);

/* Counts for the user. Valid until af_fetch_close(). */
const struct af_fetch_state *af_fetch_state(const struct af_fetch *f);

/*
 * The debug file with this build-id: 0, -ENOENT when no server has it, or another -errno. A
 * transfer that all but stands still ends with -ETIMEDOUT. Any thread; @f may be NULL: -ENOENT.
 */
int af_fetch_debug(struct af_fetch *f, const uint8_t *build_id, uint32_t len, struct af_file *file);

/* What it gave was not the file with that build-id: counted. */
void af_fetch_refuse(struct af_fetch *f);

#endif
