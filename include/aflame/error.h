/* Why a function failed, as text. Part of libaflame-trace: see aflame/trace.h. */
#ifndef AFLAME_ERROR_H
#define AFLAME_ERROR_H

struct af_err {
	int code;      /* negative errno, 0 while nothing failed */
	char msg[508]; /* one line, no newline; never empty when code != 0 */
};

#endif
