/*
 * Shows what is hot while it is recorded: `record --live`.
 */
#ifndef AF_CMD_RECORD_LIVE_H
#define AF_CMD_RECORD_LIVE_H

struct af_err;

/*
 * Start a process that watches the recording into @dir and prints to standard error: in the lowest
 * rows of a terminal, above which the program writes on; as lines elsewhere. Returns its pid, or
 * -errno.
 */
int af_live_show(const char *dir, struct af_err *err);

/* End it, and restore the terminal. */
void af_live_hide(int pid);

#endif
