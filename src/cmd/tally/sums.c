#include "cmd/tally/sums.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "analyse/table/bytes.h"
#include "analyse/table/group_by.h"
#include "analyse/table/rules.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "cmd/shared/load.h"
#include "cmd/shared/names.h"

const struct tally_part tally_parts[TALLY_PARTS] = {
    {"kernels", "kernel"}, {"copies", "operation"}, {"memory", "memory"}, {"energy", "kernel"}};

/* While rows are added up a mean is the sum that it is made of, so that their order is nothing. */
#define QUEUED_MEAN "queued_ns"
#define QUEUED_SUM "queued_sum_ns"

enum { ROWS_FEW = 4096 }; /* that are kept before equal ones become one */

bool tally_folds(const char *table)
{
	return strcmp(table, "memory") != 0;
}

void tally_sums_free(struct tally_sums *s)
{
	const struct tally_group by = s->by;

	af_tally_free(&s->calls);
	af_tables_free(&s->works);
	af_arena_free(&s->texts);
	*s = (struct tally_sums){.by = by};
}

/* The cell "process" of device work, by what rows are told apart. */
static const char *whose(const struct tally_group *by, const struct af_tally *calls,
                         const char *label)
{
	for (uint32_t i = 0; i < calls->nr_processes; i++) {
		const struct af_tally_process *p = &calls->processes[i];
		if (strcmp(p->label, label) != 0)
			continue;
		return by->group == AF_TALLY_BY_HOST   ? p->host
		       : by->group == AF_TALLY_BY_RANK ? p->rank
		                                       : label;
	}
	return label;
}

static struct af_cell *cell_at(const struct af_table *t, uint32_t row, int column)
{
	return &t->cells[(size_t)row * t->nr_columns + (uint32_t)column];
}

/* Means become sums; whose work it is has the name by which rows are kept apart. */
static void work_prepare(struct tally_sums *s, struct af_table *t)
{
	int process = tally_folds(t->name) ? af_table_column(t, "process") : -1;
	int queued = af_table_column(t, QUEUED_MEAN), calls = af_table_column(t, "calls");

	for (uint32_t r = 0; r < t->nr_rows && process >= 0; r++) {
		struct af_cell *c = cell_at(t, r, process);
		if (c->text)
			c->text =
			    af_tables_text(&s->works, "%s", whose(&s->by, &s->calls, c->text));
	}
	if (queued < 0 || calls < 0)
		return;
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		struct af_cell *c = cell_at(t, r, queued);
		if (__builtin_mul_overflow(c->value, cell_at(t, r, calls)->value, &c->value))
			c->value = UINT64_MAX;
	}
	t->columns[queued].key = QUEUED_SUM;
}

static void work_means(struct af_table *t)
{
	int queued = af_table_column(t, QUEUED_SUM), calls = af_table_column(t, "calls");

	if (queued < 0 || calls < 0)
		return;
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		struct af_cell *c = cell_at(t, r, queued);
		uint64_t nr = cell_at(t, r, calls)->value;
		c->value = nr ? c->value / nr + (c->value % nr > nr / 2) : 0;
	}
	t->columns[queued].key = QUEUED_MEAN;
}

/* Equal rows as one, in @f. */
static struct af_table *work_group(const struct tally_group *by, const struct tally_part *part,
                                   const struct af_table *from, struct af_tables *f)
{
	static const char *const all[] = {"process", "device", "caller", NULL};
	bool apart = !tally_folds(part->table) || by->apart;
	bool by_process = apart || by->group != AF_TALLY_BY_FUNCTION;
	const char *keys[] = {part->key, by_process ? "process" : NULL, apart ? "device" : NULL,
	                      NULL};

	return af_table_group_by(f, from, keys, all);
}

