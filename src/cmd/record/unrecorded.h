/*
 * A program that cannot be recorded runs all the same: in place of the recorder, as its caller
 * would have started it. By then every change that the recorder made to itself is undone.
 *
 *	af_unrecorded_arm()     before the recorder changes anything; from here on a crash of the
 *	                        recorder before the program runs makes it run, too
 *	af_unrecorded_run()     instead of failing
 *	af_unrecorded_disarm()  the program has run
 */
#ifndef AF_CMD_RECORD_UNRECORDED_H
#define AF_CMD_RECORD_UNRECORDED_H

struct af_err;

/* @child: 0 until the program was started. Both stay the caller's. */
void af_unrecorded_arm(char **words, const int *child);

/*
 * Print a line on standard error that @who cannot record, with @err's message, and become the
 * program. Returns only when that fails: < 0, with a message in @err.
 */
int af_unrecorded_run(const char *who, char **words, struct af_err *err);

/* The same without a line: it is not to be recorded. */
int af_unrecorded_become(char **words, struct af_err *err);

/* The program has run: restore the handlers of crash signals. */
void af_unrecorded_disarm(void);

#endif
