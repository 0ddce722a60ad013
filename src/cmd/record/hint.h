/* Words for a user whose program cannot be run as it was named. */
#ifndef AF_CMD_RECORD_HINT_H
#define AF_CMD_RECORD_HINT_H

#include <stddef.h>

/*
 * A command that would run the file @program, as the end of a message (": run it as `python3
 * train.py`"), by its name's ending or what it begins with. "" where there is no such file, or
 * where nothing is known.
 */
void af_program_hint(const char *program, char *hint, size_t size);

#endif
