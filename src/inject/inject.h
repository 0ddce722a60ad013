/*
 * The process's side of recording: what libaflame.so as a whole knows. Every runtime loads the
 * library by its own front door; the first door that opens calls af_inject_start().
 */
#ifndef AF_INJECT_INJECT_H
#define AF_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/session.h"

/* Attach this process to the session in the environment; idempotent, any door. False: not
 * recording. */
bool af_inject_start(void);

/* The session, NULL when not recording (or no longer). One load: fit for hot paths. */
const struct af_session *af_inject_session(void);

/* This process's ordinal in the trace. */
uint32_t af_inject_process(void);

/* Process-wide dense numbers for definitions: devices, queues, programs, kernels. */
uint32_t af_inject_next_id(_Atomic uint32_t *counter);

#endif
