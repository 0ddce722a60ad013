/*
 * The private folder of a call of `aflame prof`: objects, the linked image, the trace. It is
 * removed at the end, also when a signal ends the command before.
 *
 *	af_prof_folder_make() → af_prof_folder_remove()
 */
#ifndef AF_CMD_PROF_FOLDER_H
#define AF_CMD_PROF_FOLDER_H

#include <limits.h>

struct af_err;

struct af_prof_folder {
	char path[PATH_MAX];
	/* The process that removes it if this one cannot, and a socket to it; -1: none. */
	int guard_pid, guard;
};

/*
 * Makes a folder that only we can use, in memory where that is possible, and from which code may be
 * mapped. 0, or -errno with a message. The caller has one thread.
 */
int af_prof_folder_make(struct af_prof_folder *f, struct af_err *err);
void af_prof_folder_remove(struct af_prof_folder *f);

#endif
