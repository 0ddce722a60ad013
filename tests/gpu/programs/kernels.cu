/* The module that driver.cu loads: built as a fatbin. */
#include "truth.h"
