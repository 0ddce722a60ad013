/*
 * Makes room for a trace: an older trace of this user's is renamed or removed. A directory of
 * another user, one that is not a trace, and a trace that holds foreign files are left alone and
 * reported.
 */
#ifndef AF_COLLECT_DISK_ROOM_H
#define AF_COLLECT_DISK_ROOM_H

#include <stdbool.h>

struct af_err;

#define AF_JOB_HEAD "aflame job " /* of AF_JOB_FILE; the job's key follows */

enum { AF_JOB_KEY_SIZE = 256 };

enum af_room {
	AF_ROOM_KEEP,    /* an old trace is renamed to .old */
	AF_ROOM_REPLACE, /* it is removed */
	AF_ROOM_REFUSE,  /* only an empty directory gives way */
};

/* The key of the job whose ranks are in @dir_fd. False: it is not a folder of ranks. */
bool af_room_job(int dir_fd, char key[AF_JOB_KEY_SIZE]);

/*
 * Make @name in @at free; messages call it @shown. -EEXIST: the name cannot be freed. -EBUSY: the
 * trace is being recorded.
 */
int af_room_make(int at, const char *name, const char *shown, enum af_room how, struct af_err *err);

/*
 * Is @dir_fd, by its content, a trace or a folder of ranks? An unfinished trace counts. -errno when
 * that cannot be determined.
 */
int af_room_is_trace(int dir_fd);

/*
 * May the trace or folder of ranks @dir_fd be removed or renamed? 0, or -EEXIST and so on with a
 * message.
 */
int af_room_check(int dir_fd, const char *shown, struct af_err *err);

/*
 * The same without a look into its directories: may it be renamed? Every rank of the next job asks,
 * and one of them does it.
 */
int af_room_check_here(int dir_fd, const char *shown, struct af_err *err);

/*
 * Remove @name and the shared memory that its recorders left. -errno when that is not allowed; it
 * is then whole.
 */
int af_room_discard(int at, const char *name);

/*
 * The message that @shown exists and is not a trace; @why: 0, or the -errno why that cannot be
 * determined.
 */
int af_room_taken(const char *shown, int why, struct af_err *err);

/* Is a recorder at work on the trace @dir_fd itself? */
bool af_room_is_live(int dir_fd);

/* Calls @each for the directories in @dir_fd until it returns other than 0, and returns that. */
int af_room_each(int dir_fd, int (*each)(void *arg, int dir_fd, const char *name), void *arg);

#endif
