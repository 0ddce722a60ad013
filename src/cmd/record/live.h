/* What is hot, shown while it is recorded: `record --live`. */
#ifndef AF_CMD_RECORD_LIVE_H
#define AF_CMD_RECORD_LIVE_H

struct af_err;

/*
 * Start a process that watches the recording into @dir and tells on standard error: in the lowest
 * rows of a terminal, above which the program writes on; as lines elsewhere. Its pid, or -errno.
 */
int af_live_show(const char *dir, struct af_err *err);

/* End it; the terminal is as it was. */
void af_live_hide(int pid);

#endif
