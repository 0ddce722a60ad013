#include "trace/write/rank.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_DIGITS = 10 };

struct rank_block {
	const char *text;
	size_t size;
};

static bool is_number(const char *text)
{
	size_t len = text ? strspn(text, "0123456789") : 0;

	return len && len <= RANK_DIGITS && !text[len];
}

static const char *rank_find(af_rank_get *get, const void *environment, const char **name)
{
	static const char *const names[] = {
	    "RANK",      "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "MPI_RANKID",  "PMI_RANK",
	    "PMIX_RANK", "PALS_RANKID",          "FLUX_TASK_RANK",      "SLURM_PROCID"};
	/* Anybody may have a variable of the first name. */
	bool launched = get(environment, "WORLD_SIZE") || get(environment, "LOCAL_RANK");

	for (unsigned i = launched ? 0 : 1; i < sizeof names / sizeof *names; i++) {
		const char *rank = get(environment, names[i]);
		if (!is_number(rank))
			continue;
		*name = names[i];
		return rank;
	}
	return NULL;
}

const char *af_rank_find(af_rank_get *get, const void *environment)
{
	const char *name;

	return rank_find(get, environment, &name);
}

static const char *own_get(const void *environment, const char *name)
{
	(void)environment;
	return getenv(name);
}

const char *af_rank_own(void)
{
	return af_rank_find(own_get, NULL);
}

const char *af_rank_own_named(const char **name)
{
	return rank_find(own_get, NULL, name);
}

static const char *block_get(const void *environment, const char *name)
{
	const struct rank_block *b = environment;
	const char *end = b->text + b->size, *next;
	size_t len = strlen(name);

	for (const char *at = b->text; at < end; at = next + 1) {
		next = memchr(at, 0, (size_t)(end - at));
		if (!next)
			return NULL;
		if ((size_t)(next - at) > len && !memcmp(at, name, len) && at[len] == '=')
			return at + len + 1;
	}
	return NULL;
}

const char *af_rank_of(const char *block, size_t size)
{
	const struct rank_block b = {block, size};

	/* cppcheck-suppress returnDanglingLifetime ; what is found lies in @block */
	return af_rank_find(block_get, &b);
}

const char *af_rank_variable(const char *block, size_t size, const char *name)
{
	const struct rank_block b = {block, size};

	return block_get(&b, name);
}
