/*
 * Programs that run the code of others by translation (valgrind, qemu-user, DynamoRIO). The
 * translated program loads libaflame, but the translator emulates its signals, stacks and system
 * calls. So the recorder samples the translator from outside.
 */
#ifndef AF_INJECT_CORE_TRANSLATOR_H
#define AF_INJECT_CORE_TRANSLATOR_H

#include <stdbool.h>

/*
 * Does this program run programs of other machines? Their ld.so would complain about a library that
 * is not for them.
 */
bool af_translator_runs_others(void);

/* Does such a program run this process's code? */
bool af_translator_runs_us(void);

#endif
