/* No API, until there are generated ones: an object that has tables comes before this archive. */
#include <stddef.h>

#include "api/tables/tables.h"

const struct af_api_table *const af_apis[] = {NULL};
