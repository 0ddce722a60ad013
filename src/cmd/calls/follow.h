/* Reading a recording while it goes on, until it ends. */
#ifndef AF_CMD_CALLS_FOLLOW_H
#define AF_CMD_CALLS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;

/* Read the trace at @path, the whole one when it is the @last; *@nr_new: events read first now. */
typedef int af_follow_read(void *arg, const char *path, bool last, uint64_t *nr_new,
                           struct af_err *err);

/*
 * Call @read again and again for the recording into @dir, and in the end for the whole trace. While
 * much is recorded the trace itself is read, which has the packets that are full; when nothing
 * comes, a copy of it that has the open ones (cmd/record/watch.h). Takes a fifth of a CPU at most.
 * A failure of @read before the last is passed over. A trace that nobody records is prepared and
 * read once.
 */
int af_follow(const char *dir, af_follow_read *read, void *arg, struct af_err *err);

#endif
