/*
 * The error law. A function that can fail for reasons outside the program returns 0 (or a count)
 * or a negative errno, and fills a caller-owned struct af_err: af_fail() once, where the cause is
 * known; af_while() on the way up, to say what was being tried. Success leaves it untouched.
 * Only src/cmd prints. The struct owns nothing, so it works in a target process and in a handler.
 */
#ifndef AF_BASE_ERR_H
#define AF_BASE_ERR_H

#include "aflame/error.h"

/*
 * Record a failure: formats the message, appends ": strerror" when @rc names an errno that the
 * message does not already explain (pass @rc through af_fail_plain() to leave that out).
 * @err may be NULL. Returns @rc, so `return af_fail(err, -EPERM, "…")`.
 */
int af_fail(struct af_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The same without the ": strerror" tail, for causes that errno words would only blur. */
int af_fail_plain(struct af_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Prefix the message of a failure that came from below. Returns @rc. */
int af_while(struct af_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
