/*
 * The traces of a set, or one trace, for commands that complete them.
 */
#ifndef AF_COLLECT_STAGE_MEMBERS_H
#define AF_COLLECT_STAGE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;

struct af_members {
	int fd;       /* of the set; or of the directory that holds the one trace */
	char **names; /* in order; of one trace, its own name */
	uint32_t nr, cap;
	bool single;
};

/*
 * List the traces in the set @path, or @path itself when it is a trace. Nothing is opened but
 * directories. -ENOENT: there is nothing called so. -ENODATA: there is no trace in it. The caller
 * closes @m, also after a failure.
 */
int af_members_open(struct af_members *m, const char *path, struct af_err *err);
void af_members_close(struct af_members *m);

#endif