/* Shares of a device become those of all energy, as rows may be of several devices. */
static void energy_shares(struct af_table *t)
{
	int energy = af_table_column(t, "energy_j"), share = af_table_column(t, "share_percent");
	double all = 0;

	if (energy < 0 || share < 0)
		return;
	t->columns[share].title = "Share";
	for (uint32_t r = 0; r < t->nr_rows; r++)
		all += (double)cell_at(t, r, energy)->value;
	for (uint32_t r = 0; r < t->nr_rows; r++)
		cell_at(t, r, share)->value =
		    af_tables_share((double)cell_at(t, r, energy)->value, all);
	if (!t->total)
		return;
	t->total[share].value = af_tables_share(all, all);
	t->total[af_table_column(t, "unit")].text = "J";
	t->total[af_table_column(t, "kernel")].text = "Total";
}

struct af_table *tally_sums_work(const struct tally_sums *s, unsigned part, struct af_tables *f)
{
	const struct af_table *from = af_tables_find(&s->works, tally_parts[part].table);
	struct af_table *t = from ? work_group(&s->by, &tally_parts[part], from, f) : NULL;

	if (!t)
		return NULL;
	work_means(t);
	if (tally_folds(t->name))
		af_table_sum_up(f, t);
	energy_shares(t);
	return t;
}

static void work_append(struct tally_sums *s, const struct af_table *from)
{
	struct af_table *to = (struct af_table *)af_tables_find(&s->works, from->name);

	if (!to) {
		to = af_tables_copy(&s->works, from, af_tables_text(&s->works, "%s", from->name),
		                    af_tables_text(&s->works, "%s", from->title));
		for (uint32_t c = 0; c < to->nr_columns; c++) {
			to->columns[c].title =
			    af_tables_text(&s->works, "%s", from->columns[c].title);
			to->columns[c].key = af_tables_text(&s->works, "%s", from->columns[c].key);
		}
		to->whole = af_table_whole(from);
		return;
	}
	if (__builtin_add_overflow(to->whole, af_table_whole(from), &to->whole))
		to->whole = UINT64_MAX;
	for (uint32_t r = 0; r < from->nr_rows && from->nr_columns == to->nr_columns; r++) {
		struct af_cell *row = af_table_row(&s->works, to);
		memcpy(row, cell_at(from, r, 0), from->nr_columns * sizeof *row);
		for (uint32_t c = 0; c < from->nr_columns; c++)
			if (row[c].text)
				row[c].text = af_tables_text(&s->works, "%s", row[c].text);
	}
}

/* Rows of thousands of traces become those that differ, with all their texts anew. */
static void works_compact(struct tally_sums *s)
{
	struct tally_sums made = {.by = s->by};
	struct af_tables few = {0};
	bool many = false;

	for (unsigned i = 0; i < TALLY_PARTS; i++) {
		const struct af_table *t = af_tables_find(&s->works, tally_parts[i].table);
		many |= t && t->nr_rows > ROWS_FEW && t->nr_rows / 2 > s->kept[i];
	}
	if (!many)
		return;
	for (unsigned i = 0; i < TALLY_PARTS; i++) {
		const struct af_table *t = af_tables_find(&s->works, tally_parts[i].table);
		if (!t)
			continue;
		t = work_group(&s->by, &tally_parts[i], t, &few);
		work_append(&made, t);
		s->kept[i] = t->nr_rows;
	}
	af_tables_free(&few);
	af_tables_free(&s->works);
	s->works = made.works;
}

static const char *text_keep(struct tally_sums *s, const char *text)
{
	return af_arena_strdup(&s->texts, text, strlen(text));
}

static void name_one(struct tally_sums *s, const char *who, const char *why, bool damaged)
{
	if (s->nr_named < TALLY_NAMED)
		s->missing[s->nr_named++] =
		    (struct tally_missing){text_keep(s, who), text_keep(s, why), damaged};
}

void tally_sums_missing(struct tally_sums *s, const char *who, const char *why)
{
	s->nr_missing++;
	name_one(s, who, why, false);
}

