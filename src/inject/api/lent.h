/*
 * For libraries of ours beside libaflame.so whose functions stand before those of others: the calls
 * that libaflame.so lends, and the functions behind ours.
 */
#ifndef AF_INJECT_API_LENT_H
#define AF_INJECT_API_LENT_H

#include "inject/api/shared.h"

/* The functions that libaflame.so lends; called only where af_api_begin() was true. */
extern const struct af_api_shared *af_api_lent;

/* The thread is inside of a call that is recorded as a whole: those within it are not. */
extern __thread uint32_t af_api_inside;

/* Fill in af_api_lent, and let calls be recorded, where libaflame.so is in the process. */
void af_api_borrow(void);

/*
 * A function behind ours, or anything, in the process; or NULL. Libraries whose names begin with
 * @prefix are searched even if their users keep them to themselves. Both call dlsym(). A program
 * that is not position-independent has the data of its libraries.
 */
void *af_api_behind_us(const char *prefix, const char *name);
void *af_api_anywhere(const char *prefix, const char *name);

#endif
