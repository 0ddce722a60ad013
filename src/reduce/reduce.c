#include "reduce/reduce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "reduce/mpi.h"

/* Rank and size as launchers of MPI programs tell them. */
struct launched {
	bool is;
	uint32_t rank, size;
};

static bool number_of(const char *variable, uint32_t *to)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || !*text)
		return false;
	unsigned long long value = strtoull(text, &end, 10);
	*to = (uint32_t)value;
	return !*end && value < UINT32_MAX;
}

/*
 * A batch script of Slurm has a rank and a size, too: only srun sets the number of a step's tasks.
 */
static struct launched launched(void)
{
	static const char *const variables[][2] = {
	    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	    {"PMI_RANK", "PMI_SIZE"},
	    {"PALS_RANKID", "PALS_SIZE"},
	    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
	    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	};
	struct launched l = {0};

	for (size_t i = 0; i < sizeof variables / sizeof *variables && !l.is; i++)
		l.is = number_of(variables[i][0], &l.rank) && number_of(variables[i][1], &l.size) &&
		       l.size > 1 && l.rank < l.size;
	return l;
}

bool af_reduce_is_launched(void)
{
	return launched().is;
}

uint32_t af_reduce_launched_rank(void)
{
	const struct launched l = launched();

	return l.is ? l.rank : 0;
}

/* MPI begins once: the others have ended then, and process 0 is alone. */
static bool reduce_done;

bool af_reduce_one(void)
{
	reduce_done = true;
	return af_reduce_launched_rank() == 0;
}

void af_reduce_open(struct af_reduce *r)
{
	const struct launched l = launched();

	*r = (struct af_reduce){.size = 1};
	if (!l.is || reduce_done)
		return;
	reduce_done = true;
	r->mpi = af_reduce_mpi_open(l.size, r->alone, sizeof r->alone);
	if (r->mpi) {
		r->rank = af_reduce_mpi_rank(r->mpi);
		r->size = af_reduce_mpi_size(r->mpi);
	}
	r->silent = r->mpi ? r->rank != 0 : l.rank != 0;
}

/* MPI_Finalize waits for all, and takes a CPU meanwhile: so process 0 calls for it. */
void af_reduce_close(struct af_reduce *r)
{
	struct af_buf none = {0};

	if (r->size > 1)
		af_reduce_broadcast(r, &none, NULL);
	af_buf_free(&none);
	if (r->mpi)
		af_reduce_mpi_close(r->mpi);
	r->mpi = NULL;
}

static int reduce_failed(struct af_err *err, int code)
{
	return code ? af_fail_plain(err, -EIO, "MPI cannot pass results on (error %d)", code) : 0;
}

int af_reduce_send(struct af_reduce *r, uint32_t to, const void *data, size_t size,
                   struct af_err *err)
{
	const uint64_t len = size;
	int rc = af_reduce_mpi_send(r->mpi, to, &len, sizeof len);
	char go;

	/* A long message that nobody waits for yet would take a whole CPU until somebody does. */
	rc = rc ? rc : af_reduce_mpi_receive(r->mpi, to, &go, sizeof go);
	for (size_t at = 0; !rc && at < size; at += AF_REDUCE_MOST) {
		size_t part = size - at < AF_REDUCE_MOST ? size - at : AF_REDUCE_MOST;
		rc = af_reduce_mpi_send(r->mpi, to, (const char *)data + at, part);
	}
	return reduce_failed(err, rc);
}

int af_reduce_receive(struct af_reduce *r, uint32_t from, struct af_buf *to, struct af_err *err)
{
	uint64_t len = 0;
	int rc = af_reduce_mpi_receive(r->mpi, from, &len, sizeof len);

	rc = rc ? rc : af_reduce_mpi_send(r->mpi, from, "", 1);
	to->len = 0;
	if (!rc)
		AF_ROOM(to->data, (size_t)len + 1, to->cap);
	for (size_t at = 0; !rc && at < len; at += AF_REDUCE_MOST) {
		size_t part = len - at < AF_REDUCE_MOST ? len - at : AF_REDUCE_MOST;
		rc = af_reduce_mpi_receive(r->mpi, from, to->data + at, part);
	}
	if (!rc) {
		to->len = len;
		to->data[len] = 0;
	}
	return reduce_failed(err, rc);
}

