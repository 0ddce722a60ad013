/*
 * Files that cannot be read from front to back, because they refer to later bytes.
 */
#ifndef AF_EXCHANGE_SOURCE_WHOLE_H
#define AF_EXCHANGE_SOURCE_WHOLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct af_import_source;

/*
 * All bytes of @in, which the caller frees; as many as could be read. @rc is 0, the source's error,
 * -EFBIG when a packed file unpacks to much more than its own size (a few bytes could fill the
 * memory), or -ENOMEM.
 */
uint8_t *import_whole(const struct af_import_source *in, size_t *size, ssize_t *rc);

/* The text of an error of import_whole(), for people. */
const char *import_whole_text(ssize_t rc);

#endif
