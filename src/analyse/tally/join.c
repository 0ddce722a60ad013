/* Tallies of many traces as one: rows with one key are one row. */
#include <stdlib.h>
#include <string.h>

#include "analyse/tally/private.h"
#include "base/buf.h"

/* Each key of a group says that those before it are keys, too. */
bool tally_has_key(enum af_tally_group group, enum af_tally_group key)
{
	if (group == AF_TALLY_BY_RANK || key == AF_TALLY_BY_RANK)
		return key == group;
	return key <= group;
}

static void key_text(struct af_buf *key, const char *text)
{
	af_buf_add(key, text, strlen(text) + 1);
}

static void key_of(struct af_buf *key, const struct af_tally_row *row, enum af_tally_group group)
{
	key->len = 0;
	af_buf_char(key, (char)row->level);
	af_buf_char(key, (char)row->source);
	key_text(key, row->api);
	key_text(key, row->function);
	key_text(key, row->driver);
	if (tally_has_key(group, AF_TALLY_BY_HOST))
		key_text(key, row->host);
	if (tally_has_key(group, AF_TALLY_BY_RANK))
		key_text(key, row->rank);
	if (tally_has_key(group, AF_TALLY_BY_PROCESS))
		key_text(key, row->process);
	if (tally_has_key(group, AF_TALLY_BY_THREAD))
		key_text(key, row->thread);
}

/* A text that is not the same in all rows is no property of the group. */
static void text_merge(const char **to, const char *from)
{
	if (**to && strcmp(*to, from) != 0)
		*to = "";
}

static const char *keep(struct af_tally *t, const char *text)
{
	return *text ? af_arena_strdup(&t->arena, text, strlen(text)) : "";
}

/* A new row like @row, whose texts are its own. */
static void row_add(struct af_tally *to, const struct af_tally_row *row)
{
	AF_GROW(to->rows, to->nr, to->cap);
	struct af_tally_row *made = &to->rows[to->nr++];
	*made = *row;
	made->stats = (struct af_call_stats){0};
	made->function = keep(to, row->function);
	made->driver = keep(to, row->driver);
	made->api = keep(to, row->api);
	made->category = keep(to, row->category);
	made->host = keep(to, row->host);
	made->rank = keep(to, row->rank);
	made->process = keep(to, row->process);
	made->thread = keep(to, row->thread);
}

static void row_join(struct af_tally *to, struct af_buf *key, const struct af_tally_row *row,
                     enum af_tally_group group)
{
	bool fresh;

	key_of(key, row, group);
	uint64_t *slot = af_keys_at(&to->by_key, key->data, key->len, &fresh);
	if (fresh) {
		*slot = to->nr;
		row_add(to, row);
	}
	struct af_tally_row *at = &to->rows[*slot];
	text_merge(&at->category, row->category);
	text_merge(&at->host, row->host);
	text_merge(&at->rank, row->rank);
	text_merge(&at->process, row->process);
	text_merge(&at->thread, row->thread);
	at->moves &= row->moves;
	af_stats_merge(&at->stats, &row->stats);
}

static void keys_join(struct af_keys *to, const struct af_keys *from)
{
	size_t at = 0, len;

	for (const void *key; (key = af_keys_next(from, &at, &len));)
		af_keys_at(to, key, len, NULL);
}

void af_tally_join(struct af_tally *to, const struct af_tally *from, enum af_tally_group group)
{
	struct af_buf key = {0};

	for (uint32_t i = 0; i < from->nr; i++)
		row_join(to, &key, &from->rows[i], group);
	af_buf_free(&key);
	keys_join(&to->devices, &from->devices);
	keys_join(&to->hosts, &from->hosts);
	to->with_calls += from->with_calls;
	to->threads_with_calls += from->threads_with_calls;
	to->nr_open += from->nr_open;
	to->nr_lost += from->nr_lost;
	to->nr_strange += from->nr_strange;
}