/* By a binomial tree: process 2^k + i gets them from process i. */
int af_reduce_broadcast(struct af_reduce *r, struct af_buf *b, struct af_err *err)
{
	uint32_t step = 1;
	int rc = 0;

	if (r->rank) {
		while (step <= r->rank / 2)
			step *= 2;
		rc = af_reduce_receive(r, r->rank - step, b, err);
		step *= 2;
	}
	for (; !rc && r->rank + step < r->size; step *= 2)
		rc = af_reduce_send(r, r->rank + step, b->data, b->len, err);
	return rc;
}

/* Results have no other format than that of their version. */
static const char answer_head[] = "aflame " AFLAME_VERSION;

/* A process hands on its result behind 0, or its failure. */
static void answer_write(struct af_buf *to, const struct af_reduce_ops *ops, const void *result,
                         int rc, const struct af_err *err)
{
	const int64_t status = rc;

	to->len = 0;
	af_buf_add(to, answer_head, sizeof answer_head);
	af_buf_add(to, &status, sizeof status);
	if (rc)
		af_buf_str(to, err->msg);
	else
		ops->write(result, to);
}

/* Add what a process with later members handed on. The first failure is that of all. */
static int answer_join(const struct af_buf *from, const struct af_reduce_ops *ops, void *result,
                       struct af_err *err)
{
	struct af_cursor c = af_buf_cursor(from);
	const char *head = af_cursor_string(&c);
	const int64_t status = (int64_t)af_cursor_uint(&c, sizeof status);
	const size_t left = (size_t)(c.end - c.at);

	if (!head || strcmp(head, answer_head))
		return af_fail_plain(err, -EBADMSG,
		                     "another process is of another version of aflame than this "
		                     "one, " AFLAME_VERSION);
	if (c.bad || status > 0 || status < -4095)
		return af_fail_plain(err, -EBADMSG, "another process sent no result");
	if (status)
		return af_fail_plain(err, (int)status, "%.*s", (int)left, (const char *)c.at);
	return ops->join(result, c.at, left, err);
}

/* Process 0 has the result, whichever place its members have. */
static int join_last(struct af_reduce *r, const struct af_reduce_part *part,
                     const struct af_reduce_ops *ops, void *result, struct af_buf *b, int rc,
                     struct af_err *err)
{
	if (part->at[0] == 0 || (part->place && r->rank))
		return rc;
	if (!part->place) {
		answer_write(b, ops, result, rc, err);
		return af_reduce_send(r, 0, b->data, b->len, err);
	}
	/* Its own part is in what comes. */
	int failed = af_reduce_receive(r, part->at[0], b, err);
	ops->empty(result);
	return failed ? failed : answer_join(b, ops, result, err);
}

int af_reduce_join(struct af_reduce *r, const struct af_reduce_part *part,
                   const struct af_reduce_ops *ops, void *result, int rc, struct af_err *err)
{
	struct af_buf b = {0};
	struct af_err late = {0};
	const uint32_t place = part->place;

	for (uint32_t step = 1; step < r->size; step *= 2) {
		if (place % (2 * step)) {
			answer_write(&b, ops, result, rc, err);
			int sent = af_reduce_send(r, part->at[place - step], b.data, b.len, &late);
			rc = rc ? rc : sent;
			break;
		}
		if (place + step >= r->size)
			continue;
		int failed = af_reduce_receive(r, part->at[place + step], &b, &late);
		failed = failed || rc ? failed : answer_join(&b, ops, result, &late);
		if (failed && !rc) {
			rc = failed;
			if (err)
				*err = late;
		}
	}
	if (r->size > 1)
		rc = join_last(r, part, ops, result, &b, rc, err);
	af_buf_free(&b);
	return rc;
}
