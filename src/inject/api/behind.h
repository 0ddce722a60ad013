/*
 * Functions that come behind those of a library of ours beside libaflame.so (lent.c): ours stand
 * before them under the same names.
 */
#ifndef AF_INJECT_API_BEHIND_H
#define AF_INJECT_API_BEHIND_H

/*
 * A function behind ours, or anything, in the process; or NULL. Libraries whose names begin with
 * @prefix are searched even if their users keep them to themselves. Both call dlsym(). A program
 * that is not position-independent has the data of its libraries.
 */
void *af_api_behind_us(const char *prefix, const char *name);
void *af_api_anywhere(const char *prefix, const char *name);

#endif
