/*
 * Programs that run the code of others by translation (valgrind, qemu-user, DynamoRIO): what loads
 * libaflame there is the translated program, whose signals, stacks and system calls are played by
 * the translator. The recorder samples that one from outside.
 */
#ifndef AF_INJECT_CORE_TRANSLATOR_H
#define AF_INJECT_CORE_TRANSLATOR_H

#include <stdbool.h>

/*
 * Does this program run those of other machines? Their ld.so would complain of a library that is
 * not for them.
 */
bool af_translator_runs_others(void);

/* Is this process's code run by such a program? */
bool af_translator_runs_us(void);

#endif
