/*
 * libaflame-ze.so: a function under the name of each of Level Zero's loader, before it, which
 * records the call. Everything is found when the first call of the program comes.
 */
#ifndef AF_INJECT_ZE_CALLS_ZE_CALLS_H
#define AF_INJECT_ZE_CALLS_ZE_CALLS_H

#include <stdint.h>

#include "inject/api/shared.h"

/* Generated: the functions of this library by name, and those for extension.c. */
extern const struct af_api_entry af_api_ze_entries[], af_ze_extension_entries[];
extern void *af_ze_extension_next[]; /* by number: what those go on to */

/* Put the loader's function @name into @slot; one that only fails where it has none. */
void af_ze_calls_next(void **slot, const char *name);

/* A function of the loader that is in the process, never ours; NULL: there is none. */
void *af_ze_calls_real(const char *name);

/* The entry @name of @entries, NULL: none. */
const struct af_api_entry *af_ze_calls_entry(const struct af_api_entry *entries, const char *name);

/* A note in the trace, once, of a function that the program found and that is newer than we are. */
void af_ze_calls_unknown(const char *name);

/*
 * zeDriverGetExtensionFunctionAddress (specification, "Core", drivers), where @real is the
 * loader's: the program gets functions that record.
 */
void *af_ze_calls_extensions(void *real);

#endif
