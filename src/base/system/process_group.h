/*
 * Was a signal sent to the recorder alone, or to its whole process group, which includes the
 * program? The signal does not tell. So a child that does nothing else stays in the group: a signal
 * that reaches it too was for the group.
 */
#ifndef AF_BASE_SYSTEM_PROCESS_GROUP_H
#define AF_BASE_SYSTEM_PROCESS_GROUP_H

#include <signal.h>
#include <stdbool.h>

struct af_group {
	int pid; /* of the child, 0 for none */
	int fd;  /* readable after each signal that the child got, -1 for none */
};

/*
 * Before the program is started, with @set blocked. Without a child (no room), signals are treated
 * as before.
 */
void af_group_watch(struct af_group *g, const sigset_t *set);
void af_group_leave(struct af_group *g);

/* Did signal @signo, sent by @sender a moment ago, go to the group? Waits for some milliseconds. */
bool af_group_got(struct af_group *g, int signo, int sender);

#endif
