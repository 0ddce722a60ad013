/* Code objects of the program, kept in the trace by their hash. */
#ifndef AF_INJECT_KEEP_H
#define AF_INJECT_KEEP_H

#include <stddef.h>

#include "trace/objects.h"

enum { AF_OBJECT_NAME = AF_SHA256_HEX };

/*
 * Keep @size bytes at @data in the trace. @name gets the object's name; it is empty when that did
 * not work (another mount namespace, a full disk), and a definition that carries it says so. Not in
 * a handler; opens a descriptor for a moment.
 */
void af_object_keep(const void *data, size_t size, char name[AF_OBJECT_NAME]);

#endif
