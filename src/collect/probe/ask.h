/*
 * Calls a foreign library in a child process, because drivers crash, hang, and write to standard
 * output when they are merely queried.
 */
#ifndef AF_COLLECT_PROBE_ASK_H
#define AF_COLLECT_PROBE_ASK_H

#include <stddef.h>

struct af_err;

/*
 * Run @ask(@answer) in a child whose standard streams are /dev/null and which is not recorded, for
 * at most ten seconds, and copy its @size bytes of answer back. @who and @see are for the message
 * ("an OpenCL driver", "see /etc/OpenCL/vendors"). 0, -ETIMEDOUT, -EIO when it crashed.
 */
int af_ask(void (*ask)(void *answer), void *answer, size_t size, const char *who, const char *see,
           struct af_err *err);

#endif
