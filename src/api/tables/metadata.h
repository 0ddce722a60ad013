/*
 * The functions of an API as text of CTF 1.8 (TSDL), so that readers of others show functions and
 * fields by name: it stands behind what af_metadata_text() writes. Types are defined once, with the
 * name of the API before theirs.
 */
#ifndef AF_API_TABLES_METADATA_H
#define AF_API_TABLES_METADATA_H

#include "api/tables/tables.h"

struct af_buf;

/*
 * Append the text for @api to @b: its types, then an event for each function, called "cuda:name"
 * and with the function's kind as id. Fields have an underscore before their names, which readers
 * strip, because any name may be a word of the language; a name that an earlier field of the event
 * has gets underscores behind it.
 */
void af_api_metadata(struct af_buf *b, const struct af_api_table *api);

#endif
