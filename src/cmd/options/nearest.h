/* "did you mean …": the nearest of some words by edit distance. */
#ifndef AF_CMD_OPTIONS_NEAREST_H
#define AF_CMD_OPTIONS_NEAREST_H

struct af_nearest {
	const char *word, *best;
	unsigned distance;
};

/*
 * Begin with @word, then offer each candidate. Both are borrowed. The first of equally near
 * candidates wins.
 */
void af_nearest_init(struct af_nearest *n, const char *word);
void af_nearest_offer(struct af_nearest *n, const char *candidate);

/* The nearest one, or NULL when none is near. */
const char *af_nearest_best(const struct af_nearest *n);

#endif