/* One thread at a time finishes what a killed recorder left: it writes into the trace. */
static int prepare(const char *dir, struct af_err *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	int rc = af_trace_prepare(dir, err);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int sums_load(struct tally_sums *s, const char *dir, const char *who, bool live,
                     struct af_err *err)
{
	const struct af_query query = {.answers =
	                                   AF_ANSWER_TALLY | (s->by.energy ? AF_ANSWER_ENERGY : 0),
	                               .own = &s->calls,
	                               .threads = s->threads ? s->threads : 1};
	struct af_results r = {0};

	int rc = af_load_quietly(dir, &query, &r, err);
	for (unsigned i = 0; !rc && i < TALLY_PARTS; i++) {
		const struct af_table *from = af_tables_find(&r.tables, tally_parts[i].table);
		if (!from)
			continue;
		work_append(s, from);
		work_prepare(s, (struct af_table *)af_tables_find(&s->works, from->name));
	}
	if (!rc) {
		const bool damaged = r.damage[0] && !live;
		s->nr_members++;
		s->nr_damaged += damaged;
		if (damaged)
			name_one(s, who, r.damage, true);
	}
	af_results_close(&r);
	return rc;
}

int tally_sums_read(struct tally_sums *s, const char *dir, const char *who, struct af_err *err)
{
	int rc = prepare(dir, err);

	return rc ? rc : sums_load(s, dir, who, false, err);
}

int tally_sums_read_live(struct tally_sums *s, const char *dir, const char *who, struct af_err *err)
{
	return sums_load(s, dir, who, true, err);
}

void tally_sums_join(struct tally_sums *s, const struct tally_sums *later)
{
	af_tally_join(&s->calls, &later->calls, s->by.group);
	for (unsigned i = 0; i < TALLY_PARTS; i++) {
		const struct af_table *t = af_tables_find(&later->works, tally_parts[i].table);
		if (t)
			work_append(s, t);
	}
	works_compact(s);
	for (uint32_t i = 0; i < later->nr_named; i++)
		name_one(s, later->missing[i].member, later->missing[i].why,
		         later->missing[i].damaged);
	s->nr_members += later->nr_members;
	s->nr_missing += later->nr_missing;
	s->nr_damaged += later->nr_damaged;
}

void tally_sums_write(const struct tally_sums *s, struct af_buf *to)
{
	af_buf_leb128(to, s->nr_members);
	af_buf_leb128(to, s->nr_missing);
	af_buf_leb128(to, s->nr_damaged);
	af_buf_leb128(to, s->nr_named);
	for (uint32_t i = 0; i < s->nr_named; i++) {
		af_buf_add(to, s->missing[i].member, strlen(s->missing[i].member) + 1);
		af_buf_add(to, s->missing[i].why, strlen(s->missing[i].why) + 1);
		af_buf_char(to, (char)s->missing[i].damaged);
	}
	af_tally_write(&s->calls, to);
	af_tables_write(&s->works, to);
}

static void read_missing(struct tally_sums *s, struct af_cursor *from)
{
	s->nr_members = af_cursor_uleb(from);
	s->nr_missing = af_cursor_uleb(from);
	s->nr_damaged = af_cursor_uleb(from);
	uint64_t nr = af_cursor_uleb(from);
	from->bad |= nr > TALLY_NAMED;
	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		const char *member = af_cursor_string(from), *why = af_cursor_string(from);
		bool damaged = af_cursor_uint(from, 1) != 0;
		if (member && why)
			s->missing[s->nr_named++] = (struct tally_missing){member, why, damaged};
	}
}

int tally_sums_join_bytes(struct tally_sums *s, const void *data, size_t size, struct af_err *err)
{
	struct af_cursor c = {data, (const uint8_t *)data + size, false};
	struct tally_sums later = {.by = s->by};

	read_missing(&later, &c);
	int rc = af_tally_read(&later.calls, &c, err);
	rc = rc ? rc : af_tables_read(&later.works, &c, err);
	if (!rc)
		tally_sums_join(s, &later);
	tally_sums_free(&later);
	return rc;
}
