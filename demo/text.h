/*
 * The host's share of the work: text to rows of numbers. A byte-pair tokeniser learnt from a
 * generated corpus, an embedding table, and sinusoidal positions (Vaswani et al. 2017,
 * section 3.5). Order: text_open; then for each step text_compose, text_encode, text_embed;
 * text_close.
 */
#ifndef DEMO_TEXT_H
#define DEMO_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text;

/* Learns the merges and makes the table for rows of @dim floats. NULL when out of memory. */
struct text *text_open(unsigned int seed, int dim);

/* Writes a new document, a function of @step and the seed only. */
void text_compose(struct text *t, unsigned int step);

/* Tokenises the document; returns the number of tokens. */
size_t text_encode(struct text *t);

/* x[seq, dim] = embedding of the first @seq tokens (wrapping round) plus their positions. */
void text_embed(const struct text *t, int seq, float *x);

/* How many tokens there can be. */
int text_vocabulary(const struct text *t);

/* @t may be NULL. */
void text_close(struct text *t);

#endif
