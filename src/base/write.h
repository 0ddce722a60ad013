/* Writing to a descriptor. Async-signal-safe. */
#ifndef AF_BASE_WRITE_H
#define AF_BASE_WRITE_H

#include <stddef.h>

/* write(2) until all @len bytes are out; 0 or -errno (a full disk is -ENOSPC). */
int af_write_all(int fd, const void *data, size_t len);

#endif
