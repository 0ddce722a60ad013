/* The tables of time inside MPI and of requests, and rows of the verdict. */
#include <stdlib.h>
#include <string.h>

#include "analyse/mpi/mpi.h"
#include "analyse/mpi/private.h"
#include "analyse/pass/pass.h"
#include "analyse/world/device_name.h"
#include "api/tables/tables.h"
#include "base/arena.h"

enum { BOUND = 5000, REQUEST_ROWS = 1000, VERDICT_ROWS = 8 }; /* hundredths of a percent; rows */

#define MPI_COLUMNS(C)                                                                             \
	C(process, "Process", AF_CELL_TEXT)                                                        \
	C(tid, "Thread", AF_CELL_COUNT)                                                            \
	C(time_ns, "In MPI", AF_CELL_NS)                                                           \
	C(share, "Share", AF_CELL_PERCENT, .merge = AF_MERGE_RATIO, .per = "span_ns",              \
	  .scale = 1e4)                                                                            \
	C(verdict, "Verdict", AF_CELL_TEXT, AF_SHOW_USED)                                          \
	C(point_ns, "Send, receive", AF_CELL_NS, AF_SHOW_USED)                                     \
	C(wait_ns, "Waits", AF_CELL_NS, AF_SHOW_USED)                                              \
	C(collective_ns, "Collectives", AF_CELL_NS, AF_SHOW_USED)                                  \
	C(rest_ns, "Other", AF_CELL_NS, AF_SHOW_USED)                                              \
	C(calls, "Calls", AF_CELL_COUNT)                                                           \
	C(sent_bytes, "Sent", AF_CELL_BYTES, AF_SHOW_USED)                                         \
	C(received_bytes, "Received", AF_CELL_BYTES, AF_SHOW_USED)                                 \
	C(collective_bytes, "Given to collectives", AF_CELL_BYTES, AF_SHOW_USED)                   \
	C(span_ns, "Between Init and Finalize", AF_CELL_NS, AF_SHOW_NEVER)
struct mpi_row {
	MPI_COLUMNS(AF_ROW_CELL)
};

