#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static void err_set(struct af_err *err, int rc, const char *fmt, va_list ap)
{
	err->code = rc;
	vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	af_terminal_text(err->msg); /* it may hold names of files and functions */
}

int af_fail_plain(struct af_err *err, int rc, const char *fmt, ...)
{
	if (!err)
		return rc;

	va_list ap;
	va_start(ap, fmt);
	err_set(err, rc, fmt, ap);
	va_end(ap);
	return rc;
}

int af_fail(struct af_err *err, int rc, const char *fmt, ...)
{
	if (!err)
		return rc;

	va_list ap;
	va_start(ap, fmt);
	err_set(err, rc, fmt, ap);
	va_end(ap);

	size_t used = strlen(err->msg);
	char words[128];
	snprintf(err->msg + used, sizeof err->msg - used, ": %s",
	         strerror_r(-rc, words, sizeof words));
	return rc;
}

int af_while(struct af_err *err, int rc, const char *fmt, ...)
{
	if (!err)
		return rc;

	char below[sizeof err->msg];
	memcpy(below, err->msg, sizeof below);

	va_list ap;
	va_start(ap, fmt);
	err_set(err, rc, fmt, ap);
	va_end(ap);

	size_t used = strlen(err->msg);
	snprintf(err->msg + used, sizeof err->msg - used, ": %s", below);
	return rc;
}
