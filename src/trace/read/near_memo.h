/*
 * The memo of near.h: a bit for each piece of a stream, in which at most one packet begins whose
 * content is worth skipping. Several processes read and set bits at once.
 */
#ifndef AF_TRACE_READ_NEAR_MEMO_H
#define AF_TRACE_READ_NEAR_MEMO_H

#include <stdbool.h>
#include <stdint.h>

struct af_near_memo;

/* Pieces of a stream of so many bytes. */
uint64_t af_near_memo_size(uint64_t bytes);

/*
 * Does the packet at byte @at define nothing? @begin: the first piece of its stream. False when
 * nobody found out.
 */
bool af_near_memo_has(const struct af_near_memo *m, uint64_t begin, uint64_t at);

/* The packet at byte @at defines nothing. */
void af_near_memo_set(struct af_near_memo *m, uint64_t begin, uint64_t at);

#endif