#define REQUEST_COLUMNS(C)                                                                         \
	C(process, "Process", AF_CELL_TEXT)                                                        \
	C(function, "Function", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                               \
	C(peer, "Peer", AF_CELL_COUNT, .merge = AF_MERGE_SAME)                                     \
	C(requests, "Requests", AF_CELL_COUNT)                                                     \
	C(bytes, "Bytes", AF_CELL_BYTES, AF_SHOW_USED)                                             \
	C(mean_ns, "Until completed", AF_CELL_NS, .merge = AF_MERGE_MEAN, .of = "completed")       \
	C(max_ns, "At most", AF_CELL_NS)                                                           \
	C(waited_ns, "Of it waited, in all", AF_CELL_NS)                                           \
	C(open, "Not completed", AF_CELL_COUNT, AF_SHOW_USED)                                      \
	C(unseen, "Completed unseen", AF_CELL_COUNT, AF_SHOW_USED)                                 \
	C(completed, "Completed", AF_CELL_COUNT, AF_SHOW_NEVER)
struct request_row {
	REQUEST_COLUMNS(AF_ROW_CELL)
};

static uint64_t span_of(const struct mpi_thread *t)
{
	return t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 0;
}

static uint64_t share_of(const struct mpi_thread *t)
{
	return af_tables_ratio(t->time_ns, span_of(t), 1e4);
}

static const char *verdict_of(const struct mpi_thread *t)
{
	return share_of(t) >= BOUND ? "MPI-bound" : "";
}

static const char *percent(struct af_tables *f, uint64_t part, uint64_t all)
{
	uint64_t is = af_tables_ratio(part, all, 1e4);

	return af_tables_text(f, "%llu.%llu %%", (unsigned long long)(is / 100),
	                      (unsigned long long)(is % 100 / 10));
}

/* A row of the verdict for each rank that MPI holds back, beside those of devices. */
static void verdict_rows(const struct mpi *m, const struct af_world *w, struct af_tables *f)
{
	struct af_table *t = f->first;

	while (t && strcmp(t->name, "verdict") != 0)
		t = t->next;
	for (uint32_t i = 0; i < m->nr_threads && i < VERDICT_ROWS; i++) {
		const struct mpi_thread *is = &m->threads[i];
		uint64_t all = is->end_ns > is->begin_ns ? is->end_ns - is->begin_ns : 0;
		if (!*verdict_of(is))
			continue;
		if (!t)
			t = af_pairs_table(f, "verdict", "What holds the program back");
		af_pair_row(f, t, "MPI-bound", af_process_label(f, w, is->process),
		            af_tables_text(f,
		                           "MPI-bound: %s between MPI_Init and MPI_Finalize: "
		                           "inside MPI %s, in sends and receives %s, in waits %s, "
		                           "in collectives %s",
		                           af_tables_ns(f, all), percent(f, is->time_ns, all),
		                           percent(f, is->parts_ns[MPI_PART_POINT], all),
		                           percent(f, is->parts_ns[MPI_PART_WAIT], all),
		                           percent(f, is->parts_ns[MPI_PART_COLLECTIVE], all)));
	}
}

void af_mpi_verdicts(struct af_tables *f)
{
	const struct af_table *mpi = af_tables_find(f, "mpi");
	struct af_table *t = f->first;

	while (t && strcmp(t->name, "verdict") != 0)
		t = t->next;
	for (uint32_t i = 0; mpi && i < mpi->nr_rows && i < VERDICT_ROWS; i++) {
		struct mpi_row *row = (void *)(mpi->cells + (size_t)i * mpi->nr_columns);
		uint64_t all = row->span_ns.value;
		row->verdict.text = row->share.value >= BOUND ? "MPI-bound" : "";
		if (!*row->verdict.text)
			continue;
		if (!t)
			t = af_pairs_table(f, "verdict", "What holds the program back");
		af_pair_row(f, t, "MPI-bound", "all ranks",
		            af_tables_text(f,
		                           "MPI-bound: %s between MPI_Init and MPI_Finalize: "
		                           "inside MPI %s, in sends and receives %s, in waits %s, "
		                           "in collectives %s",
		                           af_tables_ns(f, all),
		                           percent(f, row->time_ns.value, all),
		                           percent(f, row->point_ns.value, all),
		                           percent(f, row->wait_ns.value, all),
		                           percent(f, row->collective_ns.value, all)));
	}
}

static int by_time(const void *a, const void *b)
{
	const struct mpi_thread *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void table_threads(struct mpi *m, const struct af_world *w, struct af_tables *f)
{
	static const struct af_column columns[] = {MPI_COLUMNS(AF_ROW_COLUMN)};
	struct af_table *t = AF_TABLE(f, "mpi", "Time inside MPI", columns);

	t->note = "shares are of the time between MPI_Init and MPI_Finalize";
	AF_SORT(m->threads, m->nr_threads, by_time);
	for (uint32_t i = 0; i < m->nr_threads; i++) {
		const struct mpi_thread *is = &m->threads[i];
		struct mpi_row *row = af_table_row(f, t);
		row->process.text = af_process_label(f, w, is->process);
		row->tid.value = is->tid;
		row->time_ns.value = is->time_ns;
		row->share.value = share_of(is);
		row->span_ns.value = span_of(is);
		row->verdict.text = verdict_of(is);
		row->point_ns.value = is->parts_ns[MPI_PART_POINT];
		row->wait_ns.value = is->parts_ns[MPI_PART_WAIT];
		row->collective_ns.value = is->parts_ns[MPI_PART_COLLECTIVE];
		row->rest_ns.value = is->parts_ns[MPI_PART_REST];
		row->calls.value = is->calls;
		row->sent_bytes.value = is->sent_bytes;
		row->received_bytes.value = is->received_bytes;
		row->collective_bytes.value = is->collective_bytes;
	}
}

static int by_time_open(const void *a, const void *b)
{
	const struct mpi_request_sum *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

static void table_requests(struct mpi_requests *r, const struct af_world *w, struct af_tables *f,
                           bool all)
{
	static const struct af_column columns[] = {REQUEST_COLUMNS(AF_ROW_COLUMN)};
	const struct af_api_table *api = af_api_named("mpi");
	struct af_table *t = AF_TABLE(f, "mpi_requests", "Requests of MPI", columns);

	AF_SORT(r->sums, r->nr_sums, by_time_open);
	for (uint32_t i = 0; i < r->nr_sums && (all || i < REQUEST_ROWS); i++) {
		const struct mpi_request_sum *s = &r->sums[i];
		if (!s->posted)
			continue;
		struct request_row *row = af_table_row(f, t);
		row->process.text = af_process_label(f, w, s->process);
		row->function.text = api->functions[s->function].name;
		row->peer.value = s->peer >= 0 ? (uint64_t)s->peer : 0;
		row->peer.unknown = s->peer < 0;
		row->requests.value = s->posted;
		row->bytes.value = s->bytes;
		row->mean_ns.value = s->completed ? s->time_ns / s->completed : 0;
		row->mean_ns.unknown = row->max_ns.unknown = !s->completed;
		row->max_ns.value = s->max_ns;
		row->waited_ns.value = s->waited_ns;
		row->open.value = s->open;
		row->unseen.value = s->unseen;
		row->completed.value = s->completed;
	}
}

void mpi_tables(struct mpi *m, const struct af_world *w, struct af_results *out)
{
	if (m->nr_threads) {
		table_threads(m, w, &out->tables);
		verdict_rows(m, w, &out->tables);
	}
	if (m->requests.nr_sums)
		table_requests(&m->requests, w, &out->tables, out->query.merges);
}
