/*
 * The code objects in a trace, each opened once, when it is first asked for.
 *
 *	af_code_store_open → { af_code_store_get }* → af_code_store_close
 */
#ifndef AF_SYM_DEVICE_CODE_STORE_H
#define AF_SYM_DEVICE_CODE_STORE_H

#include "sym/device/code.h"

struct af_code_store;
struct af_file;

/* Open the store of the trace in directory @dir. A trace without objects has an empty store. */
int af_code_store_open(struct af_code_store **out, const char *dir, struct af_err *err);
void af_code_store_close(struct af_code_store *s);

/*
 * The object called @name, its SHA-256 in hexadecimal as PROGRAM events carry it. It lives as long
 * as the store. NULL when it is not there or cannot be read: af_code_store_reason() tells why. One
 * thread at a time.
 */
struct af_code *af_code_store_get(struct af_code_store *s, const char *name);

/* Why there is no object called @name, "" when there is one. */
const char *af_code_store_reason(struct af_code_store *s, const char *name);

/* Map the object called @name, which need not be code: 0 or -errno. */
int af_code_store_map(const struct af_code_store *s, const char *name, struct af_file *f);

/* Was the trace recorded here, by this user (trace/read/origin.h)? */
bool af_code_store_is_here(const struct af_code_store *s);

#endif
