/* Events that every recorder writes, and the number of its session. */
#ifndef AF_TRACE_WRITE_RECORDER_H
#define AF_TRACE_WRITE_RECORDER_H

#include <stdint.h>

struct af_stream;

/* A number that no other recording has. */
uint64_t af_recorder_nonce(void);

/* A NOTE: strings, of which the stream keeps copies. */
void af_recorder_note(struct af_stream *s, const char *key, const char *value);

/* The wall clock's time beside the trace's, with what is uncertain of it. */
void af_recorder_anchor(struct af_stream *s);

#endif
