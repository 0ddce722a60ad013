/* Writing a file so that nobody ever sees half of it. */
#ifndef AF_CMD_PARTIAL_H
#define AF_CMD_PARTIAL_H

struct af_err;

/* Writes all there is to write to @fd: 0, or what it fails with. */
typedef int af_partial_write_all(int fd, void *arg, struct af_err *err);

/*
 * Have @write write @file ("-": standard output). A file is replaced only when all of it could be
 * written; a device or a pipe is written to.
 */
int af_partial_write(const char *file, af_partial_write_all *write, void *arg, struct af_err *err);

#endif
