/* Findings about calls of APIs that cost by their use, each a row of the table `usage`. */
#include "analyse/usage/usage.h"

#include <string.h>

#include "analyse/findings/private.h"

enum { OF_A_KIND = 3 /* findings at most: the others are in the table */ };

/* A use, and texts of its sentence: "NUMBER calls of FUNCTION …". */
struct use {
	const struct af_usage_row *row;
	const char *nr, *calls, *function; /* "12", "12 calls" */
};

typedef const char *use_text(struct findings *s, const struct use *u);

/* "12,345 of 23,456" where that is not all of them. */
static const char *part_text(struct findings *s, const struct use *u)
{
	uint64_t calls = u->row->calls.value, of = u->row->of_calls.value;

	return of > calls ? af_tables_text(s->f, "%s of %s", u->nr, findings_number(s, of))
	                  : af_tables_text(s->f, "all %s", u->nr);
}

static const char *bytes_text(struct findings *s, const struct use *u)
{
	uint64_t bytes = u->row->bytes.value;

	return bytes ? af_tables_text(s->f, " of %s", findings_bytes(s, bytes)) : "";
}

static const char *pageable_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s copies%s from or to pageable host memory by %s", u->nr,
	                      bytes_text(s, u), u->function);
}

static const char *host_copy_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s copies%s from or to host memory by %s, each waited for,",
	                      u->nr, bytes_text(s, u), u->function);
}

/* " (2 a step)" */
static const char *step_text(struct findings *s, const struct use *u)
{
	uint64_t steps = u->row->steps.value, calls = u->row->calls.value;

	if (!steps || calls < steps)
		return "";
	uint64_t tenths = af_tables_ratio(calls, steps, 10);
	return tenths % 10
	           ? af_tables_text(s->f, " (%llu.%llu a step)", (unsigned long long)(tenths / 10),
	                            (unsigned long long)(tenths % 10))
	           : af_tables_text(s->f, " (%llu a step)", (unsigned long long)(tenths / 10));
}

static const char *allocating_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s of %s%s in the steady part", u->calls, u->function,
	                      step_text(s, u));
}

static const char *loading_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s of %s%s, to load code, in the steady part", u->calls,
	                      u->function, step_text(s, u));
}

static const char *needless_text(struct findings *s, const struct use *u)
{
	return af_tables_text(
	    s->f,
	    "%s of %s with nothing to wait for, as nothing was launched since the last "
	    "wait,",
	    u->nr, u->function);
}

static const char *each_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s calls of %s, each after a single piece of work,",
	                      part_text(s, u), u->function);
}

static const char *polling_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s of %s in %s, which lasted %s together,", u->calls,
	                      u->function, findings_count(s, u->row->loops.value, "loop"),
	                      af_tables_ns(s->f, u->row->lasted_ns.value));
}

static const char *tiny_text(struct findings *s, const struct use *u)
{
	uint64_t peers = u->row->peers.value;

	return af_tables_text(
	    s->f, "%s messages by %s, of less than 1 kB%s,", part_text(s, u), u->function,
	    peers == 1 ? " to one rank"
		       : af_tables_text(s->f, " to %s", findings_count(s, peers, "rank")));
}

static const char *mpi_wait_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "waiting in %s of %s", u->calls, u->function);
}

static const char *mapping_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s copies%s by OpenMP, of the same memory again and again,",
	                      u->nr, bytes_text(s, u));
}

static const char *barrier_text(struct findings *s, const struct use *u)
{
	return af_tables_text(s->f, "%s at implicit barriers in %s",
	                      findings_count(s, u->row->calls.value, "wait"), u->function);
}

