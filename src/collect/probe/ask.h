/*
 * Ask somebody else's library something in a child process: drivers crash, hang, and write to
 * standard output when they are merely looked at.
 */
#ifndef AF_COLLECT_PROBE_ASK_H
#define AF_COLLECT_PROBE_ASK_H

#include <stddef.h>

struct af_err;

/*
 * Run @ask(@answer) in a child whose standard streams are /dev/null and which is no recorded
 * program, for at most ten seconds, and bring its @size bytes of answer back. @who and @see are for
 * the message ("an OpenCL driver", "see /etc/OpenCL/vendors"). 0, -ETIMEDOUT, -EIO when it crashed.
 */
int af_ask(void (*ask)(void *answer), void *answer, size_t size, const char *who, const char *see,
           struct af_err *err);

#endif
