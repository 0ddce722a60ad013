/*
 * The file `metadata` of a trace: TSDL text of CTF 1.8 (CTF specification 1.8.3, appendix C) that
 * describes the packets and every kind to foreign readers. aflame's own reader needs only its env
 * block.
 */
#ifndef AF_TRACE_METADATA_H
#define AF_TRACE_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct af_err;

#define AF_METADATA_FILE "metadata"

/*
 * Write the metadata of a trace into directory @dirfd, whole or not at all: every kind, the clock
 * (its offset from the epoch at @mono_ns/@realtime_ns) and the env block: host, trace version,
 * tool. @more is text that goes behind it: the functions of traced APIs; or NULL.
 */
int af_metadata_write(int dirfd, uint64_t mono_ns, uint64_t realtime_ns, const char *more,
                      struct af_err *err);

/* The same text, for tests: appended to @b. */
void af_metadata_text(struct af_buf *b, uint64_t mono_ns, uint64_t realtime_ns,
                      const char *hostname);

/* The env block: pairs of strings in memory of their own. A zeroed struct is empty. */
enum { AF_ENV_MAX = 32 };
struct af_env {
	char *text; /* what the pairs point into */
	const char *keys[AF_ENV_MAX], *values[AF_ENV_MAX];
	uint32_t nr;
};

/* Free what @env holds. A zeroed struct is fine. */
void af_env_free(struct af_env *env);

/* The value of @key, or NULL. */
const char *af_env_get(const struct af_env *env, const char *key);

/*
 * Read the env block out of metadata text (hostile, not NUL-terminated) and check that this version
 * can read the trace. @dir is for messages. -errno with a message when the text is not CTF, is CTF
 * of another program, or is of a newer version.
 */
int af_metadata_read(struct af_env *env, const char *text, size_t len, const char *dir,
                     struct af_err *err);

#endif
