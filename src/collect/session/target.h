/*
 * The recorded program: starting it, waiting for it, passing signals on.
 */
#ifndef AF_COLLECT_SESSION_TARGET_H
#define AF_COLLECT_SESSION_TARGET_H

struct af_err;
struct af_client;
struct af_group;
struct af_recording;

/*
 * Run @argv with the library loaded, and drain until it ends (or the duration is over; the program
 * then goes on unrecorded and is waited for). Fails only when the program could not be started:
 * -ENOENT, -EACCES… with a message. Its wait status is in r->status. Without @argv the processes of
 * r->options->watch are recorded, until they have ended or a signal asks to stop.
 *
 * Ctrl-C reaches the program by itself. SIGINT, SIGTERM and SIGHUP sent to the recorder alone are
 * passed on. The recording goes on until the program has ended, or with r->options->grace_ns for so
 * long after a SIGTERM: then r->hurry.left is set, and af_hurry_wait() waits for the program.
 */
int af_target_run(struct af_recording *r, char **argv, struct af_err *err);

/* Pass on the signals that came through @fd, but those that @group has got as well. */
void af_target_signals(struct af_recording *r, struct af_group *group, int fd);

/* Notice processes that have ended, drain their streams, and read the CPU time of the others. */
void af_target_poll(struct af_recording *r);

/*
 * Write the CPU time that @g, its threads and its children have used so far, as far as it was seen.
 */
void af_target_write_usage(struct af_recording *r, const struct af_client *g);

#endif