static const struct {
	use_text *what;
	const char *helps;
} uses[AF_USAGE_KINDS] = {
    [AF_USAGE_PAGEABLE] = {pageable_text,
                           "pinned memory (cudaHostAlloc, pin_memory=True), and asynchronous "
                           "copies on a stream of their own"},
    [AF_USAGE_HOST_COPY] = {host_copy_text,
                            "copies that do not block, from and to pinned or mapped memory"},
    [AF_USAGE_ALLOCATING] = {allocating_text, "memory that is allocated once, or a caching or "
                                              "stream-ordered allocator"},
    [AF_USAGE_LOADING] = {loading_text, "loading before what is measured: a warm-up with all "
                                        "kernels, CUDA_MODULE_LOADING=EAGER"},
    [AF_USAGE_NEEDLESS] = {needless_text, "one wait where the results are needed"},
    [AF_USAGE_WAIT_EACH] = {each_text, "waiting once for many pieces of work: queues keep their "
                                       "order without it"},
    [AF_USAGE_POLLING] = {polling_text, "a call that waits, a callback, or asking less often"},
    [AF_USAGE_TINY] = {tiny_text, "fewer and larger messages, or a collective"},
    [AF_USAGE_MPI_WAIT] = {mpi_wait_text, "work that is shared out evenly, and communication "
                                          "that goes on while the program computes"},
    [AF_USAGE_MAPPING] = {mapping_text, "target data around what repeats, so that memory that "
                                        "does not change stays on the device"},
    [AF_USAGE_IMBALANCE] = {barrier_text, "work that is shared out evenly: schedule(dynamic) or "
                                          "(guided), tasks, or fewer barriers (nowait)"},
};

static const char *helps_of(const struct use *u, int kind)
{
	if (kind == AF_USAGE_LOADING && !strncmp(u->function, "cl", 2))
		return "building programs before what is measured, or from binaries that are kept";
	if (kind == AF_USAGE_WAIT_EACH && !strncmp(u->function, "ompt_", 5))
		return "depend clauses for those that need an order, and one wait for many regions";
	return uses[kind].helps;
}

static int kind_of(const struct af_usage_row *row)
{
	int kind = 0;

	while (kind < AF_USAGE_KINDS &&
	       strcmp(findings_text(&row->kind), af_usage_word((enum af_usage_kind)kind)))
		kind++;
	return kind;
}

/* How long a GPU waited while threads were in this function. */
static uint64_t waited_ns(const struct findings *s, const struct af_usage_row *row)
{
	const char *driver = findings_text(&row->driver);
	const char *name = *driver ? driver : findings_text(&row->function);
	uint64_t most_ns = 0;

	for (int p = 0; p < IDLE_PHASES; p++) {
		uint64_t ns = findings_weight(&s->idle[p], name).ns;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return most_ns < row->time_ns.value ? most_ns : row->time_ns.value;
}

static void find_use(struct findings *s, const struct af_usage_row *row, int kind)
{
	const struct use u = {row, findings_number(s, row->calls.value),
	                      findings_count(s, row->calls.value, "call"),
	                      findings_short(s, findings_text(&row->function))};
	const char *caller = findings_text(&row->caller);
	uint64_t threads = row->threads.value;
	struct finding x = {.kind = af_usage_word((enum af_usage_kind)kind),
	                    .ns = row->time_ns.value,
	                    .of_ns = row->span_ns.value,
	                    .of = kind == AF_USAGE_IMBALANCE ? "the threads' time in the region"
	                          : threads == 1             ? "the thread's time"
	                                                     : "the threads' time",
	                    .helps = helps_of(&u, kind),
	                    .check = "aflame report usage",
	                    .view = "facts",
	                    .hash = "#tab=facts",
	                    .on_host = true,
	                    .gain_ns = waited_ns(s, row)};

	if (*caller) {
		const struct findings_name name = findings_called(
		    s, caller, af_kind_of(findings_text(&row->caller_kind), AF_FRAME_NATIVE));
		x.function = name.text;
		x.id = name.id;
	}
	x.what = af_tables_text(s->f, "%s took %s (%s of %s of %s)%s%s", uses[kind].what(s, &u),
	                        af_tables_ns(s->f, x.ns), findings_share(s, x.ns, x.of_ns),
	                        af_tables_ns(s->f, x.of_ns),
	                        threads == 1 ? "one thread" : findings_count(s, threads, "thread"),
	                        *caller ? ", called by " : "", findings_short(s, caller));
	findings_add(s, &x);
}

void findings_usage(struct findings *s)
{
	const struct af_table *t = findings_table(s, "usage");
	uint32_t found[AF_USAGE_KINDS] = {0};

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_usage_row *row = AF_ROW_AT(struct af_usage_row, t, i);
		int kind = row ? kind_of(row) : AF_USAGE_KINDS;
		if (kind < AF_USAGE_KINDS && found[kind]++ < OF_A_KIND)
			find_use(s, row, kind);
	}
}
