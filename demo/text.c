/* See text.h. */
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NR_BYTES = 256,
	NR_MERGES = 224,
	NR_TOKENS = NR_BYTES + NR_MERGES,
	DOCUMENT_SIZE = 64000, /* bytes tokenised in each step */
	LESSON_SIZE = 4000,    /* bytes the merges are learnt from */
};

struct merge {
	uint16_t left, right;
};

struct text {
	uint64_t seed, random;
	int dim;
	int nr_merges; /* merge i makes token NR_BYTES + i */
	size_t nr_tokens;
	struct merge merges[NR_MERGES];
	uint16_t tokens[DOCUMENT_SIZE];
	float *table; /* [NR_TOKENS, dim] */
};

static const char *const words[] = {
    "queue",  "kernel", "event",  "buffer", "launch", "thread",  "warp",   "stall",  "stack",
    "frame",  "device", "driver", "matrix", "vector", "softmax", "norm",   "token",  "layer",
    "weight", "head",   "score",  "time",   "clock",  "sample",  "flame",  "graph",  "copy",
    "the",    "a",      "of",     "and",    "waits",  "runs",    "starts", "after",  "before",
    "every",  "slow",   "fast",   "long",   "short",  "deep",    "under",  "above",  "finds",
    "counts", "splits", "joins",  "maps",   "reads",  "writes",  "fills",  "blocks", "returns",
};

static uint32_t next_random(struct text *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(t->random >> 33);
}

/* Replaces each pair by the token of the merge; returns the new length. */
static size_t apply_merge(uint16_t *tokens, size_t nr, struct merge pair, uint16_t token)
{
	size_t out = 0;

	for (size_t i = 0; i < nr; i++) {
		if (i + 1 < nr && tokens[i] == pair.left && tokens[i + 1] == pair.right) {
			tokens[out++] = token;
			i++;
		} else {
			tokens[out++] = tokens[i];
		}
	}
	return out;
}

/* The most frequent pair of neighbours, the smallest of equals; its count comes back. */
static unsigned int commonest_pair(const uint16_t *tokens, size_t nr, uint16_t *counts,
                                   struct merge *pair)
{
	unsigned int most = 0;

	memset(counts, 0, sizeof *counts * NR_TOKENS * NR_TOKENS);
	for (size_t i = 0; i + 1 < nr; i++)
		counts[tokens[i] * NR_TOKENS + tokens[i + 1]]++;
	for (int i = 0; i < NR_TOKENS * NR_TOKENS; i++) {
		if (counts[i] <= most)
			continue;
		most = counts[i];
		*pair = (struct merge){(uint16_t)(i / NR_TOKENS), (uint16_t)(i % NR_TOKENS)};
	}
	return most;
}

static int learn_merges(struct text *t)
{
	uint16_t *counts = malloc(sizeof *counts * NR_TOKENS * NR_TOKENS);
	size_t nr = LESSON_SIZE;

	if (!counts)
		return -1;
	text_compose(t, 0);
	while (t->nr_merges < NR_MERGES) {
		struct merge *pair = &t->merges[t->nr_merges];

		if (commonest_pair(t->tokens, nr, counts, pair) < 2)
			break;
		nr = apply_merge(t->tokens, nr, *pair, (uint16_t)(NR_BYTES + t->nr_merges));
		t->nr_merges++;
	}
	free(counts);
	return 0;
}

struct text *text_open(unsigned int seed, int dim)
{
	struct text *t = calloc(1, sizeof *t);
	const size_t nr = (size_t)NR_TOKENS * (size_t)dim;

	if (!t)
		return NULL;
	t->seed = seed;
	t->dim = dim;
	t->table = malloc(nr * sizeof *t->table);
	if (!t->table || learn_merges(t)) {
		text_close(t);
		return NULL;
	}
	for (size_t i = 0; i < nr; i++)
		t->table[i] = (float)(next_random(t) / 1073741824.0 - 1.0);
	return t;
}

void text_compose(struct text *t, unsigned int step)
{
	size_t at = 0;

	t->random = t->seed * UINT64_C(0x9e3779b97f4a7c15) + step;
	next_random(t);
	while (at < DOCUMENT_SIZE) {
		const char *word = words[next_random(t) % (sizeof words / sizeof *words)];

		for (; *word && at < DOCUMENT_SIZE; word++)
			t->tokens[at++] = (unsigned char)*word;
		if (at < DOCUMENT_SIZE)
			t->tokens[at++] = next_random(t) % 9 ? ' ' : '.';
	}
	t->nr_tokens = DOCUMENT_SIZE;
}

size_t text_encode(struct text *t)
{
	for (int i = 0; i < t->nr_merges; i++)
		t->nr_tokens =
		    apply_merge(t->tokens, t->nr_tokens, t->merges[i], (uint16_t)(NR_BYTES + i));
	return t->nr_tokens;
}

/* The position's part of one element: sine in even columns, cosine in odd ones. */
static float position_wave(int position, int column, int dim)
{
	const double angle = position / pow(10000.0, (double)(column / 2 * 2) / dim);

	return (float)(column % 2 ? cos(angle) : sin(angle));
}

void text_embed(const struct text *t, int seq, float *x)
{
	for (int row = 0; row < seq; row++) {
		const uint16_t token = t->tokens[(size_t)row % t->nr_tokens];
		const float *from = t->table + (size_t)token * (size_t)t->dim;

		for (int i = 0; i < t->dim; i++)
			*x++ = from[i] + position_wave(row, i, t->dim);
	}
}

int text_vocabulary(const struct text *t)
{
	return NR_BYTES + t->nr_merges;
}

void text_close(struct text *t)
{
	if (!t)
		return;
	free(t->table);
	free(t);
}
