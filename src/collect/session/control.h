/*
 * The recorder's messages to its targets: the page `control`. A target cannot write it, but any
 * other process of the user can. The recorder uses its own copy, restores what another process
 * overwrote, and counts how often it had to.
 */
#ifndef AF_COLLECT_SESSION_CONTROL_H
#define AF_COLLECT_SESSION_CONTROL_H

#include <stdint.h>

#include "trace/write/session.h"

struct af_err;
struct af_recording;
struct af_session_options;

/* Make the session's files in the directory r->shm. */
int af_control_make(struct af_recording *r, const struct af_session_options *o, struct af_err *err);

/*
 * The session's state. The recorder reads its own copy, because other processes of the user can
 * write to the control page.
 */
enum af_session_state af_control_state(const struct af_recording *r);
void af_control_put_state(struct af_recording *r, enum af_session_state state);

/* Called now and then: compares the page with our copy and restores it. */
void af_control_poll(struct af_recording *r);

/*
 * Called now and then: tells the targets how fast the processor's counter runs, for the first time
 * some ms after the first call. Never where the kernel itself does not trust the counter, and no
 * longer once it does not.
 */
void af_control_poll_ticks(struct af_recording *r);

/* Record calls of @kind from now on as @how says: bits of enum af_api_how. */
void af_control_put_how(struct af_recording *r, uint16_t kind, uint8_t how);

#endif
