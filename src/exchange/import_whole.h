/* Files that cannot be read from front to back, as what they refer to may come later. */
#ifndef AF_EXCHANGE_IMPORT_WHOLE_H
#define AF_EXCHANGE_IMPORT_WHOLE_H

#include <stdint.h>
#include <sys/types.h>

struct af_import_source;

/*
 * All bytes of @in, which the caller frees. Up to where it could be read: @rc is 0, the source's
 * error, or -EFBIG when there are more than @most.
 */
uint8_t *import_whole(const struct af_import_source *in, size_t most, size_t *size, ssize_t *rc);

#endif
