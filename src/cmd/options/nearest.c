#include "cmd/options/nearest.h"

#include <string.h>

void af_nearest_init(struct af_nearest *n, const char *word)
{
	n->word = word;
	n->best = 0;
	n->distance = ~0u;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

/* Levenshtein's distance, with two letters that changed places as one edit, row by row. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned rows[3][64];
	size_t n = strlen(a), m = strlen(b);

	if (n >= 63 || m >= 63)
		return ~0u;
	for (unsigned j = 0; j <= m; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
			              above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min3(row[j], row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

void af_nearest_offer(struct af_nearest *n, const char *candidate)
{
	unsigned d = edit_distance(n->word, candidate);

	/* A word that begins with what the user typed counts as near. */
	if (strlen(n->word) >= 2 && !strncmp(n->word, candidate, strlen(n->word)))
		d = 1;
	if (d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}

const char *af_nearest_best(const struct af_nearest *n)
{
	return n->distance <= 1 + strlen(n->word) / 3 ? n->best : 0;
}
