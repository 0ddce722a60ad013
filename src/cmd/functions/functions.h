/*
 * `--uprobe LIB:FUNC[+RETURN][@1/N]`: from these words to places in files, for the collector bpf.
 *
 *	af_functions_find → … → af_functions_free
 */
#ifndef AF_CMD_FUNCTIONS_FUNCTIONS_H
#define AF_CMD_FUNCTIONS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "collect/session/watcher.h"

struct af_err;

/* Functions with less than was wanted: how many, and the first of them, each with the reason. */
struct af_functions_less {
	uint32_t nr;
	char first[400];
};

struct af_functions {
	struct af_watch_function all[AF_WATCH_FUNCTIONS]; /* by file, then by offset */
	uint32_t nr;
	/* Those that a pattern named: without times, and those that are not in @all. */
	struct af_functions_less untimed, unprobed;
	struct af_arena memory;
};

/* Where libraries are looked for: what is going to be recorded. */
struct af_functions_of {
	const char *program; /* its first word, NULL: it runs already */
	const uint32_t *pids;
	uint32_t nr_pids;
};

/*
 * Find all functions that @words name, @nr of them. -EINVAL with a message where they make no sense
 * or name nothing, and then the message has near names. @to begins zeroed; free it either way.
 */
int af_functions_find(struct af_functions *to, const char *const *words, uint32_t nr,
                      const struct af_functions_of *of, struct af_err *err);
void af_functions_free(struct af_functions *f);

/* Sentences on those with less, "" where there are none. */
void af_functions_less_text(const struct af_functions *f, char *text, size_t size);

#endif
