/* Code objects of the program, kept in the trace by their hash. */
#ifndef AF_INJECT_CORE_KEEP_H
#define AF_INJECT_CORE_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

/*
 * Write the PROGRAM @id, and keep its @size bytes at @data, if there are any. Where they could not
 * be kept (another mount namespace, a full disk) the definition says so. Not in a handler; opens a
 * descriptor for a moment.
 */
void af_program_define(uint32_t id, uint32_t device, enum af_object_form form, const void *data,
                       size_t size, const char *options);

#endif
